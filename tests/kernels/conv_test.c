/* Convolutions and pools: the blocked kernels have the bits of the plain ones, whatever the sizes, the build or the split of tiles.
 * Each case has a random epilogue and is lowered by the compiler, so packing and blocking are under test as well. Lanes past the last
 * channel hold NaN: nothing may read them. */
#include "tests/kernels/kernel_under_test.h"

#include "ir/builder.h"
#include "ir/operator/conv_operands.h"
#include "ir/lower/dispatch.h"
#include "ir/pass/layout_support.h"
#include "ir/schedule.h"

#include <math.h>
#include <stdio.h>

static kernel_build_t builds[KERNEL_BUILDS_MAX];
static int n_builds;

static int find_builds(void **state)
{
    (void)state;
    n_builds = kernel_builds(builds);
    return 0;
}

/* One operator on random constants. */
typedef struct conv_case {
    rlx_op_kind_t kind;
    int64_t n, c, o, group, in[2], kernel[2], stride[2], dilation[2], pad[4], extra[2];
    int rank;
    bool bias, ceil_mode, count_pad;
    const char *algorithm; /* NULL: direct */
    int n_steps; /* of the epilogue; max_pool: whether there are NaN */
    rlx_demand_t demand; /* what a text asks for */
    bool channels_last;  /* the input, of the convolution in columns */
    float *x, *w, *b, *residual;
} conv_case_t;

static int64_t w_floats(const conv_case_t *t)
{
    int64_t per = t->kind == RLX_OP_conv ? t->o * (t->c / t->group) : t->c * (t->o / t->group);

    return per * t->kernel[0] * t->kernel[1];
}

static rlx_value_t *tensor(rlx_graph_t *graph, const char *name, const conv_case_t *t, int64_t d0, int64_t d1, const int64_t spatial[2],
                           const float *data)
{
    int64_t dims[4] = {d0, d1, spatial[0], spatial[1]};
    rlx_expr_t exprs[4];

    if (t->rank == 1)
        dims[2] = spatial[1];
    for (int i = 0; i < t->rank + 2; i++)
        exprs[i] = rlx_expr_const(graph->exprs, dims[i]);
    return data != NULL ? rlx_graph_const(graph, name, RLX_F32, t->rank + 2, dims, data, true)
        : rlx_graph_input(graph, name, RLX_F32, t->rank + 2, exprs);
}

static rlx_op_t *case_op(rlx_graph_t *graph, const conv_case_t *t)
{
    bool weighted = t->kind == RLX_OP_conv || t->kind == RLX_OP_conv_transpose;
    rlx_value_t *in[3] = {tensor(graph, "x", t, t->n, t->c, t->in, NULL)}, *out = rlx_graph_value(graph, "y", RLX_F32);
    int skip = t->rank == 1;
    rlx_diag_t diag = {0};
    rlx_op_t *op;

    if (weighted && t->kind == RLX_OP_conv)
        in[1] = tensor(graph, "w", t, t->o, t->c / t->group, t->kernel, t->w);
    else if (weighted)
        in[1] = tensor(graph, "w", t, t->c, t->o / t->group, t->kernel, t->w);
    if (t->bias)
        in[2] = rlx_graph_const(graph, "b", RLX_F32, 1, &t->o, t->b, true);
    op = rlx_graph_op(graph, NULL, t->kind, "op", weighted ? 2 + t->bias : 1, in, 1, &out);
    op->source = "case";
    rlx_op_set_ints(graph, op, "strides", t->stride + skip, t->rank);
    rlx_op_set_ints(graph, op, "dilations", t->dilation + skip, t->rank);
    if (weighted)
        rlx_op_set_int(graph, op, "group", t->group);
    else
        rlx_op_set_ints(graph, op, "kernel", t->kernel + skip, t->rank);
    if (!weighted)
        rlx_op_set_int(graph, op, "ceil_mode", t->ceil_mode);
    if (t->kind == RLX_OP_avg_pool)
        rlx_op_set_int(graph, op, "count_include_pad", t->count_pad);
    if (t->algorithm != NULL)
        rlx_op_set_string(graph, op, "algorithm", t->algorithm);
    if (t->kind == RLX_OP_conv_transpose)
        rlx_op_set_ints(graph, op, "output_padding", t->extra + skip, t->rank);
    op->pads = rlx_graph_alloc(graph, 4 * sizeof *op->pads);
    for (int i = 0; i < 2 * t->rank; i++)
        op->pads[i] = rlx_expr_const(graph->exprs, t->rank == 1 ? t->pad[1 + 2 * i] : t->pad[i]);
    if (rlx_op_infer(graph, op, &diag) != RLX_OK)
        fail_msg("%s", diag.message);
    return op;
}

/* A hard swish with some of the numbers that may scale and shift before and after it. */
static void epilogue_swish(rlx_graph_t *graph, rlx_op_t *op, rlx_epilogue_t *epilogue)
{
    static const rlx_op_kind_t kinds[] = {RLX_OP_mul, RLX_OP_add, RLX_OP_hard_swish, RLX_OP_mul, RLX_OP_add};
    static const float numbers[] = {1.5f, -0.3f, 0, -0.75f, 0.1f};

    for (int i = 0; i < 5; i++) {
        rlx_value_t *out = rlx_graph_value(graph, "step", RLX_F32);

        if (i == 2 || kernel_random(3) > 0)
            epilogue->steps[epilogue->n_steps++] =
                (rlx_epilogue_step_t){.op = rlx_graph_op(graph, NULL, kinds[i], "step", 1, &op->in[0], 1, &out), .scalar = numbers[i]};
    }
}

/* A random epilogue; at most one step adds a tensor, which becomes the op's last operand. */
static void epilogue_add(rlx_graph_t *graph, rlx_op_t *op, int n_steps)
{
    static const rlx_op_kind_t kinds[] = {RLX_OP_add, RLX_OP_relu, RLX_OP_clip, RLX_OP_hard_swish, RLX_OP_mul, RLX_OP_sub,
                                          RLX_OP_leaky_relu};
    rlx_epilogue_t *epilogue = rlx_graph_alloc(graph, sizeof *epilogue);
    rlx_schedule_t *sched = rlx_op_schedule(graph, op);

    if (n_steps == 0)
        return;
    sched->epilogue = epilogue;
    sched->n_operands = op->n_in;
    if (kernel_random(4) == 0) {
        epilogue_swish(graph, op, epilogue);
        return;
    }
    for (int i = 0; i < n_steps; i++) {
        rlx_value_t *out = rlx_graph_value(graph, "step", RLX_F32);
        rlx_op_kind_t kind = kinds[i == 0 ? kernel_random(3) : kernel_random(7)];
        rlx_epilogue_step_t *step = &epilogue->steps[epilogue->n_steps++];

        *step = (rlx_epilogue_step_t){.op = rlx_graph_op(graph, NULL, kind, "step", 1, &op->in[0], 1, &out), .scalar = 0.75f,
                                      .lo = -0.25f, .hi = 6,
                                      .running_is_second = kernel_random(2)};
        if (kind == RLX_OP_add || (kind == RLX_OP_sub && op->n_in == sched->n_operands)) {
            rlx_value_t **in = rlx_graph_alloc(graph, 4 * sizeof *in);

            if (op->n_in > sched->n_operands) {
                epilogue->n_steps--;
                continue;
            }
            memcpy(in, op->in, (size_t)op->n_in * sizeof *in);
            step->tensor = rlx_graph_input(graph, "residual", RLX_F32, op->out[0]->rank, op->out[0]->dims);
            in[op->n_in++] = step->tensor;
            op->in = in;
        }
    }
}

/* Memory of an operand: the graph's input, output or residual, a constant, or a temporary. */
static void *operand_find(rlx_graph_t *graph, const rlx_op_t *op, const rlx_value_t *value, float *x, float *residual, float *y,
                          void **temporary)
{
    int64_t floats;

    if (value->data != NULL)
        return (void *)(uintptr_t)value->data;
    if (value == op->in[0] || value == op->out[0])
        return value == op->in[0] ? x : y;
    if (value->is_input)
        return residual;
    assert_true(rlx_expr_is_const(graph->exprs, rlx_value_count(graph, value), &floats));
    if (*temporary == NULL)
        *temporary = kernel_floats(floats);
    return *temporary;
}

/* Lowers the op and runs its steps in `build`. */
static void case_run(const kernel_build_t *build, rlx_graph_t *graph, rlx_op_t *op, int level, float *x, float *residual, float *y)
{
    rlx_builder_t builder;
    rlx_diag_t diag = {0};
    void *temporary = NULL;

    rlx_builder_init(&builder, graph, level);
    if (rlx_lower_conv(&builder, op, &diag) != RLX_OK)
        fail_msg("%s", diag.message);
    for (int at = 0; at < builder.n_steps; at++) {
        const rlx_step_t *step = builder.steps[at];
        rlx_operand_t in[5] = {{0}}, out[2] = {{0}};
        int64_t params[RLX_PARAM_MAX], tiles, scratch;

        for (int i = 0; i < step->n_in; i++)
            in[i].base = step->in[i] != NULL ? operand_find(graph, op, step->in[i], x, residual, y, &temporary) : NULL;
        out[0].base = operand_find(graph, op, step->out[0], x, residual, y, &temporary);
        for (int i = 0; i < step->n_params; i++)
            assert_true(rlx_expr_is_const(graph->exprs, step->params[i], &params[i]));
        assert_true(rlx_expr_is_const(graph->exprs, step->tiles, &tiles));
        assert_true(rlx_expr_is_const(graph->exprs, step->scratch, &scratch));
        kernel_run(build, step->kernel, in, out, params, tiles, scratch);
    }
    free(temporary);
    rlx_builder_fini(&builder);
}

static float *block(const float *x, int64_t n, int64_t c, int64_t cells)
{
    int64_t blocks = (c + 15) / 16;
    float *to = kernel_floats(n * blocks * cells * 16);

    for (int64_t i = 0; i < n * blocks * cells * 16; i++) {
        int64_t lane = i % 16, cell = i / 16 % cells, plane = i / 16 / cells, channel = plane % blocks * 16 + lane;

        to[i] = channel < c ? x[(plane / blocks * c + channel) * cells + cell] : NAN;
    }
    return to;
}

static const char *case_text(const conv_case_t *t)
{
    static char text[256];

    snprintf(text, sizeof text,
             "kind %d: n %d c %d o %d group %d in %dx%d kernel %dx%d stride %dx%d dilation %dx%d pad %d,%d,%d,%d rank %d",
             (int)t->kind, (int)t->n, (int)t->c, (int)t->o, (int)t->group, (int)t->in[0], (int)t->in[1], (int)t->kernel[0],
                 (int)t->kernel[1],
             (int)t->stride[0], (int)t->stride[1], (int)t->dilation[0], (int)t->dilation[1], (int)t->pad[0], (int)t->pad[1], (int)t->pad[2],
             (int)t->pad[3], t->rank);
    return text;
}

static void blocked_expect(const conv_case_t *t, const char *build, const float *y, const float *expected, int64_t n, int64_t c,
                           int64_t cells)
{
    int64_t blocks = (c + 15) / 16;

    for (int64_t i = 0; i < n * c * cells; i++) {
        int64_t cell = i % cells, channel = i / cells % c, image = i / cells / c;
        const float *got = &y[((image * blocks + channel / 16) * cells + cell) * 16 + channel % 16];

        if (memcmp(got, &expected[i], 4) != 0)
            fail_msg("%s: %s: output %ld of channel %ld is %a, expected %a", build, case_text(t), (long)cell, (long)channel, (double)*got,
                     (double)expected[i]);
    }
}

static float *channels_last(const float *x, int64_t n, int64_t c, int64_t cells)
{
    float *to = kernel_floats(n * c * cells);

    for (int64_t i = 0; i < n * c * cells; i++)
        to[(i / (c * cells) * cells + i % cells) * c + i / cells % c] = x[i];
    return to;
}

/* The fast kernel works on row-major tensors. */
static void planar_check(const conv_case_t *t, rlx_graph_t *graph, rlx_op_t *op, const float *expected, int64_t count)
{
    float *x = channels_last(t->x, t->n, t->c, t->in[0] * t->in[1]);

    if (t->channels_last)
        op->in[0]->layout = RLX_LAYOUT_CHANNELS_LAST;
    for (int i = 0; i < n_builds; i++) {
        float *y = kernel_floats(count + 16);

        memset(y, 0x77, (size_t)(count + 16) * 4);
        case_run(&builds[i], graph, op, 2, t->channels_last ? x : t->x, t->residual, y);
        for (int64_t k = 0; k < count; k++)
            if (memcmp(&y[k], &expected[k], 4) != 0)
                fail_msg("%s: %s: output %ld is %a, expected %a", builds[i].name, case_text(t), (long)k, (double)y[k], (double)expected[k]);
        for (int k = 0; k < 64; k++)
            assert_int_equal(((unsigned char *)(y + count))[k], 0x77);
        free(y);
    }
    free(x);
}

static void case_check(conv_case_t *t)
{
    rlx_graph_t *graph = rlx_graph_create("case");
    bool row_major, pool = t->kind == RLX_OP_max_pool || t->kind == RLX_OP_avg_pool;
    rlx_op_t *op;
    int64_t out[4], count = 1, cells;
    float *expected, *blocked, *blocked_residual;

    t->x = kernel_floats(t->n * t->c * t->in[0] * t->in[1]);
    t->w = kernel_floats(pool ? 1 : w_floats(t));
    t->b = kernel_floats(t->o);
    t->b[0] = -0.0f;
    for (int64_t i = 0; t->kind == RLX_OP_max_pool && t->n_steps != 0 && i < t->n * t->c * t->in[0] * t->in[1]; i += 1 + kernel_random(40))
        t->x[i] = NAN;
    op = case_op(graph, t);
    assert_true(rlx_value_dims_const(graph, op->out[0], out));
    for (int i = 0; i < t->rank + 2; i++)
        count *= out[i];
    cells = count / (out[0] * out[1]);
    expected = kernel_floats(count);
    t->residual = kernel_floats(count);
    if (!pool)
        epilogue_add(graph, op, t->n_steps);
    case_run(&builds[0], graph, op, 1, t->x, t->residual, expected);
    rlx_op_schedule(graph, op)->demand = t->demand;

    blocked_residual = blocked = NULL;
    if (!rlx_conv_wants_c16(graph, op, &row_major)) {
        assert_int_equal(rlx_conv_form(graph, op), RLX_CONV_WIDTH);
        planar_check(t, graph, op, expected, count);
        goto done;
    }
    op->in[0]->layout = row_major ? RLX_LAYOUT_ROW_MAJOR : RLX_LAYOUT_C16;
    op->out[0]->layout = RLX_LAYOUT_C16;
    blocked_residual = block(t->residual, out[0], out[1], cells);
    blocked = block(t->x, t->n, t->c, t->in[0] * t->in[1]);
    for (int i = 0; i < n_builds; i++) {
        int64_t floats = out[0] * ((out[1] + 15) / 16) * 16 * cells;
        float *y = kernel_floats(floats + 16);

        memset(y, 0x77, (size_t)(floats + 16) * 4);
        case_run(&builds[i], graph, op, 2, row_major ? t->x : blocked, blocked_residual, y);
        blocked_expect(t, builds[i].name, y, expected, out[0], out[1], cells);
        for (int k = 0; k < 64; k++)
            assert_int_equal(((unsigned char *)(y + floats))[k], 0x77);
        free(y);
    }
done:
    free(blocked);
    free(blocked_residual);
    free(t->residual);
    free(expected);
    free(t->x);
    free(t->w);
    free(t->b);
    rlx_graph_destroy(graph);
}

static void spatial_pick(conv_case_t *t, int64_t kernel_most, int64_t stride_most)
{
    t->rank = kernel_random(6) == 0 ? 1 : 2;
    t->n = 1 + kernel_random(2);
    for (int i = 0; i < 2; i++) {
        bool off = t->rank == 1 && i == 0;

        t->kernel[i] = off ? 1 : 1 + kernel_random(kernel_most);
        t->stride[i] = off ? 1 : 1 + kernel_random(stride_most);
        t->dilation[i] = off ? 1 : 1 + (kernel_random(4) == 0);
        t->pad[i] = off ? 0 : kernel_random(t->kernel[i]);
        t->pad[i + 2] = off ? 0 : kernel_random(t->kernel[i]);
        t->in[i] = off ? 1 : (t->kernel[i] - 1) * t->dilation[i] + 1 + kernel_random(kernel_random(3) == 0 ? 40 : 14);
    }
    if (kernel_random(3) == 0) /* a common square kernel */
        for (int i = 0; i < 2 && t->rank == 2; i++)
            t->kernel[i] = 3, t->stride[i] = 1, t->dilation[i] = 1, t->pad[i] = 1, t->pad[i + 2] = 1, t->in[i] = 3 + kernel_random(30);
}

static int64_t pick_channels(void) { return kernel_random(3) == 0 ? 16 * (1 + kernel_random(4)) : 5 + kernel_random(60); }

static void direct_has_the_bits_of_plain(void **state)
{
    (void)state;
    for (int round = 0; round < 80; round++) {
        conv_case_t t = {.kind = RLX_OP_conv, .c = pick_channels(), .o = kernel_random(4) == 0 ? 1 + kernel_random(9) : pick_channels(),
                         .group = 1,
                         .bias = kernel_random(2), .n_steps = (int)kernel_random(4)};

        spatial_pick(&t, 4, 3);
        if (kernel_random(3) == 0)
            t.kernel[0] = t.kernel[1] = 1, t.pad[0] = t.pad[1] = t.pad[2] = t.pad[3] = 0;
        if (kernel_random(4) == 0)
            t.group = 2, t.c = 32 * (1 + kernel_random(2)), t.o = 32 * (1 + kernel_random(2));
        case_check(&t);
    }
}

/* Tests of the kernels themselves: winograd_test.c. Large maps are cut into blocks that transform their own input. */
static void winograd_has_the_bits_of_plain(void **state)
{
    (void)state;
    for (int round = 0; round < 60; round++) {
        int64_t size = round % 10 == 0 ? 90 : 24, stride = round % 4 == 2 ? 2 : 1;
        conv_case_t t = {.kind = RLX_OP_conv, .rank = 2, .algorithm = round % 2 ? "F(4,3)" : "F(2,3)", .n = 1 + kernel_random(3),
                         .c = pick_channels(), .o = pick_channels(), .group = 1, .kernel = {3, 3}, .stride = {stride, stride},
                         .dilation = {1, 1}, .in = {3 + kernel_random(size), 3 + kernel_random(size)}, .bias = kernel_random(2),
                         .n_steps = (int)kernel_random(4)};

        for (int i = 0; i < 4; i++)
            t.pad[i] = kernel_random(2);
        case_check(&t);
    }
}

static void first_layer_has_the_bits_of_plain(void **state)
{
    (void)state;
    for (int round = 0; round < 30; round++) {
        conv_case_t t = {.kind = RLX_OP_conv, .c = 1 + kernel_random(4), .o = 5 + kernel_random(60), .group = 1,
                         .bias = kernel_random(2), .n_steps = (int)kernel_random(4)};

        spatial_pick(&t, 7, 4);
        case_check(&t);
    }
}

static void few_outputs_have_the_bits_of_plain(void **state)
{
    (void)state;
    for (int round = 0; round < 60; round++) {
        conv_case_t t = {.kind = RLX_OP_conv, .c = 1 + kernel_random(round % 3 ? 20 : 70), .o = 1 + kernel_random(4), .group = 1,
                         .bias = kernel_random(2), .n_steps = (int)kernel_random(4)};

        spatial_pick(&t, 6, 3);
        t.rank = 2;
        for (int i = 0; i < 2; i++) {
            t.kernel[i] = 2 + kernel_random(4);
            t.in[i] = (t.kernel[i] - 1) * t.dilation[i] + 1 + t.stride[i] * (i == 0 ? 12 + kernel_random(20) : 22 + kernel_random(150));
        }
        case_check(&t);
    }
}

/* Whatever a text asks for: tiles, threads, unrolling. */
static void columns_in_the_lanes_have_the_bits_of_plain(void **state)
{
    static const int64_t most[] = {5, 3, 2, 1};

    (void)state;
    for (int round = 0; round < 160; round++) {
        conv_case_t t = {.kind = RLX_OP_conv, .group = kernel_random(2) ? 1 : 1 + kernel_random(5), .bias = kernel_random(2),
                         .n_steps = (int)kernel_random(4), .channels_last = kernel_random(3) == 0, .demand.lanes = RLX_LANES_WIDTH};
        int64_t outputs = 1 + kernel_random(round % 2 ? 5 : 40);

        t.c = t.group * (1 + kernel_random(round % 3 ? 4 : 70));
        t.o = t.group * outputs;
        spatial_pick(&t, 5, 3);
        t.demand.rows = kernel_random(2) * (1 + kernel_random(8));
        t.demand.columns = kernel_random(2) * (1 + kernel_random(20));
        t.demand.block = kernel_random(2) * (1 + kernel_random(outputs));
        t.demand.outputs = t.demand.block * kernel_random(3);
        t.demand.rows_together = kernel_random(2);
        t.demand.outputs_outside = kernel_random(2);
        t.demand.unroll_outputs = kernel_random(5);
        if (t.demand.unroll_outputs > 0)
            t.demand.unroll_width = 1 + kernel_random(most[t.demand.unroll_outputs - 1]);
        case_check(&t);
    }
}

static void depthwise_has_the_bits_of_plain(void **state)
{
    (void)state;
    for (int round = 0; round < 40; round++) {
        conv_case_t t = {.kind = RLX_OP_conv, .c = 2 + kernel_random(60), .bias = kernel_random(2), .n_steps = (int)kernel_random(4)};

        t.o = t.group = t.c;
        spatial_pick(&t, 5, 3);
        case_check(&t);
    }
}

static void transpose_has_the_bits_of_plain(void **state)
{
    (void)state;
    for (int round = 0; round < 50; round++) {
        conv_case_t t = {.kind = RLX_OP_conv_transpose, .c = pick_channels(), .o = 1 + kernel_random(50), .group = 1,
                         .bias = kernel_random(2), .n_steps = (int)kernel_random(4)};

        spatial_pick(&t, 4, 3);
        for (int i = 0; i < 2; i++) {
            t.in[i] = t.rank == 1 && i == 0 ? 1 : t.pad[i] + t.pad[i + 2] + 1 + kernel_random(18);
            t.extra[i] = kernel_random(t.stride[i]);
        }
        if (kernel_random(4) == 0)
            t.group = 2, t.c = 32, t.o = 64;
        case_check(&t);
    }
}

static void groups_of_any_size_have_the_bits_of_plain(void **state)
{
    (void)state;
    for (int round = 0; round < 80; round++) {
        int64_t group = 2 + kernel_random(7), inside = 1 + kernel_random(round % 4 == 0 ? 150 : 40), outside = 1 + kernel_random(40);
        conv_case_t t = {.kind = RLX_OP_conv, .c = group * inside, .o = group * (inside == 1 ? 1 + outside : outside), .group = group,
                         .bias = kernel_random(2), .n_steps = (int)kernel_random(5)};

        spatial_pick(&t, 3, 3);
        if (kernel_random(2) == 0)
            t.kernel[0] = t.kernel[1] = t.stride[0] = t.stride[1] = 1, t.pad[0] = t.pad[1] = t.pad[2] = t.pad[3] = 0;
        case_check(&t);
    }
}

/* Channels of a group on both sides of the ends of segments. */
static void many_segments_have_the_bits_of_plain(void **state)
{
    static const struct { int64_t c, kernel, stride; bool transposed; } sizes[] = {
        {112, 1, 1, false}, {127, 1, 1, false}, {128, 1, 1, false}, {129, 1, 1, false}, {144, 1, 2, false}, {255, 1, 1, false},
        {257, 1, 1, false}, {400, 1, 1, false}, {40, 3, 1, false}, {48, 3, 2, false}, {65, 2, 1, false}, {96, 2, 1, false},
        {33, 4, 1, false}, {130, 3, 1, true}, {130, 3, 2, true}, {70, 2, 2, true}, {257, 2, 2, true}, {300, 1, 2, true}, {65, 4, 3, true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        int64_t k = sizes[i].kernel, s = sizes[i].stride;
        conv_case_t t = {.kind = sizes[i].transposed ? RLX_OP_conv_transpose : RLX_OP_conv, .rank = 2, .n = 1, .c = sizes[i].c,
                         .o = 5 + kernel_random(40), .group = 1, .in = {5 + k, 14 + k}, .kernel = {k, k}, .stride = {s, s},
                         .dilation = {1, 1}, .bias = i % 4 != 0, .n_steps = (int)(i % 3)};

        if (!sizes[i].transposed && k > 1)
            t.pad[0] = t.pad[1] = t.pad[2] = t.pad[3] = 1;
        case_check(&t);
        t = (conv_case_t){.kind = t.kind, .rank = 2, .n = 1, .c = 2 * ((sizes[i].c + 15) / 16 * 16), .o = 32, .group = 2,
                          .in = {t.in[0], t.in[1]}, .kernel = {k, k}, .stride = {s, s}, .dilation = {1, 1}, .bias = true};
        case_check(&t);
    }
}

static void pools_have_the_bits_of_plain(void **state)
{
    (void)state;
    for (int round = 0; round < 60; round++) {
        conv_case_t t = {.kind = round % 2 ? RLX_OP_max_pool : RLX_OP_avg_pool, .c = 1 + kernel_random(40), .group = 1,
                         .ceil_mode = kernel_random(2),
                         .count_pad = kernel_random(2), .n_steps = (int)kernel_random(2)};

        t.o = t.c;
        spatial_pick(&t, 4, 3);
        case_check(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(direct_has_the_bits_of_plain),
        cmocka_unit_test(winograd_has_the_bits_of_plain),
        cmocka_unit_test(first_layer_has_the_bits_of_plain),
        cmocka_unit_test(few_outputs_have_the_bits_of_plain),
        cmocka_unit_test(columns_in_the_lanes_have_the_bits_of_plain),
        cmocka_unit_test(depthwise_has_the_bits_of_plain),
        cmocka_unit_test(transpose_has_the_bits_of_plain),
        cmocka_unit_test(groups_of_any_size_have_the_bits_of_plain),
        cmocka_unit_test(many_segments_have_the_bits_of_plain),
        cmocka_unit_test(pools_have_the_bits_of_plain),
    };

    return cmocka_run_group_tests_name("conv", tests, find_builds, NULL);
}
