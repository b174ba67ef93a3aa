/* Which ISAs this CPU and operating system run. The compiler's own detection reads CPUID and XGETBV: a CPU whose wide registers the system
 * does not save is counted as one without them. */
#include <stdlib.h>
#include <string.h>

#include "bundle/bundle.h"

bool rlx_isa_runs(const char *isa)
{
    const char *only = getenv("RLX_ISA");
    bool v3, v4;

    __builtin_cpu_init();
    v3 =
        __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (only != NULL && only[0] != '\0' && strcmp(only, isa) != 0)
        return false;
    if (strcmp(isa, "x86-64-v3") == 0)
        return v3;
    if (strcmp(isa, "x86-64-v4-vnni") == 0)
        return v4 && __builtin_cpu_supports("avx512vnni");
    return strcmp(isa, "x86-64-v4") == 0 && v4;
}
