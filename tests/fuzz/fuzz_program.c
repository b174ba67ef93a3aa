/* Target: rlx_program_check and all that trusts it. Bytes that pass are planned and run with kernels that do nothing, so every offset,
 * count and slot that the executor takes from the program is used. */
#include <stdlib.h>
#include <string.h>

#include "exec/model.h"
#include "exec/plan.h"

#define CONSTANTS_BYTES 4096
#define MEMORY_MAX ((size_t)1 << 20)
#define PORTS_MAX 64
#define ITERATIONS_MAX 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static _Alignas(64) char memory[MEMORY_MAX];

static void nothing(const rlx_kernel_args_t *args, int64_t tile_begin, int64_t tile_end)
{
    (void)args;
    (void)tile_begin;
    (void)tile_end;
}

/* An input of the least size that its symbols allow. False when it would be larger than `memory`. */
static bool input_make(const rlx_model_t *model, uint32_t id, rlx_io_t *out_io)
{
    const rlx_program_value_t *value = &model->values[id];
    int64_t count, bytes;

    *out_io = (rlx_io_t){.tensor = {.dtype = (rlx_dtype_t)value->dtype, .rank = (int)value->rank, .data = memory}};
    for (uint32_t i = 0; i < value->rank; i++) {
        const rlx_ref_t *dim = &model->refs_table[value->dims + i];

        out_io->tensor.dims[i] = dim->slot == RLX_NO_INDEX                  ? dim->value
                                 : dim->slot < model->header->symbols.count ? model->symbols[dim->slot].min
                                                                            : 1;
    }
    return rlx_dims_count(out_io->tensor.dims, out_io->tensor.rank, &count) && rlx_size_mul(count, 8, &bytes) &&
           bytes <= (int64_t)MEMORY_MAX;
}

static void model_run(rlx_model_t *model)
{
    rlx_io_t inputs[PORTS_MAX], outputs[PORTS_MAX];
    uint64_t n_inputs = model->header->inputs.count, n_outputs = model->header->outputs.count;
    rlx_diag_t diag = {0};
    rlx_plan_t *plan;

    if (n_inputs > PORTS_MAX || n_outputs > PORTS_MAX)
        return;
    for (uint64_t i = 0; i < n_inputs; i++)
        if (!input_make(model, model->inputs[i], &inputs[i]))
            return;
    memset(outputs, 0, sizeof outputs);
    if (rlx_plan_get(model, inputs, &plan, &diag) != RLX_OK)
        return;
    if (rlx_run(plan, NULL, inputs, outputs, NULL, NULL, &diag) == RLX_OK)
        for (uint64_t i = 0; i < n_outputs; i++)
            free(outputs[i].tensor.data);
    rlx_plan_release(plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static char constants[CONSTANTS_BYTES];
    rlx_kernel_table_t table = {.target = "none"};
    rlx_diag_t diag = {0};
    rlx_model_t *model;
    void *program = aligned_alloc(64, (bytes / 64 + 1) * 64);

    if (program == NULL)
        return 0;
    for (size_t i = 0; i < MEMORY_MAX; i += 8)
        memory[i] = 1; /* conditions hold, counts are 1 */
    memcpy(program, data, bytes);
    for (int i = 0; i < RLX_K_END; i++)
        table.entry[i] = nothing;
    if (rlx_program_check(program, bytes, CONSTANTS_BYTES, &diag) == RLX_OK &&
        rlx_model_create(program, constants, &table, &model, &diag) == RLX_OK) {
        rlx_model_limit(model, MEMORY_MAX, ITERATIONS_MAX);
        model_run(model);
        rlx_model_release(model);
    }
    free(program);
    return 0;
}
