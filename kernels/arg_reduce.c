/* Index of the maximum or minimum along the middle axis of [outer, count, inner]. The first such index, or the last one when asked. A NaN
 * is the extreme value in both directions. */
#include "kernels/abi.h"
#include "kernels/order.h"
#include "kernels/params.h"

static int64_t arg_line(const rlx_arg_reduce_params_t *p, const void *x, int64_t first)
{
    uint64_t key[RLX_NUMBER_RUN], best = 0;
    int64_t at = 0;

    for (int64_t i = 0; i < p->count; i += RLX_NUMBER_RUN) {
        int64_t n = p->count - i < RLX_NUMBER_RUN ? p->count - i : RLX_NUMBER_RUN;
        rlx_order_load(p->dtype, x, first + i * p->inner, p->inner, n, key);
        for (int64_t j = 0; j < n; j++) {
            int is_nan = key[j] == RLX_ORDER_NAN && p->dtype <= RLX_KD_BF16;
            uint64_t rank = p->is_min && !is_nan ? ~key[j] : key[j];
            if ((i + j == 0) | (rank > best) | ((rank == best) & (p->last != 0))) {
                best = rank;
                at = i + j;
            }
        }
    }
    return at;
}

RLX_KERNEL_ENTRY(arg_reduce)
{
    const rlx_arg_reduce_params_t *p = (const rlx_arg_reduce_params_t *)args->param;
    int64_t *y = args->out[0].base;
    int64_t outputs = p->outer * p->inner, end = tile_end * p->per_tile < outputs ? tile_end * p->per_tile : outputs;

    for (int64_t o = tile_begin * p->per_tile; o < end; o++)
        y[o] = arg_line(p, args->in[0].base, o / p->inner * p->count * p->inner + o % p->inner);
}
