/* Gathers: rows, single elements, and rows named by coordinates. Any element type, by size. An index out of range sets the error word and
 * leaves its output zero. */
#include "kernels/index.h"
#include "kernels/params.h"

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

RLX_KERNEL_ENTRY(gather)
{
    const rlx_gather_params_t *p = (const rlx_gather_params_t *)args->param;
    const char *x = args->in[0].base;
    char *out = args->out[0].base;
    int64_t end = least(tile_end * p->grain, p->outer * p->count);

    for (int64_t row = tile_begin * p->grain; row < end; ++row) {
        int64_t index = rlx_index_wrap(args, rlx_index_load(args->in[1].base, row % p->count, p->index_bytes), p->extent);
        char *to = out + row * p->inner_bytes;

        if (index >= 0)
            rlx_copy_bytes(to, x + (row / p->count * p->extent + index) * p->inner_bytes, p->inner_bytes);
        else
            __builtin_memset(to, 0, (size_t)p->inner_bytes);
    }
}

RLX_KERNEL_ENTRY(gather_elements)
{
    const rlx_gather_elements_params_t *p = (const rlx_gather_elements_params_t *)args->param;
    const char *x = args->in[0].base;
    char *out = args->out[0].base;
    int64_t begin = tile_begin * p->grain, end = least(tile_end * p->grain, p->count);
    int64_t at[8];

    if (begin >= end)
        return;
    rlx_index_unravel(begin, p->dims, 8, at);
    for (int64_t i = begin; i < end; ++i) {
        int64_t index = rlx_index_wrap(args, rlx_index_load(args->in[1].base, i, p->index_bytes), p->extent);

        if (index >= 0)
            rlx_copy_bytes(out + i * p->bytes, x + (rlx_index_dot(at, p->x_stride, 8) + index * p->axis_stride) * p->bytes, p->bytes);
        else
            __builtin_memset(out + i * p->bytes, 0, (size_t)p->bytes);
        rlx_index_next(at, p->dims, 8);
    }
}

RLX_KERNEL_ENTRY(gather_nd)
{
    const rlx_gather_nd_params_t *p = (const rlx_gather_nd_params_t *)args->param;
    const char *x = args->in[0].base;
    char *out = args->out[0].base;
    int64_t end = least(tile_end * p->grain, p->batch * p->rows);

    for (int64_t row = tile_begin * p->grain; row < end; ++row) {
        const char *from = x + row / p->rows * p->batch_bytes;
        char *to = out + row * p->inner_bytes;
        int good = 1;

        for (int64_t d = 0; d < p->depth; ++d) {
            int64_t index = rlx_index_wrap(args, rlx_index_load(args->in[1].base, row * p->depth + d, p->index_bytes), p->dims[d]);

            good &= index >= 0;
            from += index >= 0 ? index * p->stride[d] : 0;
        }
        if (good)
            rlx_copy_bytes(to, from, p->inner_bytes);
        else
            __builtin_memset(to, 0, (size_t)p->inner_bytes);
    }
}
