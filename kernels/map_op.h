/* The operations of the elementwise kernel and of epilogues, by number.
 *
 * A block of elements lives in one of five register classes: f32 (also for f16, bf16), f64, i32 (also for i8, i16, u8, u16, bool), i64
 * (also for u32), u64. Numbers stand in bundles beside the code that reads them; append only. */
#ifndef RLX_KERNELS_MAP_OP_H
#define RLX_KERNELS_MAP_OP_H

typedef enum rlx_map_class { RLX_MAP_F32, RLX_MAP_F64, RLX_MAP_I32, RLX_MAP_I64, RLX_MAP_U64 } rlx_map_class_t;

/* One operand x and two immediates a, b; float classes only. */
#define RLX_MAP_FLOAT_UNARY(X) \
    X(abs) X(neg) X(sign) X(ceil) X(floor) X(round) X(sqrt) X(reciprocal) X(exp) X(log) X(sin) X(cos) X(tan) X(asin) X(acos) X(atan) \
    X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) X(atanh) X(erf) X(sigmoid) X(softplus) X(softsign) X(relu) X(leaky_relu) X(elu) \
    X(celu) X(selu) X(thresholded_relu) X(hard_sigmoid) X(hard_swish) X(mish) X(gelu) X(gelu_tanh) X(swish) X(shrink) \
    X(clip_imm) X(add_imm) X(sub_imm) X(rsub_imm) X(mul_imm) X(div_imm) X(rdiv_imm) X(min_imm) X(max_imm)

/* Two operands; float and integer classes. */
#define RLX_MAP_BINARY(X) \
    X(add) X(sub) X(mul) X(div) X(pow) X(mod) X(fmod) X(min) X(max) X(bit_and) X(bit_or) X(bit_xor) X(shift_left) X(shift_right) X(prelu)

/* Two operands, the result is bool (class i32). */
#define RLX_MAP_COMPARE(X) X(equal) X(less) X(less_equal)

typedef enum rlx_map_op {
    RLX_MAP_none,
#define X(name) RLX_MAP_##name,
    RLX_MAP_FLOAT_UNARY(X)
#undef X
    RLX_MAP_first_binary = 100,
#define X(name) RLX_MAP_##name,
    RLX_MAP_BINARY(X)
#undef X
    RLX_MAP_first_compare = 130,
#define X(name) RLX_MAP_##name,
    RLX_MAP_COMPARE(X)
#undef X
    RLX_MAP_not = 140, /* bool */
    RLX_MAP_bit_not,   /* integer classes */
    RLX_MAP_is_nan,
    RLX_MAP_is_inf,    /* immediates: negative counts, positive counts */
    RLX_MAP_copy,
    RLX_MAP_where = 150, /* bool, x, y */
    RLX_MAP_clip,        /* x, lo, hi; the bounds are operands */
    RLX_MAP_convert = 160, /* between classes: immediate a is the class of the source, b the dtype of the result */
    RLX_MAP_wrap,          /* to the width of dtype b: what storing and loading it would give */
} rlx_map_op_t;

#endif
