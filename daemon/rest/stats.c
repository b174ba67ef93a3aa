/* Statistics of models, in the protocol's form. */
#include "daemon/rest/inside.h"

static void duration_write(rlx_json_t *json, const char *key, const rlx_duration_t *duration)
{
    rlx_json_open(json, key, '{');
    rlx_json_unsigned(json, "count", duration->count);
    rlx_json_unsigned(json, "ns", duration->ns);
    rlx_json_close(json, '}');
}

static void batches_write(rlx_json_t *json, const rlx_model_stats_t *stats)
{
    static const rlx_duration_t none;

    rlx_json_open(json, "batch_stats", '[');
    for (uint64_t rows = 1; rows <= RLX_BATCH_ROWS_MAX; rows++) {
        if (stats->batch[rows].count == 0)
            continue;
        rlx_json_open(json, NULL, '{');
        rlx_json_unsigned(json, "batch_size", rows);
        duration_write(json, "compute_input", &none);
        duration_write(json, "compute_infer", &stats->batch[rows]);
        duration_write(json, "compute_output", &none);
        rlx_json_close(json, '}');
    }
    rlx_json_close(json, ']');
}

static void model_write(rlx_json_t *json, const rlx_served_t *served)
{
    const rlx_model_stats_t *stats = served->stats;
    static const rlx_duration_t none;
    rlx_duration_t fail = {.ns = stats->fail_all.ns};

    for (int i = 0; i < RLX_FAIL_REASONS; i++)
        fail.count += stats->fail[i];
    rlx_json_open(json, NULL, '{');
    rlx_json_string(json, "name", served->name);
    rlx_json_string(json, "version", served->version);
    rlx_json_unsigned(json, "last_inference", stats->last_ms);
    rlx_json_unsigned(json, "inference_count", stats->inferences);
    rlx_json_unsigned(json, "execution_count", stats->executions);
    rlx_json_open(json, "inference_stats", '{');
    duration_write(json, "success", &stats->success);
    duration_write(json, "fail", &fail);
    duration_write(json, "queue", &stats->queue);
    duration_write(json, "compute_input", &stats->input);
    duration_write(json, "compute_infer", &stats->infer);
    duration_write(json, "compute_output", &stats->output);
    duration_write(json, "cache_hit", &none);
    duration_write(json, "cache_miss", &none);
    rlx_json_close(json, '}');
    batches_write(json, stats);
    rlx_json_open(json, "memory_usage", '[');
    rlx_json_open(json, NULL, '{');
    rlx_json_string(json, "type", "CPU");
    rlx_json_unsigned(json, "id", 0);
    rlx_json_unsigned(json, "byte_size", served->resident_bytes);
    rlx_json_close(json, '}');
    rlx_json_close(json, ']');
    rlx_json_open(json, "response_stats", '{');
    rlx_json_close(json, '}');
    rlx_json_close(json, '}');
}

void rlx_rest_model_stats(rlx_rest_t *rest, rlx_http_exchange_t *exchange, const rlx_rest_path_t *path)
{
    rlx_served_t *served;
    rlx_diag_t diag = {0};
    rlx_text_t text;
    rlx_json_t json;

    if (rlx_models_find(rlx_node_models(rest->node), path->name, path->version, &served, &diag) != RLX_OK) {
        rlx_rest_reply_error(exchange, &diag);
        return;
    }
    rlx_rest_json_begin(&json, &text);
    rlx_json_open(&json, "model_stats", '[');
    model_write(&json, served);
    rlx_json_close(&json, ']');
    rlx_json_close(&json, '}');
    rlx_rest_reply_json(exchange, 200, &json);
}

void rlx_rest_all_stats(rlx_rest_t *rest, rlx_http_exchange_t *exchange, const rlx_rest_path_t *path)
{
    rlx_model_entry_t entry;
    int cursor = 0;
    rlx_text_t text;
    rlx_json_t json;

    (void)path;
    rlx_rest_json_begin(&json, &text);
    rlx_json_open(&json, "model_stats", '[');
    while (rlx_models_next(rlx_node_models(rest->node), &cursor, &entry))
        if (entry.served != NULL)
            model_write(&json, entry.served);
    rlx_json_close(&json, ']');
    rlx_json_close(&json, '}');
    rlx_rest_reply_json(exchange, 200, &json);
}
