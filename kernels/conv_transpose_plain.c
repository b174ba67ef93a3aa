/* conv_transpose_plain: the definition of transposed convolution. Row-major, weights [channels, outputs / group, kernel...].
 *
 * Output cell o takes input cell i through kernel cell k when o = i * stride + k * dilation - pad. A kernel cell for which no such
 * integer i exists is not part of the chain; one for which i lies outside the input is a +0 factor. Order and scratch as in conv_plain. */
#include "kernels/conv_tap.h"
#include "kernels/epilogue.h"
#include "kernels/segment.h"

typedef struct transpose_row {
    const rlx_conv_plain_params_t *p;
    const void *x, *w;
    void *total, *segment;
    int64_t group, o;  /* output channel inside the group */
    int64_t od, oh;
    int64_t batch;
} transpose_row_t;

static int64_t min_of(int64_t a, int64_t b) { return a < b ? a : b; }

/* True when an integer input cell exists; it may lie outside the input. */
static int source_cell(const rlx_conv_window_t *w, int axis, int64_t o, int64_t k, int64_t *out_cell)
{
    int64_t t = o + w->pad[axis] - k * w->dilation[axis];

    *out_cell = t / w->stride[axis];
    return t % w->stride[axis] == 0;
}

/* Output columns that kernel column kw reaches: acc_first, acc_first + stride, ... */
static conv_tap_t column_tap(const rlx_conv_window_t *win, int64_t kw, int inside)
{
    int64_t stride = win->stride[2], t = win->pad[2] - kw * win->dilation[2], first = (stride - t % stride) % stride;
    conv_tap_t tap = {.acc_first = first, .acc_step = stride, .x_first = (t + first) / stride, .x_step = 1};

    tap.n = first < win->out[2] ? (win->out[2] - first + stride - 1) / stride : 0;
    rlx_window_range(tap.x_first, 1, inside ? win->in[2] : 0, tap.n, &tap.lo, &tap.hi);
    return tap;
}

static void row_add(const transpose_row_t *r, void *acc, int64_t c_begin, int64_t c_end, int64_t kd, int64_t kh)
{
    const rlx_conv_window_t *win = &r->p->window;
    int64_t id, ih, per_group_in = r->p->channels / r->p->group, per_group_out = r->p->outputs / r->p->group;
    int64_t in_plane = rlx_window_cells(win->in), kernel_cells = rlx_window_cells(win->kernel);

    if (!source_cell(win, 0, r->od, kd, &id) || !source_cell(win, 1, r->oh, kh, &ih))
        return;
    for (int64_t kw = 0; kw < win->kernel[2]; kw++) {
        int inside = rlx_window_inside(win, 0, id) && rlx_window_inside(win, 1, ih);
        conv_tap_t tap = column_tap(win, kw, inside);
        int64_t cell = (kd * win->kernel[1] + kh) * win->kernel[2] + kw, in_row = inside ? (id * win->in[1] + ih) * win->in[2] : 0;

        for (int64_t c = r->group * per_group_in + c_begin; c < r->group * per_group_in + c_end; c++)
            conv_tap_add(r->p->dtype, &tap, acc, r->x, (r->batch * r->p->channels + c) * in_plane + in_row, r->w,
                         (c * per_group_out + r->o) * kernel_cells + cell);
    }
}

/* Input channels [c_begin, c_end) of the group, whole blocks but for the last. */
static void segment_add(const transpose_row_t *r, void *acc, int64_t c_begin, int64_t c_end)
{
    const rlx_conv_window_t *win = &r->p->window;

    for (int64_t c = c_begin; c < c_end; c += 16)
        for (int64_t kd = 0; kd < win->kernel[0]; kd++)
            for (int64_t kh = 0; kh < win->kernel[1]; kh++)
                row_add(r, acc, c, min_of(c + 16, c_end), kd, kh);
}

static void row_compute(const transpose_row_t *r)
{
    const rlx_conv_window_t *win = &r->p->window;
    int64_t per_group = r->p->channels / r->p->group, channels = 16 * rlx_segment_blocks_transpose(win), dtype = r->p->dtype;

    segment_add(r, r->total, 0, min_of(channels, per_group));
    for (int64_t c = channels; c < per_group; c += channels) {
        conv_acc_start(dtype, r->segment, win->out[2], NULL, 0);
        segment_add(r, r->segment, c, min_of(c + channels, per_group));
        conv_acc_join(dtype, r->total, r->segment, win->out[2]);
    }
}

RLX_KERNEL_ENTRY(conv_transpose_plain)
{
    const rlx_conv_plain_params_t *p = (const rlx_conv_plain_params_t *)args->param;
    const rlx_conv_window_t *win = &p->window;

    for (int64_t tile = tile_begin; tile < tile_end; tile++) {
        int64_t oh = tile % win->out[1], od = tile / win->out[1] % win->out[0], plane = tile / win->out[1] / win->out[0];
        int64_t o = plane % p->outputs, per_group = p->outputs / p->group;
        transpose_row_t row = {.p = p, .x = args->in[0].base, .w = args->in[1].base, .total = args->scratch,
                               .segment = (double *)args->scratch + win->out[2], .group = o / per_group,
                               .o = o % per_group, .od = od, .oh = oh, .batch = plane / p->outputs};

        conv_acc_start(p->dtype, row.total, win->out[2], args->in[2].base, o);
        row_compute(&row);
        if (p->epilogue.n_steps > 0)
            rlx_epilogue_apply(&p->epilogue, args, row.total, win->out[2], tile * win->out[2]);
        conv_acc_store(p->dtype, row.total, win->out[2], args->out[0].base, tile * win->out[2]);
    }
}
