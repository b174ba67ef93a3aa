/* From a bundle file to a served model. Thread pool of libuv; touches nothing but its arguments. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/models/inside.h"
#include "exec/load.h"

static rlx_status_t bundle_take(const rlx_load_context_t *context, const char *path, rlx_bundle_t **out_bundle, rlx_diag_t *diag)
{
    if (context->store != NULL)
        return rlx_store_take(context->store, path, out_bundle, diag);
    return rlx_bundle_open(path, context->verify_signature ? RLX_BUNDLE_NO_STAMP : 0, out_bundle, diag);
}

/* Do elements of this input become extents, or may they be indices? */
static bool port_is_integers(const rlx_program_header_t *program, uint32_t id, rlx_dtype_t dtype)
{
    const rlx_program_symbol_t *symbols = RLX_PROGRAM_TABLE(rlx_program_symbol_t, program, symbols);

    for (uint64_t i = 0; i < program->symbols.count; i++)
        if (symbols[i].source != RLX_SYMBOL_INPUT_AXIS && symbols[i].value == id)
            return true;
    return dtype == RLX_I32 || dtype == RLX_I64;
}

static void port_fill(const rlx_model_t *model, uint32_t id, rlx_served_port_t *port)
{
    const rlx_program_header_t *program = rlx_model_program(model);
    const rlx_program_value_t *value = &RLX_PROGRAM_TABLE(rlx_program_value_t, program, values)[id];
    const rlx_ref_t *dims = RLX_PROGRAM_TABLE(rlx_ref_t, program, refs) + value->dims;

    port->name = rlx_model_string(model, value->name);
    port->dtype = (rlx_dtype_t)value->dtype;
    port->rank = (int)value->rank;
    port->integers = port_is_integers(program, id, port->dtype);
    for (int i = 0; i < port->rank; i++)
        port->dims[i] = dims[i].slot == RLX_NO_INDEX ? dims[i].value : -1;
}

static rlx_status_t ports_make(rlx_served_box_t *box, rlx_diag_t *diag)
{
    const rlx_program_header_t *program = rlx_model_program(box->served.model);
    const uint32_t *inputs = RLX_PROGRAM_TABLE(uint32_t, program, inputs), *outputs = RLX_PROGRAM_TABLE(uint32_t, program, outputs);
    size_t n_in = program->inputs.count, n_out = program->outputs.count;

    box->ports = calloc(n_in + n_out + 1, sizeof *box->ports);
    if (box->ports == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for the ports of a model");
    for (size_t i = 0; i < n_in; i++)
        port_fill(box->served.model, inputs[i], &box->ports[i]);
    for (size_t i = 0; i < n_out; i++)
        port_fill(box->served.model, outputs[i], &box->ports[n_in + i]);
    box->served.inputs = box->ports;
    box->served.outputs = box->ports + n_in;
    box->served.n_inputs = (int)n_in;
    box->served.n_outputs = (int)n_out;
    return RLX_OK;
}

/* The independent symbol at axis 0 of every input and output, or -1. */
static int batch_symbol(const rlx_program_header_t *program)
{
    const rlx_program_value_t *values = RLX_PROGRAM_TABLE(rlx_program_value_t, program, values);
    const uint32_t *inputs = RLX_PROGRAM_TABLE(uint32_t, program, inputs), *outputs = RLX_PROGRAM_TABLE(uint32_t, program, outputs);
    uint32_t symbol = program->inputs.count > 0 ? values[inputs[0]].batch_symbol : RLX_NO_INDEX;

    for (uint64_t i = 0; i < program->inputs.count; i++)
        if (values[inputs[i]].rank == 0 || values[inputs[i]].batch_symbol != symbol)
            return -1;
    for (uint64_t i = 0; i < program->outputs.count; i++)
        if (values[outputs[i]].rank == 0 || values[outputs[i]].batch_symbol != symbol)
            return -1;
    return symbol == RLX_NO_INDEX ? -1 : (int)symbol;
}

static void batch_settle(rlx_served_t *served)
{
    const rlx_program_header_t *program = rlx_model_program(served->model);
    const rlx_program_symbol_t *symbols = RLX_PROGRAM_TABLE(rlx_program_symbol_t, program, symbols);

    served->batch_symbol = batch_symbol(program);
    served->batch_max = 1;
    if (served->batch_symbol < 0)
        return;
    served->batch_max = symbols[served->batch_symbol].declared ? RLX_BATCH_ROWS_MAX : RLX_BATCH_ROWS_DEFAULT;
    if (symbols[served->batch_symbol].max < served->batch_max)
        served->batch_max = symbols[served->batch_symbol].max;
}

/* Runs a model of fixed shapes on zeros: its plan is made, its arena and its constants are in memory. How long a model with loops would run on
 * zeros nobody knows: of that only the plan is made. */
static rlx_status_t warm_up(const rlx_served_t *served, int runs, rlx_diag_t *diag)
{
    rlx_io_t *io = calloc((size_t)(served->n_inputs + served->n_outputs) + 1, sizeof *io), *outputs = io + served->n_inputs;
    rlx_plan_t *plan = NULL;
    rlx_status_t status = io != NULL ? RLX_OK : RLX_RESOURCE_EXHAUSTED;

    for (int i = 0; i < served->n_inputs && status == RLX_OK; i++) {
        int64_t count = 0;

        io[i].tensor = (rlx_tensor_t){.dtype = served->inputs[i].dtype, .rank = served->inputs[i].rank};
        memcpy(io[i].tensor.dims, served->inputs[i].dims, sizeof io[i].tensor.dims);
        (void)rlx_dims_count(io[i].tensor.dims, io[i].tensor.rank, &count);
        io[i].tensor.data = calloc((size_t)count + 1, rlx_dtype_size(io[i].tensor.dtype));
        status = io[i].tensor.data != NULL ? RLX_OK : RLX_RESOURCE_EXHAUSTED;
    }
    if (status == RLX_OK)
        status = rlx_plan_get(served->model, io, &plan, diag);
    if (rlx_program_bodies(rlx_model_program(served->model)) > 0)
        runs = 0;
    for (int run = 0; run < runs && status == RLX_OK; run++) {
        if (rlx_run(plan, NULL, io, outputs, NULL, NULL, NULL) != RLX_OK)
            break; /* zeros may lie outside the model's domain: no reason to refuse it */
        for (int i = 0; i < served->n_outputs; i++) {
            free(outputs[i].tensor.data);
            outputs[i] = (rlx_io_t){0};
        }
    }
    rlx_plan_release(plan);
    for (int i = 0; io != NULL && i < served->n_inputs; i++)
        free(io[i].tensor.data);
    free(io);
    return status == RLX_RESOURCE_EXHAUSTED ? rlx_fail(diag, RLX_E_NO_MEMORY, "no memory to warm the model up") : status;
}

static rlx_status_t served_fill(const rlx_load_context_t *context, rlx_served_box_t *box, rlx_diag_t *diag)
{
    const rlx_program_header_t *program = rlx_bundle_program(box->bundle);
    size_t constants;

    if (context->verify_signature)
        RLX_TRY(rlx_bundle_trusted(box->bundle, context->trust, diag));
    if (program->inputs.count > RLX_MODEL_PORTS_MAX || program->outputs.count > RLX_MODEL_PORTS_MAX)
        return rlx_fail(diag, RLX_E_MODEL_LIMIT, "the model has %" PRIu64 " inputs and %" PRIu64 " outputs, %d of each can be served",
                        program->inputs.count, program->outputs.count, RLX_MODEL_PORTS_MAX);
    RLX_TRY(rlx_model_from_bundle(box->bundle, &box->served.model, diag));
    RLX_TRY(ports_make(box, diag));
    batch_settle(&box->served);
    (void)rlx_bundle_constants(box->bundle, &constants);
    box->served.resident_bytes = constants + program->bytes + rlx_bundle_code(box->bundle)->bytes;
    return program->symbols.count == 0 ? warm_up(&box->served, context->warm_up, diag) : RLX_OK;
}

rlx_status_t rlx_served_create(const rlx_load_context_t *context, const char *name, const rlx_found_t *found, rlx_served_box_t **out_box,
                               rlx_diag_t *diag)
{
    rlx_served_box_t *box = calloc(1, sizeof *box);
    rlx_status_t status;

    if (box == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for a model");
    snprintf(box->name, sizeof box->name, "%s", name);
    snprintf(box->version, sizeof box->version, "%" PRIu64, found->version);
    box->number = found->version;
    box->served.name = box->name;
    box->served.version = box->version;
    status = bundle_take(context, found->path, &box->bundle, diag);
    if (status == RLX_OK) {
        box->served.bundle = box->bundle;
        status = served_fill(context, box, diag);
    }
    if (status != RLX_OK) {
        rlx_diag_at(diag, "%s", found->path);
        if (strlen(found->path) > 5 && strcmp(found->path + strlen(found->path) - 5, ".onnx") == 0)
            rlx_diag_hint(diag, "`rlx run --model FILE` compiles a model and serves it; `rlx compile` makes the bundle alone.");
        rlx_served_destroy(box);
        return status;
    }
    *out_box = box;
    return RLX_OK;
}

void rlx_served_close(rlx_served_box_t *box)
{
    rlx_model_release(box->served.model); /* the last reference: nothing runs any more */
    rlx_bundle_close(box->bundle);
    box->served.model = NULL;
    box->bundle = NULL;
}

void rlx_served_destroy(rlx_served_box_t *box)
{
    if (box == NULL)
        return;
    rlx_served_close(box);
    rlx_stats_release(box->stats);
    free(box->ports);
    free(box);
}
