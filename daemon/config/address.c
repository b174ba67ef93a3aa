/* Ports, "HOST:PORT", "[::1]:8080". */
#include <stdlib.h>
#include <string.h>

#include "daemon/config/scalar.h"

bool rlx_config_port(const char *text, int *out_port)
{
    char *end;
    long port;

    if (*text < '0' || *text > '9' || strlen(text) > 5)
        return false;
    port = strtol(text, &end, 10);
    if (*end != '\0' || port > 65535)
        return false;
    *out_port = (int)port;
    return true;
}

bool rlx_config_address(const char *text, char *host, size_t host_bytes, int *out_port)
{
    bool bracketed = *text == '[';
    const char *start = bracketed ? text + 1 : text, *end = bracketed ? strchr(start, ']') : strrchr(start, ':');
    size_t n = end != NULL ? (size_t)(end - start) : 0;

    if (n == 0 || n >= host_bytes || strcspn(start, " /@?#%\\\t") < n)
        return false;
    if (bracketed ? end[1] != ':' : memchr(start, ':', n) != NULL) /* an IPv6 address needs its brackets */
        return false;
    memcpy(host, start, n);
    host[n] = '\0';
    return rlx_config_port(end + (bracketed ? 2 : 1), out_port);
}
