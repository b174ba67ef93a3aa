/* Sampling: every build gives the same bits; the fast resizes give those of the plain one; tables follow hand-computed coordinates;
 * transforms equal the definition. */
#include <math.h>

#include "kernels/params_sample.h"
#include "tests/kernels/kernel_under_test.h"

static kernel_build_t builds[KERNEL_BUILDS_MAX];
static int n_builds;

static int find_builds(void **state)
{
    (void)state;
    n_builds = kernel_builds(builds);
    return 0;
}

/* A planar resize [planes, in_h, in_w] -> [planes, out_h, out_w] by sizes. */
typedef struct problem {
    int64_t planes, in[2], out[2], taps;
    rlx_resize_table_params_t table;
    int32_t *index;
    float *weight;
} problem_t;

static problem_t problem_make(int64_t mode)
{
    problem_t q = {.planes = 1 + kernel_random(20), .taps = mode == RLX_RESIZE_NEAREST ? 1 : mode == RLX_RESIZE_LINEAR ? 2 : 4};
    union { float f; uint32_t u; } cubic = {.f = -0.75f};

    q.table = (rlx_resize_table_params_t){.mode = mode,
                                          .coord = kernel_random(5),
                                          .nearest = kernel_random(4),
                                          .cubic_a = cubic.u,
                                          .roi_dtype = 1,
                                          .exclude_outside = mode == RLX_RESIZE_CUBIC && kernel_random(2)};
    for (int d = 0; d < 8; d++)
        q.table.roi_begin[d] = -1;
    for (int i = 0; i < 2; i++) {
        q.in[i] = 1 + kernel_random(20);
        q.out[i] = 1 + kernel_random(40);
        q.table.in[6 + i] = q.table.scale_den[6 + i] = q.in[i];
        q.table.out[6 + i] = q.table.scale_num[6 + i] = q.out[i];
        q.table.taps[6 + i] = q.taps;
    }
    q.table.first[7] = q.out[0] * q.taps;
    q.index = calloc((size_t)((q.out[0] + q.out[1]) * q.taps), sizeof *q.index);
    q.weight = calloc((size_t)((q.out[0] + q.out[1]) * q.taps), sizeof *q.weight);
    return q;
}

static void table_run(const problem_t *q, int build)
{
    rlx_operand_t in = {.base = NULL}, out[2] = {{.base = q->index}, {.base = q->weight}};

    assert_int_equal(kernel_run(&builds[build], RLX_K_resize_table, &in, out, &q->table, 8, 0), 0);
}

static rlx_resize_params_t plain_params(const problem_t *q)
{
    rlx_resize_params_t p = {.dtype = 1, .rows = q->planes * q->out[0], .rows_per_tile = 3};

    for (int d = 0; d < 8; d++)
        p.in[d] = p.out[d] = 1;
    p.in[5] = p.out[5] = q->planes;
    for (int i = 0; i < 2; i++) {
        p.in[6 + i] = q->in[i];
        p.out[6 + i] = q->out[i];
        p.taps[6 + i] = q->taps;
        p.first[6 + i] = q->table.first[6 + i];
    }
    return p;
}

/* Planes as the channels of one image, in blocks of 16. */
static float *block(const float *x, int64_t planes, int64_t space)
{
    float *b = kernel_floats((planes + 15) / 16 * 16 * space);

    for (int64_t i = 0; i < planes * space; i++)
        b[(i / space / 16 * space + i % space) * 16 + i / space % 16] = x[i];
    return b;
}

static void check_blocked(const problem_t *q, int build, const float *x, const float *want, bool weighted)
{
    int64_t space = q->out[0] * q->out[1], blocks = (q->planes + 15) / 16;
    rlx_resize_c16_params_t p = {.planes = blocks,
                                 .in_h = q->in[0],
                                 .in_w = q->in[1],
                                 .out_h = q->out[0],
                                 .out_w = q->out[1],
                                 .taps_h = q->taps,
                                 .taps_w = q->taps,
                                 .first_w = q->table.first[7],
                                 .rows_per_tile = 2};
    float *xb = block(x, q->planes, q->in[0] * q->in[1]), *yb = kernel_floats(blocks * 16 * space), *wb = block(want, q->planes, space);
    rlx_operand_t in[3] = {{.base = xb}, {.base = q->index}, {.base = weighted ? q->weight : NULL}}, out = {.base = yb};

    assert_int_equal(kernel_run(&builds[build], RLX_K_resize_c16, in, &out, &p, blocks * ((q->out[0] + 1) / 2), 0), 0);
    for (int64_t i = 0; i < blocks * space * 16; i++)
        if (i / space / 16 * 16 + i % 16 < q->planes)
            assert_memory_equal(&yb[i], &wb[i], 4);
    free(xb);
    free(yb);
    free(wb);
}

static void weighted_resizes_agree(void **state)
{
    (void)state;
    for (int round = 0; round < 80; round++) {
        problem_t q = problem_make(1 + round % 2);
        int64_t n = q.planes * q.out[0] * q.out[1], entries = (q.out[0] + q.out[1]) * q.taps;
        rlx_resize_params_t plain = plain_params(&q);
        rlx_resize_f32_params_t fast = {.planes = q.planes,
                                        .in_h = q.in[0],
                                        .in_w = q.in[1],
                                        .out_h = q.out[0],
                                        .out_w = q.out[1],
                                        .taps_h = q.taps,
                                        .taps_w = q.taps,
                                        .first_w = q.table.first[7],
                                        .rows_per_tile = 3};
        float *x = kernel_floats(q.planes * q.in[0] * q.in[1]), *want = kernel_floats(n), *got = kernel_floats(n),
              *weights = kernel_floats(entries);
        rlx_operand_t in[3] = {{.base = x}, {.base = q.index}, {.base = q.weight}}, out = {.base = want};

        table_run(&q, 0);
        memcpy(weights, q.weight, (size_t)entries * 4);
        assert_int_equal(kernel_run(&builds[0], RLX_K_resize, in, &out, &plain, (plain.rows + 2) / 3, 0), 0);
        out.base = got;
        for (int b = 0; b < n_builds; b++) {
            table_run(&q, b);
            assert_memory_equal(q.weight, weights, (size_t)entries * 4);
            assert_int_equal(kernel_run(&builds[b], RLX_K_resize, in, &out, &plain, (plain.rows + 2) / 3, 0), 0);
            assert_memory_equal(got, want, (size_t)n * 4);
            assert_int_equal(
                kernel_run(&builds[b], RLX_K_resize_f32, in, &out, &fast, q.planes * ((q.out[0] + 2) / 3), q.taps * (q.out[1] * 4 + 8)),
                0);
            assert_memory_equal(got, want, (size_t)n * 4);
            check_blocked(&q, b, x, want, true);
        }
        float *all[] = {x, want, got, weights, q.weight};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            free(all[i]);
        free(q.index);
    }
}

static void nearest_resizes_agree(void **state)
{
    (void)state;
    for (int round = 0; round < 40; round++) {
        problem_t q = problem_make(RLX_RESIZE_NEAREST);
        int64_t n = q.planes * q.out[0] * q.out[1];
        rlx_resize_nearest_params_t p = {.dtype = 1,
                                         .bytes = 4,
                                         .rows = q.planes * q.out[0],
                                         .rows_per_tile = 3,
                                         .in = {1, 1, 1, 1, 1, q.planes, q.in[0], q.in[1]},
                                         .out = {1, 1, 1, 1, 1, q.planes, q.out[0], q.out[1]},
                                         .first = {-1, -1, -1, -1, -1, -1, 0, q.out[0]}};
        float *x = kernel_floats(q.planes * q.in[0] * q.in[1]), *y = kernel_floats(n);
        rlx_operand_t in[2] = {{.base = x}, {.base = q.index}}, out = {.base = y};

        for (int b = 0; b < n_builds; b++) {
            table_run(&q, b);
            assert_int_equal(kernel_run(&builds[b], RLX_K_resize_nearest, in, &out, &p, (p.rows + 2) / 3, 0), 0);
            for (int64_t i = 0; i < n; i++) {
                int64_t h = q.index[i / q.out[1] % q.out[0]], w = q.index[q.out[0] + i % q.out[1]];
                assert_true(y[i] == x[(i / q.out[1] / q.out[0] * q.in[0] + h) * q.in[1] + w]);
            }
            check_blocked(&q, b, x, y, false);
        }
        free(x);
        free(y);
        free(q.index);
        free(q.weight);
    }
}

/* Doubling with half pixels reads a quarter before and after; asymmetric floor repeats each place twice. */
static void tables_follow_the_definition(void **state)
{
    static const int32_t linear_index[] = {0, 0, 0, 1, 0, 1, 1, 2, 1, 2, 2, 2}, twice[] = {0, 0, 1, 1, 2, 2};
    static const float weights[] = {0.25f, 0.75f, 0.75f, 0.25f, 0.25f, 0.75f, 0.75f, 0.25f, 0.25f, 0.75f, 0.75f, 0.25f};
    problem_t q = problem_make(RLX_RESIZE_LINEAR);

    (void)state;
    free(q.index);
    free(q.weight);
    q.index = calloc(12, sizeof *q.index);
    q.weight = calloc(12, sizeof *q.weight);
    q.table.out[6] = q.table.first[7] = 0;
    q.table.in[7] = q.table.scale_den[7] = 3;
    q.table.out[7] = q.table.scale_num[7] = 6;
    for (int b = 0; b < n_builds; b++) {
        q.table.mode = RLX_RESIZE_LINEAR;
        q.table.coord = RLX_COORD_HALF_PIXEL;
        q.table.taps[7] = 2;
        table_run(&q, b);
        assert_memory_equal(q.index, linear_index, sizeof linear_index);
        assert_memory_equal(q.weight, weights, sizeof weights);
        q.table.mode = RLX_RESIZE_NEAREST;
        q.table.coord = RLX_COORD_ASYMMETRIC;
        q.table.nearest = RLX_NEAREST_FLOOR;
        q.table.taps[7] = 1;
        table_run(&q, b);
        assert_memory_equal(q.index, twice, sizeof twice);
    }
    free(q.index);
    free(q.weight);
}

/* An extent that only at run time turns out to stay: the table is that of an axis which lowering leaves alone. */
static void scale_one_moves_nothing(void **state)
{
    int32_t index[5];
    rlx_operand_t in = {.base = NULL}, out[2] = {{.base = index}, {.base = NULL}};

    (void)state;
    for (int64_t i = 0; i < 28; i++) {
        rlx_resize_table_params_t p = {.mode = RLX_RESIZE_NEAREST, .coord = i / 4, .nearest = i % 4, .roi_dtype = 1};
        if (p.coord == RLX_COORD_TF_CROP_AND_RESIZE)
            continue;
        p.in[7] = p.out[7] = p.scale_num[7] = p.scale_den[7] = 5;
        p.taps[7] = 1;
        for (int b = 0; b < n_builds; b++) {
            assert_int_equal(kernel_run(&builds[b], RLX_K_resize_table, &in, out, &p, 8, 0), 0);
            for (int32_t o = 0; o < 5; o++)
                assert_int_equal(index[o], o);
        }
    }
}

static void transform_equals_its_definition(void **state)
{
    static const int64_t lengths[] = {1, 2, 3, 4, 5, 8, 12, 17, 30, 64, 100};

    (void)state;
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
        int64_t n = lengths[l];
        rlx_dft_params_t p = {
            .dtype = 2, .outer = 1, .inner = 1, .in_count = n, .in_parts = 2, .out_count = n, .out_parts = 2, .length = n, .per_tile = 1};
        double *x = calloc((size_t)n * 2, sizeof *x), *y = calloc((size_t)n * 2, sizeof *y), *first = calloc((size_t)n * 2, sizeof *first);
        rlx_operand_t in = {.base = x}, out = {.base = y};

        for (int64_t i = 0; i < 2 * n; i++)
            x[i] = (double)(kernel_random(2001) - 1000) / 1000;
        for (int b = 0; b < n_builds; b++) {
            assert_int_equal(kernel_run(&builds[b], RLX_K_dft, &in, &out, &p, 1, 48 * n), 0);
            for (int64_t k = 0; k < n; k++) {
                double re = 0, im = 0;
                for (int64_t i = 0; i < n; i++) {
                    double angle = -2 * M_PI * (double)(i * k % n) / (double)n;
                    re += x[2 * i] * cos(angle) - x[2 * i + 1] * sin(angle);
                    im += x[2 * i] * sin(angle) + x[2 * i + 1] * cos(angle);
                }
                assert_true(fabs(y[2 * k] - re) < 1e-12 * (double)n && fabs(y[2 * k + 1] - im) < 1e-12 * (double)n);
            }
            if (b == 0)
                memcpy(first, y, (size_t)n * 16);
            assert_memory_equal(y, first, (size_t)n * 16);
        }
        free(x);
        free(y);
        free(first);
    }
}

static void bilinear_grid_has_the_bits_of_the_plain_one(void **state)
{
    (void)state;
    for (int64_t round = 0; round < 60; round++) {
        rlx_grid_sample_params_t p = {.dtype = 1, .grid_dtype = 1, .mode = RLX_RESIZE_LINEAR, .padding = round % 3,
            .align_corners = kernel_random(2), .batch = 2, .channels = 1 + kernel_random(5), .rank = 2,
            .out_space = 1 + kernel_random(200), .per_tile = 1 + kernel_random(90),
            .in = {1, 2 + kernel_random(9), 2 + kernel_random(9)}};
        int64_t n = 2 * p.channels * p.out_space, tiles = (2 * p.out_space + p.per_tile - 1) / p.per_tile;
        float *x = kernel_floats(2 * p.channels * p.in[1] * p.in[2]), *grid = kernel_floats(4 * p.out_space), *want = kernel_floats(n);
        float *got = kernel_floats(n);
        rlx_operand_t in[2] = {{.base = x}, {.base = grid}}, out = {.base = want};

        for (int64_t i = 0; i < 4 * p.out_space; i++)
            grid[i] *= 1.5f;
        assert_int_equal(kernel_run(&builds[0], RLX_K_grid_sample, in, &out, &p, tiles, 0), 0);
        out.base = got;
        for (int b = 0; b < n_builds; b++) {
            assert_int_equal(kernel_run(&builds[b], RLX_K_grid_sample, in, &out, &p, tiles, 0), 0);
            assert_memory_equal(got, want, (size_t)n * 4);
            assert_int_equal(kernel_run(&builds[b], RLX_K_grid_bilinear, in, &out, &p, tiles, 0), 0);
            assert_memory_equal(got, want, (size_t)n * 4);
        }
        free(x);
        free(grid);
        free(want);
        free(got);
    }
}

/* At -0.9 cubic reads places -2 .. 1: three times the border, then place 1 with the weight of a distance of 1.9. */
static void cubic_pads_places_and_not_the_coordinate(void **state)
{
    float x[4] = {0, 8, 5, 3}, grid[2] = {-1.2f, 0}, first = 0, y;
    rlx_grid_sample_params_t p = {.dtype = 1, .grid_dtype = 1, .mode = RLX_RESIZE_CUBIC, .padding = RLX_PAD_BORDER, .batch = 1,
        .channels = 1, .rank = 2, .out_space = 1, .per_tile = 1, .in = {1, 1, 4}};
    rlx_operand_t in[2] = {{.base = x}, {.base = grid}}, out = {.base = &y};

    (void)state;
    for (int b = 0; b < n_builds; b++) {
        assert_int_equal(kernel_run(&builds[b], RLX_K_grid_sample, in, &out, &p, 1, 0), 0);
        assert_true(fabsf(y + 0.054f) < 1e-5f);
        first = b == 0 ? y : first;
        assert_memory_equal(&y, &first, sizeof y);
    }
}

/* Hostile coordinates and indices stay inside the input and are reported. */
static void hostile_places_are_safe(void **state)
{
    float x[4] = {1, 2, 3, 4}, grid[8] = {NAN, 0, INFINITY, 0, 1e30f, -1e30f, 0, 0}, y[4], rois[8] = {0, 0, 1, 1, NAN, 0, 1e30f, 1};
    int64_t batch[2] = {7, 0};
    rlx_roi_align_params_t roi = {
        .dtype = 1, .batch = 1, .channels = 1, .in_h = 2, .in_w = 2, .rois = 2, .out_h = 1, .out_w = 1, .spatial_scale = 0x3f800000};

    (void)state;
    for (int b = 0; b < n_builds; b++) {
        for (int64_t i = 0; i < 18; i++) {
            rlx_grid_sample_params_t p = {.dtype = 1,
                                          .grid_dtype = 1,
                                          .mode = i % 3,
                                          .padding = i / 3 % 3,
                                          .align_corners = i / 9,
                                          .batch = 1,
                                          .channels = 1,
                                          .rank = 2,
                                          .out_space = 4,
                                          .per_tile = 4,
                                          .in = {1, 2, 2}};
            rlx_operand_t in[2] = {{.base = x}, {.base = grid}}, out = {.base = y};
            assert_int_equal(kernel_run(&builds[b], RLX_K_grid_sample, in, &out, &p, 1, 0), 0);
            assert_true(isfinite(y[3]));
        }
        rlx_operand_t in[3] = {{.base = x}, {.base = rois}, {.base = batch}}, out = {.base = y};
        assert_int_equal(kernel_run(&builds[b], RLX_K_roi_align, in, &out, &roi, 2, 0), RLX_KERR_INDEX | RLX_KERR_VALUE);
        assert_true(y[0] == 0 && y[1] == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weighted_resizes_agree),          cmocka_unit_test(nearest_resizes_agree),
        cmocka_unit_test(tables_follow_the_definition),    cmocka_unit_test(transform_equals_its_definition),
        cmocka_unit_test(bilinear_grid_has_the_bits_of_the_plain_one),
        cmocka_unit_test(scale_one_moves_nothing),         cmocka_unit_test(cubic_pads_places_and_not_the_coordinate),
        cmocka_unit_test(hostile_places_are_safe),
    };
    return cmocka_run_group_tests(tests, find_builds, NULL);
}
