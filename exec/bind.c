/* Binding: from a plan's offsets and the request's tensors to pointers.
 *
 * Inputs and outputs are used in place. A copy (staging) is made only where a kernel cannot take row pointers or a pointer is not aligned
 * to its element; copies are counted. An output value that stands twice in the model's list, or an output that is an input, a constant or
 * a temporary, is copied once after the last step. */
#include "exec/run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/block.h"
#include "exec/rows.h"

#define ALIGN 64

static int64_t align_up(int64_t bytes) { return (bytes + ALIGN - 1) / ALIGN * ALIGN; }

/* The plan that knows the value's extents. */
static const rlx_plan_t *value_plan(const rlx_run_state_t *run, uint32_t id) { return run->plans[run->model->values[id].region]; }

static int64_t value_rows(const rlx_run_state_t *run, uint32_t id)
{
    rlx_tensor_t shape;

    rlx_plan_dims(value_plan(run, id), id, &shape);
    return shape.rank > 0 ? shape.dims[0] : 1;
}

/* A place in a segment. An empty segment has no memory, yet its (empty) values are present: NULL would mean an absent operand. */
static void *place_in(void *segment, int64_t offset)
{
    static _Alignas(64) char nothing[64];

    return segment != NULL ? (char *)segment + offset : nothing;
}

static rlx_operand_t port_operand(const rlx_run_state_t *run, uint32_t id, const rlx_io_t *io)
{
    rlx_operand_t operand = {.base = io->tensor.data, .rows = io->rows, .row_bytes = value_plan(run, id)->values[id].row_bytes};

    if (io->rows != NULL)
        operand.base = NULL;
    if (io->rows != NULL && value_plan(run, id)->values[id].bytes == 0)
        operand = (rlx_operand_t){.base = place_in(NULL, 0)}; /* rows of nothing may be NULL */
    else if (io->rows != NULL && value_rows(run, id) == 1)
        operand = (rlx_operand_t){.base = io->rows[0], .row_bytes = operand.row_bytes};
    return operand;
}

/* Must the port's tensor be copied for the kernels? */
static bool port_needs_copy(const rlx_run_state_t *run, uint32_t id, const rlx_operand_t *operand)
{
    const rlx_program_value_t *value = &run->model->values[id];

    if (value_plan(run, id)->values[id].bytes == 0)
        return false;
    if (operand->rows != NULL && !run->model->rows_ok[id])
        return true;
    return !rlx_rows_aligned(operand, operand->rows != NULL ? value_rows(run, id) : 1, rlx_dtype_size((rlx_dtype_t)value->dtype));
}

static const rlx_io_t *port_io(const rlx_run_state_t *run, uint32_t id)
{
    uint32_t port = run->model->port[id];

    return run->model->values[id].kind == RLX_VALUE_INPUT ? &run->inputs[port] : &run->outputs[port];
}

static rlx_status_t output_check(const rlx_run_state_t *run, uint32_t id, const rlx_io_t *io)
{
    const char *name = rlx_model_value_name(run->model, id);
    rlx_tensor_t shape;

    rlx_plan_dims(value_plan(run, id), id, &shape);
    if (io->tensor.dtype != shape.dtype || io->tensor.rank != shape.rank)
        return rlx_fail(run->diag, RLX_E_INPUT_SHAPE, "output '%s' was given as %s with %d dimensions, the model gives %s with %d", name,
                        rlx_dtype_name(io->tensor.dtype), io->tensor.rank, rlx_dtype_name(shape.dtype), shape.rank);
    for (int i = 0; i < shape.rank; i++)
        if (io->tensor.dims[i] != shape.dims[i])
            return rlx_fail(run->diag, RLX_E_INPUT_SHAPE, "output '%s' axis %d was given extent %" PRId64 ", the model gives %" PRId64,
                            name, i, io->tensor.dims[i], shape.dims[i]);
    if (io->rows != NULL && shape.rank == 0)
        return rlx_fail(run->diag, RLX_E_INPUT_SHAPE, "output '%s' is a scalar and cannot go to rows", name);
    return RLX_OK;
}

static bool output_is_open(const rlx_io_t *io) { return io->tensor.data == NULL && io->rows == NULL; }

static rlx_status_t rows_check(const rlx_run_state_t *run, uint32_t id, const rlx_io_t *io)
{
    const rlx_operand_t operand = {.base = io->tensor.data, .rows = io->rows};

    if (value_plan(run, id)->values[id].bytes == 0 || rlx_rows_present(&operand, value_rows(run, id)))
        return RLX_OK;
    return rlx_fail(run->diag, RLX_E_INPUT_NAME, "'%s' has no memory, or a row without", rlx_model_value_name(run->model, id));
}

rlx_status_t rlx_bind_measure(rlx_run_state_t *run, uint32_t region, int64_t *out_staging_bytes)
{
    const rlx_program_header_t *header = run->model->header;
    int64_t total = 0;

    for (uint64_t i = 0; region == 0 && i < header->inputs.count; i++)
        RLX_TRY(rows_check(run, run->model->inputs[i], &run->inputs[i]));
    for (uint64_t i = 0; i < header->outputs.count; i++) {
        uint32_t id = run->model->outputs[i];

        if (run->model->values[id].region != region || output_is_open(&run->outputs[i]))
            continue;
        RLX_TRY(output_check(run, id, &run->outputs[i]));
        RLX_TRY(rows_check(run, id, &run->outputs[i]));
    }
    for (uint32_t id = 0; id < run->model->n_values; id++) {
        rlx_operand_t operand;

        if (run->model->values[id].region != region || run->model->port[id] == RLX_NO_INDEX || output_is_open(port_io(run, id)))
            continue;
        operand = port_operand(run, id, port_io(run, id));
        if (port_needs_copy(run, id, &operand))
            total += align_up(run->plans[region]->values[id].bytes);
    }
    *out_staging_bytes = total;
    return RLX_OK;
}

/* Memory for an output that the caller left open, and its shape: from the pool where the caller is a run itself, else malloc'd. */
static rlx_status_t output_alloc(rlx_run_state_t *run, uint32_t id, uint64_t index)
{
    int64_t bytes = run->plans[run->model->values[id].region]->values[id].bytes;
    rlx_io_t *io = &run->outputs[index];
    void *data;

    if ((uint64_t)bytes > run->model->arenas.bytes_max)
        return rlx_fail(run->diag, RLX_E_ARENA_LIMIT, "output '%s' needs %" PRId64 " bytes, the limit is %zu",
                        rlx_model_value_name(run->model, id), bytes, run->model->arenas.bytes_max);
    if (run->pool != NULL) {
        RLX_TRY(rlx_arena_get(run->pool, (size_t)align_up(bytes) + ALIGN, &run->out_memory[index], run->diag));
        data = run->out_memory[index].data;
    } else {
        data = rlx_block_alloc((size_t)align_up(bytes > 0 ? bytes : 1));
    }
    if (data == NULL)
        return rlx_fail(run->diag, RLX_E_NO_MEMORY, "no memory for output '%s' of %" PRId64 " bytes", rlx_model_value_name(run->model, id),
                        bytes);
    rlx_plan_dims(value_plan(run, id), id, &io->tensor);
    io->tensor.data = data;
    run->allocated[index] = true;
    return RLX_OK;
}

static void bind_port(rlx_run_state_t *run, uint32_t id)
{
    const rlx_plan_value_t *place = &run->plans[run->model->values[id].region]->values[id];
    rlx_operand_t operand = port_operand(run, id, port_io(run, id));

    run->operands[id] = operand;
    if (!port_needs_copy(run, id, &operand))
        return;
    run->operands[id] = (rlx_operand_t){.base = run->staging, .row_bytes = place->row_bytes};
    run->staging += align_up(place->bytes);
    run->copies++;
    if (run->model->values[id].kind == RLX_VALUE_INPUT)
        rlx_rows_copy(&run->operands[id], &operand, value_rows(run, id), place->row_bytes);
}

rlx_status_t rlx_bind_region(rlx_run_state_t *run, uint32_t region)
{
    const rlx_plan_value_t *places = run->plans[region]->values;
    const rlx_model_t *model = run->model;

    for (uint64_t i = 0; i < model->header->outputs.count; i++)
        if (model->values[model->outputs[i]].region == region && output_is_open(&run->outputs[i]))
            RLX_TRY(output_alloc(run, model->outputs[i], i));
    for (uint32_t id = 0; id < model->n_values; id++) {
        if (model->values[id].region != region)
            continue;
        switch (model->values[id].kind) {
        case RLX_VALUE_CONST:
            run->operands[id] = (rlx_operand_t){.base = place_in((void *)(uintptr_t)model->constants, places[id].offset),
                                                .row_bytes = places[id].row_bytes};
            break;
        case RLX_VALUE_ARENA:
            run->operands[id] = (rlx_operand_t){.base = place_in(run->arenas[region].data, places[id].offset),
                                                .row_bytes = places[id].row_bytes};
            break;
        case RLX_VALUE_ABSENT: run->operands[id] = (rlx_operand_t){0}; break;
        case RLX_VALUE_DYNAMIC:
            run->operands[id] = (rlx_operand_t){.base = place_in(run->dynamics[model->dynamic[id]].memory.data, 0),
                                                .row_bytes = places[id].row_bytes};
            break;
        default: bind_port(run, id); break;
        }
    }
    return RLX_OK;
}

void rlx_bind_finish(rlx_run_state_t *run)
{
    for (uint64_t i = 0; i < run->model->header->outputs.count; i++) {
        uint32_t id = run->model->outputs[i];
        rlx_operand_t to = port_operand(run, id, &run->outputs[i]);
        const rlx_operand_t *from = &run->operands[id];
        int64_t rows = value_rows(run, id), row_bytes = value_plan(run, id)->values[id].row_bytes;

        if (to.base != from->base || to.rows != from->rows)
            rlx_rows_copy(&to, from, rows, row_bytes);
    }
}

void rlx_bind_undo(rlx_run_state_t *run)
{
    for (uint64_t i = 0; run->allocated != NULL && i < run->model->header->outputs.count; i++) {
        if (!run->allocated[i])
            continue;
        if (run->pool != NULL) {
            rlx_arena_put(run->pool, run->out_memory[i]);
            run->out_memory[i] = (rlx_arena_t){NULL, 0};
        } else {
            free(run->outputs[i].tensor.data);
        }
        run->outputs[i].tensor.data = NULL;
        run->allocated[i] = false;
    }
}
