/* gemm: f32 matrix product, bit for bit matmul_plain. B is packed offline, or panel by panel into scratch.
 *
 * A call's tiles are cut into runs: neighbouring column tiles of one block of rows. A run goes over k in chunks, totals
 * resting in C; inside a chunk over panels of B, which stay in L1 or L2 while all row tiles of the block pass over them; the next
 * panel is prefetched meanwhile, spread evenly. Few rows (up to 3) stream B once, whole k, several column blocks side by side. */
#include "kernels/epilogue.h"
#include "kernels/gemm_pack.h"
#include "kernels/segment.h"

_Static_assert(RLX_GEMM_K % RLX_SEGMENT_K == 0 && RLX_GEMM_DEPTH % RLX_SEGMENT_K == 0, "a chunk of k is whole segments");

/* One block of rows against a run of columns. */
typedef struct gemm_run {
    const rlx_kernel_args_t *args;
    const rlx_gemm_params_t *p;
    const float *a, *b, *bias;    /* a NULL: its rows lie apart, as row pointers */
    float *c;                     /* NULL: likewise */
    int64_t a_at, c_at;           /* element index of a and c in their tensors */
    float *a_pack, *b_pack;       /* scratch; a_pack NULL: A is read in place */
    int64_t rows, n_begin, n_end; /* n in blocks of 16 */
    int64_t panel;
} gemm_run_t;

/* One panel of B for one chunk of k. */
typedef struct gemm_panel {
    gemm_tile_t tile;
    int64_t blocks, n, cols; /* first column, columns that exist */
} gemm_panel_t;

/* Element `at` of a tensor that may be row pointers. */
static float *element(const rlx_operand_t *operand, int64_t at)
{
    int64_t row = operand->row_bytes / (int64_t)sizeof(float);

    return operand->rows ? (float *)operand->rows[at / row] + at % row : (float *)operand->base + at;
}

/* Elements [from, to] of a tensor that lies in one piece, or in one row of the batch: where it begins; else NULL. */
static float *piece(const rlx_operand_t *operand, int64_t from, int64_t to)
{
    int64_t row = operand->row_bytes / (int64_t)sizeof(float);

    return operand->rows && from / row != to / row ? NULL : element(operand, from);
}

static float *run_c(const gemm_run_t *run, int64_t row, int64_t n)
{
    int64_t at = row * run->p->shape.c_row + n * run->p->shape.c_col;

    return run->c ? run->c + at : element(&run->args->out[0], run->c_at + at);
}

/* `rows` rows of C from `row` on, to or from `edge`. */
static void edge_move(const gemm_run_t *run, const gemm_panel_t *panel, int64_t row, int64_t rows, float *edge, bool store)
{
    int64_t c_col = run->p->shape.c_col;
    int64_t near = run->c || c_col == 1 ? panel->cols : 1; /* columns that are c_col apart for sure */

    for (int64_t r = 0; r < rows; r++, edge += panel->blocks * 16)
        for (int64_t first = 0; first < panel->cols; first += near) {
            float *c = run_c(run, row + r, panel->n + first);

            for (int64_t j = 0; j < near; j++)
                if (store)
                    c[j * c_col] = edge[first + j];
                else
                    edge[first + j] = c[j * c_col];
        }
}

/* Rows [row, row + rows) where C cannot take whole vectors: past the last column, columns apart, or rows anywhere. */
static __attribute__((noinline)) void panel_rows_edge(
    const gemm_run_t *run, const gemm_panel_t *panel, gemm_tile_t tile, int64_t row, int64_t rows)
{
    float edge[GEMM_ROWS * 16 * RLX_GEMM_PANEL];

    if (!tile.init) {
        memset(edge, 0, (size_t)(rows * panel->blocks * 16) * sizeof *edge);
        edge_move(run, panel, row, rows, edge, false);
    }
    tile.c = edge;
    tile.ldc = panel->blocks * 16;
    rlx_gemm_tile_run(rows, panel->blocks, &tile);
    edge_move(run, panel, row, rows, edge, true);
}

static void panel_run(const gemm_run_t *run, const gemm_panel_t *panel)
{
    const rlx_matmul_shape_t *shape = &run->p->shape;
    bool whole = run->c && panel->cols == panel->blocks * 16 && shape->c_col == 1;
    int64_t tiles = (run->rows + GEMM_ROWS - 1) / GEMM_ROWS;
    int64_t few = run->rows / tiles, more = run->rows % tiles;
    gemm_tile_t tile = panel->tile;

    for (int64_t t = 0, row = 0, rows; t < tiles; t++, row += rows) {
        rows = few + (t < more);
        if (whole) {
            tile.c = run_c(run, row, panel->n);
            rlx_gemm_tile_run(rows, panel->blocks, &tile);
        } else {
            panel_rows_edge(run, panel, tile, row, rows);
        }
        tile.a += rows * tile.lda;
        tile.prefetch += tile.prefetch_step * (tile.k / 4);
    }
}

/* The bias as the tile wants it: 16 * blocks floats. */
static const float *panel_init(const gemm_run_t *run, const gemm_panel_t *panel, float *buffer)
{
    for (int64_t j = 0; j < panel->blocks * 16; j++)
        buffer[j] = run->bias && j < panel->cols ? run->bias[panel->n + j] : 0;
    return buffer;
}

static void panel_pack(const gemm_run_t *run, gemm_panel_t *panel, int64_t k0)
{
    const rlx_matmul_shape_t *shape = &run->p->shape;
    int64_t k = panel->tile.k;

    for (int64_t j = 0; j < panel->blocks; j++) {
        int64_t n = panel->n + 16 * j, cols = shape->n - n;
        gemm_pack_b(run->b_pack + j * k * 16, run->b + k0 * shape->b_row + n * shape->b_col, k, cols < 16 ? cols : 16, shape->b_row,
            shape->b_col);
    }
    panel->tile.b = run->b_pack;
    panel->tile.ldb = k * 16;
    panel->tile.prefetch = (const char *)run->b_pack;
}

/* Where the panel after this one starts, and how fast to walk over it so that all row tiles together cover it once. After the last panel of
 * a run comes the next column tile: a worker mostly gets it next. */
static void panel_prefetch(const gemm_run_t *run, gemm_panel_t *panel, int64_t k0)
{
    const rlx_matmul_shape_t *shape = &run->p->shape;
    int64_t tiles = (run->rows + GEMM_ROWS - 1) / GEMM_ROWS, steps = tiles * (panel->tile.k / 4), bytes = panel->tile.k * 64;
    int64_t next = panel->n / 16 + panel->blocks;

    if (next >= run->n_end) {
        k0 += panel->tile.k;
        next = k0 < shape->k ? run->n_begin : run->n_end;
        k0 = k0 < shape->k ? k0 : 0;
    }
    if (next * 16 >= shape->n)
        return;
    panel->tile.prefetch = (const char *)(run->b + (next * shape->k + k0) * 16);
    panel->tile.prefetch_step = steps ? (bytes + steps - 1) / steps : 0;
    if (panel->tile.prefetch_step > 64)
        panel->tile.prefetch_step = 64;
}

#define GEMM_EPILOGUE_COLUMNS 256 /* enough to amortise the dispatch, few enough to find the rows in L2 */

/* The epilogue on columns [begin, end) of every row: they have their final sums. */
static void epilogue_run(const gemm_run_t *run, int64_t begin, int64_t end)
{
    const rlx_matmul_shape_t *shape = &run->p->shape;
    int64_t width = shape->c_col == 1 ? end - begin : 1;

    for (int64_t row = 0; row < run->rows; row++)
        for (int64_t n = begin; n < end; n += width) {
            int64_t at = row * shape->c_row + n * shape->c_col;
            rlx_epilogue_apply(&run->p->epilogue, run->args, run_c(run, row, n), width, run->c_at + at);
        }
}

static void chunk_run(const gemm_run_t *run, int64_t k0, int64_t k)
{
    const rlx_matmul_shape_t *shape = &run->p->shape;
    bool finishes = k0 + k == shape->k && run->p->epilogue.n_steps > 0;
    int64_t finished = run->n_begin * 16;
    float init[16 * RLX_GEMM_PANEL];

    for (int64_t n = run->n_begin, blocks; n < run->n_end; n += blocks) {
        gemm_panel_t panel = {.n = n * 16};
        blocks = n + run->panel <= run->n_end ? run->panel : 1;
        panel.blocks = blocks;
        panel.cols = shape->n - panel.n < blocks * 16 ? shape->n - panel.n : blocks * 16;
        panel.tile = (gemm_tile_t){.a = run->a_pack ? run->a_pack : run->a + k0,
            .lda = run->a_pack ? RLX_GEMM_LDA : shape->a_row,
            .b = run->b + (n * shape->k + k0) * 16,
            .ldb = shape->k * 16,
            .ldc = shape->c_row,
            .k = k};
        panel.tile.init = k0 == 0 ? panel_init(run, &panel, init) : NULL;
        panel.tile.prefetch = (const char *)panel.tile.b;
        if (!run->p->packed)
            panel_pack(run, &panel, k0);
        else if (run->rows > 3)
            panel_prefetch(run, &panel, k0);
        panel_run(run, &panel);
        if (finishes && (panel.n + panel.cols - finished >= GEMM_EPILOGUE_COLUMNS || n + blocks >= run->n_end)) {
            epilogue_run(run, finished, panel.n + panel.cols);
            finished = panel.n + panel.cols;
        }
    }
}

/* A is copied when its columns are not adjacent or its rows are anywhere. Rows that fall into one cache set are no reason: the tile then
 * reads them from L2, fast enough, and the copy costs more. */
static bool run_packs_a(const gemm_run_t *run) { return run->p->shape.a_col != 1 || !run->a; }

static void run_pack_a(const gemm_run_t *run, int64_t k0, int64_t k)
{
    const rlx_matmul_shape_t *shape = &run->p->shape;

    if (run->a) {
        gemm_pack_a(run->a_pack, run->a + k0 * shape->a_col, run->rows, k, shape->a_row, shape->a_col);
        return;
    }
    for (int64_t r = 0; r < run->rows; r++)
        gemm_pack_a(run->a_pack + r * RLX_GEMM_LDA, element(&run->args->in[0], run->a_at + r * shape->a_row) + k0 * shape->a_col, 1, k,
            shape->a_row, shape->a_col);
}

static void run_go(gemm_run_t *run)
{
    const rlx_matmul_shape_t *shape = &run->p->shape;
    bool pack = run_packs_a(run);
    bool whole = run->rows <= 3 && run->p->packed && !pack;
    int64_t chunks = whole || shape->k <= RLX_GEMM_K ? 1 : (shape->k + RLX_GEMM_DEPTH - 1) / RLX_GEMM_DEPTH;
    int64_t segments = (shape->k + RLX_SEGMENT_K - 1) / RLX_SEGMENT_K;
    int64_t depth = chunks > 1 ? (segments + chunks - 1) / chunks * RLX_SEGMENT_K : shape->k;
    int64_t k0 = 0;

    if (!pack)
        run->a_pack = NULL;
    run->panel = gemm_tile_blocks(run->rows);
    do {
        int64_t k = shape->k - k0 < depth ? shape->k - k0 : depth;
        if (pack)
            run_pack_a(run, k0, k);
        chunk_run(run, k0, k);
        k0 += k;
    } while (k0 < shape->k);
}

/* Offsets of batch index `batch`, and the first row of block `block`. */
static void run_place(const rlx_kernel_args_t *args, gemm_run_t *run, int64_t batch, int64_t block)
{
    const rlx_matmul_shape_t *shape = &run->p->shape;
    int64_t begin = shape->m * block / run->p->m_blocks, end = shape->m * (block + 1) / run->p->m_blocks;
    int64_t a = begin * shape->a_row, b = 0, c = begin * shape->c_row;

    for (int i = RLX_MATMUL_BATCH - 1; i >= 0; i--) {
        int64_t at = batch % shape->batch[i];
        batch /= shape->batch[i];
        a += at * shape->a_batch[i];
        b += at * shape->b_batch[i];
        c += at * shape->c_batch[i];
    }
    run->rows = end - begin;
    run->a = piece(&args->in[0], a, a + (run->rows - 1) * shape->a_row);
    run->b = (const float *)args->in[1].base + b;
    run->bias = args->in[2].base;
    run->c = piece(&args->out[0], c, c + (run->rows - 1) * shape->c_row + (shape->n - 1) * shape->c_col);
    run->a_at = a;
    run->c_at = c;
    run->a_pack = args->scratch;
    run->b_pack = run->a_pack + RLX_GEMM_ROWS * RLX_GEMM_LDA;
}

RLX_KERNEL_ENTRY(gemm)
{
    const rlx_gemm_params_t *p = (const rlx_gemm_params_t *)args->param;
    int64_t blocks = (p->shape.n + 15) / 16, columns = (blocks + p->n_tile - 1) / p->n_tile;

    while (tile_begin < tile_end) {
        gemm_run_t run = {.args = args, .p = p};
        int64_t row = tile_begin / columns, first = tile_begin % columns;
        int64_t last = tile_end - row * columns < columns ? tile_end - row * columns : columns;

        run.n_begin = first * p->n_tile;
        run.n_end = last * p->n_tile < blocks ? last * p->n_tile : blocks;
        run_place(args, &run, row / p->m_blocks, row % p->m_blocks);
        run_go(&run);
        tile_begin = row * columns + last;
    }
}
