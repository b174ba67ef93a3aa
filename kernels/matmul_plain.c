/* matmul_plain: the definition of the product, for every dtype.
 *
 * Each output is a chain of fma (integers: wrapping multiply and add) over k ascending, from bias[n] or zero, in segments of
 * RLX_SEGMENT_K (kernels/segment.h); f16 and bf16 compute in f32 and round once. A tile is one row of one batch index and up to RLX_MATMUL_COLUMNS columns, whose sums live in a buffer on the
 * stack. */
#include "kernels/number.h"
#include "kernels/params_matmul.h"
#include "kernels/segment.h"

typedef struct matmul_row {
    const rlx_matmul_plain_params_t *p;
    const void *a, *b, *bias;
    void *c;
    int64_t dtype; /* signed integers as unsigned: the low bits of a product do not depend on signs */
    int64_t a_first, b_first, c_first, n, columns; /* element offsets; first column and how many */
} matmul_row_t;

static int64_t min_of(int64_t a, int64_t b) { return a < b ? a : b; }

#define FMA_F32(a, b, c) __builtin_fmaf(a, b, c)
#define FMA_F64(a, b, c) __builtin_fma(a, b, c)
#define FMA_INT(a, b, c) ((a) * (b) + (c))

#define MATMUL_ROW(type, suffix, fma)                                                                                                 \
    /* acc takes the products of k in [k_begin, k_end). */                                                                            \
    static void segment_##suffix(const matmul_row_t *row, int64_t k_begin, int64_t k_end, type *acc)                                  \
    {                                                                                                                                 \
        const rlx_matmul_shape_t *s = &row->p->shape;                                                                                 \
        type b[RLX_MATMUL_COLUMNS], a;                                                                                                \
        for (int64_t k = k_begin; k < k_end; k++) {                                                                                   \
            rlx_number_load_##suffix(row->dtype, row->a, row->a_first + k * s->a_col, 1, 1, &a);                                      \
            rlx_number_load_##suffix(row->dtype, row->b, row->b_first + k * s->b_row + row->n * s->b_col, s->b_col, row->columns, b); \
            for (int64_t j = 0; j < row->columns; j++)                                                                                \
                acc[j] = fma(a, b[j], acc[j]);                                                                                        \
        }                                                                                                                             \
    }                                                                                                                                 \
    static void row_##suffix(const matmul_row_t *row)                                                                                 \
    {                                                                                                                                 \
        const rlx_matmul_shape_t *s = &row->p->shape;                                                                                 \
        type total[RLX_MATMUL_COLUMNS] = {0};                                                                                         \
        if (row->bias)                                                                                                                \
            rlx_number_load_##suffix(row->dtype, row->bias, row->n, 1, row->columns, total);                                          \
        segment_##suffix(row, 0, min_of(RLX_SEGMENT_K, s->k), total);                                                                 \
        for (int64_t k = RLX_SEGMENT_K; k < s->k; k += RLX_SEGMENT_K) {                                                               \
            type acc[RLX_MATMUL_COLUMNS] = {0};                                                                                       \
            segment_##suffix(row, k, min_of(k + RLX_SEGMENT_K, s->k), acc);                                                           \
            for (int64_t j = 0; j < row->columns; j++)                                                                                \
                total[j] += acc[j];                                                                                                   \
        }                                                                                                                             \
        rlx_number_store_##suffix(row->dtype, row->c, row->c_first + row->n * s->c_col, s->c_col, row->columns, total);               \
    }
MATMUL_ROW(float, f32, FMA_F32)
MATMUL_ROW(double, f64, FMA_F64)
MATMUL_ROW(uint64_t, u64, FMA_INT)

static void row_run(const matmul_row_t *row)
{
    int64_t dtype = row->dtype;

    if (dtype == RLX_KD_F64)
        row_f64(row);
    else if (dtype == RLX_KD_F32 || dtype == RLX_KD_F16 || dtype == RLX_KD_BF16)
        row_f32(row);
    else
        row_u64(row);
}

RLX_KERNEL_ENTRY(matmul_plain)
{
    const rlx_matmul_plain_params_t *p = (const rlx_matmul_plain_params_t *)args->param;
    const rlx_matmul_shape_t *s = &p->shape;
    int64_t dtype = rlx_number_is_signed(p->dtype) ? p->dtype + (RLX_KD_U8 - RLX_KD_I8) : p->dtype;
    int64_t parts = (s->n + RLX_MATMUL_COLUMNS - 1) / RLX_MATMUL_COLUMNS;

    for (int64_t tile = tile_begin; tile < tile_end; tile++) {
        int64_t m = tile / parts % s->m, batch = tile / parts / s->m;
        matmul_row_t row = {.p = p,
            .dtype = dtype,
            .a = args->in[0].base,
            .b = args->in[1].base,
            .bias = args->in[2].base,
            .c = args->out[0].base,
            .a_first = m * s->a_row,
            .c_first = m * s->c_row,
            .n = tile % parts * RLX_MATMUL_COLUMNS};

        for (int i = RLX_MATMUL_BATCH - 1; i >= 0; i--) {
            int64_t at = batch % s->batch[i];
            batch /= s->batch[i];
            row.a_first += at * s->a_batch[i];
            row.b_first += at * s->b_batch[i];
            row.c_first += at * s->c_batch[i];
        }
        row.columns = s->n - row.n < RLX_MATMUL_COLUMNS ? s->n - row.n : RLX_MATMUL_COLUMNS;
        row_run(&row);
    }
}
