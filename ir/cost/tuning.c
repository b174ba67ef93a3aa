/* Keys, candidates and the pass that attaches what tuning decided. See ir/cost/tuning.h. */
#include "ir/cost/tuning.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "ir/dump/dump.h"
#include "kernels/params_matmul.h"

#define FIELD(name, max) {#name, offsetof(rlx_cut_t, name), max}
const rlx_cut_field_t rlx_cut_fields[RLX_CUT_FIELDS] = {FIELD(cache_kib, 4096), FIELD(pieces, 1024),       FIELD(range, 4096),
                                                        FIELD(gather, 2),       FIELD(rows, RLX_GEMM_ROWS), FIELD(columns, 4096)};

const rlx_cut_t *rlx_cut_candidates(rlx_op_kind_t kind, int *out_count)
{
    static const rlx_cut_t conv[] = {{0},
                                     {.pieces = 4},
                                     {.pieces = 8},
                                     {.pieces = 32},
                                     {.cache_kib = 192},
                                     {.cache_kib = 320},
                                     {.cache_kib = 960},
                                     {.range = 1},
                                     {.range = 4},
                                     {.range = 8},
                                     {.gather = 1},
                                     {.gather = 2}};
    static const rlx_cut_t product[] = {{0}, {.rows = 160}, {.rows = 128}, {.rows = 96}, {.rows = 64}, {.rows = 40}, {.columns = 1},
                                        {.columns = 4}, {.columns = 8}, {.rows = 96, .columns = 4}, {.rows = 64, .columns = 8}};
    static const rlx_cut_t other[] = {{0}};

    switch (kind) {
    case RLX_OP_conv:
    case RLX_OP_conv_transpose: *out_count = sizeof conv / sizeof *conv; return conv;
    case RLX_OP_matmul:
    case RLX_OP_einsum: *out_count = sizeof product / sizeof *product; return product;
    default: *out_count = 1; return other;
    }
}

static void key_types(const rlx_dump_t *dump, int n, rlx_value_t *const *values)
{
    for (int i = 0; i < n; i++) {
        fputs(i > 0 ? ", " : "", dump->out);
        if (values[i] != NULL)
            rlx_dump_type(dump, values[i]);
        else
            fputc('_', dump->out);
    }
}

static void key_schedule(const rlx_dump_t *dump, const rlx_schedule_t *sched)
{
    for (int i = 0; sched != NULL && sched->chain != NULL && i < sched->chain->n_steps; i++)
        fprintf(dump->out, " %s", rlx_op_info(sched->chain->steps[i].op->kind)->name);
    for (int i = 0; sched != NULL && sched->epilogue != NULL && i < sched->epilogue->n_steps; i++)
        fprintf(dump->out, " %s", rlx_op_info(sched->epilogue->steps[i].op->kind)->name);
}

/* "conv(f32[1,64,56,56]{c16}, f32[64,64,3,3]) {pads=[1,1,1,1]} -> f32[1,64,56,56]{c16} clip". Owned by the caller. */
static char *key_make(rlx_dump_t *dump, const rlx_op_t *op)
{
    char *text = NULL;
    size_t bytes;

    dump->out = open_memstream(&text, &bytes);
    RLX_ASSERT(dump->out != NULL);
    fprintf(dump->out, "%s(", rlx_op_info(op->kind)->name);
    key_types(dump, op->n_in, op->in);
    fputc(')', dump->out);
    rlx_dump_attrs(dump, op);
    fputs(" -> ", dump->out);
    key_types(dump, op->n_out, op->out);
    key_schedule(dump, op->sched);
    fclose(dump->out);
    RLX_ASSERT(text != NULL);
    return text;
}

static int entry_compare(const void *key, const void *entry) { return strcmp(key, ((const rlx_tuning_entry_t *)entry)->key); }

void rlx_pass_tune(rlx_graph_t *graph, const rlx_tuning_t *tuning)
{
    rlx_dump_t dump;

    rlx_dump_init(&dump, graph, NULL);
    for (rlx_op_t *op = graph->first; op != NULL; op = op->next) {
        rlx_schedule_t *sched = rlx_op_schedule(graph, op);
        char *key = key_make(&dump, op);
        const rlx_tuning_entry_t *entry = tuning->n_entries == 0 ? NULL :
            bsearch(key, tuning->entries, (size_t)tuning->n_entries, sizeof *entry, entry_compare);

        sched->key = rlx_graph_strdup(graph, key);
        free(key);
        if (entry == NULL)
            continue;
        sched->cut = entry->cut;
        memcpy(sched->scale, entry->scale, sizeof sched->scale);
    }
    rlx_dump_fini(&dump);
}
