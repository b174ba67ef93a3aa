/* JSON for rlxctl under /v1/. It names requests and what they wait for, so other machines get it only if the configuration says so. */
#include <string.h>

#include "base/clock.h"
#include "daemon/node/node.h"
#include "daemon/rest/inside.h"

static bool admin_refused(rlx_rest_t *rest, rlx_http_exchange_t *exchange)
{
    rlx_text_t text;
    rlx_json_t json;

    if (rest->options.admin_remote || rlx_http_is_local(exchange))
        return false;
    rlx_rest_json_begin(&json, &text);
    rlx_json_string(&json, "error", "/v1/ answers clients of this machine only; the configuration can open it (server.admin_remote)");
    rlx_json_close(&json, '}');
    rlx_rest_reply_json(exchange, 403, &json);
    return true;
}

void rlx_rest_admin_status(rlx_rest_t *rest, rlx_http_exchange_t *exchange, const rlx_rest_path_t *path)
{
    if (!admin_refused(rest, exchange))
        rlx_rest_status(rest, exchange, path);
}

/* Milliseconds between two times, signed. */
static double ms_between(uint64_t from_ns, uint64_t until_ns) { return ((double)until_ns - (double)from_ns) / 1e6; }

static void request_write(rlx_rest_t *rest, rlx_json_t *json, uint32_t number, const rlx_request_view_t *view, uint64_t now)
{
    const rlx_served_t *served = rlx_node_served(rest->node, view->model);

    rlx_json_open(json, NULL, '{');
    rlx_json_unsigned(json, "request", number);
    rlx_json_string(json, "id", rlx_node_request_id(rest->node, number));
    rlx_json_string(json, "state", rlx_request_state_name(view->state));
    rlx_json_string(json, "model", served != NULL ? served->name : "");
    rlx_json_string(json, "version", served != NULL ? served->version : "");
    rlx_json_double(json, "for_ms", ms_between(view->since_ns, now)); /* in this state */
    if (view->submitted_ns != 0)
        rlx_json_double(json, "submitted_ms", ms_between(view->submitted_ns, now));
    if (view->deadline_ns != RLX_ACTOR_NEVER)
        rlx_json_double(json, "deadline_ms", ms_between(now, view->deadline_ns)); /* left; negative: passed */
    if (view->state == RLX_REQUEST_RUNNING || view->state == RLX_REQUEST_CANCELLING)
        rlx_json_unsigned(json, "run", view->run);
    rlx_json_double(json, "cost_ms", (double)view->cost_ns / 1e6);
    rlx_json_close(json, '}');
}

/* Requests in `state`; FREE: all. */
static void requests_write(rlx_rest_t *rest, rlx_json_t *json, const char *key, rlx_request_state_t state)
{
    uint64_t now = rlx_clock_ns();
    rlx_node_view_t node;

    rlx_node_look(rest->node, &node);
    rlx_json_open(json, key, '[');
    for (uint32_t i = 0; i < node.requests_max; i++) {
        rlx_request_view_t view;

        if (rlx_actor_request(rlx_node_actor(rest->node), i, &view) && (state == RLX_REQUEST_FREE || state == view.state))
            request_write(rest, json, i, &view, now);
    }
    rlx_json_close(json, ']');
}

void rlx_rest_admin_requests(rlx_rest_t *rest, rlx_http_exchange_t *exchange, const rlx_rest_path_t *path)
{
    rlx_text_t text;
    rlx_json_t json;

    (void)path;
    if (admin_refused(rest, exchange))
        return;
    rlx_rest_json_begin(&json, &text);
    rlx_json_unsigned(&json, "schema", 1);
    requests_write(rest, &json, "requests", RLX_REQUEST_FREE);
    rlx_json_close(&json, '}');
    rlx_rest_reply_json(exchange, 200, &json);
}

void rlx_rest_admin_stacks(rlx_rest_t *rest, rlx_http_exchange_t *exchange, const rlx_rest_path_t *path)
{
    rlx_text_t text;
    rlx_json_t json;

    (void)path;
    if (admin_refused(rest, exchange))
        return;
    rlx_rest_json_begin(&json, &text);
    rlx_json_unsigned(&json, "schema", 1);
    rlx_rest_workers_write(rest, &json);
    rlx_json_open(&json, "suspended", '{');
    for (int i = RLX_REQUEST_RECEIVING; i < RLX_REQUEST_STATE_COUNT; i++)
        if (i != RLX_REQUEST_RUNNING)
            requests_write(rest, &json, rlx_request_state_name((rlx_request_state_t)i), (rlx_request_state_t)i);
    rlx_json_close(&json, '}');
    requests_write(rest, &json, "running", RLX_REQUEST_RUNNING);
    rlx_json_close(&json, '}');
    rlx_rest_reply_json(exchange, 200, &json);
}

/* Answers at once; asked again, it tells how many requests are left. */
void rlx_rest_admin_drain(rlx_rest_t *rest, rlx_http_exchange_t *exchange, const rlx_rest_path_t *path)
{
    rlx_actor_view_t view;
    uint64_t left = 0;
    rlx_text_t text;
    rlx_json_t json;

    (void)path;
    if (admin_refused(rest, exchange))
        return;
    rest->options.drain(rest->options.drain_context);
    rlx_actor_look(rlx_node_actor(rest->node), &view);
    for (int i = RLX_REQUEST_RECEIVING; i < RLX_REQUEST_STATE_COUNT; i++)
        left += view.in_state[i];
    rlx_rest_json_begin(&json, &text);
    rlx_json_bool(&json, "draining", true);
    rlx_json_unsigned(&json, "requests", left);
    rlx_json_close(&json, '}');
    rlx_rest_reply_json(exchange, 200, &json);
}
