/* Parameter blocks of the elementwise family. */
#ifndef RLX_KERNELS_PARAMS_ELEMENTWISE_H
#define RLX_KERNELS_PARAMS_ELEMENTWISE_H

#include <stdint.h>

#include "kernels/map_op.h"

/* elementwise: a chain of operations over an index space of `count` elements, row-major, of extents dims. In: up to 20 inputs, read with
 * element strides (0 repeats). Out: up to 4 outputs, all dense over the index space.
 *
 * The block is variable: the struct, then n_in inputs, then the dtypes of n_out outputs, then n_code instructions. A slot is an input
 * [0, n_in), an output [n_in, n_in + n_out), or a register of the block interpreter, in that order.
 * Tiles: ceil(count / per_tile). Scratch: RLX_ELEMENTWISE_SCRATCH(slots). */
#define RLX_ELEMENTWISE_BLOCK 256 /* elements an instruction works on */
#define RLX_ELEMENTWISE_SLOT_BYTES (RLX_ELEMENTWISE_BLOCK * 8 + 64)
#define RLX_ELEMENTWISE_SCRATCH(slots) ((slots) * RLX_ELEMENTWISE_SLOT_BYTES + RLX_ELEMENTWISE_BLOCK * 8)
#define RLX_ELEMENTWISE_INPUTS 20
#define RLX_ELEMENTWISE_OUTPUTS 4
#define RLX_ELEMENTWISE_SLOTS 96
#define RLX_ELEMENTWISE_TILE 4096

typedef struct rlx_elementwise_params {
    int64_t count, per_tile, n_in, n_out, n_slots, n_code;
    int64_t dims[8]; /* leading extents are 1 */
} rlx_elementwise_params_t;

typedef struct rlx_elementwise_input {
    int64_t dtype;
    int64_t stride[8];
} rlx_elementwise_input_t;

typedef struct rlx_elementwise_code {
    int64_t word; /* RLX_ELEMENTWISE_WORD */
    int64_t a, b; /* immediates: bits of the class's type; see map_op.h */
} rlx_elementwise_code_t;

/* op, class of the result (of the operands for comparisons), slots. */
#define RLX_ELEMENTWISE_WORD(op, class_, dst, x, y, z)                                                                                  \
    ((int64_t)(op) | (int64_t)(class_) << 8 | (int64_t)(dst) << 16 | (int64_t)(x) << 24 | (int64_t)(y) << 32 | (int64_t)(z) << 40)

/* What a fast kernel applies to f32 results before it stores them (kernels/epilogue.h), filled by rlx_epilogue_encode. */
#define RLX_EPILOGUE_STEPS 8

typedef struct rlx_epilogue_step_params {
    int64_t kind;    /* rlx_map_op_t: a float unary operation, or add, sub, mul, div with a tensor */
    int64_t operand; /* tensor: index into args->in, shaped and laid out like the output; else -1 */
    int64_t a, b;    /* f32 bits; sub and div: a != 0 when the tensor is the first operand */
} rlx_epilogue_step_params_t;

typedef struct rlx_epilogue_params {
    int64_t n_steps;
    rlx_epilogue_step_params_t step[RLX_EPILOGUE_STEPS];
} rlx_epilogue_params_t;

/* affine_c16: one or two pairs of a product and a sum with one number per channel, in this order, then relu if asked. In: x (C16), then
 * per pair the factors and the terms ([1 or batch, blocks * 16]; absent: none). Out: y (C16). stride: floats of an operand from image to
 * image. Tile: RLX_AFFINE_CELLS cells of a block of one image; blocks are numbered fastest. */
#define RLX_AFFINE_CELLS 256
typedef struct rlx_affine_c16_params {
    int64_t blocks, space, pairs, relu, stride[4];
} rlx_affine_c16_params_t;

#endif
