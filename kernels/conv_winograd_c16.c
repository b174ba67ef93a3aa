/* conv_winograd_c16: F(2,3), also of stride 2, and F(4,3) on blocked activations. Same bits as conv_winograd_plain.
 *
 * One tile of work is a block of patches times a range of output-channel blocks. The block's input is transformed into scratch, or was by
 * an earlier step. Then, for one group of output blocks at a time: every sum is a small convolution of the transformed cells that take part in
 * it, of one with stride 1 (the register tile of the direct convolution, kernels/conv_tile.h, with patches for pixels and cells for those
 * of the kernel); its segments add up in scratch, while the group's sums are near; and the
 * output transform ends in the epilogue. Filters lie in the order in which they are read, and each product fetches the next one's. */
#include "kernels/conv_tile.h"
#include "kernels/winograd_input.h"

typedef struct winograd_work {
    const rlx_conv_winograd_c16_params_t *p;
    const rlx_kernel_args_t *args;
    const conv_finish_t *finish;
    const float *v;         /* transformed input of the block */
    float *sums;            /* of a group: [output block][sum][patches | 1][16] */
    int64_t n_sums, v_step; /* floats between transformed cells of v */
    int64_t cell[WINOGRAD_TAPS_MAX];      /* where cells lie in v, in the order of sums */
    int64_t begin[WINOGRAD_TAPS_MAX + 1]; /* cell[begin[i], begin[i + 1]) take part in sum i */
    int64_t first, count;   /* patches of this block */
} winograd_work_t;

static int64_t sums_step(const winograd_work_t *work) { return (work->p->patches | 1) * 16; }

/* One segment of one sum for `nb` output blocks. The first register tiles together fetch the weights at `next`. */
static void segment_run(const winograd_work_t *work, conv_tile_t *tile, int64_t nb, const float *x, float *y, const float *next)
{
    int64_t tiles = conv_tile_count(work->count, nb), least = work->count / tiles, more = work->count % tiles;
    int64_t fetchers = tiles < 4 ? tiles : 4, lines = (3 + fetchers) / fetchers, channels = tile->blocks * tile->taps * 16;

    tile->prefetch_lines = lines;
    for (int64_t i = 0; i < tiles; i++) {
        int64_t n = least + (i < more);

        rlx_conv_tile_run(n, nb, tile, x, y, i * lines < 4 ? next + i * lines * channels * 4 : NULL);
        x += n * 16;
        y += n * 16;
    }
}

/* Which transformed cells take part in which sum. */
static void cells_list(winograd_work_t *work, int64_t side, int64_t stride)
{
    int64_t n = 0, sums = stride == 2 ? 3 : side;

    for (int64_t sum = 0; sum < sums * sums; sum++) {
        work->begin[sum] = n;
        for (int64_t i = winograd_first(stride, sum / sums); i < winograd_first(stride, sum / sums + 1); i++)
            for (int64_t j = winograd_first(stride, sum % sums); j < winograd_first(stride, sum % sums + 1); j++)
                work->cell[n++] = (i * side + j) * work->v_step;
    }
    work->begin[sums * sums] = n;
    work->n_sums = sums * sums;
}

/* All sums of `blocks` output blocks, whose filters begin at u. */
static void group_multiply(const winograd_work_t *work, const float *u, int64_t blocks)
{
    static const float zero[16 * CONV_TILE_BLOCKS];
    int64_t channels = work->p->channels, full = channels / 16, all = (channels + 15) / 16, y_step = sums_step(work);
    conv_tile_t tile = {.block_step = work->p->patches * 16, .y_pixel = 16, .y_block = work->n_sums * y_step};

    for (int64_t sum = 0; sum < work->n_sums; sum++) {
        int64_t taps = work->begin[sum + 1] - work->begin[sum], step = rlx_segment_blocks(taps);

        tile.tap = work->cell + work->begin[sum];
        tile.taps = taps;
        tile.w_step = channels * taps * 16;
        for (int64_t block = 0, nb; block < blocks; block += nb, u += nb * tile.w_step) {
            nb = work->count <= CONV_TILE_PIXELS_1 ? 1 : winograd_least(CONV_TILE_BLOCKS, blocks - block); /* one: filters pass once */
            float *y = work->sums + (block * work->n_sums + sum) * y_step;

            for (int64_t c = 0; c < all; c += step) {
                int last = c + step >= all;

                tile.blocks = last ? full - c : step;
                tile.tail = last ? channels % 16 : 0;
                tile.w = u + c * taps * 256;
                tile.start = c == 0 ? zero : NULL;
                segment_run(work, &tile, nb, work->v + c * tile.block_step, y, last ? u + nb * tile.w_step : tile.w + step * taps * 256);
            }
        }
    }
}

/* Where and how a patch of 16 channels is stored. */
typedef struct patch_out {
    float *y;
    const float *residual; /* at the same place, or NULL */
    int64_t row_step, rows, columns;
    int end; /* of kernels/conv_finish.h */
    float lo, hi;
    const float *affine;
} patch_out_t;

/* Row `i` of a patch: bias, epilogue, store. */
VEC16_INLINE void row_finish(const int m, const patch_out_t *out, int i, vec16_t *t, vec16_t bias)
{
    float *y = out->y + i * out->row_step;

    VEC16_UNROLL for (int j = 0; j < m; j++)
        t[j] += bias;
    if (out->residual != NULL)
        VEC16_UNROLL for (int j = 0; j < m; j++)
            if (j < out->columns)
                t[j] += vec16_load(out->residual + i * out->row_step + j * 16);
    if (out->end == CONV_FINISH_CLAMP)
        VEC16_UNROLL for (int j = 0; j < m; j++)
            t[j] = conv_finish_clamp(t[j], out->lo, out->hi);
    else if (out->end == CONV_FINISH_HARD_SWISH)
        VEC16_UNROLL for (int j = 0; j < m; j++)
            t[j] = conv_finish_hard_swish(t[j], out->affine);
    VEC16_UNROLL for (int j = 0; j < m; j++)
        if (j < out->columns)
            vec16_store(y + j * 16, t[j]);
}

/* The outputs of one patch: taps tap_step floats apart. */
VEC16_INLINE void patch_finish(const int m, const float *taps, int64_t tap_step, const float *bias, const patch_out_t *out)
{
    const int side = m + 2;
    vec16_t rows[4][WINOGRAD_SIDE_MAX];

    VEC16_NO_UNROLL for (int j = 0; j < side; j++, taps += tap_step) {
        vec16_t p[WINOGRAD_SIDE_MAX], t[4];

        VEC16_UNROLL for (int i = 0; i < side; i++)
            p[i] = vec16_load(taps + i * side * tap_step);
        winograd_output_16(m, p, t);
        VEC16_UNROLL for (int i = 0; i < m; i++)
            rows[i][j] = t[i];
    }
    VEC16_NO_UNROLL for (int i = 0; i < out->rows; i++) {
        vec16_t t[4];

        winograd_output_16(m, rows[i], t);
        row_finish(m, out, i, t, vec16_load(bias));
    }
}

static __attribute__((noinline)) void patch_finish_2(const float *taps, int64_t tap_step, const float *bias, const patch_out_t *out)
{
    patch_finish(2, taps, tap_step, bias, out);
}

/* Stride 2: nine sums. */
static __attribute__((noinline)) void patch_finish_strided(const float *sums, int64_t step, const float *bias, const patch_out_t *out)
{
    vec16_t rows[2][3];

    VEC16_UNROLL for (int j = 0; j < 3; j++) {
        vec16_t p[3], t[2];

        VEC16_UNROLL for (int i = 0; i < 3; i++)
            p[i] = vec16_load(sums + (i * 3 + j) * step);
        winograd_output_strided_16(p, t);
        rows[0][j] = t[0];
        rows[1][j] = t[1];
    }
    VEC16_UNROLL for (int i = 0; i < 2; i++) {
        vec16_t t[2];

        if (i == out->rows)
            break;
        winograd_output_strided_16(rows[i], t);
        row_finish(2, out, i, t, vec16_load(bias));
    }
}

#ifdef __AVX512F__
/* F(4,3) without a trip to memory in between: what the rows share stays in registers. */
static __attribute__((noinline)) void patch_finish_4(const float *taps, int64_t tap_step, const float *bias, const patch_out_t *out)
{
    vec16_t s[6], d[6];

    VEC16_UNROLL for (int j = 0; j < 6; j++) {
        vec16_t p1 = vec16_load(taps + (6 + j) * tap_step), p2 = vec16_load(taps + (12 + j) * tap_step);

        s[j] = p1 + p2;
        d[j] = p1 - p2;
    }
    VEC16_UNROLL for (int i = 0; i < 4; i++) {
        vec16_t p[6], t[4];

        if (i == out->rows)
            break;
        VEC16_UNROLL for (int j = 0; j < 6; j++)
            p[j] = winograd_output_of_16(i, vec16_load(taps + ((i == 3 ? 30 : 0) + j) * tap_step), s[j], d[j],
                                         vec16_load(taps + (18 + j) * tap_step), vec16_load(taps + (24 + j) * tap_step));
        winograd_output_16(4, p, t);
        row_finish(4, out, i, t, vec16_load(bias));
        VEC16_FENCE();
    }
}
#else
static __attribute__((noinline)) void patch_finish_4(const float *taps, int64_t tap_step, const float *bias, const patch_out_t *out)
{
    patch_finish(4, taps, tap_step, bias, out);
}
#endif

/* The outputs of a run of patches of output block `block`, whose taps begin at `taps`. */
static void run_finish(const winograd_work_t *work, const winograd_run_t *run, int64_t block, const float *taps, const float *bias)
{
    const rlx_conv_window_t *w = &work->p->window;
    int64_t m = work->p->m, blocks_out = (work->p->outputs + 15) / 16, plane = w->out[1] * w->out[2] * 16, step = sums_step(work);
    int64_t at = (run->n * blocks_out + block) * plane + (run->row * w->out[2] + run->column) * 16;
    float *y = (float *)work->args->out[0].base + at;
    patch_out_t out = {.row_step = w->out[2] * 16, .rows = winograd_least(m, w->out[1] - run->row), .end = work->finish->end,
                       .lo = work->finish->lo, .hi = work->finish->hi, .affine = work->finish->affine};

    for (int64_t i = 0; i < run->count; i++, taps += 16) {
        out.y = y + i * m * 16;
        out.residual = conv_finish_residual(work->finish, out.y);
        out.columns = winograd_least(m, w->out[2] - run->column - i * m);
        if (w->stride[1] == 2)
            patch_finish_strided(taps, step, bias, &out);
        else if (m == 2)
            patch_finish_2(taps, step, bias, &out);
        else
            patch_finish_4(taps, step, bias, &out);
    }
    for (int64_t i = 0; i < out.rows; i++)
        conv_finish_rest(work->finish, y + i * out.row_step, winograd_least(run->count * m, w->out[2] - run->column) * 16);
}

static void group_finish(const winograd_work_t *work, int64_t first_block, int64_t blocks)
{
    static const float zero[16];
    const float *bias = work->args->in[2].base;

    for (int64_t block = 0; block < blocks; block++)
        for (int64_t done = 0; done < work->count;) {
            winograd_run_t run = winograd_run_at(&work->p->window, work->p->m, work->first + done, work->count - done);

            run_finish(work, &run, first_block + block, work->sums + block * work->n_sums * sums_step(work) + done * 16,
                       bias != NULL ? bias + (first_block + block) * 16 : zero);
            done += run.count;
        }
}

RLX_KERNEL_ENTRY(conv_winograd_c16)
{
    const rlx_conv_winograd_c16_params_t *p = (const rlx_conv_winograd_c16_params_t *)args->param;
    const rlx_conv_window_t *w = &p->window;
    int64_t blocks_in = (p->channels + 15) / 16, blocks_out = (p->outputs + 15) / 16, ranges = (blocks_out + p->blocks - 1) / p->blocks;
    int64_t total = p->batch * winograd_rows(w, p->m) * winograd_columns(w, p->m), held = -1; /* the block whose input scratch has */
    winograd_input_t input = {.window = w, .m = p->m, .x = args->in[0].base, .channel_blocks = blocks_in, .patches = p->patches};
    conv_finish_t finish;
    winograd_work_t work = {.p = p, .args = args, .finish = &finish, .v_step = winograd_tap_step(blocks_in, p->patches)};
    int64_t side = winograd_side(p->m, w->stride[1]), block_floats = side * side * work.v_step;

    cells_list(&work, side, w->stride[1]);
    conv_finish_make(&p->epilogue, args, &finish);
    work.v = args->scratch;
    work.sums = (float *)args->scratch + (p->transformed ? 0 : block_floats);
    for (int64_t tile = tile_begin; tile < tile_end; tile++) {
        int64_t block = tile / ranges, begin = tile % ranges * p->blocks, end = winograd_least(begin + p->blocks, blocks_out);

        work.first = block * p->patches;
        work.count = winograd_least(p->patches, total - work.first);
        if (p->transformed)
            work.v = (const float *)args->in[0].base + block * block_floats;
        else if (held != block)
            for (int64_t c = 0; c < blocks_in; c++)
                rlx_winograd_input(&input, c, work.first, work.count, args->scratch);
        held = block;
        for (int64_t at = begin; at < end; at += WINOGRAD_GROUP) {
            int64_t blocks = winograd_least(WINOGRAD_GROUP, blocks_out - at);

            group_multiply(&work, (const float *)args->in[1].base + at * side * side * p->channels * 16, blocks);
            group_finish(&work, at, blocks);
        }
    }
}
