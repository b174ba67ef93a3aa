/* Loop: one body again and again. A carried value has two buffers, one that goes in and one that comes out; an appended output is written
 * where it belongs: into the step's result where the number of iterations was known, else into memory that doubles. The plan stays while
 * extents stay. Once sizes were seen nothing is allocated: buffers and arenas come from the pool and go back.
 *
 * Bounded by the trip count, the condition, the cancel word, the model's iterations_max, and the limit of one arena for what grows. */
#include <inttypes.h>
#include <string.h>

#include "exec/call.h"
#include "exec/symbols.h"

#define SLACK 64 /* never empty: a tensor of no bytes needs an address too */

typedef struct loop {
    rlx_run_state_t *run;
    const rlx_program_step_t *step;
    const uint32_t *results; /* value ids: carried, appended */
    rlx_model_t *body;
    rlx_plan_t *plan;
    rlx_call_ports_t ports;
    uint32_t n_carried;
    int64_t iteration;       /* the body's first input */
    uint8_t condition, next; /* its second, and its first output */
} loop_t;

static rlx_arena_pool_t *loop_pool(const loop_t *loop) { return &loop->run->model->arenas; }

static rlx_status_t loop_fail(const loop_t *loop, rlx_error_code_t code, const char *what)
{
    return rlx_fail(loop->run->diag, code, "step '%s', iteration %" PRId64 ": %s", loop->run->model->strings + loop->step->name,
                    loop->iteration, what);
}

/* At least `bytes` in `arena`, whose first `keep` bytes stay. */
static rlx_status_t arena_grow(const loop_t *loop, rlx_arena_t *arena, int64_t bytes, int64_t keep)
{
    size_t need = (size_t)bytes + SLACK;
    rlx_arena_t larger;

    if (arena->data != NULL && arena->bytes >= need)
        return RLX_OK;
    if (keep > 0 && need < 2 * arena->bytes && 2 * arena->bytes <= loop_pool(loop)->bytes_max)
        need = 2 * arena->bytes;
    RLX_TRY(rlx_arena_get(loop_pool(loop), need, &larger, loop->run->diag));
    if (keep > 0)
        memcpy(larger.data, arena->data, (size_t)keep);
    rlx_arena_put(loop_pool(loop), *arena);
    *arena = larger;
    return RLX_OK;
}

static bool shape_equal(const rlx_tensor_t *a, const rlx_tensor_t *b)
{
    return a->rank == b->rank && memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0;
}

static int64_t tensor_bytes(const rlx_tensor_t *tensor)
{
    int64_t count = 0;

    (void)rlx_dims_count(tensor->dims, tensor->rank, &count); /* a plan's extents: they fit */
    return count * (int64_t)rlx_dtype_size(tensor->dtype);
}

static uint32_t result_kind(const loop_t *loop, uint32_t output) { return loop->run->model->values[loop->results[output - 1]].kind; }

/* The first element: one of the body's scalar ports, of rank 0 or with extents of 1. */
static rlx_io_t scalar_io(const loop_t *loop, uint32_t id, void *data)
{
    rlx_io_t io = {.tensor = {.dtype = (rlx_dtype_t)loop->body->values[id].dtype, .rank = (int)loop->body->values[id].rank, .data = data}};

    for (int i = 0; i < io.tensor.rank; i++)
        io.tensor.dims[i] = 1;
    return io;
}

/* Where appended output `output`, of `shape`, of this iteration goes. */
static rlx_status_t row_place(loop_t *loop, uint32_t output, const rlx_tensor_t *shape, void **out_data)
{
    rlx_call_output_t *state = &loop->ports.state[output];
    int64_t at, end;

    if (loop->iteration == 0) {
        state->shape = *shape;
        state->row_bytes = tensor_bytes(shape);
    }
    if (!shape_equal(shape, &state->shape))
        return loop_fail(loop, RLX_E_INPUT_SHAPE, "an output that is appended has other extents than in the iterations before");
    if (!rlx_size_mul(loop->iteration, state->row_bytes, &at) || !rlx_size_add(at, state->row_bytes, &end))
        return loop_fail(loop, RLX_E_PLAN_OVERFLOW, "what is appended is larger than 64 bits can count");
    if (result_kind(loop, output) == RLX_VALUE_DYNAMIC) {
        RLX_TRY(arena_grow(loop, &state->held, end, at));
        *out_data = state->held.data + at;
    } else {
        rlx_io_t result = rlx_call_operand(loop->run, loop->results[output - 1]);

        if (end > tensor_bytes(&result.tensor) || result.tensor.rank != shape->rank + 1 ||
            memcmp(result.tensor.dims + 1, shape->dims, (size_t)shape->rank * sizeof *shape->dims) != 0)
            return loop_fail(loop, RLX_E_INPUT_SHAPE, "an output that is appended does not fit its result");
        *out_data = (char *)result.tensor.data + at;
    }
    return RLX_OK;
}

static bool is_row(const loop_t *loop, uint32_t output)
{
    return output > loop->n_carried && result_kind(loop, output) != RLX_VALUE_ABSENT;
}

/* Memory for output `output` where the plan knows its extents; else it stays open. */
static rlx_status_t output_place(loop_t *loop, uint32_t output)
{
    rlx_io_t *io = &loop->ports.out[output];
    void *data;

    *io = (rlx_io_t){0};
    if (!rlx_plan_output(loop->plan, (int)output, &io->tensor))
        return RLX_OK;
    if (is_row(loop, output)) {
        RLX_TRY(row_place(loop, output, &io->tensor, &data));
    } else {
        rlx_arena_t *spare = &loop->ports.state[output].spare;

        RLX_TRY(arena_grow(loop, spare, tensor_bytes(&io->tensor), 0));
        data = spare->data;
    }
    io->tensor.data = data;
    return RLX_OK;
}

/* What came out goes in next, or stands where it was appended. */
static rlx_status_t output_take(loop_t *loop, uint32_t output)
{
    rlx_call_output_t *state = &loop->ports.state[output];
    rlx_arena_t *memory = &loop->ports.memory[output];
    const rlx_tensor_t *tensor = &loop->ports.out[output].tensor;
    rlx_arena_t before = state->held;
    void *row;

    if (is_row(loop, output)) {
        if (memory->data == NULL)
            return RLX_OK;
        RLX_TRY(row_place(loop, output, tensor, &row));
        memcpy(row, memory->data, (size_t)state->row_bytes);
    } else if (output <= loop->n_carried) {
        if (memory->data != NULL) {
            rlx_arena_put(loop_pool(loop), state->spare);
            state->spare = *memory;
            *memory = (rlx_arena_t){NULL, 0};
        }
        state->held = state->spare;
        state->spare = before;
        loop->ports.in[1 + output] = loop->ports.out[output];
    }
    rlx_arena_put(loop_pool(loop), *memory);
    *memory = (rlx_arena_t){NULL, 0};
    return RLX_OK;
}

static rlx_status_t iteration_run(loop_t *loop)
{
    rlx_call_ports_t *ports = &loop->ports;

    RLX_TRY(rlx_symbols_plan(loop->body, ports->in, &loop->plan, loop->run->diag));
    ports->out[0] = scalar_io(loop, loop->body->outputs[0], &loop->next);
    for (uint32_t i = 1; i < ports->n_out; i++)
        RLX_TRY(output_place(loop, i));
    RLX_TRY(rlx_run_body(loop->run, loop->plan, ports->in, ports->out, ports->memory));
    for (uint32_t i = 1; i < ports->n_out; i++)
        RLX_TRY(output_take(loop, i));
    return RLX_OK;
}

static rlx_status_t iterations_run(loop_t *loop, int64_t trips)
{
    const atomic_bool *cancel = loop->run->cancel;

    for (; loop->iteration < trips && loop->condition != 0; loop->iteration++) {
        if (cancel != NULL && atomic_load_explicit(cancel, memory_order_relaxed)) /* a hint: no data travels with it */
            return loop_fail(loop, RLX_E_CANCELLED, "cancelled");
        if (loop->iteration >= loop->run->model->iterations_max)
            return loop_fail(loop, RLX_E_LOOP_LIMIT, "a loop may not run longer");
        RLX_TRY(iteration_run(loop));
        loop->condition = loop->next != 0;
    }
    return RLX_OK;
}

static rlx_status_t copy_dynamic(loop_t *loop, uint32_t id, const rlx_tensor_t *tensor)
{
    int64_t bytes = tensor_bytes(tensor);
    rlx_arena_t memory = {NULL, 0};

    RLX_TRY(arena_grow(loop, &memory, bytes, 0));
    if (bytes > 0)
        memcpy(memory.data, tensor->data, (size_t)bytes);
    rlx_call_dynamic(loop->run, id, memory, tensor);
    return RLX_OK;
}

static rlx_status_t carried_finish(loop_t *loop, uint32_t output)
{
    const rlx_tensor_t *tensor = &loop->ports.in[1 + output].tensor;
    rlx_call_output_t *state = &loop->ports.state[output];
    uint32_t id = loop->results[output - 1], kind = result_kind(loop, output);
    rlx_io_t result;

    if (kind == RLX_VALUE_ABSENT)
        return RLX_OK;
    if (kind == RLX_VALUE_DYNAMIC && state->held.data != NULL && tensor->data == state->held.data) {
        rlx_call_dynamic(loop->run, id, state->held, tensor);
        state->held = (rlx_arena_t){NULL, 0};
        return RLX_OK;
    }
    if (kind == RLX_VALUE_DYNAMIC)
        return copy_dynamic(loop, id, tensor);
    result = rlx_call_operand(loop->run, id);
    if (!shape_equal(tensor, &result.tensor))
        return loop_fail(loop, RLX_E_INPUT_SHAPE, "a carried value has other extents than its result");
    if (tensor_bytes(tensor) > 0)
        memcpy(result.tensor.data, tensor->data, (size_t)tensor_bytes(tensor));
    return RLX_OK;
}

/* Extents of an appended output that was never appended: those that are constants, -1 for the others. */
static void shape_unseen(const loop_t *loop, uint32_t output, rlx_tensor_t *out_shape)
{
    const rlx_program_value_t *value = &loop->body->values[loop->body->outputs[output]];

    *out_shape = (rlx_tensor_t){.dtype = (rlx_dtype_t)value->dtype, .rank = (int)value->rank};
    for (uint32_t i = 0; i < value->rank; i++) {
        const rlx_ref_t *dim = &loop->body->refs_table[value->dims + i];

        out_shape->dims[i] = dim->slot == RLX_NO_INDEX ? dim->value : -1;
    }
}

static rlx_status_t appended_finish(loop_t *loop, uint32_t output)
{
    rlx_call_output_t *state = &loop->ports.state[output];
    uint32_t id = loop->results[output - 1], kind = result_kind(loop, output);
    rlx_tensor_t row = state->shape, all;

    if (kind == RLX_VALUE_ABSENT)
        return RLX_OK;
    if (kind != RLX_VALUE_DYNAMIC) {
        if (rlx_call_operand(loop->run, id).tensor.dims[0] != loop->iteration)
            return loop_fail(loop, RLX_E_INPUT_SHAPE, "the loop ended before its trip count, on which the model relies");
        return RLX_OK;
    }
    if (loop->iteration == 0)
        shape_unseen(loop, output, &row);
    all = (rlx_tensor_t){.dtype = row.dtype, .rank = row.rank + 1, .dims = {loop->iteration}};
    memcpy(all.dims + 1, row.dims, (size_t)row.rank * sizeof *row.dims);
    RLX_TRY(arena_grow(loop, &state->held, 0, 0));
    rlx_call_dynamic(loop->run, id, state->held, &all);
    state->held = (rlx_arena_t){NULL, 0};
    return RLX_OK;
}

static void loop_release(loop_t *loop)
{
    rlx_plan_release_internal(loop->plan);
    for (uint32_t i = 0; i < loop->ports.n_out; i++) {
        rlx_arena_put(loop_pool(loop), loop->ports.state[i].held);
        rlx_arena_put(loop_pool(loop), loop->ports.state[i].spare);
        rlx_arena_put(loop_pool(loop), loop->ports.memory[i]);
    }
}

static rlx_status_t loop_finish(loop_t *loop)
{
    for (uint32_t i = 1; i < loop->ports.n_out; i++)
        RLX_TRY(i <= loop->n_carried ? carried_finish(loop, i) : appended_finish(loop, i));
    return RLX_OK;
}

rlx_status_t rlx_loop_run(rlx_run_state_t *run, const rlx_program_step_t *step)
{
    const uint32_t *ids = run->model->operands + step->operands;
    const int64_t *params = run->model->params + step->params;
    loop_t loop = {.run = run, .step = step, .results = ids + step->n_in, .body = run->model->bodies[params[0]],
                   .n_carried = (uint32_t)params[1]};
    int64_t trips, condition;
    rlx_status_t status;

    RLX_TRY(rlx_call_number(run, ids[0], INT64_MAX, &trips));
    RLX_TRY(rlx_call_number(run, ids[1], 1, &condition));
    loop.condition = condition != 0;
    loop.ports = rlx_call_ports(run, loop.body);
    loop.ports.in[0] = scalar_io(&loop, loop.body->inputs[0], &loop.iteration);
    loop.ports.in[1] = scalar_io(&loop, loop.body->inputs[1], &loop.condition);
    for (uint32_t i = 2; i < loop.ports.n_in; i++)
        loop.ports.in[i] = rlx_call_operand(run, ids[i]);
    status = iterations_run(&loop, trips);
    if (status == RLX_OK)
        status = loop_finish(&loop);
    loop_release(&loop);
    return status;
}
