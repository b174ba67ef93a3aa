/* conv_plain: the definition of convolution. Row-major, one to three spatial axes, any group, stride and dilation.
 *
 * Each output is a chain that starts from the bias: input channels in blocks of 16 (inside the group), then kernel depth, row, column,
 * then the channel inside the block; a few blocks are a segment (kernels/segment.h). One tile is one row of the output; its totals, and
 * after them the sums of the running segment, live in scratch. */
#include "kernels/conv_tap.h"
#include "kernels/epilogue.h"
#include "kernels/segment.h"

typedef struct conv_row {
    const rlx_conv_plain_params_t *p;
    const void *x, *w;
    void *total, *segment;
    int64_t o, od, oh; /* output channel, depth, row */
    int64_t x_plane;   /* first input channel of the group, batch included, in planes */
} conv_row_t;

static int64_t min_of(int64_t a, int64_t b) { return a < b ? a : b; }

/* Adds the taps of kernel row (kd, kh) of input channels [c_begin, c_end) of the group to acc. */
static void row_add(const conv_row_t *r, void *acc, int64_t c_begin, int64_t c_end, int64_t kd, int64_t kh)
{
    const rlx_conv_window_t *win = &r->p->window;
    int64_t id = rlx_window_cell(win, 0, r->od, kd), ih = rlx_window_cell(win, 1, r->oh, kh);
    int inside = rlx_window_inside(win, 0, id) && rlx_window_inside(win, 1, ih);
    int64_t in_plane = rlx_window_cells(win->in), kernel_cells = rlx_window_cells(win->kernel), per_group = r->p->channels / r->p->group;
    int64_t in_row = inside ? (id * win->in[1] + ih) * win->in[2] : 0;

    for (int64_t kw = 0; kw < win->kernel[2]; kw++) {
        conv_tap_t tap = {.n = win->out[2], .acc_step = 1, .x_first = rlx_window_cell(win, 2, 0, kw), .x_step = win->stride[2]};
        int64_t cell = (kd * win->kernel[1] + kh) * win->kernel[2] + kw;

        rlx_window_range(tap.x_first, tap.x_step, inside ? win->in[2] : 0, tap.n, &tap.lo, &tap.hi);
        for (int64_t c = c_begin; c < c_end; c++)
            conv_tap_add(r->p->dtype, &tap, acc, r->x, (r->x_plane + c) * in_plane + in_row, r->w,
                         (r->o * per_group + c) * kernel_cells + cell);
    }
}

/* Input channels [c_begin, c_end) of the group, whole blocks but for the last. */
static void segment_add(const conv_row_t *r, void *acc, int64_t c_begin, int64_t c_end)
{
    const rlx_conv_window_t *win = &r->p->window;

    for (int64_t c = c_begin; c < c_end; c += 16)
        for (int64_t kd = 0; kd < win->kernel[0]; kd++)
            for (int64_t kh = 0; kh < win->kernel[1]; kh++)
                row_add(r, acc, c, min_of(c + 16, c_end), kd, kh);
}

static void row_compute(const conv_row_t *r)
{
    const rlx_conv_window_t *win = &r->p->window;
    int64_t per_group = r->p->channels / r->p->group, channels = 16 * rlx_segment_blocks_conv(win), dtype = r->p->dtype;

    segment_add(r, r->total, 0, min_of(channels, per_group));
    for (int64_t c = channels; c < per_group; c += channels) {
        conv_acc_start(dtype, r->segment, win->out[2], NULL, 0);
        segment_add(r, r->segment, c, min_of(c + channels, per_group));
        conv_acc_join(dtype, r->total, r->segment, win->out[2]);
    }
}

RLX_KERNEL_ENTRY(conv_plain)
{
    const rlx_conv_plain_params_t *p = (const rlx_conv_plain_params_t *)args->param;
    const rlx_conv_window_t *win = &p->window;

    for (int64_t tile = tile_begin; tile < tile_end; tile++) {
        int64_t oh = tile % win->out[1], od = tile / win->out[1] % win->out[0], plane = tile / win->out[1] / win->out[0];
        int64_t n = plane / p->outputs, o = plane % p->outputs, group = o / (p->outputs / p->group);
        conv_row_t row = {.p = p, .x = args->in[0].base, .w = args->in[1].base, .o = o, .od = od, .oh = oh, .total = args->scratch,
                          .segment = (double *)args->scratch + win->out[2],
                          .x_plane = n * p->channels + group * (p->channels / p->group)};

        conv_acc_start(p->dtype, row.total, win->out[2], args->in[2].base, o);
        row_compute(&row);
        if (p->epilogue.n_steps > 0)
            rlx_epilogue_apply(&p->epilogue, args, row.total, win->out[2], tile * win->out[2]);
        conv_acc_store(p->dtype, row.total, win->out[2], args->out[0].base, tile * win->out[2]);
    }
}
