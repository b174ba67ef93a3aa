/* Order keys: any dtype to uint64_t such that larger value means larger key, equal values have equal keys (-0 and +0 too), and every NaN
 * has the greatest key. Lets searches and sorts be written once. */
#ifndef RLX_KERNELS_ORDER_H
#define RLX_KERNELS_ORDER_H

#include "kernels/number.h"

#define RLX_ORDER_NAN UINT64_MAX

static inline uint64_t rlx_order_f64(double value)
{
    union { double d; uint64_t u; } v = {.d = value + 0.0};

    if (value != value)
        return RLX_ORDER_NAN;
    return v.u >> 63 ? ~v.u : v.u | (uint64_t)1 << 63;
}

static inline uint64_t rlx_order_i64(int64_t value) { return (uint64_t)value ^ (uint64_t)1 << 63; }

/* Keys of `n` elements, `stride` apart; n <= RLX_NUMBER_RUN. i64 and u64 have no NaN, so their greatest value may share its key. */
static inline void rlx_order_load(int64_t dtype, const void *base, int64_t first, int64_t stride, int64_t n, uint64_t *to)
{
    union { float f[RLX_NUMBER_RUN]; double d[RLX_NUMBER_RUN]; int64_t i[RLX_NUMBER_RUN]; } run;

    if (dtype == RLX_KD_F64) {
        rlx_number_load_f64(dtype, base, first, stride, n, run.d);
        for (int64_t i = 0; i < n; i++)
            to[i] = rlx_order_f64(run.d[i]);
    } else if (dtype <= RLX_KD_BF16) {
        rlx_number_load_f32(dtype, base, first, stride, n, run.f);
        for (int64_t i = 0; i < n; i++)
            to[i] = rlx_order_f64((double)run.f[i]);
    } else if (rlx_number_is_signed(dtype)) {
        rlx_number_load_i64(dtype, base, first, stride, n, run.i);
        for (int64_t i = 0; i < n; i++)
            to[i] = rlx_order_i64(run.i[i]);
    } else {
        rlx_number_load_u64(dtype, base, first, stride, n, to);
    }
}

#endif
