/* What a worker does with a job: region bytes in, one run, region bytes out.
 *
 * Several requests run as one where rows can be shared: rows of each request's own memory are handed to the executor as row pointers,
 * inputs and outputs, so nothing is gathered or split. Where that run fails, the requests run one by one, so that a bad one hurts itself
 * only. The bits are the same either way. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "daemon/memory/regions.h"
#include "daemon/pool/inside.h"

static int model_inputs(const rlx_model_t *model) { return (int)rlx_model_program(model)->inputs.count; }
static int model_outputs(const rlx_model_t *model) { return (int)rlx_model_program(model)->outputs.count; }

static uint64_t tensor_bytes(const rlx_tensor_t *tensor)
{
    int64_t count = 0;

    (void)rlx_dims_count(tensor->dims, tensor->rank, &count); /* sizes of plans were checked */
    return (uint64_t)count * rlx_dtype_size(tensor->dtype);
}

/* Bytes of one index of axis 0. */
static uint64_t row_bytes(const rlx_tensor_t *tensor)
{
    rlx_tensor_t row = *tensor;

    row.dims[0] = 1;
    return tensor_bytes(&row);
}

static const char *output_name(const rlx_model_t *model, int index)
{
    const rlx_program_header_t *program = rlx_model_program(model);
    uint32_t id = RLX_PROGRAM_TABLE(uint32_t, program, outputs)[index];

    return rlx_model_string(model, RLX_PROGRAM_TABLE(rlx_program_value_t, program, values)[id].name);
}

static rlx_status_t reads_do(rlx_slot_t *slot)
{
    for (int i = 0; i < slot->n_reads; i++) {
        const rlx_slot_move_t *move = &slot->reads[i];

        RLX_TRY(rlx_region_read(move->region, move->offset, slot->inputs[move->port].tensor.data, move->bytes, &slot->diag));
    }
    return RLX_OK;
}

static rlx_status_t writes_do(const rlx_model_t *model, rlx_slot_t *slot)
{
    for (int i = 0; i < slot->n_writes; i++) {
        const rlx_slot_move_t *move = &slot->writes[i];
        const rlx_tensor_t *tensor = &slot->outputs[move->port].tensor;
        uint64_t bytes = tensor_bytes(tensor);

        if (bytes > move->bytes)
            return rlx_fail(&slot->diag, RLX_E_REGION_RANGE, "output '%s' has %" PRIu64 " bytes, the request gives it %" PRIu64
                            " in its region", output_name(model, move->port), bytes, move->bytes);
        RLX_TRY(rlx_region_write(move->region, move->offset, tensor->data, bytes, &slot->diag));
    }
    return RLX_OK;
}

/* Type, extents and memory of the slot's outputs: as they came out (`found`), or under `plan`, with `rows` rows where the plan is of several
 * requests (else -1). */
static rlx_status_t outputs_place(const rlx_model_t *model, const rlx_plan_t *plan, const rlx_io_t *found, rlx_slot_t *slot, int64_t rows)
{
    size_t need = slot->inputs_end;
    char *at;

    for (int i = 0; i < model_outputs(model); i++) {
        rlx_tensor_t shape;
        uint64_t bytes;

        if (found != NULL)
            shape = found[i].tensor;
        else if (!rlx_plan_output(plan, i, &shape))
            return rlx_fail(&slot->diag, RLX_E_SHAPE_UNKNOWN, "the extents of output '%s' depend on data", output_name(model, i));
        if (rows >= 0)
            shape.dims[0] = rows;
        bytes = tensor_bytes(&shape);
        shape.data = slot->outputs[i].tensor.data;
        slot->outputs[i] = (rlx_io_t){.tensor = shape};
        if (slot->room[i] == 0)
            need += (bytes + 63) / 64 * 64;
        else if (bytes > slot->room[i])
            return rlx_fail(&slot->diag, RLX_E_REGION_RANGE, "output '%s' has %" PRIu64 " bytes, the request gives it %" PRIu64
                            " in its region", output_name(model, i), bytes, slot->room[i]);
    }
    RLX_TRY(rlx_slot_reserve(slot, model_inputs(model), need));
    at = slot->memory + slot->inputs_end;
    for (int i = 0; i < model_outputs(model); i++) {
        if (slot->room[i] != 0)
            continue;
        slot->outputs[i].tensor.data = at;
        at += (tensor_bytes(&slot->outputs[i].tensor) + 63) / 64 * 64;
    }
    return RLX_OK;
}

/* Runs `plan`; with the team where it is free and the run is worth it. */
static rlx_status_t plan_run(rlx_pool_worker_t *worker, rlx_job_t *job, rlx_plan_t *plan, const rlx_io_t *inputs, rlx_io_t *outputs,
                             rlx_diag_t *diag)
{
    rlx_pool_t *pool = worker->pool;
    rlx_run_stats_t stats = {.step = &worker->step, .watch = worker->trace != NULL ? &worker->trace->watch : NULL};
    bool wanted = job->alone || atomic_load_explicit(&pool->idle, memory_order_relaxed) > 0; /* advice only */
    bool team = wanted && pool->n_workers > 1 && worker->index < pool->n_workers && rlx_plan_cost_ns(plan) >= RLX_POOL_HELP_COST_NS &&
                !atomic_exchange_explicit(&pool->team_taken, true, memory_order_acquire);
    rlx_status_t status;

    if (worker->trace != NULL) /* workers with runs of their own are not there for this one */
        worker->trace->n_threads = team ? 1 + atomic_load_explicit(&pool->idle, memory_order_relaxed) : 1;
    status = rlx_run(plan, team ? pool->team : NULL, inputs, outputs, &job->cancel, &stats, diag);
    if (team)
        atomic_store_explicit(&pool->team_taken, false, memory_order_release); /* pairs with the next taker */
    job->kernel_ns += stats.total_ns;
    job->input_copies += stats.input_copies;
    return status;
}

static bool outputs_known(const rlx_model_t *model, const rlx_plan_t *plan)
{
    rlx_tensor_t shape;

    for (int i = 0; i < model_outputs(model); i++)
        if (!rlx_plan_output(plan, i, &shape))
            return false;
    return true;
}

/* Outputs whose extents depend on data: the run finds their memory, and they are copied to the slot, or to their regions, afterwards. */
static rlx_status_t open_run(rlx_pool_worker_t *worker, rlx_job_t *job, rlx_plan_t *plan, rlx_slot_t *slot)
{
    size_t n = (size_t)model_outputs(job->model);
    rlx_io_t *found = calloc(n + 1, sizeof *found);
    rlx_status_t status;

    if (found == NULL)
        return rlx_fail(&slot->diag, RLX_E_NO_MEMORY, "no memory for %zu outputs", n);
    status = plan_run(worker, job, plan, slot->inputs, found, &slot->diag);
    if (status == RLX_OK)
        status = outputs_place(job->model, plan, found, slot, -1);
    for (size_t i = 0; i < n; i++) {
        if (status == RLX_OK && tensor_bytes(&found[i].tensor) > 0)
            memcpy(slot->outputs[i].tensor.data, found[i].tensor.data, tensor_bytes(&found[i].tensor));
        free(found[i].tensor.data);
    }
    free(found);
    return status;
}

static rlx_status_t single_run(rlx_pool_worker_t *worker, rlx_job_t *job, rlx_slot_t *slot)
{
    rlx_plan_t *plan = job->plan;
    rlx_status_t status;

    if (plan == NULL)
        RLX_TRY(rlx_plan_get(job->model, slot->inputs, &plan, &slot->diag));
    if (!outputs_known(job->model, plan))
        status = open_run(worker, job, plan, slot);
    else if ((status = outputs_place(job->model, plan, NULL, slot, -1)) == RLX_OK)
        status = plan_run(worker, job, plan, slot->inputs, slot->outputs, &slot->diag);
    if (job->plan == NULL)
        rlx_plan_release(plan);
    return status;
}

/* Room for the io of a batch of `rows` rows; false: no memory. */
static bool batch_room(rlx_pool_worker_t *worker, size_t n_io, size_t rows)
{
    if (n_io > worker->n_io) {
        free(worker->io);
        worker->io = malloc(n_io * sizeof *worker->io);
        worker->n_io = worker->io != NULL ? n_io : 0;
    }
    if (n_io * rows > worker->n_rows) {
        free(worker->rows);
        worker->rows = malloc(n_io * rows * sizeof *worker->rows);
        worker->n_rows = worker->rows != NULL ? n_io * rows : 0;
    }
    return worker->io != NULL && worker->rows != NULL;
}

/* Rows of port `port` of all slots, in order. */
static void port_rows(const rlx_job_t *job, bool output, int port, void **rows)
{
    for (int s = 0; s < job->n_slots; s++) {
        const rlx_tensor_t *tensor = &(output ? job->slots[s]->outputs : job->slots[s]->inputs)[port].tensor;
        uint64_t bytes = row_bytes(tensor);

        for (int64_t r = 0; r < job->rows[s]; r++)
            *rows++ = (char *)tensor->data + (uint64_t)r * bytes;
    }
}

/* All outputs have their rows at axis 0, `rows` of them. */
static bool outputs_batched(const rlx_model_t *model, const rlx_plan_t *plan, int64_t rows)
{
    rlx_tensor_t shape;

    for (int i = 0; i < model_outputs(model); i++)
        if (!rlx_plan_output(plan, i, &shape) || shape.rank < 1 || shape.dims[0] != rows)
            return false;
    return true;
}

static rlx_status_t batch_execute(rlx_pool_worker_t *worker, rlx_job_t *job, rlx_plan_t *plan, int64_t rows)
{
    int n_in = model_inputs(job->model), n_out = model_outputs(job->model);

    if (!outputs_batched(job->model, plan, rows))
        return RLX_UNIMPLEMENTED;
    for (int s = 0; s < job->n_slots; s++)
        RLX_TRY(outputs_place(job->model, plan, NULL, job->slots[s], job->rows[s]));
    for (int i = 0; i < n_in; i++) /* a slot's memory may have moved */
        port_rows(job, false, i, (void **)(uintptr_t)worker->io[i].rows);
    for (int i = 0; i < n_out; i++) {
        rlx_io_t *io = &worker->io[n_in + i];

        *io = (rlx_io_t){.tensor = job->slots[0]->outputs[i].tensor, .rows = worker->rows + (size_t)(n_in + i) * (size_t)rows};
        io->tensor.dims[0] = rows;
        io->tensor.data = NULL;
        port_rows(job, true, i, (void **)(uintptr_t)io->rows);
    }
    return plan_run(worker, job, plan, worker->io, worker->io + n_in, NULL);
}

/* Every input of every slot has its rows at axis 0 and the first slot's extents elsewhere. The batch key is a hash of what clients sent:
 * it groups, and proves nothing. */
static bool slots_alike(const rlx_job_t *job)
{
    for (int s = 0; s < job->n_slots; s++)
        for (int i = 0; i < model_inputs(job->model); i++) {
            const rlx_tensor_t *first = &job->slots[0]->inputs[i].tensor, *tensor = &job->slots[s]->inputs[i].tensor;

            if (tensor->rank < 1 || tensor->rank != first->rank || tensor->dims[0] != job->rows[s])
                return false;
            for (int axis = 1; axis < tensor->rank; axis++)
                if (tensor->dims[axis] != first->dims[axis])
                    return false;
        }
    return true;
}

/* One run for all slots. A failure says nothing about any of them. */
static rlx_status_t batch_run(rlx_pool_worker_t *worker, rlx_job_t *job)
{
    int n_in = model_inputs(job->model), n_out = model_outputs(job->model);
    int64_t rows = 0;
    rlx_plan_t *plan;
    rlx_status_t status;

    for (int s = 0; s < job->n_slots; s++)
        rows += job->rows[s];
    if (rows < 1 || !slots_alike(job) || !batch_room(worker, (size_t)(n_in + n_out), (size_t)rows))
        return RLX_RESOURCE_EXHAUSTED;
    for (int i = 0; i < n_in; i++) {
        rlx_io_t *io = &worker->io[i];

        *io = (rlx_io_t){.tensor = job->slots[0]->inputs[i].tensor, .rows = worker->rows + (size_t)i * (size_t)rows};
        io->tensor.dims[0] = rows;
        io->tensor.data = NULL;
        port_rows(job, false, i, (void **)(uintptr_t)io->rows);
    }
    RLX_TRY(rlx_plan_get(job->model, worker->io, &plan, NULL));
    status = batch_execute(worker, job, plan, rows);
    rlx_plan_release(plan);
    return status;
}

/* The first error wins: a slot starts without one. */
static void slot_clear(rlx_slot_t *slot)
{
    slot->status = RLX_OK;
    slot->diag.code = RLX_E_NONE;
    slot->diag.where[0] = slot->diag.message[0] = slot->diag.hint[0] = '\0';
}

void rlx_pool_run(rlx_pool_worker_t *worker, rlx_job_t *job)
{
    bool together = job->n_slots > 1;

    job->kernel_ns = job->input_copies = 0;
    for (int s = 0; s < job->n_slots; s++) {
        slot_clear(job->slots[s]);
        job->slots[s]->status = reads_do(job->slots[s]);
        together &= job->slots[s]->status == RLX_OK;
    }
    together = together && batch_run(worker, job) == RLX_OK;
    for (int s = 0; s < job->n_slots; s++) {
        rlx_slot_t *slot = job->slots[s];

        if (!together && slot->status == RLX_OK) {
            slot_clear(slot);
            slot->status = single_run(worker, job, slot);
        }
        if (slot->status == RLX_OK)
            slot->status = writes_do(job->model, slot);
    }
}
