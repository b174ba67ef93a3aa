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
} attention_run_t;

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
    for (int64_t r = 0; r < rows; r++) {
        float *x = run->scores + r * run->s_pitch;

        row_steps(run, x, row + r);
        softmax_row_run(1, x, x, p->n);
    }
    product_run(run->scores, run->s_pitch, rows, run->v_pack, whole, p->n, run->c + row * p->c_row, p->c_row);
    if (whole * 16 < p->width)
        context_edge(run, row, rows, whole * 16);
}

static void pack_blocks(float *to, const float *b, int64_t k, int64_t n, int64_t b_row, int64_t b_col)
{
    for (int64_t j = 0; j < n; j += 16)
        gemm_pack_b(to + j * k, b + j * b_col, k, n - j < 16 ? n - j : 16, b_row, b_col);
}

/* Operands of batch index `batch`; packs keys and values when `pack`. */
static void batch_place(attention_run_t *run, int64_t batch, int pack)
{
    const rlx_attention_params_t *p = run->p;
    int64_t q = 0, k = 0, v = 0, c = 0, tensor[RLX_ATTENTION_STEPS] = {0};

    for (int i = RLX_ATTENTION_BATCH - 1; i >= 0; i--) {
        int64_t at = batch % p->batch[i];

        batch /= p->batch[i];
        q += at * p->q_batch[i];
        k += at * p->k_batch[i];
        v += at * p->v_batch[i];
        c += at * p->c_batch[i];
        for (int64_t s = 0; s < p->n_steps; s++)
            tensor[s] += at * p->step[s].batch[i];
    }
    run->q = (const float *)run->args->in[0].base + q;
    run->c = (float *)run->args->out[0].base + c;
    for (int64_t s = 0; s < p->n_steps; s++)
        run->tensor[s] = p->step[s].operand < 0 ? NULL : (const float *)run->args->in[p->step[s].operand].base + tensor[s];
    if (pack) {
        pack_blocks(run->k_pack, (const float *)run->args->in[1].base + k, p->depth, p->n, p->k_row, p->k_col);
        pack_blocks(run->v_pack, (const float *)run->args->in[2].base + v, p->n, p->width, p->v_row, p->v_col);
    }
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

        batch_place(&run, batch, batch != held);
        held = batch;
        for (int64_t part = 0; part < parts; part++) {
            int64_t first = begin + (end - begin) * part / parts;

            rows_run(&run, first, begin + (end - begin) * (part + 1) / parts - first);
        }
    }
}
