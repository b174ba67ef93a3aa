/* Heat on a plate: how much the temperature of every point changes in a step of dt, by the 5-point stencil. The edge keeps its temperature.
 * in: T f64[n,m], dt f64; out: dT f64[n,m]. Every product and sum is written in the order that physics_update.f90 has, so both give the same
 * bits. */
#include "rlx_custom.h"

#define DIFFUSIVITY 10.0

RLX_CUSTOM_SPLIT(physics_update)

static void row_update(double *restrict change, const double *restrict above, const double *restrict row, const double *restrict below, int64_t m,
                       double factor)
{
    change[0] = 0.0;
    for (int64_t j = 1; j < m - 1; j++)
        change[j] = factor * (((above[j] + below[j]) + (row[j - 1] + row[j + 1])) - 4.0 * row[j]);
    change[m - 1] = 0.0;
}

void physics_update(const rlx_custom_tensor_t *in, int n_in, const rlx_custom_tensor_t *out, int n_out, const rlx_custom_info_t *info)
{
    const double *t = in[0].data;
    double *change = out[0].data, factor = *(const double *)in[1].data * DIFFUSIVITY;
    int64_t n = in[0].dims[0], m = in[0].dims[1];

    (void)n_in;
    (void)n_out;
    for (int64_t i = info->row_begin; i < info->row_end; i++) {
        if (i > 0 && i < n - 1)
            row_update(change + i * m, t + (i - 1) * m, t + i * m, t + (i + 1) * m, m, factor);
        else
            for (int64_t j = 0; j < m; j++)
                change[i * m + j] = 0.0;
    }
}
