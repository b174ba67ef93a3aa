/* attention: scores, what stands between scores and softmax, softmax, context; a block of query rows at a time, whose scores never leave
 * the cache. Bit for bit matmul_plain, elementwise, softmax and matmul_plain in turn: every output has the same chain.
 *
 * A worker packs keys and values of a batch index once, for all the tiles of it that it gets in one call. */
#include <string.h>

#include "kernels/gemm_pack.h"
#include "kernels/map.h"
#include "kernels/softmax_row.h"

typedef struct attention_run {
    const rlx_kernel_args_t *args;
    const rlx_attention_params_t *p;
    int64_t keys, width;                  /* rounded up to 16 */
    int64_t q_pitch, s_pitch;             /* floats between rows of q_pack and scores: odd numbers of cache lines where it matters */
    float *k_pack, *v_pack, *q_pack, *scores;
    const float *q, *tensor[RLX_ATTENTION_STEPS];
    float *c;
    const float *next_q, *next_k, *next_v; /* of the batch index after this one; next_q NULL: none */
} attention_run_t;

#define SOFTMAX_ROWS 8

static const float zeros[16 * RLX_GEMM_PANEL];

/* C[rows][blocks * 16] = A * B; A has `k` columns. */
static void product_run(const float *a, int64_t lda, int64_t rows, const float *b, int64_t blocks, int64_t k, float *c, int64_t ldc)
{
    int64_t tiles = (rows + GEMM_ROWS - 1) / GEMM_ROWS, few = rows / tiles, more = rows % tiles, panel = gemm_tile_blocks(rows);

    for (int64_t block = 0, step; block < blocks; block += step) {
        gemm_tile_t tile = {.a = a, .lda = lda, .b = b + block * k * 16, .ldb = k * 16, .c = c + block * 16, .ldc = ldc, .init = zeros, .k = k};

        tile.prefetch = (const char *)tile.b;
        step = block + panel <= blocks ? panel : 1;
        for (int64_t t = 0; t < tiles; t++) {
            int64_t n = few + (t < more);

            rlx_gemm_tile_run(n, step, &tile);
            tile.a += n * lda;
            tile.c += n * ldc;
        }
    }
}

static void step_tensor(const rlx_attention_step_params_t *step, float *x, const float *t, int64_t n)
{
    float same[256];

    if (step->kind == RLX_MAP_add && step->col == 1) {
        RLX_MAP_LOOP(n)
            x[i] += t[i];
        return;
    }
    for (int64_t at = 0, part; at < n; at += part) {
        part = n - at < 256 ? n - at : 256;
        for (int64_t i = 0; i < part; i++)
            same[i] = t[(at + i) * step->col];
        if (step->reversed)
            rlx_map_binary_f32(step->kind, x + at, same, x + at, part);
        else
            rlx_map_binary_f32(step->kind, x + at, x + at, same, part);
    }
}

/* The steps on the scores of query `row`. Columns past the last key may take part: nobody reads them. */
static void row_steps(const attention_run_t *run, float *x, int64_t row)
{
    for (int64_t s = 0; s < run->p->n_steps; s++) {
        const rlx_attention_step_params_t *step = &run->p->step[s];
        float a = rlx_param_f32(step->a);

        if (step->operand >= 0)
            step_tensor(step, x, run->tensor[s] + row * step->row, run->p->n);
        else if (step->kind == RLX_MAP_mul_imm)
            RLX_MAP_LOOP(run->keys)
                x[i] = x[i] * a;
        else if (step->kind == RLX_MAP_div_imm)
            RLX_MAP_LOOP(run->keys)
                x[i] = x[i] / a;
        else
            rlx_map_unary_f32(step->kind, x, x, run->keys, a, rlx_param_f32(step->b));
    }
}

/* Row `i` of `n` floats on its way to the second-level cache. */
VEC16_INLINE void row_fetch(const float *x, int64_t i, int64_t stride, int64_t n)
{
    for (int64_t j = 0; j < n; j += 16)
        __builtin_prefetch(x + i * stride + j, 0, 2);
}

/* What the next batch index reads, as far as query `row` of this one stands for it: rows a stride apart, that no hardware foresees. */
static void next_fetch(const attention_run_t *run, int64_t row)
{
    const rlx_attention_params_t *p = run->p;

    if (run->next_q == NULL)
        return;
    if (p->q_col == 1)
        row_fetch(run->next_q, row, p->q_row, p->depth);
    for (int64_t key = row * p->n / p->m; key < (row + 1) * p->n / p->m; key++) {
        if (p->k_row == 1)
            row_fetch(run->next_k, key, p->k_col, p->depth);
        if (p->v_col == 1)
            row_fetch(run->next_v, key, p->v_row, p->width);
    }
}

/* The usual steps, with the largest score of the row on the way: x times or by `a` (`scale` 1 or 2), then plus t if it `adds`. */
VEC16_INLINE float row_scale(int scale, float a, int adds, const float *t, float *x, int64_t n)
{
    vec16_t max = vec16_splat(-__builtin_inff()), factor = vec16_splat(a);
    int64_t i = 0;

    for (; i + 16 <= n; i += 16) {
        vec16_t v = vec16_load(x + i);

        if (scale)
            v = scale == 1 ? v * factor : v / factor;
        if (adds)
            v = v + vec16_load(t + i);
        vec16_store(x + i, v);
        max = vec16_max(v, max);
    }
    for (; i < n; i++) {
        float v = scale == 1 ? x[i] * a : scale == 2 ? x[i] / a : x[i];

        x[i] = adds ? v + t[i] : v;
        max[0] = x[i] > max[0] ? x[i] : max[0];
    }
    return softmax_row_largest(max);
}

/* The steps on the scores of query `row`; returns the largest. */
static float row_max(const attention_run_t *run, float *x, int64_t row)
{
    const rlx_attention_params_t *p = run->p;
    const rlx_attention_step_params_t *step = p->step;
    int scales = p->n_steps > 0 && step->operand < 0 && (step->kind == RLX_MAP_mul_imm || step->kind == RLX_MAP_div_imm);
    int adds = p->n_steps == scales + 1 && step[scales].operand >= 0 && step[scales].kind == RLX_MAP_add && step[scales].col == 1;
    const float *t = adds ? run->tensor[scales] + row * step[scales].row : NULL;

    if (p->n_steps != scales + adds) {
        row_steps(run, x, row);
        return softmax_row_max(1, x, p->n);
    }
    if (!scales)
        return adds ? row_scale(0, 1, 1, t, x, p->n) : softmax_row_max(1, x, p->n);
    if (step->kind == RLX_MAP_mul_imm)
        return adds ? row_scale(1, rlx_param_f32(step->a), 1, t, x, p->n) : row_scale(1, rlx_param_f32(step->a), 0, t, x, p->n);
    return adds ? row_scale(2, rlx_param_f32(step->a), 1, t, x, p->n) : row_scale(2, rlx_param_f32(step->a), 0, t, x, p->n);
}

/* Softmax of scores to weights, `rows` rows: pass by pass over a few rows, so that no pass waits for the end of a row's sum. */
static void rows_softmax(const attention_run_t *run, int64_t row, int64_t rows)
{
    float value[SOFTMAX_ROWS];

    for (int64_t first = 0; first < rows; first += SOFTMAX_ROWS) {
        int64_t n = rows - first < SOFTMAX_ROWS ? rows - first : SOFTMAX_ROWS;
        float *x = run->scores + first * run->s_pitch;

        for (int64_t r = 0; r < n; r++)
            value[r] = row_max(run, x + r * run->s_pitch, row + first + r);
        for (int64_t r = 0; r < n; r++) {
            softmax_row_exp(1, x + r * run->s_pitch, x + r * run->s_pitch, run->p->n, value[r]);
            next_fetch(run, row + first + r);
        }
        for (int64_t r = 0; r < n; r++)
            value[r] = softmax_row_factor(1, x + r * run->s_pitch, run->p->n);
        for (int64_t r = 0; r < n; r++)
            softmax_row_scale(1, x + r * run->s_pitch, run->p->n, value[r]);
    }
}

/* Columns of the context that no whole vector can take: past the last, or apart. */
static void context_edge(const attention_run_t *run, int64_t row, int64_t rows, int64_t first)
{
    const rlx_attention_params_t *p = run->p;
    float part[RLX_ATTENTION_ROWS * 16];

    for (int64_t j = first; j < p->width; j += 16) {
        product_run(run->scores, run->s_pitch, rows, run->v_pack + j * p->n, 1, p->n, part, 16);
        for (int64_t r = 0; r < rows; r++)
            for (int64_t i = 0; i < 16 && j + i < p->width; i++)
                run->c[(row + r) * p->c_row + (j + i) * p->c_col] = part[r * 16 + i];
    }
}

/* Queries [row, row + rows): at most RLX_ATTENTION_ROWS. */
static void rows_run(const attention_run_t *run, int64_t row, int64_t rows)
{
    const rlx_attention_params_t *p = run->p;
    int64_t whole = p->c_col == 1 ? p->width / 16 : 0;

    for (int64_t r = 0; r < rows; r++) {
        const float *q = run->q + (row + r) * p->q_row;

        if (p->q_col == 1)
            memcpy(run->q_pack + r * run->q_pitch, q, (size_t)p->depth * sizeof *q);
        else
            for (int64_t i = 0; i < p->depth; i++)
                run->q_pack[r * run->q_pitch + i] = q[i * p->q_col];
    }
    product_run(run->q_pack, run->q_pitch, rows, run->k_pack, run->keys / 16, p->depth, run->scores, run->s_pitch);
    rows_softmax(run, row, rows);
    product_run(run->scores, run->s_pitch, rows, run->v_pack, whole, p->n, run->c + row * p->c_row, p->c_row);
    if (whole * 16 < p->width)
        context_edge(run, row, rows, whole * 16);
}

static void pack_blocks(float *to, const float *b, int64_t k, int64_t n, int64_t b_row, int64_t b_col)
{
    for (int64_t j = 0; j < n; j += 16)
        gemm_pack_b(to + j * k, b + j * b_col, k, n - j < 16 ? n - j : 16, b_row, b_col);
}

/* Where batch index `batch` begins in Q, K, V, C and the steps' tensors, in elements. */
typedef struct attention_at {
    int64_t q, k, v, c, tensor[RLX_ATTENTION_STEPS];
} attention_at_t;

static attention_at_t batch_at(const rlx_attention_params_t *p, int64_t batch)
{
    attention_at_t at = {0};

    for (int i = RLX_ATTENTION_BATCH - 1; i >= 0; i--) {
        int64_t index = batch % p->batch[i];

        batch /= p->batch[i];
        at.q += index * p->q_batch[i];
        at.k += index * p->k_batch[i];
        at.v += index * p->v_batch[i];
        at.c += index * p->c_batch[i];
        for (int64_t s = 0; s < p->n_steps; s++)
            at.tensor[s] += index * p->step[s].batch[i];
    }
    return at;
}

/* Operands of batch index `batch`, keys and values packed. */
static void batch_place(attention_run_t *run, int64_t batch, bool is_last)
{
    const rlx_attention_params_t *p = run->p;
    const rlx_operand_t *in = run->args->in;
    const float *q = in[0].base, *k = in[1].base, *v = in[2].base;
    attention_at_t at = batch_at(p, batch);

    run->q = q + at.q;
    run->c = (float *)run->args->out[0].base + at.c;
    for (int64_t s = 0; s < p->n_steps; s++)
        run->tensor[s] = p->step[s].operand < 0 ? NULL : (const float *)in[p->step[s].operand].base + at.tensor[s];
    pack_blocks(run->k_pack, k + at.k, p->depth, p->n, p->k_row, p->k_col);
    pack_blocks(run->v_pack, v + at.v, p->n, p->width, p->v_row, p->v_col);
    run->next_q = NULL;
    if (is_last)
        return;
    at = batch_at(p, batch + 1);
    run->next_q = q + at.q;
    run->next_k = k + at.k;
    run->next_v = v + at.v;
}

RLX_KERNEL_ENTRY(attention)
{
    const rlx_attention_params_t *p = (const rlx_attention_params_t *)args->param;
    attention_run_t run = {.args = args, .p = p, .keys = (p->n + 15) & ~15ll, .width = (p->width + 15) & ~15ll};
    int64_t blocks = (p->m + p->rows - 1) / p->rows, held = -1;

    run.q_pitch = ((p->depth + 15) & ~15ll) | 16;
    run.s_pitch = run.keys | 16;
    run.k_pack = args->scratch;
    run.v_pack = run.k_pack + run.keys * p->depth;
    run.q_pack = run.v_pack + run.width * p->n;
    run.scores = run.q_pack + RLX_ATTENTION_ROWS * run.q_pitch;
    for (int64_t tile = tile_begin; tile < tile_end; tile++) {
        int64_t batch = tile / blocks, block = tile % blocks, begin = p->m * block / blocks, end = p->m * (block + 1) / blocks;
        int64_t parts = (end - begin + RLX_ATTENTION_ROWS - 1) / RLX_ATTENTION_ROWS;

        if (batch != held)
            batch_place(&run, batch, batch == (tile_end - 1) / blocks);
        held = batch;
        for (int64_t part = 0; part < parts; part++) {
            int64_t first = begin + (end - begin) * part / parts;

            rows_run(&run, first, begin + (end - begin) * (part + 1) / parts - first);
        }
    }
}
