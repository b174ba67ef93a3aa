/* Makers of small tensors from scalars: ranges, identity matrices, windows, mel filter banks. */
#include "kernels/math.h"
#include "kernels/math_trig.h"
#include "kernels/number.h"
#include "kernels/params.h"

#define PI 3.14159265358979323846

static int is_small_float(int64_t dtype) { return dtype == RLX_KD_F32 || dtype == RLX_KD_F16 || dtype == RLX_KD_BF16; }

/* One element from a double, rounded or cut to the type. */
static void put(int64_t dtype, void *base, int64_t at, double value)
{
    if (is_small_float(dtype)) {
        float small = (float)value;

        rlx_number_store_f32(dtype, base, at, 1, 1, &small);
    } else if (dtype == RLX_KD_F64) {
        rlx_number_store_f64(dtype, base, at, 1, 1, &value);
    } else {
        int64_t whole = rlx_number_trunc(value);

        rlx_number_store_i64(dtype, base, at, 1, 1, &whole);
    }
}

static double get(int64_t dtype, const void *base)
{
    if (is_small_float(dtype)) {
        float small;

        rlx_number_load_f32(dtype, base, 0, 1, 1, &small);
        return small;
    }
    if (dtype == RLX_KD_F64)
        return *(const double *)base;
    if (rlx_number_is_signed(dtype)) {
        int64_t whole;

        rlx_number_load_i64(dtype, base, 0, 1, 1, &whole);
        return (double)whole;
    } else {
        uint64_t whole;

        rlx_number_load_u64(dtype, base, 0, 1, 1, &whole);
        return (double)whole;
    }
}

static void range_f32(int64_t dtype, const void *start, const void *delta, void *out, int64_t begin, int64_t end)
{
    float first, step;

    rlx_number_load_f32(dtype, start, 0, 1, 1, &first);
    rlx_number_load_f32(dtype, delta, 0, 1, 1, &step);
    for (int64_t i = begin; i < end; ++i) {
        float product = (float)i * step;
        float value = first + product;

        rlx_number_store_f32(dtype, out, i, 1, 1, &value);
    }
}

static void range_int(int64_t dtype, const void *start, const void *delta, void *out, int64_t begin, int64_t end)
{
    int64_t first, step;

    rlx_number_load_i64(dtype, start, 0, 1, 1, &first);
    rlx_number_load_i64(dtype, delta, 0, 1, 1, &step);
    for (int64_t i = begin; i < end; ++i) {
        int64_t value = (int64_t)((uint64_t)first + (uint64_t)i * (uint64_t)step);

        rlx_number_store_i64(dtype, out, i, 1, 1, &value);
    }
}

RLX_KERNEL_ENTRY(range)
{
    const rlx_range_params_t *p = (const rlx_range_params_t *)args->param;
    const void *start = args->in[0].base, *delta = args->in[1].base;
    int64_t begin = tile_begin * p->grain, end = tile_end * p->grain < p->count ? tile_end * p->grain : p->count;

    if (is_small_float(p->dtype)) {
        range_f32(p->dtype, start, delta, args->out[0].base, begin, end);
    } else if (p->dtype == RLX_KD_F64) {
        for (int64_t i = begin; i < end; ++i) {
            double product = (double)i * *(const double *)delta;

            ((double *)args->out[0].base)[i] = *(const double *)start + product;
        }
    } else {
        range_int(p->dtype, start, delta, args->out[0].base, begin, end);
    }
}

RLX_KERNEL_ENTRY(eye)
{
    const rlx_eye_params_t *p = (const rlx_eye_params_t *)args->param;

    for (int64_t r = 0; r < p->rows && tile_begin < tile_end; ++r)
        for (int64_t c = 0; c < p->columns; ++c)
            put(p->dtype, args->out[0].base, r * p->columns + c, c - r == p->k);
}

RLX_KERNEL_ENTRY(signal_window)
{
    const rlx_signal_window_params_t *p = (const rlx_signal_window_params_t *)args->param;
    double period = (double)(p->periodic ? p->count : p->count - 1);

    for (int64_t i = 0; i < p->count && tile_begin < tile_end; ++i) {
        double turn = p->count == 1 && !p->periodic ? 0 : 2 * PI * (double)i / period;
        double c1 = rlx_math_cos(turn), c2 = rlx_math_cos(2 * turn);
        double value = p->kind == RLX_WINDOW_HANN      ? 0.5 - 0.5 * c1
                       : p->kind == RLX_WINDOW_HAMMING ? 25.0 / 46 - 21.0 / 46 * c1
                                                       : 0.42 - 0.5 * c1 + 0.08 * c2;

        put(p->dtype, args->out[0].base, i, value);
    }
}

static double hertz_to_mel(double hertz) { return 2595 * (rlx_math_log(1 + hertz / 700) / 2.302585092994045684); }
static double mel_to_hertz(double mel) { return 700 * (rlx_math_exp(mel / 2595 * 2.302585092994045684) - 1); }

/* Bin of the spectrogram where triangle edge `edge` of mel_bins + 2 lies. */
static int64_t edge_bin(double low, double high, int64_t mel_bins, int64_t edge, double dft_length, double sample_rate)
{
    double mel = low + (double)edge * ((high - low) / (double)(mel_bins + 2));

    return rlx_number_trunc((dft_length + 1) * mel_to_hertz(mel) / sample_rate);
}

/* One triangle between three edges, as MelWeightMatrix-17 defines it. */
static void triangle(int64_t dtype, void *out, int64_t mel, const rlx_mel_weights_params_t *p, int64_t lower, int64_t centre, int64_t upper)
{
    if (lower == centre) {
        if (centre >= 0 && centre < p->spectrogram_bins)
            put(dtype, out, centre * p->mel_bins + mel, 1);
    } else {
        for (int64_t bin = lower < 0 ? 0 : lower; bin <= centre && bin < p->spectrogram_bins; ++bin)
            put(dtype, out, bin * p->mel_bins + mel, (double)(bin - lower) / (double)(centre - lower));
    }
    for (int64_t bin = centre < 0 ? 0 : centre; bin < upper && bin < p->spectrogram_bins && upper > centre; ++bin)
        put(dtype, out, bin * p->mel_bins + mel, (double)(upper - bin) / (double)(upper - centre));
}

RLX_KERNEL_ENTRY(mel_weights)
{
    const rlx_mel_weights_params_t *p = (const rlx_mel_weights_params_t *)args->param;
    double dft_length = get(p->integer_dtype, args->in[1].base), sample_rate = get(p->integer_dtype, args->in[2].base);
    double low = hertz_to_mel(get(p->edge_dtype, args->in[3].base)), high = hertz_to_mel(get(p->edge_dtype, args->in[4].base));

    for (int64_t i = 0; i < p->spectrogram_bins * p->mel_bins && tile_begin < tile_end; ++i)
        put(p->dtype, args->out[0].base, i, 0);
    if (sample_rate == 0) {
        rlx_kernel_error(args, RLX_KERR_VALUE);
        return;
    }
    for (int64_t mel = 0; mel < p->mel_bins && tile_begin < tile_end; ++mel)
        triangle(p->dtype, args->out[0].base, mel, p, edge_bin(low, high, p->mel_bins, mel, dft_length, sample_rate),
                 edge_bin(low, high, p->mel_bins, mel + 1, dft_length, sample_rate), edge_bin(low, high, p->mel_bins, mel + 2, dft_length, sample_rate));
}
