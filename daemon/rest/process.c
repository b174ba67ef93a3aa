/* What the process uses, from /proc. */
#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "daemon/rest/inside.h"

static uint32_t fds_count(void)
{
    DIR *folder = opendir("/proc/self/fd");
    uint32_t n = 0;

    if (folder == NULL)
        return 0;
    while (readdir(folder) != NULL)
        n++;
    closedir(folder);
    return n >= 3 ? n - 3 : 0; /* ".", ".." and the folder itself */
}

void rlx_rest_process_look(rlx_rest_process_t *out_process)
{
    unsigned long long size = 0, resident = 0;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    FILE *file = fopen("/proc/self/statm", "re");
    struct rusage usage;
    struct rlimit limit;

    if (file != NULL) {
        if (fscanf(file, "%llu %llu", &size, &resident) != 2)
            size = resident = 0;
        fclose(file);
    }
    getrusage(RUSAGE_SELF, &usage);
    getrlimit(RLIMIT_NOFILE, &limit);
    *out_process = (rlx_rest_process_t){
        .cpu_s = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6,
        .resident_bytes = resident * page,
        .virtual_bytes = size * page,
        .fds = fds_count(),
        .fds_max = (uint32_t)(limit.rlim_cur < UINT32_MAX ? limit.rlim_cur : UINT32_MAX),
    };
}
