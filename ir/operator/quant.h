/* What the quant family asks of itself: forms, operands, the lowering's pieces. Internal to ir/. */
#ifndef RLX_IR_QUANT_H
#define RLX_IR_QUANT_H

#include "ir/lower/lower.h"

/* Operands of qconv and qmatmul, in the order of ir/op_list.h. */
enum { RLX_QUANT_X, RLX_QUANT_W, RLX_QUANT_START, RLX_QUANT_SCALE, RLX_QUANT_POINT, RLX_QUANT_FACTOR, RLX_QUANT_BIAS };

typedef struct rlx_quant_shape {
    int64_t group, channels, outputs; /* all groups */
    int64_t cells, pixel;
    const rlx_op_t *origin;            /* whose step it is */
} rlx_quant_shape_t;

typedef enum rlx_quant_form {
    RLX_QUANT_PLAIN,     /* row-major, the definition */
    RLX_QUANT_BLOCKED,   /* x blocked */
    RLX_QUANT_FIRST,     /* x row-major of at most four channels */
    RLX_QUANT_DEPTHWISE, /* x blocked */
} rlx_quant_form_t;

/* ir/lower/quant_conv.c. Which kernel can take a qconv; all but PLAIN give a blocked result. */
rlx_quant_form_t rlx_quant_form(const rlx_graph_t *graph, const rlx_op_t *op);
rlx_status_t rlx_quant_lower_conv(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag);
rlx_status_t rlx_quant_lower_matmul(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag);
/* The sums of a product, i32 [rows][outputs], for an operator that computes with them: `bytes` are what qrows makes of u8 [rows][channels],
 * `w` is i16 [outputs][channels]. */
rlx_status_t rlx_quant_lower_sums(rlx_builder_t *builder, const rlx_op_t *origin, const rlx_value_t *bytes, rlx_value_t *w, rlx_value_t *sums,
                                  rlx_diag_t *diag);
/* Dynamic quantisation of `count` items, each of `steps` rows (those of its length, where lengths are given) of `columns`: element t * step + item *
 * item_step of op's first operand. Into bytes (with `rows` as qrows makes them), f32 scales, u8 zero points; the last two may be absent.
 * ir/lower/quant_dynamic.c */
typedef struct rlx_quant_items {
    rlx_expr_t count, steps, columns, step, item_step;
    const rlx_value_t *lengths; /* i32 [count], or NULL */
    bool rows;
} rlx_quant_items_t;
rlx_status_t rlx_quant_lower_items(rlx_builder_t *builder, const rlx_op_t *op, const rlx_quant_items_t *items, const rlx_value_t *const out[3],
                                   rlx_diag_t *diag);
rlx_status_t rlx_quant_lower_dynamic(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag);
/* The op's result, lo, hi and point as the rlx_quant_finish_t that starts at word `word`. */
void rlx_quant_finish_params(rlx_step_t *step, int word, const rlx_op_t *op);

/* Packed operands of qconv for `op`, added to `step` in the kernel's order: all after x.
 * ir/pass/quant_weights.c. Returns whether the packing takes pairs of quads; `*out_further` is the most further halves that two neighbouring output
 * blocks have, for the kernel's scratch. */
bool rlx_quant_weights_add(rlx_builder_t *builder, rlx_step_t *step, const rlx_op_t *op, const rlx_quant_shape_t *shape, int64_t *out_further);
/* Starts, scales, zero point, factor and bias of qdepthwise, with its weights. */
void rlx_quant_depthwise_add(rlx_builder_t *builder, rlx_step_t *step, const rlx_op_t *op, const rlx_quant_shape_t *shape);

#endif
