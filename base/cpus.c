/* CPUs beyond those that cpu_set_t holds (1024) make sched_getaffinity fail: then all that are online count. */
#include "base/cpus.h"

#include <sched.h>
#include <unistd.h>

int rlx_cpus_allowed(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : (int)sysconf(_SC_NPROCESSORS_ONLN);

    return n > 0 ? n : 1;
}
