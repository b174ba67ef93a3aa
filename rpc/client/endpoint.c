/* Endpoint texts. */
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "rpc/client/client.h"

#define PORT_DEFAULT 8080

static rlx_status_t endpoint_refuse(const char *text, const char *why, rlx_diag_t *diag)
{
    return rlx_fail(diag, RLX_E_ENDPOINT, "endpoint '%.200s': %s", text, why);
}

static rlx_status_t unix_parse(const char *text, const char *path, rlx_rpc_endpoint_t *endpoint, rlx_diag_t *diag)
{
    size_t length = strlen(path);

    if (length == 0 || length >= sizeof((struct sockaddr_un *)0)->sun_path)
        return endpoint_refuse(text, "the path of a Unix socket has 1 to 107 bytes", diag);
    endpoint->kind = RLX_RPC_UNIX;
    memcpy(endpoint->host, path, length + 1);
    return RLX_OK;
}

/* "HOST", "HOST:PORT", "[V6]", "[V6]:PORT", with a "/" allowed behind. */
static rlx_status_t host_parse(const char *text, const char *rest, rlx_rpc_endpoint_t *endpoint, rlx_diag_t *diag)
{
    const char *slash = strchr(rest, '/'), *end = slash != NULL ? slash : rest + strlen(rest), *host = rest, *host_end, *port;

    if (slash != NULL && slash[1] != '\0')
        return endpoint_refuse(text, "nothing may follow the port", diag);
    if (*rest == '[') {
        host = rest + 1;
        host_end = memchr(host, ']', (size_t)(end - host));
        if (host_end == NULL)
            return endpoint_refuse(text, "the bracket of the IPv6 address is not closed", diag);
        port = host_end + 1;
    } else {
        host_end = memchr(host, ':', (size_t)(end - host));
        port = host_end = host_end != NULL ? host_end : end;
    }
    if (host_end == host || (size_t)(host_end - host) >= sizeof endpoint->host)
        return endpoint_refuse(text, "the host is empty or too long", diag);
    endpoint->port = PORT_DEFAULT;
    if (port != end) {
        char *stop;
        long value = *port == ':' ? strtol(port + 1, &stop, 10) : 0;

        if (*port != ':' || stop != end || port[1] < '0' || port[1] > '9' || value < 1 || value > 65535)
            return endpoint_refuse(text, "the port is no number from 1 to 65535", diag);
        endpoint->port = (int)value;
    }
    memcpy(endpoint->host, host, (size_t)(host_end - host));
    return RLX_OK;
}

rlx_status_t rlx_rpc_endpoint_parse(const char *text, rlx_rpc_endpoint_t *out_endpoint, rlx_diag_t *diag)
{
    static const struct {
        const char *scheme;
        int kind;
    } schemes[] = {{"http://", RLX_RPC_TCP}, {"grpc://", RLX_RPC_TCP}, {"https://", RLX_RPC_TLS}, {"grpcs://", RLX_RPC_TLS}};
    rlx_rpc_endpoint_t endpoint = {0};

    if (strncmp(text, "unix:", 5) == 0)
        RLX_TRY(unix_parse(text, strncmp(text, "unix://", 7) == 0 ? text + 7 : text + 5, &endpoint, diag));
    else {
        size_t i = 0, n = sizeof schemes / sizeof *schemes;

        while (i < n && strncmp(text, schemes[i].scheme, strlen(schemes[i].scheme)) != 0)
            i++;
        if (i == n) {
            endpoint_refuse(text, "it begins with none of http:// grpc:// https:// grpcs:// unix:", diag);
            return strstr(text, "://") == NULL ? rlx_diag_hint(diag, "Write http://%.200s, or https:// for TLS.", text) : RLX_INVALID_ARGUMENT;
        }
        endpoint.kind = schemes[i].kind;
        RLX_TRY(host_parse(text, text + strlen(schemes[i].scheme), &endpoint, diag));
    }
    *out_endpoint = endpoint;
    return RLX_OK;
}
