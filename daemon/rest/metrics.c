/* GET /metrics: everything that is counted, as text. Nothing is done for metrics before somebody asks. */
#include <inttypes.h>

#include "base/clock.h"
#include "base/metric.h"
#include "daemon/node/node.h"
#include "daemon/rest/inside.h"

enum {
#define RLX_METRIC(id, kind, name, help) M_##id,
#include "daemon/rest/metric_list.h"
#undef RLX_METRIC
};

static const rlx_metric_t metrics[] = {
#define RLX_METRIC(id, kind, name, help) {name, RLX_METRIC_##kind, help},
#include "daemon/rest/metric_list.h"
#undef RLX_METRIC
};

/* Lists of counters: one family each. */
typedef struct rlx_counter_row {
    rlx_metric_t metric;
    size_t offset;
} rlx_counter_row_t;
static const rlx_counter_row_t rpc_rows[] = {
#define RLX_RPC_ROW(id, help) {{"rlx_rpc_" #id "_total", RLX_METRIC_COUNTER, help}, offsetof(rlx_rpc_counters_t, id)},
    RLX_RPC_COUNTERS(RLX_RPC_ROW)
};
static const rlx_counter_row_t http_rows[] = {
#define RLX_HTTP_ROW(id, help) {{"rlx_http_" #id "_total", RLX_METRIC_COUNTER, help}, offsetof(rlx_http_counters_t, id)},
    RLX_HTTP_COUNTERS(RLX_HTTP_ROW)
};
static const rlx_counter_row_t handover_rows[] = {
#define RLX_HANDOVER_ROW(id, help) {{"rlx_handover_" #id "_total", RLX_METRIC_COUNTER, help}, offsetof(rlx_handover_counters_t, id)},
    RLX_HANDOVER_COUNTERS(RLX_HANDOVER_ROW)
};
static const rlx_counter_row_t copy_rows[] = {
#define RLX_COPY_ROW(id, help) {{"rlx_copy_" #id "_total", RLX_METRIC_COUNTER, help}, offsetof(rlx_node_copies_t, id)},
    RLX_COPIES(RLX_COPY_ROW)
};

static void rows_write(rlx_text_t *text, const rlx_counter_row_t *rows, size_t n_rows, const void *counters)
{
    for (size_t i = 0; i < n_rows; i++) {
        rlx_metric_family(text, &rows[i].metric);
        rlx_metric_count(text, &rows[i].metric, NULL, 0, *(const uint64_t *)((const char *)counters + rows[i].offset));
    }
}

static void one(rlx_text_t *text, int id, uint64_t value)
{
    rlx_metric_family(text, &metrics[id]);
    rlx_metric_count(text, &metrics[id], NULL, 0, value);
}

static void real(rlx_text_t *text, int id, double value)
{
    rlx_metric_family(text, &metrics[id]);
    rlx_metric_number(text, &metrics[id], NULL, 0, value);
}

static void labelled(rlx_text_t *text, int id, const char *label, const char *value, uint64_t count)
{
    rlx_metric_label_t labels = {label, value};

    rlx_metric_count(text, &metrics[id], &labels, 1, count);
}

static void process_write(rlx_rest_t *rest, rlx_text_t *text)
{
    rlx_metric_label_t labels[] = {{"version", rest->options.version}, {"commit", rest->options.commit}};
    rlx_rest_process_t process;

    rlx_rest_process_look(&process);
    rlx_metric_family(text, &metrics[M_BUILD]);
    rlx_metric_count(text, &metrics[M_BUILD], labels, 2, 1);
    one(text, M_START, (uint64_t)rest->start_s);
    real(text, M_CPU, process.cpu_s);
    one(text, M_RESIDENT, process.resident_bytes);
    one(text, M_VIRTUAL, process.virtual_bytes);
    one(text, M_FDS, process.fds);
    one(text, M_FDS_MAX, process.fds_max);
}

static void requests_write(rlx_rest_t *rest, rlx_text_t *text)
{
    rlx_node_view_t node;
    rlx_actor_view_t view;

    rlx_node_look(rest->node, &node);
    rlx_actor_look(rlx_node_actor(rest->node), &view);
    rlx_metric_family(text, &metrics[M_IN_STATE]);
    for (int i = RLX_REQUEST_RECEIVING; i < RLX_REQUEST_STATE_COUNT; i++)
        labelled(text, M_IN_STATE, "state", rlx_request_state_name((rlx_request_state_t)i), view.in_state[i]);
    one(text, M_OPENED, view.opened);
    one(text, M_SUBMITTED, view.submitted);
    one(text, M_REPLIED, view.replied);
    rlx_metric_family(text, &metrics[M_REFUSED]);
    for (int i = RLX_REFUSAL_NONE + 1; i < RLX_REFUSAL_COUNT; i++)
        labelled(text, M_REFUSED, "reason", rlx_refusal_name((rlx_refusal_t)i), view.refused[i]);
    one(text, M_MALFORMED, node.malformed);
    one(text, M_HELD, node.held_bytes);
    one(text, M_HELD_MAX, node.held_bytes_max);
    one(text, M_RUNS, view.completed_runs);
    one(text, M_BATCHED, view.batched_requests);
}

static void node_write(rlx_rest_t *rest, rlx_text_t *text)
{
    rlx_pool_t *pool = rlx_node_pool(rest->node);
    rlx_pool_worker_view_t worker;
    rlx_region_view_t region;
    uint64_t busy = 0, system = 0, sealed = 0;
    const char *reason;
    int cursor = 0;

    for (int i = 0; i < rlx_pool_workers(pool); i++) {
        rlx_pool_look(pool, i, &worker);
        busy += worker.since_ns != 0;
    }
    while (rlx_regions_next(rlx_node_regions(rest->node), &cursor, &region)) {
        system += region.key[0] != '\0';
        sealed += region.key[0] == '\0';
    }
    one(text, M_READY, rlx_node_ready(rest->node, &reason));
    one(text, M_DRAINING, rlx_node_draining(rest->node));
    one(text, M_WORKERS, (uint64_t)rlx_pool_workers(pool));
    one(text, M_WORKERS_BUSY, busy);
    rlx_metric_family(text, &metrics[M_REGIONS]);
    labelled(text, M_REGIONS, "kind", "system", system);
    labelled(text, M_REGIONS, "kind", "sealed", sealed);
    one(text, M_JSON_READ, rest->json_read);
    one(text, M_JSON_WRITTEN, rest->json_written);
    rows_write(text, copy_rows, sizeof copy_rows / sizeof *copy_rows, rlx_node_copies(rest->node));
}

/* Four bounds for each power of two from 4 us to 4 s: a quantile that is interpolated between them is good to a few percent. */
static void server_time_write(rlx_text_t *text, const rlx_histogram_t *histogram)
{
    const char *name = metrics[M_SERVER_TIME].name;
    uint64_t below = 0;
    int at = 0;

    rlx_metric_family(text, &metrics[M_SERVER_TIME]);
    for (uint64_t octave = UINT64_C(1) << 12; octave < UINT64_C(1) << 32; octave *= 2)
        for (uint64_t bound = octave; bound < 2 * octave; bound += octave / 4) {
            while (at < rlx_histogram_bucket(bound))
                below += histogram->bucket[at++];
            rlx_text_printf(text, "%s_bucket{le=\"%.6g\"} %" PRIu64 "\n", name, (double)bound / 1e9, below);
        }
    rlx_text_printf(text, "%s_bucket{le=\"+Inf\"} %" PRIu64 "\n%s_sum %.9f\n%s_count %" PRIu64 "\n", name, histogram->count, name,
                    (double)histogram->sum_ns / 1e9, name, histogram->count);
}

static void connections_write(rlx_rest_t *rest, rlx_text_t *text)
{
    rlx_metric_family(text, &metrics[M_CONNECTIONS]);
    if (rest->server != NULL)
        labelled(text, M_CONNECTIONS, "protocol", "grpc", rlx_rpc_server_connections(rest->server));
    if (rest->http != NULL)
        labelled(text, M_CONNECTIONS, "protocol", "http", rlx_http_connections(rest->http));
    if (rest->http != NULL)
        rows_write(text, http_rows, sizeof http_rows / sizeof *http_rows, rlx_http_counters(rest->http));
    if (rest->handover != NULL)
        rows_write(text, handover_rows, sizeof handover_rows / sizeof *handover_rows, rlx_handover_counters(rest->handover));
    if (rest->server == NULL)
        return;
    one(text, M_CALLS, rlx_rpc_server_calls(rest->server));
    rows_write(text, rpc_rows, sizeof rpc_rows / sizeof *rpc_rows, rlx_rpc_server_counters(rest->server));
    server_time_write(text, rlx_rpc_server_time(rest->server));
}

/* Samples of one family for one version. */
static void model_family_write(rlx_rest_t *rest, rlx_text_t *text, int id, const rlx_model_entry_t *entry)
{
    rlx_metric_label_t labels[3] = {{"model", entry->name}, {"version", entry->version}, {"result", "success"}};
    const rlx_served_t *served = entry->served;

    if (id == M_MODEL_READY)
        rlx_metric_count(text, &metrics[id], labels, 2, entry->state == RLX_MODEL_READY);
    if (served == NULL)
        return;
    switch (id) {
    case M_MODEL_REQUESTS:
        rlx_metric_count(text, &metrics[id], labels, 3, served->stats->success.count);
        for (int i = 0; i < RLX_FAIL_REASONS; i++) {
            labels[2].value = rlx_fail_reason_name((rlx_fail_reason_t)i);
            rlx_metric_count(text, &metrics[id], labels, 3, served->stats->fail[i]);
        }
        break;
    case M_MODEL_ROWS: rlx_metric_count(text, &metrics[id], labels, 2, served->stats->inferences); break;
    case M_MODEL_RUNS: rlx_metric_count(text, &metrics[id], labels, 2, served->stats->executions); break;
    case M_MODEL_QUEUE:
        rlx_metric_count(text, &metrics[id], labels, 2, rlx_actor_waiting(rlx_node_actor(rest->node), served->number));
        break;
    case M_MODEL_RESIDENT: rlx_metric_count(text, &metrics[id], labels, 2, served->resident_bytes); break;
    case M_MODEL_TOTAL_TIME: rlx_metric_histogram(text, &metrics[id], labels, 2, &served->stats->total_time); break;
    case M_MODEL_QUEUE_TIME: rlx_metric_histogram(text, &metrics[id], labels, 2, &served->stats->queue_time); break;
    case M_MODEL_COMPUTE_TIME: rlx_metric_histogram(text, &metrics[id], labels, 2, &served->stats->compute_time); break;
    default: break;
    }
}

static void models_write(rlx_rest_t *rest, rlx_text_t *text)
{
    for (int id = M_MODEL_READY; id <= M_MODEL_COMPUTE_TIME; id++) {
        rlx_model_entry_t entry;
        int cursor = 0;

        rlx_metric_family(text, &metrics[id]);
        while (rlx_models_next(rlx_node_models(rest->node), &cursor, &entry))
            model_family_write(rest, text, id, &entry);
    }
}

void rlx_rest_metrics(rlx_rest_t *rest, rlx_http_exchange_t *exchange, const rlx_rest_path_t *path)
{
    rlx_text_t text;

    (void)path;
    rlx_text_init(&text, RLX_REST_TEXT_MAX);
    process_write(rest, &text);
    node_write(rest, &text);
    requests_write(rest, &text);
    models_write(rest, &text);
    connections_write(rest, &text);
    rlx_rest_reply_text(exchange, 200, "text/plain; version=0.0.4; charset=utf-8", &text);
}
