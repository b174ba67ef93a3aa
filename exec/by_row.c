#include "exec/by_row.h"

static const uint8_t kernel_flags[RLX_K_END] = {
#define RLX_KERNEL(id, number, flags) [number] = (flags),
#include "kernels/kernel_list.h"
#undef RLX_KERNEL
    [RLX_K_NONE] = 0,
};

static bool is_batched_port(const rlx_model_t *model, uint32_t id)
{
    return model->port[id] != RLX_NO_INDEX && model->values[id].batch_symbol < RLX_BATCH_FREE;
}

static bool touches_port(const rlx_model_t *model, const rlx_program_step_t *step)
{
    for (uint32_t i = 0; i < step->n_in + step->n_out; i++)
        if (is_batched_port(model, model->operands[step->operands + i]))
            return true;
    return false;
}

/* The kernel follows row pointers itself. Code of earlier bundles does not. */
static bool takes_rows(const rlx_model_t *model, const rlx_program_step_t *step)
{
    if (rlx_step_is_call(step) || !(kernel_flags[step->kernel] & RLX_KERNEL_ROWS) || model->header->minor < 1)
        return false;
    for (uint32_t i = 0; i < step->n_in + step->n_out; i++)
        if (i != 0 && i != step->n_in && is_batched_port(model, model->operands[step->operands + i]))
            return false;
    return true;
}

/* Every operand has one row per row of the batch, or, if it is only read, is the same for all. */
static bool can_run_by_row(const rlx_model_t *model, const rlx_program_step_t *step)
{
    if (rlx_step_is_call(step) || (kernel_flags[step->kernel] & RLX_KERNEL_JOINT))
        return false;
    for (uint32_t i = 0; i < step->n_in + step->n_out; i++) {
        const rlx_program_value_t *value = &model->values[model->operands[step->operands + i]];
        bool same = value->kind == RLX_VALUE_CONST || value->batch_symbol == RLX_BATCH_FREE;

        if (value->kind != RLX_VALUE_ABSENT && value->batch_symbol != model->batch_symbol && (i >= step->n_in || !same))
            return false;
    }
    return true;
}

void rlx_by_row_mark(rlx_model_t *model)
{
    model->batch_symbol = RLX_NO_INDEX;
    for (uint32_t i = 0; i < model->n_values; i++) {
        model->rows_ok[i] = model->n_regions == 1 && is_batched_port(model, i);
        if (model->rows_ok[i])
            model->batch_symbol = model->values[i].batch_symbol; /* there is one at most: ir/pass/batch.h */
    }
    for (uint64_t s = 0; s < model->header->steps.count; s++) {
        const rlx_program_step_t *step = &model->steps[s];

        if (!touches_port(model, step) || takes_rows(model, step))
            continue;
        model->by_row[s] = model->batch_symbol != RLX_NO_INDEX && can_run_by_row(model, step);
        for (uint32_t i = 0; i < step->n_in + step->n_out && !model->by_row[s]; i++)
            model->rows_ok[model->operands[step->operands + i]] = false;
    }
}

bool rlx_by_row_wanted(const rlx_operand_t *operands, int count)
{
    for (int i = 0; i < count; i++)
        if (operands[i].rows != NULL)
            return true;
    return false;
}

void rlx_by_row_run(const rlx_kernel_args_t *args, int64_t tile_begin, int64_t tile_end)
{
    const rlx_by_row_t *by_row = (const rlx_by_row_t *)args->param;
    const rlx_plan_step_t *step = by_row->step;
    rlx_operand_t operands[2 * RLX_OPERAND_MAX];
    rlx_kernel_args_t one = *args;

    one.in = operands;
    one.out = operands + by_row->n_in;
    one.param = step->params;
    for (int64_t row = tile_begin / step->tiles; row * step->tiles < tile_end; row++) {
        int64_t first = row * step->tiles, begin = tile_begin > first ? tile_begin - first : 0, end = tile_end - first;

        for (int i = 0; i < by_row->n_in; i++)
            operands[i] = (rlx_operand_t){.base = rlx_operand_row(&args->in[i], row), .row_bytes = args->in[i].row_bytes};
        for (int i = 0; i < by_row->n_out; i++)
            operands[by_row->n_in + i] = (rlx_operand_t){.base = rlx_operand_row(&args->out[i], row), .row_bytes = args->out[i].row_bytes};
        step->fn(&one, begin, end < step->tiles ? end : step->tiles);
    }
}
