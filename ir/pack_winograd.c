/* Filter transform. See ir/pack_winograd.h. G of F(4,3) has row j = (1, p, p^2) / product over the other points q of (p - q), for the points
 * p = 0, 1, -1, 1/2, -2, and (0, 0, 1) for infinity; the signs of F(2,3) are the usual ones (kernels/winograd_type.h). */
#include "ir/pack_winograd.h"

#include <string.h>

#define SIDE_MAX 6
#define TAPS_MAX (SIDE_MAX * SIDE_MAX)
#define GROUP 2 /* WINOGRAD_GROUP */

static const double g2[4][3] = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};
static const double g4[6][3] = {{1, 0, 0}, {1. / 3, 1. / 3, 1. / 3}, {-1. / 3, 1. / 3, -1. / 3}, {-16. / 15, -8. / 15, -4. / 15},
                                {1. / 15, -2. / 15, 4. / 15}, {0, 0, 1}};

/* u = G w G^T: along height first; sums from left to right. */
static void filter_transform(int m, const float *w, float *u)
{
    const double (*g)[3] = m == 2 ? g2 : g4;
    double t[SIDE_MAX][3];
    int side = m + 2;

    for (int i = 0; i < side; i++)
        for (int j = 0; j < 3; j++)
            t[i][j] = (g[i][0] * (double)w[j] + g[i][1] * (double)w[3 + j]) + g[i][2] * (double)w[6 + j];
    for (int i = 0; i < side; i++)
        for (int j = 0; j < side; j++)
            u[i * side + j] = (float)((t[i][0] * g[j][0] + t[i][1] * g[j][1]) + t[i][2] * g[j][2]);
}

void rlx_pack_winograd_plain(int m, int64_t outputs, int64_t channels, const float *w, float *out)
{
    int64_t taps = (m + 2) * (m + 2);

    for (int64_t i = 0; i < outputs * channels; i++)
        filter_transform(m, w + i * 9, out + i * taps);
}

int64_t rlx_pack_winograd_floats(int m, int64_t outputs, int64_t channels)
{
    return (outputs + 15) / 16 * 16 * channels * (m + 2) * (m + 2);
}

/* Lines [tap] of one input channel and sixteen outputs from `o` on. */
static void lines_make(int m, const float *w, int64_t outputs, int64_t channels, int64_t o, float lines[TAPS_MAX][16])
{
    float u[TAPS_MAX];
    int taps = (m + 2) * (m + 2);

    for (int64_t lane = 0; lane < 16; lane++) {
        if (o + lane < outputs)
            filter_transform(m, w + (o + lane) * channels * 9, u);
        else
            memset(u, 0, sizeof u);
        for (int tap = 0; tap < taps; tap++)
            lines[tap][lane] = u[tap];
    }
}

void rlx_pack_winograd(int m, int64_t outputs, int64_t channels, const float *w, float *out)
{
    int64_t taps = (m + 2) * (m + 2), blocks = (outputs + 15) / 16;
    float lines[TAPS_MAX][16];

    for (int64_t block = 0; block < blocks; block++) {
        int64_t first = block / GROUP * GROUP, group = blocks - first < GROUP ? blocks - first : GROUP;
        float *to = out + (first * taps + block - first) * channels * 16;

        for (int64_t c = 0; c < channels; c++, to += 16) {
            lines_make(m, w + c * 9, outputs, channels, block * 16, lines);
            for (int64_t tap = 0; tap < taps; tap++)
                memcpy(to + tap * group * channels * 16, lines[tap], sizeof lines[tap]);
        }
    }
}
