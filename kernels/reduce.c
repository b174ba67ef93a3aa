/* The plain reduction: any dtype, any set of axes, order lanes16. f16 and bf16 compute in f32; integers in 64 bits (sum and product keep
 * the low bits, mean truncates); l2, log_sum and log_sum_exp of integers compute in f64 and truncate. NaN wins in max and min.
 * log_sum_exp takes the maximum first; an infinite maximum counts as 0 so that the result follows by arithmetic. */
#include "kernels/abi.h"
#include "kernels/lanes.h"
#include "kernels/params.h"

static int reduce_kind(int64_t op)
{
    if (op == RLX_REDUCE_MAX || op == RLX_REDUCE_MIN)
        return op == RLX_REDUCE_MAX ? LANES_MAX : LANES_MIN;
    if (op == RLX_REDUCE_PROD || op == RLX_REDUCE_L1)
        return op == RLX_REDUCE_PROD ? LANES_PROD : LANES_ABS;
    if (op == RLX_REDUCE_LOG_SUM_EXP)
        return LANES_EXP;
    return op == RLX_REDUCE_L2 || op == RLX_REDUCE_SUM_SQUARE ? LANES_SQUARE : LANES_ADD;
}

/* Offset of output `index` in x. */
static int64_t reduce_origin(const rlx_reduce_params_t *p, int64_t index)
{
    int64_t offset = 0;

    for (int d = 7; d >= 0; d--) {
        offset += index % p->kept[d] * p->stride[d];
        index /= p->kept[d];
    }
    return offset;
}

/* Position inside the reduced set: coordinates of the next run along the innermost reduced dimension `inner`. */
typedef struct reduce_walk {
    int inner;
    int64_t at[8], offset;
} reduce_walk_t;

static reduce_walk_t reduce_walk_begin(const rlx_reduce_params_t *p, int64_t origin)
{
    reduce_walk_t walk = {.inner = 7, .offset = origin};

    while (walk.inner > 0 && p->reduced[walk.inner] == 1)
        walk.inner--;
    return walk;
}

static int reduce_walk_next(const rlx_reduce_params_t *p, reduce_walk_t *walk)
{
    for (int d = walk->inner - 1; d >= 0; d--) {
        walk->offset += p->stride[d];
        if (++walk->at[d] < p->reduced[d])
            return 1;
        walk->offset -= p->reduced[d] * p->stride[d];
        walk->at[d] = 0;
    }
    return 0;
}

/* The set at `origin` into 16 lanes, through a buffer so that the lane of an element is its place in the buffer mod 16. */
#define REDUCE_SET(T, suffix, load)                                                                               \
    static T reduce_set_##suffix(const rlx_reduce_params_t *p, int kind, const void *x, int64_t origin, T shift)  \
    {                                                                                                             \
        T lane[16], buffer[RLX_NUMBER_RUN];                                                                       \
        int64_t fill = 0;                                                                                         \
        reduce_walk_t walk = reduce_walk_begin(p, origin);                                                        \
                                                                                                                  \
        lanes_start_##suffix(kind, lane);                                                                         \
        if (p->count == 0)                                                                                        \
            return lanes_identity_##suffix(kind);                                                                 \
        do {                                                                                                      \
            int64_t length = p->reduced[walk.inner], stride = p->stride[walk.inner];                              \
            for (int64_t j = 0, take; j < length; j += take) {                                                    \
                take = length - j < RLX_NUMBER_RUN - fill ? length - j : RLX_NUMBER_RUN - fill;                   \
                load(p->dtype, x, walk.offset + j * stride, stride, take, buffer + fill);                         \
                fill += take;                                                                                     \
                if (fill == RLX_NUMBER_RUN) {                                                                     \
                    lanes_run_##suffix(kind, lane, buffer, fill, shift);                                          \
                    fill = 0;                                                                                     \
                }                                                                                                 \
            }                                                                                                     \
        } while (reduce_walk_next(p, &walk));                                                                     \
        lanes_run_##suffix(kind, lane, buffer, fill, shift);                                                      \
        return lanes_end_##suffix(kind, lane);                                                                    \
    }

static void reduce_load_any_f64(int64_t dtype, const void *base, int64_t first, int64_t stride, int64_t n, double *to)
{
    union { int64_t i[RLX_NUMBER_RUN]; uint64_t u[RLX_NUMBER_RUN]; } whole;

    if (dtype == RLX_KD_F64) {
        rlx_number_load_f64(dtype, base, first, stride, n, to);
    } else if (rlx_number_is_signed(dtype)) {
        rlx_number_load_i64(dtype, base, first, stride, n, whole.i);
        for (int64_t i = 0; i < n; i++)
            to[i] = (double)whole.i[i];
    } else {
        rlx_number_load_u64(dtype, base, first, stride, n, whole.u);
        for (int64_t i = 0; i < n; i++)
            to[i] = (double)whole.u[i];
    }
}

REDUCE_SET(float, f32, rlx_number_load_f32)
REDUCE_SET(double, f64, reduce_load_any_f64)
REDUCE_SET(int64_t, i64, rlx_number_load_i64)
REDUCE_SET(uint64_t, u64, rlx_number_load_u64)

static float reduce_output_f32(const rlx_reduce_params_t *p, const void *x, int64_t origin)
{
    float shift = 0, sum;

    if (p->op == RLX_REDUCE_LOG_SUM_EXP) {
        shift = reduce_set_f32(p, LANES_MAX, x, origin, 0);
        shift = shift - shift == 0 || shift != shift ? shift : 0;
    }
    sum = reduce_set_f32(p, reduce_kind(p->op), x, origin, shift);
    if (p->op == RLX_REDUCE_MEAN)
        return sum / (float)p->count;
    if (p->op == RLX_REDUCE_L2)
        return __builtin_sqrtf(sum);
    if (p->op == RLX_REDUCE_LOG_SUM || p->op == RLX_REDUCE_LOG_SUM_EXP)
        return rlx_math_logf(sum) + shift;
    return sum;
}

static double reduce_output_f64(const rlx_reduce_params_t *p, const void *x, int64_t origin)
{
    double shift = 0, sum;

    if (p->op == RLX_REDUCE_LOG_SUM_EXP) {
        shift = reduce_set_f64(p, LANES_MAX, x, origin, 0);
        shift = shift - shift == 0 || shift != shift ? shift : 0;
    }
    sum = reduce_set_f64(p, reduce_kind(p->op), x, origin, shift);
    if (p->op == RLX_REDUCE_MEAN)
        return sum / (double)p->count;
    if (p->op == RLX_REDUCE_L2)
        return __builtin_sqrt(sum);
    if (p->op == RLX_REDUCE_LOG_SUM || p->op == RLX_REDUCE_LOG_SUM_EXP)
        return rlx_math_log(sum) + shift;
    return sum;
}

/* Ends of a signed or unsigned type that stand for an empty maximum or minimum. */
static uint64_t reduce_empty_extreme(int64_t dtype, int is_max)
{
    int bits = (int)rlx_number_bytes(dtype) * 8;

    if (dtype == RLX_KD_BOOL)
        return !is_max;
    if (rlx_number_is_signed(dtype))
        return is_max ? (uint64_t)1 << (bits - 1) : ((uint64_t)1 << (bits - 1)) - 1;
    return is_max ? 0 : UINT64_MAX;
}

static uint64_t reduce_output_int(const rlx_reduce_params_t *p, const void *x, int64_t origin)
{
    int kind = reduce_kind(p->op), mean = p->op == RLX_REDUCE_MEAN && p->count > 0;

    if (p->op == RLX_REDUCE_L2 || p->op == RLX_REDUCE_LOG_SUM || p->op == RLX_REDUCE_LOG_SUM_EXP)
        return (uint64_t)rlx_number_trunc(reduce_output_f64(p, x, origin));
    if (p->count == 0 && (kind == LANES_MAX || kind == LANES_MIN))
        return reduce_empty_extreme(p->dtype, kind == LANES_MAX);
    if (rlx_number_is_signed(p->dtype)) {
        int64_t sum = reduce_set_i64(p, kind, x, origin, 0);
        return (uint64_t)(mean ? sum / p->count : sum);
    }
    uint64_t sum = reduce_set_u64(p, kind, x, origin, 0);
    return mean ? sum / (uint64_t)p->count : sum;
}

RLX_KERNEL_ENTRY(reduce)
{
    const rlx_reduce_params_t *p = (const rlx_reduce_params_t *)args->param;
    const void *x = args->in[0].base;
    void *y = args->out[0].base;
    int64_t begin = tile_begin * p->per_tile, end = tile_end * p->per_tile;

    for (int64_t o = begin; o < end && o < p->outputs; o++) {
        int64_t origin = reduce_origin(p, o);
        if (p->dtype == RLX_KD_F64) {
            double value = reduce_output_f64(p, x, origin);
            rlx_number_store_f64(p->dtype, y, o, 1, 1, &value);
        } else if (p->dtype <= RLX_KD_BF16) {
            float value = reduce_output_f32(p, x, origin);
            rlx_number_store_f32(p->dtype, y, o, 1, 1, &value);
        } else {
            uint64_t value = reduce_output_int(p, x, origin);
            rlx_number_store_u64(p->dtype, y, o, 1, 1, &value);
        }
    }
}
