/* Encodes epilogues. Stateless. */
#include "ir/pass/epilogue.h"

#include <string.h>

#define RLX_EPILOGUE_WORD(field) ((int)(offsetof(rlx_epilogue_step_params_t, field) / sizeof(int64_t)))

rlx_map_op_t rlx_map_unary_of(const rlx_op_t *op, float *out_a, float *out_b)
{
    *out_a = *out_b = 0;
    switch (op->kind) {
#define PLAIN(name) case RLX_OP_##name: return RLX_MAP_##name;
    PLAIN(abs) PLAIN(neg) PLAIN(sign) PLAIN(ceil) PLAIN(floor) PLAIN(round) PLAIN(sqrt) PLAIN(reciprocal) PLAIN(exp) PLAIN(log) PLAIN(sin)
    PLAIN(cos) PLAIN(tan) PLAIN(asin) PLAIN(acos) PLAIN(atan) PLAIN(sinh) PLAIN(cosh) PLAIN(tanh) PLAIN(asinh) PLAIN(acosh) PLAIN(atanh)
    PLAIN(erf) PLAIN(sigmoid) PLAIN(softplus) PLAIN(softsign) PLAIN(relu) PLAIN(hard_swish) PLAIN(mish)
#undef PLAIN
    case RLX_OP_gelu: return strcmp(rlx_op_string(op, "approximate"), "tanh") == 0 ? RLX_MAP_gelu_tanh : RLX_MAP_gelu;
#define WITH_ALPHA(name) case RLX_OP_##name: *out_a = rlx_op_float(op, "alpha"); return RLX_MAP_##name;
    WITH_ALPHA(leaky_relu) WITH_ALPHA(elu) WITH_ALPHA(celu) WITH_ALPHA(thresholded_relu) WITH_ALPHA(swish)
#undef WITH_ALPHA
    case RLX_OP_selu: *out_a = rlx_op_float(op, "alpha"); *out_b = rlx_op_float(op, "gamma"); return RLX_MAP_selu;
    case RLX_OP_hard_sigmoid: *out_a = rlx_op_float(op, "alpha"); *out_b = rlx_op_float(op, "beta"); return RLX_MAP_hard_sigmoid;
    case RLX_OP_shrink: *out_a = rlx_op_float(op, "lambd"); *out_b = rlx_op_float(op, "bias"); return RLX_MAP_shrink;
    default: return RLX_MAP_none;
    }
}

static rlx_map_op_t binary_of(rlx_op_kind_t kind)
{
    return kind == RLX_OP_add ? RLX_MAP_add : kind == RLX_OP_sub ? RLX_MAP_sub : kind == RLX_OP_mul ? RLX_MAP_mul
         : kind == RLX_OP_div ? RLX_MAP_div : RLX_MAP_none;
}

static rlx_map_op_t immediate_of(rlx_map_op_t op, bool reversed)
{
    switch (op) {
    case RLX_MAP_add: return RLX_MAP_add_imm;
    case RLX_MAP_sub: return reversed ? RLX_MAP_rsub_imm : RLX_MAP_sub_imm;
    case RLX_MAP_mul: return RLX_MAP_mul_imm;
    default: return reversed ? RLX_MAP_rdiv_imm : RLX_MAP_div_imm;
    }
}

rlx_map_op_t rlx_epilogue_step_kind(const rlx_epilogue_step_t *from, float *out_a, float *out_b)
{
    rlx_map_op_t kind = binary_of(from->op->kind);

    *out_a = *out_b = 0;
    if (from->op->kind == RLX_OP_clip) {
        *out_a = from->lo;
        *out_b = from->hi;
        return RLX_MAP_clip_imm;
    }
    if (kind == RLX_MAP_none)
        return rlx_map_unary_of(from->op, out_a, out_b);
    if (from->tensor != NULL)
        return kind;
    *out_a = from->scalar;
    return immediate_of(kind, from->running_is_second);
}

rlx_status_t rlx_epilogue_encode(rlx_step_t *step, int word, int n_in, const rlx_epilogue_t *epilogue, rlx_diag_t *diag)
{
    int n_steps = epilogue == NULL ? 0 : epilogue->n_steps;

    rlx_step_param_const(step, word, n_steps);
    for (int i = 0; i < n_steps; ++i) {
        const rlx_epilogue_step_t *from = &epilogue->steps[i];
        int at = word + 1 + i * RLX_WORDS(rlx_epilogue_step_params_t);
        float a, b;
        rlx_map_op_t kind = rlx_epilogue_step_kind(from, &a, &b);

        if (kind == RLX_MAP_none)
            return rlx_fail(diag, RLX_E_INTERNAL, "%s: no epilogue form", from->op->source);
        rlx_step_param_const(step, at + RLX_EPILOGUE_WORD(kind), kind);
        rlx_step_param_const(step, at + RLX_EPILOGUE_WORD(operand), from->tensor == NULL ? -1 : n_in);
        if (from->tensor != NULL) {
            rlx_step_in(step, from->tensor);
            ++n_in;
            rlx_step_param_const(step, at + RLX_EPILOGUE_WORD(a), from->running_is_second);
        } else {
            rlx_step_param_f32(step, at + RLX_EPILOGUE_WORD(a), a);
            rlx_step_param_f32(step, at + RLX_EPILOGUE_WORD(b), b);
        }
    }
    return RLX_OK;
}
