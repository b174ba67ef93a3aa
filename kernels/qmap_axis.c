/* dequantize_axis: the definition for every integer type and for scales per index of an axis. Mostly met on constants. */
#include "kernels/number.h"
#include "kernels/params_quant.h"

static float number_at(int64_t dtype, const void *x, int64_t at)
{
    switch (dtype) {
    case RLX_KD_I8: return ((const int8_t *)x)[at];
    case RLX_KD_U8: return ((const uint8_t *)x)[at];
    case RLX_KD_I16: return ((const int16_t *)x)[at];
    case RLX_KD_U16: return ((const uint16_t *)x)[at];
    default: return (float)((const int32_t *)x)[at];
    }
}

RLX_KERNEL_ENTRY(dequantize_axis)
{
    const rlx_dequantize_axis_params_t *p = (const rlx_dequantize_axis_params_t *)args->param;

    for (int64_t tile = tile_begin; tile < tile_end; tile++) {
        int64_t index = tile % p->axis;
        float point = args->in[2].base != NULL ? number_at(p->dtype, args->in[2].base, index) : 0, scale = ((const float *)args->in[1].base)[index];
        float *y = (float *)args->out[0].base + tile * p->inner;

        for (int64_t i = 0; i < p->inner; i++)
            y[i] = (number_at(p->dtype, args->in[0].base, tile * p->inner + i) - point) * scale;
    }
}
