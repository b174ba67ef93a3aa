/* Quantities with units: "1.2TB/s", "32GB/s", "1Gbps", "12ns", "50ms". Pure. */
#ifndef RLX_IR_TEXT_UNITS_H
#define RLX_IR_TEXT_UNITS_H

#include <stdbool.h>
#include <stdint.h>

#define RLX_UNIT_TEXT_MAX 40

/* Bytes per second: B/s, kB/s, MB/s, GB/s, TB/s, powers of 1000; KiB/s, MiB/s, GiB/s, TiB/s; bits: bps, kbps, Mbps, Gbps, Tbps, also b/s. False:
 * no such unit, no number, not positive, or more than int64 holds. */
bool rlx_bandwidth_parse(const char *text, int64_t *out_bytes_per_s);
/* Picoseconds: ps, ns, us, ms, s. */
bool rlx_latency_parse(const char *text, int64_t *out_ps);
/* In the largest unit that needs no more than three decimals: "1.2TB/s". What is printed parses to the same number. */
void rlx_bandwidth_print(int64_t bytes_per_s, char out[RLX_UNIT_TEXT_MAX]);
void rlx_latency_print(int64_t ps, char out[RLX_UNIT_TEXT_MAX]);

#endif
