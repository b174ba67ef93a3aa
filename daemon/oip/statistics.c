/* ModelStatistics: what each model counted since it was loaded. */
#include <string.h>

#include "daemon/oip/handlers.h"
#include "proto/oip.pb-c.h"
#include "proto/wire.h"

static void duration_encode(rlx_text_t *out, uint32_t field, uint64_t count, uint64_t ns)
{
    size_t at = rlx_wire_open(out, field);

    rlx_wire_uint(out, 1, count);
    rlx_wire_uint(out, 2, ns);
    rlx_wire_close(out, at);
}

static void durations_encode(rlx_text_t *out, const rlx_model_stats_t *stats)
{
    size_t at = rlx_wire_open(out, 6);
    uint64_t failed = 0;

    for (int i = 0; i < RLX_FAIL_REASONS; i++)
        failed += stats->fail[i];
    duration_encode(out, 1, stats->success.count, stats->success.ns);
    duration_encode(out, 2, failed, stats->fail_all.ns);
    duration_encode(out, 3, stats->queue.count, stats->queue.ns);
    duration_encode(out, 4, stats->input.count, stats->input.ns);
    duration_encode(out, 5, stats->infer.count, stats->infer.ns);
    duration_encode(out, 6, stats->output.count, stats->output.ns);
    rlx_wire_close(out, at);
}

static void batches_encode(rlx_text_t *out, const rlx_model_stats_t *stats)
{
    for (uint64_t rows = 1; rows <= RLX_BATCH_ROWS_MAX; rows++) {
        size_t at;

        if (stats->batch[rows].count == 0)
            continue;
        at = rlx_wire_open(out, 7);
        rlx_wire_uint(out, 1, rows);
        duration_encode(out, 3, stats->batch[rows].count, stats->batch[rows].ns);
        rlx_wire_close(out, at);
    }
}

static void model_encode(rlx_text_t *out, const rlx_served_t *served)
{
    size_t at = rlx_wire_open(out, 1), memory;

    rlx_wire_string(out, 1, served->name);
    rlx_wire_string(out, 2, served->version);
    rlx_wire_uint(out, 3, served->stats->last_ms);
    rlx_wire_uint(out, 4, served->stats->inferences);
    rlx_wire_uint(out, 5, served->stats->executions);
    durations_encode(out, served->stats);
    batches_encode(out, served->stats);
    memory = rlx_wire_open(out, 8);
    rlx_wire_string(out, 1, "CPU");
    rlx_wire_uint(out, 3, served->resident_bytes);
    rlx_wire_close(out, memory);
    rlx_wire_close(out, at);
}

static bool asked_for(const char *wanted, const char *have) { return wanted[0] == '\0' || strcmp(wanted, have) == 0; }

void rlx_oip_model_statistics(rlx_oip_unary_t *unary, const ProtobufCMessage *message)
{
    const Inference__ModelStatisticsRequest *request = (const void *)message;
    rlx_models_t *models = rlx_node_models(unary->node);
    rlx_model_entry_t entry;
    rlx_served_t *served;
    rlx_diag_t diag = {0};
    int cursor = 0;

    if (request->name[0] != '\0' && rlx_models_find(models, request->name, request->version, &served, &diag) != RLX_OK) {
        rlx_oip_unary_fail(unary, &diag);
        return;
    }
    while (rlx_models_next(models, &cursor, &entry))
        if (entry.served != NULL && asked_for(request->name, entry.name) && asked_for(request->version, entry.version))
            model_encode(&unary->out, entry.served);
    rlx_oip_unary_reply(unary);
}
