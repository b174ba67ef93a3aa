/* A region on the way in: symbols, plan, memory.
 *
 * Memory of a region is one arena: the plan's values, then each worker's scratch, then (region 0) the run's tables, then copies of ports.
 * Arenas of earlier regions stay until the run ends, since later regions may read their values. */
#include <inttypes.h>
#include <string.h>

#include "exec/run.h"
#include "exec/symbols.h"

#define ALIGN 64

static int64_t align_up(int64_t bytes) { return (bytes + ALIGN - 1) / ALIGN * ALIGN; }

static bool sum_aligned(int64_t *total, int64_t bytes)
{
    return rlx_size_add(*total, bytes, total) && rlx_size_add(*total, ALIGN - 1, total) && ((*total &= ~(int64_t)(ALIGN - 1)), true);
}

/* Behind the operands: flags of the outputs, dynamic values, memory for calls. */
static int64_t tables_bytes(const rlx_model_t *model)
{
    return align_up((int64_t)model->n_values * (int64_t)sizeof(rlx_operand_t)) +
           align_up((int64_t)model->n_dynamic * (int64_t)sizeof(rlx_dynamic_t)) + align_up((int64_t)model->call_bytes) +
           (int64_t)model->header->outputs.count;
}

static void tables_place(rlx_run_state_t *run, char *at)
{
    const rlx_model_t *model = run->model;

    run->operands = (rlx_operand_t *)at;
    at += align_up((int64_t)model->n_values * (int64_t)sizeof(rlx_operand_t));
    run->dynamics = (rlx_dynamic_t *)at;
    at += align_up((int64_t)model->n_dynamic * (int64_t)sizeof(rlx_dynamic_t));
    run->calls = at;
    at += align_up((int64_t)model->call_bytes);
    run->allocated = (bool *)at;
    memset(run->dynamics, 0, model->n_dynamic * sizeof *run->dynamics);
    memset(run->allocated, 0, model->header->outputs.count);
}

rlx_status_t rlx_region_memory(rlx_run_state_t *run, uint32_t region)
{
    const rlx_plan_t *plan = run->plans[region];
    int64_t total = 0, scratch_at, operands_at, staging_at, staging;

    RLX_TRY(rlx_bind_measure(run, region, &staging));
    if (!sum_aligned(&total, plan->arena_bytes))
        goto overflow;
    scratch_at = total;
    if (!sum_aligned(&total, plan->scratch_bytes * rlx_run_threads(run))) /* both factors are capped */
        goto overflow;
    operands_at = total;
    if (region == 0 && !sum_aligned(&total, tables_bytes(run->model)))
        goto overflow;
    staging_at = total;
    if (!sum_aligned(&total, staging))
        goto overflow;
    RLX_TRY(rlx_arena_get(&run->model->arenas, (size_t)total + ALIGN, /* never empty: operands of no bytes need a base too */
                          &run->arenas[region], run->diag));
    run->scratch = run->arenas[region].data + scratch_at;
    run->staging = run->arenas[region].data + staging_at;
    if (region == 0)
        tables_place(run, run->arenas[0].data + operands_at);
    return RLX_OK;
overflow:
    return rlx_fail(run->diag, RLX_E_PLAN_OVERFLOW, "the arena's size overflows 64 bits");
}

static rlx_status_t symbol_read(const rlx_run_state_t *run, uint32_t index, int64_t *out_value)
{
    const rlx_model_t *model = run->model;
    uint32_t id = model->symbols[index].value;
    rlx_io_t io = {.rows = run->operands[id].rows};

    if (model->symbols[index].source == RLX_SYMBOL_VALUE_AXIS) {
        int64_t extent = run->dynamics[model->dynamic[id]].dims[model->symbols[index].index];

        *out_value = extent >= 0 ? extent : 0;
        return rlx_symbol_bounds(model, index, *out_value, run->diag);
    }
    rlx_plan_dims(run->plans[model->values[id].region], id, &io.tensor);
    io.tensor.data = run->operands[id].base;
    return rlx_symbol_from_data(model, index, &io, out_value, run->diag);
}

/* The region's dynamic values are there, and as large as its plan says. */
static rlx_status_t dynamics_check(rlx_run_state_t *run, uint32_t region)
{
    const rlx_model_t *model = run->model;

    for (uint32_t id = 0; model->n_dynamic > 0 && id < model->n_values; id++) {
        rlx_dynamic_t *dynamic = &run->dynamics[model->dynamic[id]];
        rlx_tensor_t shape;

        if (model->values[id].kind != RLX_VALUE_DYNAMIC || model->values[id].region != region)
            continue;
        if (!dynamic->there)
            return rlx_fail(run->diag, RLX_E_BUNDLE_MALFORMED, "program: nobody made value '%s'", rlx_model_value_name(model, id));
        rlx_plan_dims(run->plans[region], id, &shape);
        for (int i = 0; i < shape.rank; i++)
            if (dynamic->dims[i] >= 0 && dynamic->dims[i] != shape.dims[i])
                return rlx_fail(run->diag, RLX_E_INPUT_SHAPE, "value '%s' axis %d has extent %" PRId64 ", the model needs %" PRId64,
                                rlx_model_value_name(model, id), i, dynamic->dims[i], shape.dims[i]);
        for (int i = 0; i < shape.rank; i++)
            if (dynamic->dims[i] < 0 && run->plans[region]->values[id].bytes > 0)
                return rlx_fail(run->diag, RLX_E_BUNDLE_MALFORMED, "program: value '%s' is empty and is not", rlx_model_value_name(model, id));
    }
    return RLX_OK;
}

/* All of them first, for symbols come from extents. */
static rlx_status_t dynamics_wait(const rlx_run_state_t *run, uint32_t region)
{
    const rlx_program_region_t *entry = &run->model->regions[region];

    for (uint32_t i = entry->first_symbol; i < entry->first_symbol + entry->n_symbols; i++) {
        uint32_t id = run->model->symbols[i].value;

        if (run->model->symbols[i].source == RLX_SYMBOL_VALUE_AXIS && !run->dynamics[run->model->dynamic[id]].there)
            return rlx_fail(run->diag, RLX_E_BUNDLE_MALFORMED, "program: nobody made value '%s'", rlx_model_value_name(run->model, id));
    }
    return RLX_OK;
}

rlx_status_t rlx_region_plan(rlx_run_state_t *run, uint32_t region)
{
    const rlx_model_t *model = run->model;
    const rlx_program_region_t *entry = &model->regions[region];
    rlx_symbols_t symbols;
    rlx_status_t status;

    RLX_TRY(dynamics_wait(run, region));
    RLX_TRY(rlx_symbols_alloc(model, &symbols, run->diag));
    memcpy(symbols.values, run->plans[region - 1]->slots, entry->first_symbol * sizeof *symbols.values);
    status = RLX_OK;
    for (uint32_t i = entry->first_symbol; i < entry->first_symbol + entry->n_symbols && status == RLX_OK; i++)
        status = symbol_read(run, i, &symbols.values[i]);
    if (status == RLX_OK)
        status = rlx_plan_cache_get(run->model, region, run->plans[region - 1], symbols.values, &run->plans[region], run->diag);
    rlx_symbols_free(&symbols);
    return status == RLX_OK ? dynamics_check(run, region) : status;
}
