/* Instructions of one element-wise op, by kind and type. Narrow types compute in their register class and are wrapped or rounded to their
 * width when a later step of the chain reads them; a store does the same. */
#include <string.h>

#include "ir/lower/elementwise_code.h"
#include "ir/pass/epilogue.h"
#include "ir/shape/common.h"
#include "kernels/map.h"

typedef struct ew_step {
    rlx_ew_code_t *code;
    const rlx_chain_step_t *step;
    const rlx_op_t *op;
    rlx_dtype_t dtype;      /* of the first operand */
    rlx_map_class_t class_; /* of the first operand */
    bool may_leave_width;   /* the result may need wrapping or rounding */
} ew_step_t;

static rlx_map_class_t class_of(rlx_dtype_t dtype) { return (rlx_map_class_t)rlx_map_class_of(dtype); }

static bool is_float_class(rlx_map_class_t class_) { return class_ == RLX_MAP_F32 || class_ == RLX_MAP_F64; }

static int64_t immediate(rlx_map_class_t class_, double value)
{
    union { float f; uint32_t u; } f32 = {.f = (float)value};
    union { double d; int64_t i; } f64 = {.d = value};

    return class_ == RLX_MAP_F32 ? (int64_t)f32.u : f64.i;
}

static int source(const ew_step_t *s, int k) { return rlx_ew_source(s->code, s->step->src[k]); }

static int emit(const ew_step_t *s, rlx_map_op_t op, rlx_map_class_t class_, int x, int y)
{
    return rlx_ew_emit(s->code, op, class_, x, y, RLX_EW_NONE, 0, 0);
}

/* Sources are numbered when first read: in order of operands, which argument lists do not promise. */
static int emit_sources(const ew_step_t *s, rlx_map_op_t op, rlx_map_class_t class_, int i, int j)
{
    int x = source(s, i);

    return emit(s, op, class_, x, source(s, j));
}

static int emit_three(const ew_step_t *s, rlx_map_op_t op, rlx_map_class_t class_, int i, int j, int k)
{
    int x = source(s, i), y = source(s, j);

    return rlx_ew_emit(s->code, op, class_, x, y, source(s, k), 0, 0);
}

static int emit_convert(const ew_step_t *s, int x, rlx_map_class_t from, rlx_dtype_t to)
{
    return rlx_ew_emit(s->code, RLX_MAP_convert, class_of(to), x, RLX_EW_NONE, RLX_EW_NONE, from, to);
}

/* Source `k` as a number of class `class_`, which is the class of a wide type. */
static int source_as(const ew_step_t *s, int k, rlx_map_class_t class_)
{
    static const rlx_dtype_t widest[] = {[RLX_MAP_F32] = RLX_F32, [RLX_MAP_F64] = RLX_F64, [RLX_MAP_I32] = RLX_I32,
                                         [RLX_MAP_I64] = RLX_I64, [RLX_MAP_U64] = RLX_U64};
    rlx_map_class_t from = class_of(rlx_ew_source_dtype(s->code, s->step->src[k]));

    return from == class_ ? source(s, k) : emit_convert(s, source(s, k), from, widest[class_]);
}

/* ---- unary ---- */

static int step_float_unary(const ew_step_t *s, rlx_map_class_t class_, int x)
{
    float a, b;
    rlx_map_op_t op = rlx_map_unary_of(s->op, &a, &b);

    if (op == RLX_MAP_none)
        return RLX_EW_NONE;
    return rlx_ew_emit(s->code, op, class_, x, RLX_EW_NONE, RLX_EW_NONE, immediate(class_, a), immediate(class_, b));
}

static int step_integer_unary(const ew_step_t *s)
{
    switch (s->op->kind) {
    case RLX_OP_abs: return emit(s, RLX_MAP_abs, s->class_, source(s, 0), RLX_EW_NONE);
    case RLX_OP_neg: return emit(s, RLX_MAP_neg, s->class_, source(s, 0), RLX_EW_NONE);
    case RLX_OP_sign: return emit(s, RLX_MAP_sign, s->class_, source(s, 0), RLX_EW_NONE);
    case RLX_OP_relu: return emit(s, RLX_MAP_relu, s->class_, source(s, 0), RLX_EW_NONE);
    case RLX_OP_bit_not: return emit(s, RLX_MAP_bit_not, s->class_, source(s, 0), RLX_EW_NONE);
    case RLX_OP_shrink: return emit_convert(s, step_float_unary(s, RLX_MAP_F64, source_as(s, 0, RLX_MAP_F64)), RLX_MAP_F64, s->step->dtype);
    default: return RLX_EW_NONE;
    }
}

static int step_classify(const ew_step_t *s)
{
    int64_t negative = 0, positive = 0;
    rlx_map_op_t op = s->op->kind == RLX_OP_not ? RLX_MAP_not : s->op->kind == RLX_OP_is_nan ? RLX_MAP_is_nan : RLX_MAP_is_inf;

    if (op == RLX_MAP_is_inf) {
        negative = rlx_op_int(s->op, "detect_negative");
        positive = rlx_op_int(s->op, "detect_positive");
    }
    return rlx_ew_emit(s->code, op, s->class_, source(s, 0), RLX_EW_NONE, RLX_EW_NONE, negative, positive);
}

static int step_cast(ew_step_t *s)
{
    s->may_leave_width = false; /* a conversion ends in the range of its type */
    if (s->dtype == s->step->dtype)
        return emit(s, RLX_MAP_copy, s->class_, source(s, 0), RLX_EW_NONE);
    return emit_convert(s, source(s, 0), s->class_, s->step->dtype);
}

/* ---- binary ---- */

/* The form with an immediate for a constant scalar operand, or none. min and max keep the order of their operands. */
static rlx_map_op_t immediate_form(rlx_op_kind_t kind, int scalar_index)
{
    switch (kind) {
    case RLX_OP_add: return RLX_MAP_add_imm;
    case RLX_OP_mul: return RLX_MAP_mul_imm;
    case RLX_OP_sub: return scalar_index == 1 ? RLX_MAP_sub_imm : RLX_MAP_rsub_imm;
    case RLX_OP_div: return scalar_index == 1 ? RLX_MAP_div_imm : RLX_MAP_rdiv_imm;
    case RLX_OP_min: return scalar_index == 1 ? RLX_MAP_min_imm : RLX_MAP_none;
    case RLX_OP_max: return scalar_index == 1 ? RLX_MAP_max_imm : RLX_MAP_none;
    default: return RLX_MAP_none;
    }
}

static int step_immediate(const ew_step_t *s)
{
    double scalar;

    if (!is_float_class(s->class_))
        return RLX_EW_NONE;
    for (int k = 1; k >= 0; --k) {
        rlx_map_op_t op = immediate_form(s->op->kind, k);

        if (op == RLX_MAP_none || rlx_ew_source_scalar(s->code, s->step->src[1 - k], &scalar))
            continue; /* two constants: the general form */
        if (!rlx_ew_source_scalar(s->code, s->step->src[k], &scalar))
            continue;
        return rlx_ew_emit(s->code, op, s->class_, source(s, 1 - k), RLX_EW_NONE, RLX_EW_NONE, immediate(s->class_, scalar), 0);
    }
    return RLX_EW_NONE;
}

/* The result has the base's type. A mixed power computes in f64, two integers in 64 bits. */
static int step_pow(ew_step_t *s)
{
    rlx_dtype_t exponent = rlx_ew_source_dtype(s->code, s->step->src[1]);
    rlx_map_class_t class_ = s->class_;
    double scalar;
    int value, base;

    if (is_float_class(class_) && rlx_ew_source_scalar(s->code, s->step->src[1], &scalar) && scalar == 2)
        return emit_sources(s, RLX_MAP_mul, class_, 0, 0); /* what pow gives for 2 */
    if (is_float_class(class_))
        class_ = exponent == RLX_F64 ? RLX_MAP_F64 : class_;
    else
        class_ = rlx_dtype_is_float(exponent) ? RLX_MAP_F64 : class_ == RLX_MAP_U64 ? RLX_MAP_U64 : RLX_MAP_I64;
    base = source_as(s, 0, class_);
    value = emit(s, RLX_MAP_pow, class_, base, source_as(s, 1, class_));
    if (class_ == s->class_)
        return value;
    s->may_leave_width = false;
    return emit_convert(s, value, class_, s->step->dtype);
}

static rlx_map_op_t binary_of(const rlx_op_t *op)
{
    switch (op->kind) {
    case RLX_OP_add: return RLX_MAP_add;
    case RLX_OP_sub: return RLX_MAP_sub;
    case RLX_OP_mul: return RLX_MAP_mul;
    case RLX_OP_div: return RLX_MAP_div;
    case RLX_OP_mod: return rlx_op_int(op, "fmod") ? RLX_MAP_fmod : RLX_MAP_mod;
    case RLX_OP_min: return RLX_MAP_min;
    case RLX_OP_max: return RLX_MAP_max;
    case RLX_OP_and: case RLX_OP_bit_and: return RLX_MAP_bit_and;
    case RLX_OP_or: case RLX_OP_bit_or: return RLX_MAP_bit_or;
    case RLX_OP_xor: case RLX_OP_bit_xor: return RLX_MAP_bit_xor;
    case RLX_OP_bit_shift: return strcmp(rlx_op_string(op, "direction"), "LEFT") == 0 ? RLX_MAP_shift_left : RLX_MAP_shift_right;
    case RLX_OP_prelu: return RLX_MAP_prelu;
    default: return RLX_MAP_none;
    }
}

static int step_binary(ew_step_t *s)
{
    rlx_map_op_t op = binary_of(s->op);
    int value = step_immediate(s);

    if (s->op->kind == RLX_OP_pow)
        return step_pow(s);
    if (value != RLX_EW_NONE || op == RLX_MAP_none)
        return value;
    return emit_sources(s, op, s->class_, 0, 1);
}

static int step_compare(ew_step_t *s)
{
    bool swapped = s->op->kind == RLX_OP_greater || s->op->kind == RLX_OP_greater_equal;
    rlx_map_op_t op = s->op->kind == RLX_OP_equal ? RLX_MAP_equal
                    : s->op->kind == RLX_OP_less || s->op->kind == RLX_OP_greater ? RLX_MAP_less : RLX_MAP_less_equal;

    return emit_sources(s, op, s->class_, swapped ? 1 : 0, swapped ? 0 : 1);
}

/* ---- ternary ---- */

static int step_clip(ew_step_t *s)
{
    bool has_lo = s->step->src[1] != RLX_CHAIN_ABSENT, has_hi = s->step->src[2] != RLX_CHAIN_ABSENT;
    double lo = -__builtin_inf(), hi = __builtin_inf();

    s->may_leave_width = false;
    if (is_float_class(s->class_) && (!has_lo || rlx_ew_source_scalar(s->code, s->step->src[1], &lo)) &&
        (!has_hi || rlx_ew_source_scalar(s->code, s->step->src[2], &hi)))
        return rlx_ew_emit(s->code, RLX_MAP_clip_imm, s->class_, source(s, 0), RLX_EW_NONE, RLX_EW_NONE, immediate(s->class_, lo),
                           immediate(s->class_, hi));
    if (!has_lo && !has_hi)
        return emit(s, RLX_MAP_copy, s->class_, source(s, 0), RLX_EW_NONE);
    if (!has_hi)
        return emit_sources(s, RLX_MAP_max, s->class_, 0, 1);
    /* x as its own lower bound: none */
    return emit_three(s, RLX_MAP_clip, s->class_, 0, has_lo ? 1 : 0, 2);
}

static int step_where(ew_step_t *s)
{
    s->may_leave_width = false;
    return emit_three(s, RLX_MAP_where, class_of(s->step->dtype), 0, 1, 2);
}

static int step_value(ew_step_t *s)
{
    switch (s->op->kind) {
    case RLX_OP_identity: s->may_leave_width = false; return emit(s, RLX_MAP_copy, s->class_, source(s, 0), RLX_EW_NONE);
    case RLX_OP_cast: return step_cast(s);
    case RLX_OP_not: case RLX_OP_is_nan: case RLX_OP_is_inf: return step_classify(s);
    case RLX_OP_equal: case RLX_OP_less: case RLX_OP_less_equal: case RLX_OP_greater: case RLX_OP_greater_equal: return step_compare(s);
    case RLX_OP_where: return step_where(s);
    case RLX_OP_clip: return step_clip(s);
    default: break;
    }
    if (rlx_op_info(s->op->kind)->max_in == 2)
        return step_binary(s);
    return is_float_class(s->class_) ? step_float_unary(s, s->class_, source(s, 0)) : step_integer_unary(s);
}

rlx_status_t rlx_ew_step(rlx_ew_code_t *code, int index, int *out_value, rlx_diag_t *diag)
{
    const rlx_chain_step_t *step = &code->chain->steps[index];
    rlx_dtype_t dtype = rlx_ew_source_dtype(code, step->src[0]);
    ew_step_t s = {.code = code, .step = step, .op = step->op, .dtype = dtype, .class_ = class_of(dtype),
                   .may_leave_width = step->dtype != RLX_BOOL && !rlx_map_is_native(step->dtype)};
    int value = step_value(&s);

    if (value == RLX_EW_NONE)
        return rlx_shape_fail(diag, step->op, RLX_E_ONNX_OPERATOR, "there is no kernel for elements of type %s", rlx_dtype_name(dtype));
    if (s.may_leave_width && code->consumed[index])
        value = rlx_ew_emit(code, RLX_MAP_wrap, class_of(step->dtype), value, RLX_EW_NONE, RLX_EW_NONE, 0, step->dtype);
    *out_value = value;
    return RLX_OK;
}
