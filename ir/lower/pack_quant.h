/* Offline packing of quantised weights for kernels/quant_tile.h. Pure functions on arrays.
 *
 * Chunks of 64 bytes: 16 outputs x one quad (4 channels), in the order output block, input block, kernel cell, quad; lanes that do not exist
 * are zero. What a chunk may hold is limited, so that the kernels are exact: weights stay in i8, and without VNNI the sum of the products of
 * two neighbouring channels (of a quad, or of two quads that follow each other: "pairs") with activations up to x_max stays in i16. What does
 * not fit goes to further half chunks (8 outputs) for the same quad, behind all others, until nothing is left. Trained weights have few of
 * them. */
#ifndef RLX_IR_PACK_QUANT_H
#define RLX_IR_PACK_QUANT_H

#include <stdbool.h>
#include <stdint.h>

typedef enum rlx_pack_quant_limit {
    RLX_PACK_QUANT_EXACT,  /* i8 only: VNNI */
    RLX_PACK_QUANT_SINGLE, /* sums of a quad's two halves stay in i16 */
    RLX_PACK_QUANT_PAIRS,  /* sums over two quads do; quads of a block are even in number */
} rlx_pack_quant_limit_t;

typedef struct rlx_pack_quant {
    int64_t group, channels, outputs; /* per group; several groups are whole blocks of outputs each */
    int64_t cells;
    int64_t pixel;                    /* channels of an input block: 16 or 4 */
    int64_t x_max;
    bool pairs;                       /* quads are even in number, whatever the limit */
} rlx_pack_quant_t;

typedef struct rlx_packed_quant {
    int8_t *w;      /* owned by the caller: free both */
    int64_t bytes;
    int32_t *more;  /* 2 * blocks + 1 counts, then block, cell, quad of each further half; NULL when there are none */
    int64_t n_more;
} rlx_packed_quant_t;

/* Chunks of one output block without further ones. */
int64_t rlx_pack_quant_chunks(const rlx_pack_quant_t *pack);
/* w: [group * outputs][channels][cells], each within -255 to 255. */
void rlx_pack_quant(const rlx_pack_quant_t *pack, rlx_pack_quant_limit_t limit, const int16_t *w, rlx_packed_quant_t *out);

#endif
