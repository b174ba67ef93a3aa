/* max_unpool: zeros, and every input element at the cell its index names. Indices count cells of the unpooled tensor [planes,
 * pooled...], which lies at the origin of the output [planes, out...]. Of two elements with one index the later wins, so the order is
 * serial: one tile. An index outside sets the error word and is skipped. */
#include "kernels/window.h"

RLX_KERNEL_ENTRY(max_unpool)
{
    const rlx_max_unpool_params_t *p = (const rlx_max_unpool_params_t *)args->param;
    const int64_t *index = args->in[1].base, *pooled = p->pooled, *out = p->out;
    int64_t cells = rlx_window_cells(pooled), out_cells = rlx_window_cells(out);
    char *y = args->out[0].base;

    if (tile_begin >= tile_end)
        return;
    __builtin_memset(y, 0, (size_t)(p->planes * out_cells * p->element_bytes));
    for (int64_t i = 0; i < p->count; i++) {
        if (index[i] < 0 || index[i] >= p->planes * cells) {
            rlx_kernel_error(args, RLX_KERR_INDEX);
            continue;
        }
        int64_t at = index[i] % cells, d = at / pooled[2] / pooled[1], h = at / pooled[2] % pooled[1], w = at % pooled[2];
        int64_t to = index[i] / cells * out_cells + (d * out[1] + h) * out[2] + w;

        __builtin_memcpy(y + to * p->element_bytes, (const char *)args->in[0].base + i * p->element_bytes, (size_t)p->element_bytes);
    }
}
