/* The definition of F(2,3), also of stride 2, and F(4,3) in ir/op_list.h ("winograd"), one output at a time. */
#ifndef RLX_TESTS_KERNELS_WINOGRAD_DEFINITION_H
#define RLX_TESTS_KERNELS_WINOGRAD_DEFINITION_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A convolution with random operands. */
typedef struct winograd_case {
    int m;
    int64_t stride, n, c, o, in[2], pad[2], pad_end[2]; /* stride 0: 1 */
    bool bias;
    int64_t out[2];
    float *x, *w, *b;
} winograd_case_t;

static float input_of(const winograd_case_t *t, int64_t n, int64_t c, int64_t h, int64_t w)
{
    bool inside = h >= 0 && h < t->in[0] && w >= 0 && w < t->in[1];

    return inside ? t->x[((n * t->c + c) * t->in[0] + h) * t->in[1] + w] : 0;
}

static void transform_input(int m, const float d[6], float t[6])
{
    if (m == 2) {
        t[0] = d[0] - d[2], t[1] = d[1] + d[2], t[2] = d[2] - d[1], t[3] = d[3] - d[1];
        return;
    }
    t[0] = fmaf(1.5f, d[3] - d[1], (d[0] - d[2]) + (d[4] - d[2]));
    t[1] = fmaf(1.5f, d[2] + d[3], (d[4] - d[2]) + (d[3] - d[1]));
    t[2] = fmaf(1.5f, d[3] - d[2], (d[4] - d[2]) - (d[3] - d[1]));
    t[3] = fmaf(2, d[3] - d[1], d[4] - d[2]);
    t[4] = fmaf(-0.5f, d[3] - d[1], d[4] - d[2]);
    t[5] = fmaf(1.5f, d[4] - d[2], (d[5] - d[3]) - (d[3] - d[1]));
}

static void transform_output(int m, const float p[6], float y[4])
{
    if (m == 2) {
        y[0] = (p[0] + p[1]) + p[2], y[1] = (p[1] - p[2]) + p[3];
        return;
    }
    y[0] = (p[0] + (p[1] + p[2])) + (p[3] + p[4]);
    y[1] = fmaf(0.5f, p[3], fmaf(-2, p[4], p[1] - p[2]));
    y[2] = fmaf(0.25f, p[3], fmaf(4, p[4], p[1] + p[2]));
    y[3] = fmaf(0.125f, p[3], fmaf(-8, p[4], p[1] - p[2])) + p[5];
}

/* in[rows][6] to out[6 or 4][...]: along height, then along width. */
static void transform_twice(void (*transform)(int, const float *, float *), int m, int in, int out, float a[6][6])
{
    float line[6], to[6];

    for (int j = 0; j < in; j++) {
        for (int i = 0; i < in; i++)
            line[i] = a[i][j];
        transform(m, line, to);
        for (int i = 0; i < out; i++)
            a[i][j] = to[i];
    }
    for (int i = 0; i < out; i++) {
        memcpy(line, a[i], sizeof line);
        transform(m, line, a[i]);
    }
}

/* Taps of output channel o of one patch: chains over input channels, cut every 128 products. */
static void defined_taps(const winograd_case_t *t, const float *u, int64_t n, int64_t row, int64_t column, int64_t o, float total[6][6])
{
    int side = t->m + 2;
    float segment[6][6] = {{0}};

    for (int64_t c = 0; c < t->c; c++) {
        float v[6][6];

        for (int i = 0; i < side; i++)
            for (int j = 0; j < side; j++)
                v[i][j] = input_of(t, n, c, row - t->pad[0] + i, column - t->pad[1] + j);
        transform_twice(transform_input, t->m, side, side, v);
        for (int i = 0; i < side; i++)
            for (int j = 0; j < side; j++) {
                segment[i][j] = fmaf(v[i][j], u[(o * t->c + c) * side * side + i * side + j], c % 128 == 0 ? 0 : segment[i][j]);
                if (c == t->c - 1 || c % 128 == 127)
                    total[i][j] = c < 128 ? segment[i][j] : total[i][j] + segment[i][j];
            }
    }
}

/* Stride 2: cells d0 - d2, d1, d2, d4 - d2, d3 along each axis; those of index 0 and 1 make sum 0, 2 makes sum 1, 3 and 4 make sum 2. */
static void transform_input_strided(int m, const float d[6], float t[6])
{
    float from[5];

    (void)m;
    memcpy(from, d, sizeof from);
    t[0] = from[0] - from[2], t[1] = from[1], t[2] = from[2], t[3] = from[4] - from[2], t[4] = from[3];
}

/* The chain of one of nine sums: blocks of 16 channels, cells of the sum by row and column, channels of the block; cut every 128. */
static float defined_strided_sum(const winograd_case_t *t, const float *u, const float (*v)[6][6], int64_t o, int row, int column)
{
    static const int cells[3][2] = {{0, 1}, {2, 2}, {3, 4}};
    float total = 0, segment = 0;
    int products = 0, segments = 0;

    for (int64_t block = 0; block < t->c; block += 16) {
        for (int i = cells[row][0]; i <= cells[row][1]; i++)
            for (int j = cells[column][0]; j <= cells[column][1]; j++)
                for (int64_t c = block; c < t->c && c < block + 16; c++)
                    segment = fmaf(v[c][i][j], u[(o * t->c + c) * 25 + i * 5 + j], segment);
        products += 16 * (cells[row][1] - cells[row][0] + 1) * (cells[column][1] - cells[column][0] + 1);
        if (products == 128 || block + 16 >= t->c) {
            total = segments++ == 0 ? segment : total + segment;
            segment = 0;
            products = 0;
        }
    }
    return total;
}

static float defined_output_strided(const winograd_case_t *t, const float *u, int64_t n, int64_t o, int64_t h, int64_t w)
{
    float (*v)[6][6] = malloc((size_t)t->c * sizeof *v), sums[3][3], line[2][3];

    for (int64_t c = 0; c < t->c; c++) {
        for (int i = 0; i < 5; i++)
            for (int j = 0; j < 5; j++)
                v[c][i][j] = input_of(t, n, c, h / 2 * 4 - t->pad[0] + i, w / 2 * 4 - t->pad[1] + j);
        transform_twice(transform_input_strided, 2, 5, 5, v[c]);
    }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            sums[i][j] = defined_strided_sum(t, u, (const float (*)[6][6])v, o, i, j);
    free(v);
    for (int j = 0; j < 3; j++)
        line[0][j] = sums[0][j] + sums[1][j], line[1][j] = sums[1][j] + sums[2][j];
    return line[h % 2][w % 2] + line[h % 2][w % 2 + 1] + (t->bias ? t->b[o] : 0);
}

static float defined_output(const winograd_case_t *t, const float *u, int64_t n, int64_t o, int64_t h, int64_t w)
{
    float taps[6][6];

    if (t->stride == 2)
        return defined_output_strided(t, u, n, o, h, w);

    defined_taps(t, u, n, h / t->m * t->m, w / t->m * t->m, o, taps);
    transform_twice(transform_output, t->m, t->m + 2, t->m, taps);
    return taps[h % t->m][w % t->m] + (t->bias ? t->b[o] : 0);
}

#endif
