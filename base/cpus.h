/* How many CPUs this process may use: its affinity, else what is online. At least 1. */
#ifndef RLX_BASE_CPUS_H
#define RLX_BASE_CPUS_H

int rlx_cpus_allowed(void);

#endif
