/* Parameter blocks of the quant family. Activations are u8 with a zero point ("point"); "blocked" is RLX_LAYOUT_C16 of bytes.
 * The arithmetic: ir/op_list.h; of bytes: kernels/quant_round.h. */
#ifndef RLX_KERNELS_PARAMS_QUANT_H
#define RLX_KERNELS_PARAMS_QUANT_H

#include <stdint.h>

#include "kernels/params_conv.h"
#include "kernels/params_move.h"

/* What becomes of an i32 sum. BYTES: quant_bytes(f32(sum) * scale, lo, hi, point). FLOATS: f32(sum) * scale [+ bias]. SUMS: the sum. */
typedef enum rlx_quant_result { RLX_QUANT_BYTES, RLX_QUANT_FLOATS, RLX_QUANT_SUMS } rlx_quant_result_t;

typedef struct rlx_quant_finish {
    int64_t result;            /* rlx_quant_result_t */
    int64_t lo, hi, point;     /* BYTES: lo and hi are f32 bits, as kernels/quant_round.h wants them */
} rlx_quant_finish_t;

/* Where a result lies: element image * y_image + channel / 16 * y_block + channel % 16 + pixel * y_pixel. */
typedef struct rlx_quant_place {
    int64_t image, block, pixel;
    int64_t whole; /* blocks of 16 are stored whole, lanes past the last channel hold anything; else only channels that exist */
} rlx_quant_place_t;

/* qconv_plain. Row-major. In: x u8, w i16 (less its zero point), i32 sums that outputs start from [O] or absent, f32 scale [O] or absent
 * (SUMS), x's zero point (u8 or i8 scalar) or absent: then x_point, f32 factor of the scales (scalar) or absent, f32 bias [O] or absent.
 * Out: y u8, f32 or i32. channels and outputs count all groups. Tiles: batch * outputs * out depth * out height.
 * qmatmul_plain: the same with x [rows][channels], w [outputs][channels], y [rows][outputs]; batch is rows. Tiles: rows. */
typedef struct rlx_qconv_plain_params {
    int64_t batch, group, channels, outputs;
    int64_t x_point;
    int64_t flip; /* the operand of x's zero point is i8 while x is u8: 128 is added */
    rlx_conv_window_t window;
    rlx_quant_finish_t finish;
} rlx_qconv_plain_params_t;
typedef rlx_qconv_plain_params_t rlx_qmatmul_plain_params_t;

/* qconv, and qconv_vnni, its form for machines with VNNI. In: what qgather made of x (or blocked x itself), packed weights for VNNI, their
 * further chunks or absent, packed weights for others, their further chunks or absent, i32 starts [16 * blocks], f32 scales [16 * blocks]
 * or absent (SUMS), i32 sums of each output's weights [16 * blocks] and x's zero point (u8 or i8 scalar), both or none: then starts hold the zero
 * point's share, f32 factor of the scales (scalar) or absent, f32 bias [16 * blocks] or absent. Out: y.
 * Packed weights: ir/lower/pack_quant.h. channels and outputs count all groups; several groups are whole blocks each.
 * Tiles: batch * group * row blocks * output-block ranges, the last fastest. Scratch: 8 bytes per kernel cell and per further chunk of two
 * neighbouring output blocks. */
typedef struct rlx_qconv_params {
    int64_t batch, group, channels, outputs;
    rlx_conv_window_t window; /* depth 1 */
    int64_t rows;             /* output rows in a row block */
    int64_t blocks;           /* output-channel blocks in a range */
    int64_t pixel;            /* bytes of a gathered pixel: 16, or 4 for at most 4 channels */
    int64_t gathered;         /* x is what qgather made */
    int64_t flip;             /* as above */
    int64_t pairs;            /* the packing for others allows sums of two quads in i16 */
    rlx_quant_place_t place;
    rlx_quant_finish_t finish;
} rlx_qconv_params_t;
typedef rlx_qconv_params_t rlx_qconv_vnni_params_t;

/* qgather. In: x u8: blocked (pixel 16) or row-major (pixel 4), x's zero point (scalar) or absent: then `point`. Out: pixels for all output
 * rows in the form of kernels/quant_gather.h. Tiles: batch * input blocks * lines. */
typedef struct rlx_qgather_params {
    int64_t batch, channels, pixel, point, flip;
    rlx_conv_window_t window;
} rlx_qgather_params_t;

/* qdepthwise. group == channels == outputs, depth 1, x blocked. In: x, f32 weights less their zero points (RLX_LAYOUT_DW16), i32 starts
 * [16 * blocks], f32 scales or absent (SUMS), x's zero point (scalar) or absent: then x_point, f32 factor or absent, f32 bias or absent.
 * Out: y, blocked. Sums of products stay below 2^24, so f32 holds them exactly. Tiles: batch * channel blocks * row blocks.
 * Scratch: RLX_QDEPTHWISE_PIXEL bytes per input cell that a row block meets. */
#define RLX_QDEPTHWISE_PIXEL 64
typedef struct rlx_qdepthwise_params {
    int64_t batch, channels, x_point, flip;
    rlx_conv_window_t window;
    int64_t rows;
    rlx_quant_finish_t finish;
} rlx_qdepthwise_params_t;

/* qmax_pool: the greatest byte; qavg_pool: quant_bytes(f32(sum of x - x_point) * (scale / f32(count)), lo, hi, point). x and y u8, blocked
 * (lanes 16) or, for qavg_pool, row-major (lanes 1). Tiles: batch * ceil(channels / lanes) * out height. */
typedef struct rlx_qpool_params {
    int64_t lanes;
    rlx_conv_window_t window; /* depth 1 */
    int64_t count_include_pad, x_point, scale; /* avg; scale is f32 bits */
    rlx_quant_finish_t finish;
} rlx_qpool_params_t;
typedef rlx_qpool_params_t rlx_qmax_pool_params_t;
typedef rlx_qpool_params_t rlx_qavg_pool_params_t;

/* Maps over `count` elements. Tiles: blocks of RLX_QMAP_BLOCK elements.
 * quantize: x f32, scale f32 (scalar), zero point (scalar u8 or i8) or absent: u8 or i8 (is_signed): point + round(x / scale), saturated.
 * dequantize: x u8 or i8, scale, zero point or absent: f32, (f32(x) - f32(point)) * scale. */
#define RLX_QMAP_BLOCK 16384
typedef struct rlx_qmap_params {
    int64_t count, is_signed;
} rlx_qmap_params_t;
typedef rlx_qmap_params_t rlx_quantize_params_t;
typedef rlx_qmap_params_t rlx_dequantize_params_t;
typedef rlx_qmap_params_t rlx_qflip_params_t;   /* u8 to i8 or back: the top bit flips */
typedef rlx_qmap_params_t rlx_qlookup_params_t; /* x u8, table of 256 bytes */

/* Dynamic quantisation (kernels/quant_dynamic.h) of `items` tensors, each of `steps` rows of `columns`: element t * step + item * item_step.
 * In `parts` of each item. qspan: x f32, lengths i32 [items] or absent (rows past an item's length do not count); out f32
 * [items][parts][2]: the least and the greatest of each part and 0.
 * qdynamic: x, what qspan made, lengths or absent; out bytes, f32 scales [items], u8 zero points [items], either absent or not. Bytes lie where x's elements do; with
 * `rows` they are what qrows makes of that, rows of all items in x's order. Bytes past a length are zero. Tiles: items * parts. */
typedef struct rlx_qspan_params {
    int64_t items, steps, columns;
    int64_t step, item_step;
    int64_t parts, rows;
} rlx_qspan_params_t;
typedef rlx_qspan_params_t rlx_qdynamic_params_t;

/* dequantize_axis: any integer of 8, 16 or 32 bits, scale and zero point per index of an axis: x is [outer][axis][inner]. In: x, scale, zero
 * point or absent. Out: f32. Tiles: outer * axis. */
typedef struct rlx_dequantize_axis_params {
    int64_t outer, axis, inner, dtype;
} rlx_dequantize_axis_params_t;

/* qadd, qmul: a, b u8 of the same form. qadd: quant_bytes(fma(f32(b - b_point), b_scale, f32(a - a_point) * a_scale)); qmul:
 * quant_bytes(f32((a - a_point) * (b - b_point)) * a_scale). Scales are f32 bits. Tiles: blocks of RLX_QMAP_BLOCK elements.
 * qmul with `b_step`: `lanes` elements of b repeat over `b_step` elements of a (squeeze and excite); 0: it does not repeat. */
typedef struct rlx_qbinary_params {
    int64_t count, a_point, b_point, a_scale, b_scale;
    int64_t b_step, lanes; /* lanes: 16 (blocked) or 1 */
    rlx_quant_finish_t finish;
} rlx_qbinary_params_t;
typedef rlx_qbinary_params_t rlx_qadd_params_t;
typedef rlx_qbinary_params_t rlx_qmul_params_t;

/* qto_c16, qfrom_c16: bytes, row-major to blocks of 16 channels (lanes past the last are zero) and back. Tiles: n * blocks. */
typedef rlx_to_c16_params_t rlx_qto_c16_params_t;
typedef rlx_to_c16_params_t rlx_qfrom_c16_params_t;
/* qchannels_c16: channels_c16 of bytes. */
typedef rlx_channels_c16_params_t rlx_qchannels_c16_params_t;

/* qrows. In: x [rows][columns] of bytes. Out: [ceil(columns / 16)][rows][16], zeros past `columns`.
 * Tiles: row blocks of 64. */
typedef struct rlx_qrows_params {
    int64_t rows, columns;
} rlx_qrows_params_t;

#endif
