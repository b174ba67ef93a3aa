/* Filter transform. See ir/lower/pack_winograd.h. G of F(4,3) has row j = (1, p, p^2) / product over the other points q of (p - q), for the points
 * p = 0, 1, -1, 1/2, -2, and (0, 0, 1) for infinity; the signs of F(2,3) are the usual ones (kernels/winograd_type.h). */
#include "ir/lower/pack_winograd.h"

#include <string.h>

#include "kernels/winograd_shape.h"

#define SIDE_MAX 6
#define TAPS_MAX (SIDE_MAX * SIDE_MAX)
#define GROUP 2 /* WINOGRAD_GROUP */

static const double g2[4][3] = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};
static const double g4[6][3] = {{1, 0, 0}, {1. / 3, 1. / 3, 1. / 3}, {-1. / 3, 1. / 3, -1. / 3}, {-16. / 15, -8. / 15, -4. / 15},
                                {1. / 15, -2. / 15, 4. / 15}, {0, 0, 1}};
static const double g_strided[5][3] = {{1, 0, 0}, {0, 1, 0}, {1, 0, 1}, {0, 0, 1}, {0, 1, 0}};

static int side_of(int m, int64_t stride) { return (int)winograd_side(m, stride); }

/* u = G w G^T: along height first; sums from left to right. */
static void filter_transform(int m, int64_t stride, const float *w, float *u)
{
    const double (*g)[3] = stride == 2 ? g_strided : m == 2 ? g2 : g4;
    double t[SIDE_MAX][3];
    int side = side_of(m, stride);

    for (int i = 0; i < side; i++)
        for (int j = 0; j < 3; j++)
            t[i][j] = (g[i][0] * (double)w[j] + g[i][1] * (double)w[3 + j]) + g[i][2] * (double)w[6 + j];
    for (int i = 0; i < side; i++)
        for (int j = 0; j < side; j++)
            u[i * side + j] = (float)((t[i][0] * g[j][0] + t[i][1] * g[j][1]) + t[i][2] * g[j][2]);
}

void rlx_pack_winograd_plain(int m, int64_t stride, int64_t outputs, int64_t channels, const float *w, float *out)
{
    int64_t taps = side_of(m, stride) * side_of(m, stride);

    for (int64_t i = 0; i < outputs * channels; i++)
        filter_transform(m, stride, w + i * 9, out + i * taps);
}

int64_t rlx_pack_winograd_floats(int m, int64_t stride, int64_t outputs, int64_t channels)
{
    return (outputs + 15) / 16 * 16 * channels * side_of(m, stride) * side_of(m, stride);
}

/* Lines [tap] of one input channel and sixteen outputs from `o` on. */
static void lines_make(int m, int64_t stride, const float *w, int64_t outputs, int64_t channels, int64_t o, float lines[TAPS_MAX][16])
{
    float u[TAPS_MAX];
    int taps = side_of(m, stride) * side_of(m, stride);

    for (int64_t lane = 0; lane < 16; lane++) {
        if (o + lane < outputs)
            filter_transform(m, stride, w + (o + lane) * channels * 9, u);
        else
            memset(u, 0, sizeof u);
        for (int tap = 0; tap < taps; tap++)
            lines[tap][lane] = u[tap];
    }
}

/* Lines of input channel c to the filters of output block `member` of `group` that stand together: sum by sum, for each member
 * [input block][cell][channel]. */
static void lines_place(int m, int64_t stride, int64_t channels, int64_t c, int64_t member, int64_t group, float lines[TAPS_MAX][16], float *to)
{
    int64_t side = side_of(m, stride), sums = winograd_sums(m, stride), block = c / 16, rows = channels - block * 16 < 16 ? channels % 16 : 16;

    for (int64_t sum = 0; sum < sums * sums; sum++) {
        int64_t top = winograd_first(stride, sum / sums), left = winograd_first(stride, sum % sums);
        int64_t height = winograd_first(stride, sum / sums + 1) - top, width = winograd_first(stride, sum % sums + 1) - left;

        for (int64_t k = 0; k < height * width; k++)
            memcpy(to + ((member * channels + block * 16) * height * width + k * rows + c % 16) * 16,
                   lines[(top + k / width) * side + left + k % width], sizeof lines[0]);
        to += group * channels * height * width * 16;
    }
}

void rlx_pack_winograd(int m, int64_t stride, int64_t outputs, int64_t channels, const float *w, float *out)
{
    int64_t taps = side_of(m, stride) * side_of(m, stride), blocks = (outputs + 15) / 16;
    float lines[TAPS_MAX][16];

    for (int64_t block = 0; block < blocks; block++) {
        int64_t first = block / GROUP * GROUP, group = blocks - first < GROUP ? blocks - first : GROUP;

        for (int64_t c = 0; c < channels; c++) {
            lines_make(m, stride, w + c * 9, outputs, channels, block * 16, lines);
            lines_place(m, stride, channels, c, block - first, group, lines, out + first * taps * channels * 16);
        }
    }
}
