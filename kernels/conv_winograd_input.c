/* The input transform. Patches inside the map are read in place; those that reach past it are first copied with zeros around. */
#include "kernels/winograd_input.h"

/* One patch of 16 channels: x has rows row_step floats apart, taps go to v, tap_step apart. */
VEC16_INLINE void patch_transform(const int m, const float *x, int64_t row_step, float *v, int64_t tap_step)
{
    const int side = m + 2;
    vec16_t columns[WINOGRAD_SIDE_MAX][WINOGRAD_SIDE_MAX];

    VEC16_NO_UNROLL for (int j = 0; j < side; j++) {
        vec16_t d[WINOGRAD_SIDE_MAX], t[WINOGRAD_SIDE_MAX];

        VEC16_UNROLL for (int i = 0; i < side; i++)
            d[i] = vec16_load(x + i * row_step + j * 16);
        winograd_input_16(m, d, t);
        VEC16_UNROLL for (int i = 0; i < side; i++)
            columns[i][j] = t[i];
    }
    VEC16_NO_UNROLL for (int i = 0; i < side; i++, v += side * tap_step) {
        vec16_t t[WINOGRAD_SIDE_MAX];

        winograd_input_16(m, columns[i], t);
        VEC16_UNROLL for (int j = 0; j < side; j++)
            vec16_store(v + j * tap_step, t[j]);
    }
}

static __attribute__((noinline)) void patch_transform_2(const float *x, int64_t row_step, float *v, int64_t tap_step)
{
    patch_transform(2, x, row_step, v, tap_step);
}

#ifdef __AVX512F__
/* F(4,3) without a trip to memory in between: what the rows share stays in registers, row by row leaves. Stores are what bounds it. */
static __attribute__((noinline)) void patch_transform_4(const float *x, int64_t row_step, float *v, int64_t tap_step)
{
    vec16_t a[6], b[6];

    VEC16_UNROLL for (int j = 0; j < 6; j++) {
        a[j] = vec16_load(x + 4 * row_step + j * 16) - vec16_load(x + 2 * row_step + j * 16);
        b[j] = vec16_load(x + 3 * row_step + j * 16) - vec16_load(x + row_step + j * 16);
    }
    VEC16_UNROLL for (int i = 0; i < 6; i++, v += 6 * tap_step) {
        const float *first = x + winograd_cells[i][0] * row_step, *second = x + winograd_cells[i][1] * row_step;
        vec16_t d[6], t[6];

        VEC16_UNROLL for (int j = 0; j < 6; j++)
            d[j] = winograd_input_tap_16(i, vec16_load(first + j * 16), vec16_load(second + j * 16), a[j], b[j]);
        winograd_input_16(4, d, t);
        VEC16_UNROLL for (int j = 0; j < 6; j++)
            vec16_store(v + j * tap_step, t[j]);
        VEC16_FENCE();
    }
}
#else
static __attribute__((noinline)) void patch_transform_4(const float *x, int64_t row_step, float *v, int64_t tap_step)
{
    patch_transform(4, x, row_step, v, tap_step);
}
#endif

/* Stride 2. */
static __attribute__((noinline)) void patch_transform_strided(const float *x, int64_t row_step, float *v, int64_t tap_step)
{
    vec16_t columns[5][5];

    VEC16_UNROLL for (int j = 0; j < 5; j++) {
        vec16_t d[5], t[5];

        VEC16_UNROLL for (int i = 0; i < 5; i++)
            d[i] = vec16_load(x + i * row_step + j * 16);
        winograd_input_strided_16(d, t);
        VEC16_UNROLL for (int i = 0; i < 5; i++)
            columns[i][j] = t[i];
    }
    VEC16_UNROLL for (int i = 0; i < 5; i++, v += 5 * tap_step) {
        vec16_t t[5];

        winograd_input_strided_16(columns[i], t);
        VEC16_UNROLL for (int j = 0; j < 5; j++)
            vec16_store(v + j * tap_step, t[j]);
    }
}

/* The patch whose first cell is (row, column), with zeros outside the map. */
static void patch_copy(const rlx_conv_window_t *w, const float *plane, int64_t row, int64_t column, int64_t side, float *to)
{
    for (int64_t i = 0; i < side; i++)
        for (int64_t j = 0; j < side; j++, to += 16) {
            int64_t h = row + i, v = column + j;
            int inside = h >= 0 && h < w->in[1] && v >= 0 && v < w->in[2];

            vec16_store(to, inside ? vec16_load(plane + (h * w->in[2] + v) * 16) : (vec16_t){0});
        }
}

static void run_transform(const winograd_input_t *input, const winograd_run_t *run, const float *plane, float *v, int64_t tap_step)
{
    const rlx_conv_window_t *w = input->window;
    int64_t stride = w->stride[1], side = winograd_side(input->m, stride), row = run->row * stride - w->pad[1];
    float copy[WINOGRAD_TAPS_MAX * 16];

    for (int64_t i = 0; i < run->count; i++, v += 16) {
        int64_t column = (run->column + i * input->m) * stride - w->pad[2], row_step = w->in[2] * 16;
        const float *x = plane + (row * w->in[2] + column) * 16;

        if (row < 0 || column < 0 || row + side > w->in[1] || column + side > w->in[2]) {
            patch_copy(w, plane, row, column, side, copy);
            x = copy;
            row_step = side * 16;
        }
        if (stride == 2)
            patch_transform_strided(x, row_step, v, tap_step);
        else if (input->m == 2)
            patch_transform_2(x, row_step, v, tap_step);
        else
            patch_transform_4(x, row_step, v, tap_step);
    }
}

void rlx_winograd_input(const winograd_input_t *input, int64_t c, int64_t first, int64_t count, float *v)
{
    const rlx_conv_window_t *w = input->window;
    int64_t plane = w->in[1] * w->in[2] * 16, tap_step = winograd_tap_step(input->channel_blocks, input->patches);

    v += c * input->patches * 16;
    for (int64_t done = 0; done < count;) {
        winograd_run_t run = winograd_run_at(w, input->m, first + done, count - done);

        run_transform(input, &run, input->x + (run.n * input->channel_blocks + c) * plane, v + done * 16, tap_step);
        done += run.count;
    }
}

RLX_KERNEL_ENTRY(conv_winograd_input_c16)
{
    const rlx_conv_winograd_input_c16_params_t *p = (const rlx_conv_winograd_input_c16_params_t *)args->param;
    winograd_input_t input = {.window = &p->window, .m = p->m, .x = args->in[0].base, .channel_blocks = (p->channels + 15) / 16,
                              .patches = p->patches};
    int64_t total = p->batch * winograd_rows(&p->window, p->m) * winograd_columns(&p->window, p->m), side = winograd_side(p->m, p->window.stride[1]);

    for (int64_t tile = tile_begin; tile < tile_end; tile++) {
        int64_t block = tile / input.channel_blocks, first = block * p->patches;

        rlx_winograd_input(&input, tile % input.channel_blocks, first, winograd_least(p->patches, total - first),
                           (float *)args->out[0].base + block * side * side * winograd_tap_step(input.channel_blocks, p->patches));
    }
}
