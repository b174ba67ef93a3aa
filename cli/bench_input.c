/* Filling a model's inputs. Extents come from --shape, else from the program: a constant, or the smallest useful value of the symbol. */
#include "cli/bench_input.h"

#include <stdlib.h>
#include <string.h>

static int64_t extent_default(const rlx_session_t *session, const rlx_ref_t *ref)
{
    const rlx_program_symbol_t *symbols = RLX_PROGRAM_TABLE(rlx_program_symbol_t, session->program, symbols);

    if (ref->slot == RLX_NO_INDEX)
        return ref->value;
    if (ref->slot >= session->program->symbols.count)
        return 1;
    return symbols[ref->slot].min > 1 ? symbols[ref->slot].min : symbols[ref->slot].max < 1 ? symbols[ref->slot].max : 1;
}

static rlx_status_t dims_choose(const rlx_session_t *session, int index, const rlx_compile_options_t *options, rlx_tensor_t *tensor,
                                rlx_diag_t *diag)
{
    const char *name;
    const rlx_program_value_t *value = rlx_session_input(session, index, &name);
    const rlx_ref_t *refs = RLX_PROGRAM_TABLE(rlx_ref_t, session->program, refs) + value->dims;

    tensor->dtype = (rlx_dtype_t)value->dtype;
    tensor->rank = (int)value->rank;
    for (int i = 0; i < tensor->rank; i++)
        tensor->dims[i] = extent_default(session, &refs[i]);
    for (int k = 0; k < options->n_shapes; k++) {
        if (strcmp(options->shapes[k].input, name) != 0)
            continue;
        if (options->shapes[k].rank != tensor->rank)
            return rlx_fail(diag, RLX_E_INPUT_SHAPE, "--shape gives input '%s' rank %d, the model has rank %d", name,
                            options->shapes[k].rank, tensor->rank);
        for (int i = 0; i < tensor->rank; i++)
            if (options->shapes[k].dims[i] >= 0)
                tensor->dims[i] = options->shapes[k].dims[i];
    }
    return RLX_OK;
}

static rlx_status_t names_check(const rlx_session_t *session, const rlx_compile_options_t *options, rlx_diag_t *diag)
{
    for (int k = 0; k < options->n_shapes; k++) {
        const char *name = NULL;
        bool found = false;

        for (int i = 0; i < rlx_session_n_inputs(session) && !found; i++) {
            (void)rlx_session_input(session, i, &name);
            found = strcmp(name, options->shapes[k].input) == 0;
        }
        if (!found)
            return rlx_fail(diag, RLX_E_INPUT_NAME, "--shape names '%s', which is no input of the model", options->shapes[k].input);
    }
    return RLX_OK;
}

void rlx_bench_inputs_free(const rlx_session_t *session, rlx_io_t *inputs)
{
    for (int i = 0; i < rlx_session_n_inputs(session); i++)
        free(inputs[i].tensor.data);
    free(inputs);
}

rlx_status_t rlx_bench_inputs_make(const rlx_session_t *session, const rlx_compile_options_t *options, rlx_io_t **out_inputs,
                                   rlx_diag_t *diag)
{
    int n = rlx_session_n_inputs(session);
    rlx_io_t *inputs;
    uint64_t state = 1;
    rlx_status_t status = RLX_OK;

    RLX_TRY(names_check(session, options, diag));
    inputs = calloc((size_t)n + 1, sizeof *inputs);
    if (inputs == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    for (int i = 0; i < n && status == RLX_OK; i++) {
        rlx_tensor_t *tensor = &inputs[i].tensor;
        int64_t count, bytes;

        status = dims_choose(session, i, options, tensor, diag);
        if (status != RLX_OK)
            break;
        if (!rlx_dims_count(tensor->dims, tensor->rank, &count) || !rlx_size_mul(count, (int64_t)rlx_dtype_size(tensor->dtype), &bytes) ||
            (tensor->data = aligned_alloc(64, (size_t)(bytes + 64) / 64 * 64)) == NULL)
            status = rlx_fail(diag, RLX_E_NO_MEMORY, "cannot allocate an input of the shape given");
        else
            rlx_bench_tensor_fill(tensor, count, &state);
    }
    if (status != RLX_OK)
        rlx_bench_inputs_free(session, inputs);
    else
        *out_inputs = inputs;
    return status;
}
