/* A request goes out with "Connection: close", so the answer ends with its length, its last chunk, or the connection. */
#include "cli/ctl/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

static rlx_status_t request_send(rlx_ctl_link_t *link, const char *method, const char *path, const char *body, rlx_diag_t *diag)
{
    const rlx_rpc_endpoint_t *endpoint = &link->server->endpoint;
    size_t bytes = body != NULL ? strlen(body) : 0;
    rlx_status_t status;
    rlx_text_t text;

    rlx_text_init(&text, RLX_CTL_ANSWER_MAX);
    rlx_text_printf(&text, "%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nAccept: application/json\r\n", method, path,
                    endpoint->kind == RLX_RPC_UNIX ? "localhost" : endpoint->host);
    if (body != NULL)
        rlx_text_printf(&text, "Content-Type: application/json\r\nContent-Length: %zu\r\n", bytes);
    rlx_text_puts(&text, "\r\n");
    rlx_text_add(&text, body, bytes);
    status = text.full ? rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory") : rlx_ctl_link_send(link, text.data, text.bytes, diag);
    rlx_text_fini(&text);
    return status;
}

static rlx_status_t answer_read(rlx_ctl_link_t *link, rlx_text_t *answer, rlx_diag_t *diag)
{
    for (size_t n = 1; n > 0;) {
        char *room = rlx_text_reserve(answer, 16384);

        if (room == NULL)
            return rlx_fail(diag, RLX_E_ANSWER_MALFORMED, "the answer of %s is larger than %zu bytes", link->server->text,
                            RLX_CTL_ANSWER_MAX);
        RLX_TRY(rlx_ctl_link_receive(link, room, 16384, &n, diag));
        rlx_text_commit(answer, n);
    }
    return RLX_OK;
}

/* The value of a header between `head` and `end`, or NULL. */
static const char *header_find(const char *head, const char *end, const char *name)
{
    size_t n = strlen(name);

    for (const char *line = head; (line = memchr(line, '\n', (size_t)(end - line))) != NULL && line + n + 1 < end;)
        if (strncasecmp(++line, name, n) == 0 && line[n] == ':')
            return line + n + 1 + strspn(line + n + 1, " ");
    return NULL;
}

/* Joins the chunks in place; false when they are broken or cut off. */
static bool chunks_join(char *body, size_t *bytes)
{
    char *from = body, *end = body + *bytes, *to = body, *line;

    for (;;) {
        char *after;
        size_t n;

        line = memchr(from, '\n', (size_t)(end - from));
        if (line == NULL)
            return false;
        n = strtoull(from, &after, 16);
        from = line + 1;
        if (n == 0)
            break;
        if (after == from || n > (size_t)(end - from))
            return false;
        memmove(to, from, n);
        to += n;
        from += n + ((size_t)(end - from) >= n + 2 ? 2 : 0);
    }
    *bytes = (size_t)(to - body);
    return true;
}

static rlx_status_t answer_parse(const rlx_ctl_server_t *server, const rlx_text_t *answer, rlx_ctl_reply_t *out_reply, rlx_diag_t *diag)
{
    char *text = answer->data, *body = answer->bytes > 0 ? memmem(text, answer->bytes, "\r\n\r\n", 4) : NULL;
    const char *length, *coding;
    int code = 0;
    size_t bytes;

    if (body == NULL || sscanf(text, "HTTP/1.%*1[01] %3d", &code) != 1) {
        rlx_fail(diag, RLX_E_ANSWER_MALFORMED, "%s does not answer in HTTP", server->text);
        return rlx_diag_hint(diag, "Is it the port of rlxd? One with TLS is reached by https:// (with --ca FILE), or by --unix.");
    }
    body += 4;
    bytes = answer->bytes - (size_t)(body - text);
    length = header_find(text, body, "Content-Length");
    coding = header_find(text, body, "Transfer-Encoding");
    if (coding != NULL && strncasecmp(coding, "chunked", 7) == 0 ? !chunks_join(body, &bytes)
                                                                : length != NULL && strtoull(length, NULL, 10) > bytes)
        return rlx_fail(diag, RLX_E_ANSWER_MALFORMED, "the answer of %s is cut off", server->text);
    out_reply->code = code;
    out_reply->bytes = bytes;
    out_reply->body = strndup(body, bytes);
    return out_reply->body != NULL ? RLX_OK : rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
}

rlx_status_t rlx_ctl_call(const rlx_ctl_server_t *server, const char *method, const char *path, const char *body,
                          rlx_ctl_reply_t *out_reply,
                          rlx_diag_t *diag)
{
    rlx_text_t answer;
    rlx_status_t status;
    rlx_ctl_link_t link;

    RLX_TRY(rlx_ctl_link_open(server, &link, diag));
    rlx_text_init(&answer, RLX_CTL_ANSWER_MAX);
    status = request_send(&link, method, path, body, diag);
    if (status == RLX_OK)
        status = answer_read(&link, &answer, diag);
    rlx_ctl_link_close(&link);
    if (status == RLX_OK) {
        rlx_text_add(&answer, "", 1); /* a NUL, so that the head can be scanned as text */
        answer.bytes -= !answer.full;
        status = answer_parse(server, &answer, out_reply, diag);
    }
    rlx_text_fini(&answer);
    return status;
}

void rlx_ctl_reply_fini(rlx_ctl_reply_t *reply)
{
    free(reply->body);
    reply->body = NULL;
}
