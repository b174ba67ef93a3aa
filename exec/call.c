/* If: one of two bodies. What its outputs have in common with the step's results is compared by the body's own run (rlx_bind_measure). */
#include "exec/call.h"

#include <string.h>

#include "base/assert.h"
#include "exec/symbols.h"

static size_t ports_bytes(uint64_t n_in, uint64_t n_out)
{
    return (size_t)((n_in + n_out) * sizeof(rlx_io_t) + n_out * (sizeof(rlx_arena_t) + sizeof(rlx_call_output_t)));
}

size_t rlx_call_bytes(const rlx_model_t *model, const rlx_program_step_t *step)
{
    size_t most = 0;

    for (int i = 0; i < (step->kernel == RLX_CALL_IF ? 2 : 1); i++) {
        const rlx_program_header_t *body = model->bodies[model->params[step->params + (uint32_t)i]]->header;
        size_t bytes = ports_bytes(body->inputs.count, body->outputs.count);

        most = bytes > most ? bytes : most;
    }
    return most;
}

rlx_call_ports_t rlx_call_ports(const rlx_run_state_t *run, const rlx_model_t *body)
{
    rlx_call_ports_t ports = {.n_in = (uint32_t)body->header->inputs.count, .n_out = (uint32_t)body->header->outputs.count};

    RLX_ASSERT(ports_bytes(ports.n_in, ports.n_out) <= run->model->call_bytes);
    memset(run->calls, 0, ports_bytes(ports.n_in, ports.n_out));
    ports.in = (rlx_io_t *)run->calls;
    ports.out = ports.in + ports.n_in;
    ports.state = (rlx_call_output_t *)(ports.out + ports.n_out);
    ports.memory = (rlx_arena_t *)(ports.state + ports.n_out);
    return ports;
}

rlx_io_t rlx_call_operand(const rlx_run_state_t *run, uint32_t id)
{
    rlx_io_t io = {.rows = run->operands[id].rows};

    RLX_ASSERT(io.rows == NULL); /* calls take no rows: model_rows */
    rlx_plan_dims(run->plans[run->model->values[id].region], id, &io.tensor);
    io.tensor.data = run->operands[id].base;
    return io;
}

rlx_status_t rlx_call_number(const rlx_run_state_t *run, uint32_t id, int64_t fallback, int64_t *out_number)
{
    int64_t count;
    rlx_io_t io;

    *out_number = fallback;
    if (run->model->values[id].kind == RLX_VALUE_ABSENT)
        return RLX_OK;
    io = rlx_call_operand(run, id);
    if (!rlx_dims_count(io.tensor.dims, io.tensor.rank, &count) || count != 1)
        return rlx_fail(run->diag, RLX_E_INPUT_SHAPE, "'%s' decides about a branch or a loop and must have one element",
                        rlx_model_value_name(run->model, id));
    if (io.tensor.dtype == RLX_BOOL)
        *out_number = *(const uint8_t *)io.tensor.data != 0;
    else
        memcpy(out_number, io.tensor.data, sizeof *out_number);
    return RLX_OK;
}

void rlx_call_dynamic(rlx_run_state_t *run, uint32_t id, rlx_arena_t memory, const rlx_tensor_t *shape)
{
    rlx_dynamic_t *dynamic = &run->dynamics[run->model->dynamic[id]];

    rlx_arena_put(&run->model->arenas, dynamic->memory); /* a bad program may write it twice */
    *dynamic = (rlx_dynamic_t){.there = true, .memory = memory};
    memcpy(dynamic->dims, shape->dims, sizeof dynamic->dims);
}

/* Where a branch writes result `id`: in place, or left open. */
static rlx_io_t result_place(const rlx_run_state_t *run, uint32_t id)
{
    uint32_t kind = run->model->values[id].kind;

    return kind == RLX_VALUE_ABSENT || kind == RLX_VALUE_DYNAMIC ? (rlx_io_t){0} : rlx_call_operand(run, id);
}

static void result_take(rlx_run_state_t *run, uint32_t id, rlx_arena_t memory, const rlx_io_t *io)
{
    if (run->model->values[id].kind == RLX_VALUE_DYNAMIC)
        rlx_call_dynamic(run, id, memory, &io->tensor);
    else
        rlx_arena_put(&run->model->arenas, memory);
}

static rlx_status_t if_run(rlx_run_state_t *run, const rlx_program_step_t *step)
{
    const uint32_t *ids = run->model->operands + step->operands, *results = ids + step->n_in;
    rlx_model_t *bodies[2] = {run->model->bodies[run->model->params[step->params]], run->model->bodies[run->model->params[step->params + 1]]};
    rlx_plan_t *plan = NULL;
    rlx_call_ports_t ports;
    int64_t condition;
    rlx_model_t *body;
    rlx_status_t status;

    RLX_TRY(rlx_call_number(run, ids[0], 0, &condition));
    body = bodies[condition == 0];
    ports = rlx_call_ports(run, body);
    ids += 1 + (condition != 0 ? 0 : bodies[0]->header->inputs.count);
    for (uint32_t i = 0; i < ports.n_in; i++)
        ports.in[i] = rlx_call_operand(run, ids[i]);
    for (uint32_t i = 0; i < ports.n_out; i++)
        ports.out[i] = result_place(run, results[i]);
    status = rlx_symbols_plan(body, ports.in, &plan, run->diag);
    if (status == RLX_OK)
        status = rlx_run_body(run, plan, ports.in, ports.out, ports.memory);
    rlx_plan_release_internal(plan);
    for (uint32_t i = 0; i < ports.n_out && status == RLX_OK; i++)
        result_take(run, results[i], ports.memory[i], &ports.out[i]);
    return status;
}

rlx_status_t rlx_call_run(rlx_run_state_t *run, const rlx_program_step_t *step)
{
    rlx_status_t status = step->kernel == RLX_CALL_IF ? if_run(run, step) : rlx_loop_run(run, step);

    if (status != RLX_OK && run->diag != NULL)
        rlx_diag_at(run->diag, "%s", run->model->strings + step->source);
    return status;
}
