/* Packing of quantised weights. See ir/lower/pack_quant.h. */
#include "ir/lower/pack_quant.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

#define CHUNK 64
#define HALF 32 /* 8 outputs */

typedef struct packer {
    const rlx_pack_quant_t *p;
    rlx_pack_quant_limit_t limit;
    const int16_t *w;
    int8_t *main, *further;
    int32_t *entry;
    int64_t n, cap; /* further halves */
} packer_t;

/* Weights of one quad that no chunk holds yet: [output][channel]. */
typedef struct rest {
    int16_t w[16][4];
} rest_t;

static int64_t quads_of(const rlx_pack_quant_t *p, int64_t channels)
{
    int64_t quads = (channels + 3) / 4;

    return p->pairs ? (quads + 1) / 2 * 2 : quads;
}

int64_t rlx_pack_quant_chunks(const rlx_pack_quant_t *p)
{
    int64_t whole = p->channels / p->pixel, tail = p->channels % p->pixel;

    return (whole * quads_of(p, p->pixel) + quads_of(p, tail)) * p->cells;
}

/* Moves as much of `*rest` into a chunk as i8 allows, and the sums of products of i16 that it takes part in. */
static int8_t part_take(const packer_t *k, int16_t *rest, int *above, int *below)
{
    int take = *rest < -128 ? -128 : *rest > 127 ? 127 : *rest;

    if (k->limit != RLX_PACK_QUANT_EXACT && k->p->x_max > 0) {
        int most = (int)(32767 / k->p->x_max) - *above, least = -(int)(32768 / k->p->x_max) - *below;

        take = take > most ? most : take < least ? least : take;
    }
    if (take > 0)
        *above += take;
    else
        *below += take;
    *rest = (int16_t)(*rest - take);
    return (int8_t)take;
}

/* Fills the lanes of outputs [o, end) in `n` chunks that are added up in i16 together. */
static void chunks_fill(const packer_t *k, rest_t *rest, int n, int o, int end, int8_t *to)
{
    for (; o < end; o++)
        for (int side = 0; side < 4; side += 2) {
            int above = 0, below = 0;

            for (int i = 0; i < n; i++)
                for (int c = side; c < side + 2; c++)
                    to[i * CHUNK + o * 4 + c] = part_take(k, &rest[i].w[o][c], &above, &below);
        }
}

static bool rest_is_empty(const rest_t *rest, int half)
{
    static const int16_t empty[8][4];

    return memcmp(rest->w[half * 8], empty, sizeof empty) == 0;
}

static void further_add(packer_t *k, rest_t *rest, int half, int64_t block, int64_t cell, int64_t quad)
{
    while (!rest_is_empty(rest, half)) {
        if (k->n == k->cap) {
            k->cap = k->cap * 2 + 64;
            k->further = realloc(k->further, (size_t)k->cap * HALF);
            k->entry = realloc(k->entry, (size_t)k->cap * 3 * sizeof *k->entry);
            RLX_ASSERT(k->further != NULL);
            RLX_ASSERT(k->entry != NULL);
        }
        chunks_fill(k, rest, 1, half * 8, half * 8 + 8, k->further + (k->n - half) * HALF);
        k->entry[k->n * 3] = (int32_t)block;
        k->entry[k->n * 3 + 1] = (int32_t)cell;
        k->entry[k->n * 3 + 2] = (int32_t)quad;
        k->n++;
    }
}

/* Quad `quad` of an input block, outputs from `o` on of a group. */
static rest_t rest_read(const packer_t *k, const int16_t *w, int64_t o, int64_t block, int64_t cell, int64_t quad)
{
    const rlx_pack_quant_t *p = k->p;
    rest_t rest = {0};

    for (int64_t lane = 0; lane < 16 && o + lane < p->outputs; lane++)
        for (int64_t i = 0; i < 4; i++) {
            int64_t c = block * p->pixel + quad * 4 + i;

            if (c < p->channels && quad * 4 + i < p->pixel)
                rest.w[lane][i] = w[((o + lane) * p->channels + c) * p->cells + cell];
        }
    return rest;
}

/* One half of what one output block leaves over is collected at a time (`half` 0 or 1): halves lie together. The chunks themselves are written
 * each time, to the same place. */
static void output_block(packer_t *k, const int16_t *w, int64_t o, int half)
{
    const rlx_pack_quant_t *p = k->p;
    int step = k->limit == RLX_PACK_QUANT_PAIRS ? 2 : 1;
    int8_t *to = k->main;

    for (int64_t block = 0; block * p->pixel < p->channels; block++) {
        int64_t left = p->channels - block * p->pixel, quads = quads_of(p, left < p->pixel ? left : p->pixel);

        for (int64_t cell = 0; cell < p->cells; cell++)
            for (int64_t quad = 0; quad < quads; quad += step) {
                rest_t rest[2];

                for (int i = 0; i < step; i++)
                    rest[i] = rest_read(k, w, o, block, cell, quad + i);
                chunks_fill(k, rest, step, 0, 16, to);
                for (int i = 0; i < step; i++)
                    further_add(k, &rest[i], half, block, cell, quad + i);
                to += step * CHUNK;
            }
    }
}

void rlx_pack_quant(const rlx_pack_quant_t *p, rlx_pack_quant_limit_t limit, const int16_t *w, rlx_packed_quant_t *out)
{
    int64_t per_group = (p->outputs + 15) / 16, blocks = p->group * per_group, chunks = rlx_pack_quant_chunks(p), main = blocks * chunks * CHUNK;
    int8_t *bytes = malloc((size_t)main + CHUNK);
    int32_t *counts = calloc(2 * (size_t)blocks + 1, sizeof *counts);
    packer_t k = {.p = p, .limit = limit, .w = w, .main = bytes};

    RLX_ASSERT(bytes != NULL);
    RLX_ASSERT(counts != NULL);
    for (int64_t b = 0; b < blocks; b++, k.main += chunks * CHUNK)
        for (int half = 0; half < 2; half++) {
            output_block(&k, w + b / per_group * p->outputs * p->channels * p->cells, b % per_group * 16, half);
            counts[2 * b + half + 1] = (int32_t)k.n;
        }
    *out = (rlx_packed_quant_t){.w = realloc(bytes, (size_t)(main + k.n * HALF) + CHUNK), .bytes = main + k.n * HALF, .n_more = k.n};
    RLX_ASSERT(out->w != NULL);
    if (k.n > 0) {
        memcpy(out->w + main, k.further, (size_t)k.n * HALF);
        out->more = malloc((2 * (size_t)blocks + 1 + 3 * (size_t)k.n) * sizeof *out->more);
        RLX_ASSERT(out->more != NULL);
        memcpy(out->more, counts, (2 * (size_t)blocks + 1) * sizeof *counts);
        memcpy(out->more + 2 * blocks + 1, k.entry, 3 * (size_t)k.n * sizeof *k.entry);
    }
    free(counts);
    free(k.further);
    free(k.entry);
}
