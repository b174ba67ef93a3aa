/* Values and slots of elementwise code. */
#include "ir/lower/elementwise_code.h"

#include "kernels/map.h"
#include "kernels/math.h"

int rlx_ew_emit(rlx_ew_code_t *code, rlx_map_op_t op, rlx_map_class_t class_, int x, int y, int z, int64_t a, int64_t b)
{
    if (code->n_code == RLX_EW_CODE_MAX) {
        code->full = true;
        return RLX_EW_CODE_FIRST;
    }
    code->code[code->n_code] = (rlx_ew_instruction_t){.op = op, .class_ = class_, .src = {x, y, z}, .a = a, .b = b};
    return RLX_EW_CODE_FIRST + code->n_code++;
}

static const rlx_value_t *operand(const rlx_ew_code_t *code, int32_t src) { return code->op->in[src]; }

int rlx_ew_source(rlx_ew_code_t *code, int32_t src)
{
    if (src < 0)
        return code->result[~src];
    for (int i = 0; i < code->n_inputs; ++i)
        if (code->operand[i] == src)
            return i;
    if (code->n_inputs == RLX_ELEMENTWISE_INPUTS) {
        code->full = true;
        return 0;
    }
    code->operand[code->n_inputs] = src;
    return code->n_inputs++;
}

rlx_dtype_t rlx_ew_source_dtype(const rlx_ew_code_t *code, int32_t src)
{
    return src < 0 ? code->chain->steps[~src].dtype : operand(code, src)->dtype;
}

bool rlx_ew_source_scalar(const rlx_ew_code_t *code, int32_t src, double *out_scalar)
{
    const rlx_value_t *value;

    if (src < 0)
        return false;
    value = operand(code, src);
    if (value->data == NULL || value->layout != RLX_LAYOUT_ROW_MAJOR)
        return false;
    if (!rlx_expr_is(code->graph->exprs, rlx_value_count(code->graph, value), 1))
        return false;
    switch (value->dtype) {
    case RLX_F32: *out_scalar = *(const float *)value->data; return true;
    case RLX_F64: *out_scalar = *(const double *)value->data; return true;
    case RLX_F16: *out_scalar = rlx_math_f32_from_f16(*(const uint16_t *)value->data); return true;
    case RLX_BF16: *out_scalar = rlx_math_f32_from_bf16(*(const uint16_t *)value->data); return true;
    default: return false;
    }
}

static bool reads(const rlx_ew_instruction_t *in, int value) { return in->src[0] == value || in->src[1] == value || in->src[2] == value; }

static int last_reader(const rlx_ew_code_t *code, int value)
{
    for (int i = code->n_code - 1; i >= 0; --i)
        if (reads(&code->code[i], value))
            return i;
    return -1;
}

static int output_of(const rlx_ew_code_t *code, int value)
{
    for (int k = 0; k < code->n_outputs; ++k)
        if (code->output[k] == value)
            return k;
    return -1;
}

void rlx_ew_assign(rlx_ew_code_t *code)
{
    int busy_until[RLX_ELEMENTWISE_SLOTS], first = code->n_inputs + code->n_outputs;

    code->n_slots = first;
    for (int i = 0; i < code->n_code; ++i) {
        int value = RLX_EW_CODE_FIRST + i, output = output_of(code, value), slot = first;

        if (output >= 0) {
            code->code[i].slot = code->n_inputs + output;
            continue;
        }
        while (slot < code->n_slots && busy_until[slot] >= i) /* a result never overwrites what its instruction reads */
            ++slot;
        if (slot == RLX_ELEMENTWISE_SLOTS) {
            code->full = true;
            return;
        }
        code->n_slots = slot == code->n_slots ? slot + 1 : code->n_slots;
        busy_until[slot] = last_reader(code, value);
        busy_until[slot] = busy_until[slot] < i ? i : busy_until[slot];
        code->code[i].slot = slot;
    }
}
