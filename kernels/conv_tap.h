/* One tap of a plain convolution: one weight times a run of input cells, added to a run of accumulators with fma. f64 accumulates in
 * f64, all other types in f32. Cells outside the input are +0 factors that take part like any other. Used by conv_plain.c and
 * conv_transpose_plain.c, which own the order of taps. */
#ifndef RLX_KERNELS_CONV_TAP_H
#define RLX_KERNELS_CONV_TAP_H

#include "kernels/number.h"
#include "kernels/window.h"

/* acc[i * acc_step] for i in [0, n) takes x[x_first + i * x_step] where i is in [lo, hi), else +0. */
typedef struct conv_tap {
    int64_t n, acc_first, acc_step, x_first, x_step, lo, hi;
} conv_tap_t;

#define CONV_TAP_LOOP(begin, end, value)                                                        \
    for (int64_t i = (begin); i < (end); i++)                                                   \
        acc[i * acc_step] = CONV_TAP_FMA((value), w, acc[i * acc_step])

#define CONV_TAP_DEFINE(name, T, A, from)                                                       \
    static void name(const conv_tap_t *tap, A *acc, const T *x, T weight)                       \
    {                                                                                           \
        int64_t acc_step = tap->acc_step, x_step = tap->x_step;                                 \
        A w = from(weight);                                                                     \
                                                                                                \
        acc += tap->acc_first;                                                                  \
        CONV_TAP_LOOP(0, tap->lo, 0);                                                           \
        if (acc_step == 1 && x_step == 1)                                                       \
            for (int64_t i = tap->lo; i < tap->hi; i++)                                         \
                acc[i] = CONV_TAP_FMA(from(x[tap->x_first + i]), w, acc[i]);                    \
        else                                                                                    \
            CONV_TAP_LOOP(tap->lo, tap->hi, from(x[tap->x_first + i * x_step]));                \
        CONV_TAP_LOOP(tap->hi, tap->n, 0);                                                      \
    }

#define CONV_TAP_SAME(x) (x)
#define CONV_TAP_WIDEN(x) rlx_half_widen(x)
#define CONV_TAP_FMA __builtin_fmaf
CONV_TAP_DEFINE(conv_tap_f32, float, float, CONV_TAP_SAME)
CONV_TAP_DEFINE(conv_tap_f16, rlx_half_t, float, CONV_TAP_WIDEN)
CONV_TAP_DEFINE(conv_tap_bf16, uint16_t, float, rlx_number_from_bf16)
#undef CONV_TAP_FMA
#define CONV_TAP_FMA __builtin_fma
CONV_TAP_DEFINE(conv_tap_f64, double, double, CONV_TAP_SAME)
#undef CONV_TAP_FMA

/* `x` is the input plane or NULL inside padding (then lo == hi); x and w count elements of `dtype`. */
static inline void conv_tap_add(int64_t dtype, const conv_tap_t *tap, void *acc, const void *x, int64_t x_at, const void *w, int64_t w_at)
{
    if (dtype == RLX_KD_F32)
        conv_tap_f32(tap, acc, (const float *)x + x_at, ((const float *)w)[w_at]);
    else if (dtype == RLX_KD_F64)
        conv_tap_f64(tap, acc, (const double *)x + x_at, ((const double *)w)[w_at]);
    else if (dtype == RLX_KD_F16)
        conv_tap_f16(tap, acc, (const rlx_half_t *)x + x_at, ((const rlx_half_t *)w)[w_at]);
    else
        conv_tap_bf16(tap, acc, (const uint16_t *)x + x_at, ((const uint16_t *)w)[w_at]);
}

/* The accumulators' starting value: the bias of output channel `o`, or +0. */
static inline void conv_acc_start(int64_t dtype, void *acc, int64_t n, const void *bias, int64_t o)
{
    if (dtype == RLX_KD_F64) {
        double b = bias != NULL ? ((const double *)bias)[o] : 0;

        for (int64_t i = 0; i < n; i++)
            ((double *)acc)[i] = b;
    } else {
        float b = 0;

        if (bias != NULL)
            rlx_number_load_f32(dtype, bias, o, 1, 1, &b);
        for (int64_t i = 0; i < n; i++)
            ((float *)acc)[i] = b;
    }
}

/* total = total + segment: the end of a segment after the first. */
static inline void conv_acc_join(int64_t dtype, void *total, const void *segment, int64_t n)
{
    if (dtype == RLX_KD_F64)
        for (int64_t i = 0; i < n; i++)
            ((double *)total)[i] += ((const double *)segment)[i];
    else
        for (int64_t i = 0; i < n; i++)
            ((float *)total)[i] += ((const float *)segment)[i];
}

static inline void conv_acc_store(int64_t dtype, const void *acc, int64_t n, void *y, int64_t y_at)
{
    if (dtype == RLX_KD_F64)
        rlx_number_store_f64(dtype, y, y_at, 1, n, acc);
    else
        rlx_number_store_f32(dtype, y, y_at, 1, n, acc);
}

#endif
