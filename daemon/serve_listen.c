/* Where the daemon listens: addresses of configuration or node entry, and the sockets for clients of this machine. */
#include <arpa/inet.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/log.h"
#include "daemon/config/scalar.h"
#include "daemon/serve_state.h"

/* The address of a host name, as text; the name server is asked before anything is served. */
static rlx_status_t host_resolve(const char *host, char *out, size_t bytes, rlx_diag_t *diag)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *list = NULL;
    int rc = getaddrinfo(host, NULL, &hints, &list);

    if (rc != 0 || list == NULL || getnameinfo(list->ai_addr, list->ai_addrlen, out, (socklen_t)bytes, NULL, 0, NI_NUMERICHOST) != 0) {
        if (list != NULL)
            freeaddrinfo(list);
        rlx_fail(diag, RLX_E_LISTEN, "host '%s' has no address: %s", host, gai_strerror(rc));
        return rlx_diag_hint(diag, "Correct the name, or give an address: nodes[].host, server.listen, or --host.");
    }
    freeaddrinfo(list);
    return RLX_OK;
}

static rlx_status_t address_listen(rlx_serve_t *serve, const char *host, int port, rlx_diag_t *diag)
{
    bool tls = serve->options->config->server.tls.certificate != NULL;
    char numeric[128], url[sizeof serve->url];
    int bound = 0;

    RLX_TRY(host_resolve(host, numeric, sizeof numeric, diag));
    RLX_TRY(rlx_rpc_server_listen(serve->rpc, numeric, port, &bound, diag));
    snprintf(url, sizeof url, strchr(host, ':') != NULL ? "%s://[%s]:%d" : "%s://%s:%d", tls ? "https" : "http", host, bound);
    RLX_LOG(RLX_LOG_INFO, "listening", rlx_log_text("url", url));
    if (serve->url[0] == '\0')
        memcpy(serve->url, url, sizeof url);
    return RLX_OK;
}

/* What the configuration says; else a file in the folder that systemd made for us; else "". Owned by the caller. */
static char *socket_path(const char *configured, const char *file)
{
    const char *folder = getenv("RUNTIME_DIRECTORY");
    char *path = NULL;

    if (configured != NULL || folder == NULL)
        return strdup(configured != NULL ? configured : "");
    return asprintf(&path, "%.*s/%s", (int)strcspn(folder, ":"), folder, file) >= 0 ? path : NULL;
}

static rlx_status_t unix_listen(rlx_serve_t *serve, rlx_diag_t *diag)
{
    char *path = socket_path(serve->options->config->server.unix_socket, "rlxd.sock");
    rlx_status_t status = RLX_OK;

    if (path == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    if (path[0] != '\0') {
        status = rlx_rpc_server_listen_unix(serve->rpc, path, diag);
        if (status == RLX_OK)
            RLX_LOG(RLX_LOG_INFO, "listening", rlx_log_text("unix", path));
    }
    free(path);
    return status;
}

static rlx_status_t memory_listen(rlx_serve_t *serve, rlx_diag_t *diag)
{
    char *path = socket_path(serve->options->config->server.memory_socket, "memory.sock");
    rlx_status_t status = RLX_OK;

    if (path == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    if (path[0] != '\0') {
        status = rlx_handover_create(&serve->loop, rlx_node_regions(serve->node), path, &serve->handover, diag);
        if (status == RLX_OK) {
            rlx_rest_attach_handover(serve->rest, serve->handover);
            RLX_LOG(RLX_LOG_INFO, "listening", rlx_log_text("memory", path));
        }
    }
    free(path);
    return status;
}

rlx_status_t rlx_serve_listen(rlx_serve_t *serve, rlx_diag_t *diag)
{
    const rlx_config_texts_t *listen = &serve->options->config->server.listen;
    char host[256];
    int port;

    if (listen->n == 0)
        RLX_TRY(address_listen(serve, serve->options->node->host, (int)serve->options->node->port, diag));
    for (int i = 0; i < listen->n; i++)
        if (rlx_config_address(listen->text[i], host, sizeof host, &port))
            RLX_TRY(address_listen(serve, host, port, diag));
    RLX_TRY(unix_listen(serve, diag));
    return memory_listen(serve, diag);
}
