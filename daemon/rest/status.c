/* The status page for people, and the JSON that it and rlxctl show. */
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "daemon/node/node.h"
#include "daemon/rest/inside.h"
#include "daemon/status_page.h" /* daemon/rest/status.html as bytes */

static void times_write(rlx_json_t *json, const char *key, const rlx_metric_histogram_t *histogram)
{
    rlx_json_open(json, key, '{');
    rlx_json_unsigned(json, "count", histogram->count);
    if (histogram->count > 0) {
        rlx_json_double(json, "p50_ms", (double)rlx_metric_histogram_quantile(histogram, 0.5) / 1e6);
        rlx_json_double(json, "p99_ms", (double)rlx_metric_histogram_quantile(histogram, 0.99) / 1e6);
    }
    rlx_json_close(json, '}');
}

static void served_write(rlx_rest_t *rest, rlx_json_t *json, const rlx_served_t *served)
{
    const rlx_model_stats_t *stats = served->stats;

    rlx_json_unsigned(json, "requests", stats->success.count);
    rlx_json_unsigned(json, "rows", stats->inferences);
    rlx_json_unsigned(json, "runs", stats->executions);
    rlx_json_open(json, "failed", '{');
    for (int i = 0; i < RLX_FAIL_REASONS; i++)
        rlx_json_unsigned(json, rlx_fail_reason_name((rlx_fail_reason_t)i), stats->fail[i]);
    rlx_json_close(json, '}');
    times_write(json, "total", &stats->total_time);
    times_write(json, "queue", &stats->queue_time);
    times_write(json, "compute", &stats->compute_time);
    rlx_json_unsigned(json, "queue_depth", rlx_actor_waiting(rlx_node_actor(rest->node), served->number));
    rlx_json_unsigned(json, "memory_bytes", served->resident_bytes);
    rlx_json_unsigned(json, "last_ms", stats->last_ms);
}

static void models_write(rlx_rest_t *rest, rlx_json_t *json)
{
    rlx_model_entry_t entry;
    int cursor = 0;

    rlx_json_open(json, "models", '[');
    while (rlx_models_next(rlx_node_models(rest->node), &cursor, &entry)) {
        rlx_json_open(json, NULL, '{');
        rlx_json_string(json, "name", entry.name);
        rlx_json_string(json, "version", entry.version);
        rlx_json_string(json, "state", rlx_model_state_name(entry.state));
        rlx_json_string(json, "reason", entry.reason != NULL ? entry.reason : "");
        if (entry.served != NULL)
            served_write(rest, json, entry.served);
        rlx_json_close(json, '}');
    }
    rlx_json_close(json, ']');
}

void rlx_rest_workers_write(rlx_rest_t *rest, rlx_json_t *json)
{
    rlx_pool_t *pool = rlx_node_pool(rest->node);
    uint64_t now = rlx_clock_ns();

    rlx_json_open(json, "workers", '[');
    for (int i = 0; i < rlx_pool_workers(pool); i++) {
        rlx_pool_worker_view_t view;

        rlx_pool_look(pool, i, &view);
        rlx_json_open(json, NULL, '{');
        rlx_json_signed(json, "worker", i);
        rlx_json_string(json, "state", view.since_ns != 0 ? "running" : "idle");
        if (view.since_ns != 0) {
            rlx_json_string(json, "model", view.model != NULL ? view.model : "");
            rlx_json_string(json, "step", view.step != NULL ? view.step : "");
            rlx_json_double(json, "for_ms", now > view.since_ns ? (double)(now - view.since_ns) / 1e6 : 0);
        }
        rlx_json_close(json, '}');
    }
    rlx_json_close(json, ']');
}

static void requests_write(rlx_rest_t *rest, rlx_json_t *json)
{
    rlx_node_view_t node;
    rlx_actor_view_t view;

    rlx_node_look(rest->node, &node);
    rlx_actor_look(rlx_node_actor(rest->node), &view);
    rlx_json_open(json, "requests", '{');
    for (int i = RLX_REQUEST_RECEIVING; i < RLX_REQUEST_STATE_COUNT; i++)
        rlx_json_unsigned(json, rlx_request_state_name((rlx_request_state_t)i), view.in_state[i]);
    rlx_json_unsigned(json, "limit", node.requests_max);
    rlx_json_close(json, '}');
    rlx_json_open(json, "refused", '{');
    for (int i = RLX_REFUSAL_NONE + 1; i < RLX_REFUSAL_COUNT; i++)
        rlx_json_unsigned(json, rlx_refusal_name((rlx_refusal_t)i), view.refused[i]);
    rlx_json_unsigned(json, "malformed", node.malformed);
    rlx_json_close(json, '}');
}

static void memory_write(rlx_rest_t *rest, rlx_json_t *json)
{
    rlx_rest_process_t process;
    rlx_node_view_t node;

    rlx_node_look(rest->node, &node);
    rlx_rest_process_look(&process);
    rlx_json_open(json, "process", '{');
    rlx_json_signed(json, "pid", getpid());
    rlx_json_double(json, "cpu_s", process.cpu_s);
    rlx_json_unsigned(json, "resident_bytes", process.resident_bytes);
    rlx_json_unsigned(json, "fds", process.fds);
    rlx_json_unsigned(json, "fds_max", process.fds_max);
    rlx_json_close(json, '}');
    rlx_json_open(json, "request_memory", '{');
    rlx_json_unsigned(json, "bytes", node.held_bytes);
    rlx_json_unsigned(json, "limit", node.held_bytes_max);
    rlx_json_close(json, '}');
}

static void connections_write(rlx_rest_t *rest, rlx_json_t *json)
{
    const rlx_node_copies_t *copies = rlx_node_copies(rest->node);

    rlx_json_open(json, "connections", '{');
    rlx_json_unsigned(json, "grpc", rest->server != NULL ? rlx_rpc_server_connections(rest->server) : 0);
    rlx_json_unsigned(json, "http", rest->http != NULL ? rlx_http_connections(rest->http) : 0);
    rlx_json_unsigned(json, "grpc_calls", rest->server != NULL ? rlx_rpc_server_calls(rest->server) : 0);
    rlx_json_close(json, '}');
    rlx_json_open(json, "copies", '{');
#define RLX_COPY(id, help) rlx_json_unsigned(json, #id, copies->id);
    RLX_COPIES(RLX_COPY)
#undef RLX_COPY
    rlx_json_close(json, '}');
}

void rlx_rest_status_write(rlx_rest_t *rest, rlx_json_t *json)
{
    const char *reason = "";
    bool ready = rlx_node_ready(rest->node, &reason);

    rlx_json_unsigned(json, "schema", 1);
    rlx_json_string(json, "node", rlx_node_id(rest->node));
    rlx_json_string(json, "version", rest->options.version);
    rlx_json_string(json, "commit", rest->options.commit);
    rlx_json_signed(json, "started", rest->start_s);
    rlx_json_double(json, "uptime_s", (double)(rlx_clock_ns() - rest->start_ns) / 1e9);
    rlx_json_bool(json, "ready", ready);
    rlx_json_string(json, "reason", ready ? "" : reason);
    rlx_json_bool(json, "draining", rlx_node_draining(rest->node));
    models_write(rest, json);
    rlx_rest_workers_write(rest, json);
    requests_write(rest, json);
    connections_write(rest, json);
    memory_write(rest, json);
}

void rlx_rest_status(rlx_rest_t *rest, rlx_http_exchange_t *exchange, const rlx_rest_path_t *path)
{
    rlx_text_t text;
    rlx_json_t json;

    (void)path;
    rlx_rest_json_begin(&json, &text);
    rlx_rest_status_write(rest, &json);
    rlx_json_close(&json, '}');
    rlx_rest_reply_json(exchange, 200, &json);
}

void rlx_rest_page(rlx_rest_t *rest, rlx_http_exchange_t *exchange, const rlx_rest_path_t *path)
{
    static const rlx_http_field_t fields[] = {
        {"Content-Type", "text/html; charset=utf-8"},
        {"Cache-Control", "no-store"},
        {"Content-Security-Policy",
         "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; img-src data:"},
    };
    rlx_rpc_slice_t slice = {rlx_status_page, sizeof rlx_status_page};

    (void)rest;
    (void)path;
    rlx_http_reply(exchange, 200, fields, 3, &slice, 1, NULL, NULL);
}
