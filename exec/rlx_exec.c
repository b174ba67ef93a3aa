/* The embedding API over model, plan and team. Converts between the public plain structs and the inner ones; holds no state of its own. */
#include "exec/rlx_exec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cpus.h"
#include "base/diag.h"
#include "bundle/bundle.h"
#include "exec/executor.h"
#include "exec/load.h"

_Static_assert((int)RLX_EXEC_BOOL == (int)RLX_BOOL, "types have the same numbers");
_Static_assert(RLX_EXEC_RANK_MAX == RLX_RANK_MAX, "ranks have the same bound");

struct rlx_exec {
    rlx_bundle_t *bundle;
    rlx_model_t *model;
    rlx_team_t *team;
    int n_inputs, n_outputs;
};

/* "message (where): hint" into the caller's error; returns the status. */
static int error_give(const rlx_diag_t *diag, rlx_status_t status, rlx_exec_error_t *error)
{
    const rlx_error_info_t *info = rlx_error_find((int)diag->code);
    const char *hint = diag->hint[0] != '\0' || info == NULL ? diag->hint : info->fix;
    const char *open = diag->where[0] != '\0' ? " (" : "", *shut = diag->where[0] != '\0' ? ")" : "";

    if (error != NULL && status != RLX_OK) {
        error->code = (int32_t)diag->code;
        if (snprintf(error->text, sizeof error->text, "%s%s%s%s. %s", diag->message, open, diag->where, shut, hint) >=
            (int)sizeof error->text)
            memcpy(error->text + sizeof error->text - 4, "...", 4);
    }
    return (int)status;
}

int rlx_exec_open(const char *path, int threads, rlx_exec_t **out_exec, rlx_exec_error_t *error)
{
    rlx_diag_t diag = {0};
    rlx_exec_t *exec = calloc(1, sizeof *exec);
    rlx_status_t status;

    if (exec == NULL)
        return error_give(&diag, rlx_fail(&diag, RLX_E_NO_MEMORY, "no memory for an executor"), error);
    status = rlx_bundle_open(path, 0, &exec->bundle, &diag);
    if (status == RLX_OK)
        status = rlx_model_from_bundle(exec->bundle, &exec->model, &diag);
    if (status == RLX_OK)
        status = rlx_team_create(threads == 0 ? rlx_cpus_allowed() : threads, &exec->team, &diag);
    if (status != RLX_OK) {
        rlx_exec_close(exec);
        return error_give(&diag, status, error);
    }
    exec->n_inputs = (int)rlx_model_program(exec->model)->inputs.count;
    exec->n_outputs = (int)rlx_model_program(exec->model)->outputs.count;
    *out_exec = exec;
    return 0;
}

void rlx_exec_close(rlx_exec_t *exec)
{
    if (exec == NULL)
        return;
    rlx_team_destroy(exec->team);
    rlx_model_release(exec->model);
    rlx_bundle_close(exec->bundle);
    free(exec);
}

int rlx_exec_input_count(const rlx_exec_t *exec) { return exec->n_inputs; }
int rlx_exec_output_count(const rlx_exec_t *exec) { return exec->n_outputs; }
const char *rlx_exec_target(const rlx_exec_t *exec) { return rlx_bundle_code(exec->bundle)->isa; }

static const char *port_describe(const rlx_exec_t *exec, uint32_t id, rlx_exec_tensor_t *out_shape)
{
    const rlx_program_header_t *program = rlx_model_program(exec->model);
    const rlx_program_value_t *value = &RLX_PROGRAM_TABLE(rlx_program_value_t, program, values)[id];
    const rlx_ref_t *dims = RLX_PROGRAM_TABLE(rlx_ref_t, program, refs) + value->dims;

    *out_shape = (rlx_exec_tensor_t){.type = (int32_t)value->dtype, .rank = (int32_t)value->rank};
    for (uint32_t i = 0; i < value->rank; i++)
        out_shape->dims[i] = dims[i].slot == RLX_NO_INDEX ? dims[i].value : -1;
    return rlx_model_string(exec->model, value->name);
}

const char *rlx_exec_input(const rlx_exec_t *exec, int index, rlx_exec_tensor_t *out_shape)
{
    if (index < 0 || index >= exec->n_inputs)
        return NULL;
    return port_describe(exec, RLX_PROGRAM_TABLE(uint32_t, rlx_model_program(exec->model), inputs)[index], out_shape);
}

const char *rlx_exec_output(const rlx_exec_t *exec, int index, rlx_exec_tensor_t *out_shape)
{
    if (index < 0 || index >= exec->n_outputs)
        return NULL;
    return port_describe(exec, RLX_PROGRAM_TABLE(uint32_t, rlx_model_program(exec->model), outputs)[index], out_shape);
}

static void io_from_public(const rlx_exec_tensor_t *from, rlx_io_t *out_io)
{
    *out_io = (rlx_io_t){.tensor = {.dtype = (rlx_dtype_t)from->type, .rank = from->rank, .data = from->data}};
    memcpy(out_io->tensor.dims, from->dims, sizeof from->dims);
}

static void io_to_public(const rlx_io_t *from, rlx_exec_tensor_t *out)
{
    out->type = (int32_t)from->tensor.dtype;
    out->rank = from->tensor.rank;
    memcpy(out->dims, from->tensor.dims, sizeof out->dims);
    out->data = from->tensor.data;
}

static rlx_status_t exec_run(rlx_exec_t *exec, const rlx_io_t *inputs, rlx_io_t *outputs, rlx_diag_t *diag)
{
    rlx_plan_t *plan;
    rlx_status_t status;

    RLX_TRY(rlx_plan_get(exec->model, inputs, &plan, diag));
    status = rlx_run(plan, exec->team, inputs, outputs, NULL, NULL, diag);
    rlx_plan_release(plan);
    return status;
}

int rlx_exec_run(rlx_exec_t *exec, const rlx_exec_tensor_t *inputs, rlx_exec_tensor_t *outputs, rlx_exec_error_t *error)
{
    size_t n_inputs = (size_t)exec->n_inputs, n_outputs = (size_t)exec->n_outputs;
    rlx_io_t *io = calloc(n_inputs + n_outputs + 1, sizeof *io);
    rlx_diag_t diag = {0};
    rlx_status_t status;

    if (io == NULL)
        return error_give(&diag, rlx_fail(&diag, RLX_E_NO_MEMORY, "no memory for a run"), error);
    for (size_t i = 0; i < n_inputs; i++)
        io_from_public(&inputs[i], &io[i]);
    for (size_t i = 0; i < n_outputs; i++)
        io_from_public(&outputs[i], &io[n_inputs + i]);
    status = exec_run(exec, io, io + n_inputs, &diag);
    for (size_t i = 0; i < n_outputs && status == RLX_OK; i++)
        io_to_public(&io[n_inputs + i], &outputs[i]);
    free(io);
    return error_give(&diag, status, error);
}

void rlx_exec_free(rlx_exec_tensor_t *output)
{
    free(output->data);
    output->data = NULL;
}
