/* Fast f32 sampling of images, mode linear: the bits of kernels/grid_sample.c. The corners of a block of places are worked out once and
 * serve all channels. */
#include "kernels/abi.h"
#include "kernels/grid_taps.h"
#include "kernels/params.h"

#define PLACES_MAX 64

/* Corners in the order upper left, upper right, lower left, lower right; a corner outside reads place 0 and then counts as zero. */
typedef struct corners {
    int32_t at[4][PLACES_MAX];
    int32_t inside[4][PLACES_MAX];
    float left[PLACES_MAX], right[PLACES_MAX], upper[PLACES_MAX], lower[PLACES_MAX];
} corners_t;

static void corners_make(const rlx_grid_sample_params_t *p, const void *grid, int64_t first, int n, corners_t *c)
{
    grid_taps_t taps[3];

    for (int i = 0; i < n; i++) {
        grid_place(p, grid, first + i, taps);
        for (int k = 0; k < 4; k++) {
            int64_t h = taps[1].index[k / 2], w = taps[2].index[k % 2];
            c->inside[k][i] = h >= 0 && w >= 0;
            c->at[k][i] = c->inside[k][i] ? (int32_t)(h * p->in[2] + w) : 0;
        }
        c->left[i] = (float)taps[2].weight[0];
        c->right[i] = (float)taps[2].weight[1];
        c->upper[i] = (float)taps[1].weight[0];
        c->lower[i] = (float)taps[1].weight[1];
    }
}

static void corners_sum(const corners_t *c, const float *restrict x, int n, float *restrict y)
{
    for (int i = 0; i < n; i++) {
        float a = c->inside[0][i] ? x[c->at[0][i]] : 0, b = c->inside[1][i] ? x[c->at[1][i]] : 0;
        float d = c->inside[2][i] ? x[c->at[2][i]] : 0, e = c->inside[3][i] ? x[c->at[3][i]] : 0;
        float up = __builtin_fmaf(c->right[i], b, c->left[i] * a), down = __builtin_fmaf(c->right[i], e, c->left[i] * d);
        y[i] = __builtin_fmaf(c->lower[i], down, c->upper[i] * up);
    }
}

RLX_KERNEL_ENTRY(grid_bilinear)
{
    const rlx_grid_bilinear_params_t *p = (const rlx_grid_bilinear_params_t *)args->param;
    int64_t places = p->batch * p->out_space, end = tile_end * p->per_tile < places ? tile_end * p->per_tile : places;
    int64_t plane = p->in[1] * p->in[2];
    corners_t corners;

    for (int64_t at = tile_begin * p->per_tile, n; at < end; at += n) {
        int64_t batch = at / p->out_space, place = at % p->out_space;
        n = p->out_space - place < end - at ? p->out_space - place : end - at;
        n = n < PLACES_MAX ? n : PLACES_MAX;
        corners_make(p, args->in[1].base, at, (int)n, &corners);
        for (int64_t c = batch * p->channels; c < (batch + 1) * p->channels; c++)
            corners_sum(&corners, (const float *)args->in[0].base + c * plane, (int)n,
                        (float *)args->out[0].base + c * p->out_space + place);
    }
}
