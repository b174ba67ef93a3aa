/* dft and stft: transforms computed in f64 (kernels/fourier.h) and rounded once to the tensor's type. An inverse is the conjugate
 * transform of the conjugate, divided by the length. */
#include "kernels/abi.h"
#include "kernels/fourier.h"
#include "kernels/params.h"

/* Value `k` of the input line, zero past its end. */
static rlx_complex_t dft_value(const rlx_dft_params_t *p, const void *x, int64_t line, int64_t k)
{
    int64_t at = ((line / p->inner * p->in_count + k) * p->inner + line % p->inner) * p->in_parts;

    if (k >= p->in_count)
        return (rlx_complex_t){0, 0};
    return (rlx_complex_t){rlx_fourier_get(p->dtype, x, at), p->in_parts > 1 ? rlx_fourier_get(p->dtype, x, at + 1) : 0};
}

static void dft_load(const rlx_dft_params_t *p, const void *x, int64_t line, rlx_complex_t *to)
{
    for (int64_t k = 0; k < p->length; k++) {
        int mirrored = p->half && 2 * k > p->length, real = p->half && (k == 0 || 2 * k == p->length);
        to[k] = dft_value(p, x, line, mirrored ? p->length - k : k);
        if (real)
            to[k].im = 0;
        if (mirrored != (p->inverse != 0))
            to[k].im = -to[k].im;
    }
}

RLX_KERNEL_ENTRY(dft)
{
    const rlx_dft_params_t *p = (const rlx_dft_params_t *)args->param;
    rlx_complex_t *root = args->scratch, *a = root + p->length, *b = a + p->length;
    int64_t lines = p->outer * p->inner, end = tile_end * p->per_tile < lines ? tile_end * p->per_tile : lines;
    double divisor = p->inverse ? (double)p->length : 1;

    rlx_fourier_roots(root, p->length);
    for (int64_t line = tile_begin * p->per_tile; line < end; line++) {
        dft_load(p, args->in[0].base, line, a);
        const rlx_complex_t *y = rlx_fourier(root, p->length, a, b);
        for (int64_t k = 0; k < p->out_count; k++) {
            int64_t at = ((line / p->inner * p->out_count + k) * p->inner + line % p->inner) * p->out_parts;
            rlx_fourier_put(p->dtype, args->out[0].base, at, y[k].re / divisor);
            if (p->out_parts > 1)
                rlx_fourier_put(p->dtype, args->out[0].base, at + 1, (p->inverse ? -y[k].im : y[k].im) / divisor);
        }
    }
}

RLX_KERNEL_ENTRY(stft)
{
    const rlx_stft_params_t *p = (const rlx_stft_params_t *)args->param;
    const void *x = args->in[0].base, *window = args->in[1].base;
    rlx_complex_t *root = args->scratch, *a = root + p->length, *b = a + p->length;
    int64_t frames = p->batch * p->frames, end = tile_end * p->per_tile < frames ? tile_end * p->per_tile : frames;

    rlx_fourier_roots(root, p->length);
    for (int64_t frame = tile_begin * p->per_tile; frame < end; frame++) {
        int64_t first = frame / p->frames * p->signal_count + frame % p->frames * p->step;
        for (int64_t k = 0; k < p->length; k++) {
            double weight = window ? rlx_fourier_get(p->window_dtype, window, k) : 1;
            a[k].re = rlx_fourier_get(p->dtype, x, (first + k) * p->in_parts) * weight;
            a[k].im = p->in_parts > 1 ? rlx_fourier_get(p->dtype, x, (first + k) * p->in_parts + 1) * weight : 0;
        }
        const rlx_complex_t *y = rlx_fourier(root, p->length, a, b);
        for (int64_t k = 0; k < p->out_count; k++) {
            rlx_fourier_put(p->dtype, args->out[0].base, (frame * p->out_count + k) * 2, y[k].re);
            rlx_fourier_put(p->dtype, args->out[0].base, (frame * p->out_count + k) * 2 + 1, y[k].im);
        }
    }
}
