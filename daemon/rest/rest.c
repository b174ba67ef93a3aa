/* Dispatch, and the queue of inferences that have work left: one piece of one of them each turn of the loop. */
#include "daemon/rest/rest.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/assert.h"
#include "base/clock.h"
#include "daemon/rest/inside.h"
#include "daemon/rest/request.h"

rlx_status_t rlx_rest_create(const rlx_rest_options_t *options, rlx_rest_t **out_rest, rlx_diag_t *diag)
{
    rlx_rest_t *rest = calloc(1, sizeof *rest);

    if (rest == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for the HTTP front end");
    rest->options = *options;
    rest->node = options->node;
    rest->start_ns = rlx_clock_ns();
    rest->start_s = time(NULL);
    uv_idle_init(rlx_node_loop(rest->node), &rest->idle);
    rest->idle.data = rest;
    *out_rest = rest;
    return RLX_OK;
}

void rlx_rest_attach(rlx_rest_t *rest, const rlx_rpc_server_t *server, const rlx_http_t *http)
{
    rest->server = server;
    rest->http = http;
}

void rlx_rest_attach_handover(rlx_rest_t *rest, const rlx_handover_t *handover) { rest->handover = handover; }

static void on_closed(uv_handle_t *handle)
{
    rlx_rest_t *rest = handle->data;
    void (*done)(void *context) = rest->done;
    void *context = rest->done_context;

    while (rest->kept != NULL) {
        rlx_rest_infer_t *request = rest->kept;

        rest->kept = request->next;
        rlx_rest_infer_destroy(request);
    }
    free(rest);
    if (done != NULL)
        done(context);
}

void rlx_rest_close(rlx_rest_t *rest, void (*done)(void *context), void *context)
{
    RLX_ASSERT(rest->jobs == NULL);
    rest->done = done;
    rest->done_context = context;
    uv_close((uv_handle_t *)&rest->idle, on_closed);
}

/* One piece of the first job a turn; it goes to the end. An idle handle makes the loop look at its sockets without sleeping. */
static void on_idle(uv_idle_t *idle)
{
    rlx_rest_t *rest = idle->data;
    rlx_rest_infer_t *request = rest->jobs;

    rlx_rest_job_remove(rest, request);
    if (rlx_rest_infer_step(request))
        rlx_rest_job_add(rest, request);
}

void rlx_rest_job_add(rlx_rest_t *rest, rlx_rest_infer_t *request)
{
    RLX_ASSERT(!request->waiting);
    request->waiting = true;
    request->next = NULL;
    if (rest->jobs_last != NULL)
        rest->jobs_last->next = request;
    else
        rest->jobs = request;
    rest->jobs_last = request;
    uv_idle_start(&rest->idle, on_idle);
}

void rlx_rest_job_remove(rlx_rest_t *rest, rlx_rest_infer_t *request)
{
    rlx_rest_infer_t **link = &rest->jobs, *previous = NULL;

    if (!request->waiting)
        return;
    while (*link != request) {
        previous = *link;
        link = &previous->next;
    }
    *link = request->next;
    if (rest->jobs_last == request)
        rest->jobs_last = previous;
    request->waiting = false;
    if (rest->jobs == NULL)
        uv_idle_stop(&rest->idle);
}

static void wrong_method_reply(rlx_http_exchange_t *exchange, const char *allowed)
{
    rlx_http_field_t fields[] = {{"Content-Type", "application/json"}, {"Allow", allowed}};
    char *body = malloc(512);
    rlx_rpc_slice_t slice = {.data = body};

    if (body != NULL)
        slice.bytes = (size_t)snprintf(body, 512, "{\"error\":\"RLX-%d: the method of this route is %s\"}", RLX_E_METHOD_UNKNOWN, allowed);
    rlx_http_reply(exchange, 405, fields, 2, &slice, 1, free, body);
}

static void unknown_reply(rlx_http_exchange_t *exchange)
{
    rlx_text_t text, routes;
    rlx_json_t json;

    rlx_text_init(&routes, RLX_REST_TEXT_MAX);
    rlx_text_printf(&routes, "RLX-%d: no such route. Routes:", RLX_E_METHOD_UNKNOWN);
    rlx_rest_routes_text(&routes);
    rlx_text_add(&routes, "", 1);
    rlx_rest_json_begin(&json, &text);
    rlx_json_string(&json, "error", routes.full ? "no such route" : routes.data);
    rlx_json_close(&json, '}');
    rlx_text_fini(&routes);
    rlx_rest_reply_json(exchange, 404, &json);
}

void rlx_rest_handle(void *service, rlx_http_exchange_t *exchange)
{
    rlx_rest_t *rest = service;
    const char *encoding = rlx_http_header(exchange, "Content-Encoding");
    const rlx_rest_route_t *route;
    rlx_rest_path_t path;
    char allowed[32];
    rlx_diag_t diag = {0};

    rlx_http_set_context(exchange, NULL);
    route = rlx_rest_route_find(rlx_http_method(exchange), rlx_http_path(exchange), &path, allowed);
    if (route == NULL && allowed[0] != '\0') {
        wrong_method_reply(exchange, allowed);
    } else if (route == NULL) {
        unknown_reply(exchange);
    } else if (encoding != NULL && strcmp(encoding, "identity") != 0) {
        rlx_fail(&diag, RLX_E_PROTOCOL_PART, "the body has Content-Encoding '%.64s'", encoding);
        rlx_diag_hint(&diag, "Send it uncompressed.");
        rlx_rest_reply_error(exchange, &diag);
    } else {
        route->run(rest, exchange, &path);
    }
}

void rlx_rest_gone(void *service, rlx_http_exchange_t *exchange)
{
    (void)service;
    if (rlx_http_context(exchange) != NULL)
        rlx_rest_infer_gone(rlx_http_context(exchange));
}
