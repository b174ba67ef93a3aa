/* Request headers as they come: few are understood, few are kept (by reference), all are counted. */
#include <string.h>

#include "base/assert.h"
#include "rpc/server/inside.h"

#define HEADER_OVERHEAD 32 /* RFC 9113, 6.5.2 */

#define KEPT(name) {name, sizeof(name) - 1}
static const struct {
    const char *name;
    size_t bytes;
} kept[HEADERS_KEPT] = {
    KEPT("traceparent"), KEPT("tracestate"), KEPT("baggage"), KEPT("user-agent"), KEPT("authorization"), KEPT("x-request-id"),
    KEPT("grpc-encoding"), KEPT(":authority"),
};

static bool is(nghttp2_vec text, const char *expected, size_t bytes)
{
    return text.len == bytes && memcmp(text.base, expected, bytes) == 0;
}
#define IS(text, literal) is(text, literal, sizeof(literal) - 1)

/* application/grpc, application/grpc+proto, and parameters behind them. */
static rlx_rpc_content_t content_of(nghttp2_vec value)
{
    static const char type[] = "application/grpc";
    const size_t n = sizeof type - 1;

    if (value.len < n || memcmp(value.base, type, n) != 0)
        return CONTENT_OTHER;
    if (value.len >= n + 6 && memcmp(value.base + n, "+proto", 6) == 0)
        return value.len == n + 6 || value.base[n + 6] == ';' || value.base[n + 6] == ' ' ? CONTENT_GRPC : CONTENT_OTHER;
    return value.len == n || value.base[n] == ';' || value.base[n] == ' ' ? CONTENT_GRPC : CONTENT_OTHER;
}

static void keep(nghttp2_rcbuf **slot, nghttp2_rcbuf *value)
{
    if (*slot != NULL)
        return; /* The first one counts. */
    nghttp2_rcbuf_incref(value);
    *slot = value;
}

static void timeout_take(rlx_rpc_call_t *call, nghttp2_vec value)
{
    uint64_t ns;

    if (!rlx_grpc_timeout_parse((const char *)value.base, value.len, &ns))
        call->timeout_bad = true;
    else if (__builtin_add_overflow(call->conn->read_ns, ns, &call->deadline_ns))
        call->deadline_ns = UINT64_MAX;
}

void rlx_rpc_call_header_in(rlx_rpc_call_t *call, nghttp2_rcbuf *name, nghttp2_rcbuf *value)
{
    nghttp2_vec n = nghttp2_rcbuf_get_buf(name), v = nghttp2_rcbuf_get_buf(value);

    call->header_bytes += n.len + v.len + HEADER_OVERHEAD;
    if (call->headers_done || call->header_bytes > call->conn->server->options.limits.header_bytes_max)
        return; /* Trailers of a request say nothing that we use; too many headers are refused when they end. */
    switch (n.len) {
    case 2: call->te = call->te || (IS(n, "te") && IS(v, "trailers")); return;
    case 5:
        if (IS(n, ":path"))
            keep(&call->path, value);
        return;
    case 7:
        if (IS(n, ":method"))
            call->post = IS(v, "POST");
        else if (IS(n, "baggage"))
            break;
        return;
    case 12:
        if (IS(n, "content-type"))
            call->content = content_of(v);
        else if (IS(n, "grpc-timeout"))
            timeout_take(call, v);
        else
            break;
        return;
    default: break;
    }
    for (int i = 0; i < HEADERS_KEPT; i++)
        if (is(n, kept[i].name, kept[i].bytes))
            keep(&call->headers[i], value);
}

void rlx_rpc_call_headers_drop(rlx_rpc_call_t *call)
{
    for (int i = 0; i < HEADERS_KEPT; i++)
        if (call->headers[i] != NULL)
            nghttp2_rcbuf_decref(call->headers[i]);
    if (call->path != NULL)
        nghttp2_rcbuf_decref(call->path);
}

const char *rlx_rpc_call_header(const rlx_rpc_call_t *call, const char *name)
{
    for (int i = 0; i < HEADERS_KEPT; i++)
        if (strcmp(kept[i].name, name) == 0)
            return call->headers[i] == NULL ? NULL : (const char *)nghttp2_rcbuf_get_buf(call->headers[i]).base;
    return NULL;
}
