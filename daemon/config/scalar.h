/* Texts of people as values: numbers with their units, yes and no, ports, addresses. Each is false for what is not one, and then writes
 * nothing. */
#ifndef RLX_DAEMON_CONFIG_SCALAR_H
#define RLX_DAEMON_CONFIG_SCALAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool rlx_config_integer(const char *text, int64_t *out_value);
bool rlx_config_bytes(const char *text, int64_t *out_value);                      /* "40GB", "512MiB" */
bool rlx_config_duration(const char *text, double unit_us, int64_t *out_value);   /* "30s": in units of so many microseconds */
bool rlx_config_bool(const char *text, bool *out_value);
bool rlx_config_port(const char *text, int *out_port); /* 0 to 65535 */
/* "HOST:PORT", "[::1]:8080". `host` is written without brackets. */
bool rlx_config_address(const char *text, char *host, size_t host_bytes, int *out_port);

#endif
