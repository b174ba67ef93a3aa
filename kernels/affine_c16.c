/* affine_c16: products and sums with one number per channel, then perhaps relu, on blocked activations, f32: what a batch normalisation
 * before a convolution, or the gate of a squeeze-excite block, comes to. Same bits as the elementwise kernel on the same chain: a pair is a
 * rounded product and a rounded sum; x * 1 and x + -0 are x. One tile is RLX_AFFINE_CELLS cells of a block of one image. */
#include "kernels/params.h"
#include "kernels/vec16.h"

VEC16_INLINE void affine_run(int pairs, int relu, const vec16_t *factor, const vec16_t *term, const float *x, float *y, int64_t cells)
{
    VEC16_UNROLL_BY(4) for (int64_t i = 0; i < cells; i++) {
        vec16_t v = vec16_load(x + i * 16);

        VEC16_UNROLL for (int k = 0; k < pairs; k++) {
            v = v * factor[k];
            v = v + term[k];
        }
        if (relu)
            v = vec16_max((vec16_t){0}, v);
        vec16_store(y + i * 16, v);
    }
}

static void affine_call(const rlx_affine_c16_params_t *p, const vec16_t *factor, const vec16_t *term, const float *x, float *y, int64_t cells)
{
    if (p->pairs == 1)
        p->relu ? affine_run(1, 1, factor, term, x, y, cells) : affine_run(1, 0, factor, term, x, y, cells);
    else
        p->relu ? affine_run(2, 1, factor, term, x, y, cells) : affine_run(2, 0, factor, term, x, y, cells);
}

RLX_KERNEL_ENTRY(affine_c16)
{
    const rlx_affine_c16_params_t *p = (const rlx_affine_c16_params_t *)args->param;
    int64_t chunks = (p->space + RLX_AFFINE_CELLS - 1) / RLX_AFFINE_CELLS;

    for (int64_t tile = tile_begin; tile < tile_end; tile++) {
        int64_t block = tile % p->blocks, place = tile / p->blocks, first = place % chunks * RLX_AFFINE_CELLS;
        int64_t plane = place / chunks * p->blocks + block, at = (plane * p->space + first) * 16;
        vec16_t factor[2] = {vec16_splat(1), vec16_splat(1)}, term[2] = {vec16_splat(-0.0f), vec16_splat(-0.0f)};

        for (int64_t k = 0; k < 2 * p->pairs; k++)
            if (args->in[1 + k].base != NULL)
                (k % 2 ? term : factor)[k / 2] =
                    vec16_load((const float *)args->in[1 + k].base + plane / p->blocks * p->stride[k] + plane % p->blocks * 16);
        affine_call(p, factor, term, (const float *)args->in[0].base + at, (float *)args->out[0].base + at,
                    p->space - first < RLX_AFFINE_CELLS ? p->space - first : RLX_AFFINE_CELLS);
    }
}
