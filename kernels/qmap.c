/* Element-wise kernels of the quant family: numbers to bytes and back, bytes to bytes. Blocked or row-major alike: they see `count` elements. */
#include "kernels/params_quant.h"
#include "kernels/quant_round.h"

typedef struct qmap_range {
    int64_t begin, end;
} qmap_range_t;

static qmap_range_t range_of(int64_t tile_begin, int64_t tile_end, int64_t count)
{
    int64_t end = tile_end * RLX_QMAP_BLOCK;

    return (qmap_range_t){tile_begin * RLX_QMAP_BLOCK, end < count ? end : count};
}

/* A zero point that is i8 counts from -128 here: bytes are u8 inside, the top bit flips outside. */
static int32_t point_of(const rlx_operand_t *operand, int64_t is_signed)
{
    if (operand->base == NULL)
        return is_signed ? 128 : 0;
    return is_signed ? *(const int8_t *)operand->base + 128 : *(const uint8_t *)operand->base;
}

RLX_KERNEL_ENTRY(quantize)
{
    const rlx_quantize_params_t *p = (const rlx_quantize_params_t *)args->param;
    qmap_range_t range = range_of(tile_begin, tile_end, p->count);
    const float *x = args->in[0].base;
    float scale = *(const float *)args->in[1].base;
    int32_t point = point_of(&args->in[2], p->is_signed), flip = p->is_signed ? 0x80 : 0;
    float lo = (float)-point, hi = (float)(255 - point);
    uint8_t *y = args->out[0].base;
    int64_t i = range.begin;

    for (; i + 16 <= range.end; i += 16)
        *(quant_u8_t *)(y + i) = quant_narrow(quant_bytes_lanes(vec16_load(x + i) / vec16_splat(scale), lo, hi, point) ^ flip);
    for (; i < range.end; i++)
        y[i] = (uint8_t)(quant_byte(x[i] / scale, lo, hi, point) ^ flip);
}

RLX_KERNEL_ENTRY(dequantize)
{
    const rlx_dequantize_params_t *p = (const rlx_dequantize_params_t *)args->param;
    qmap_range_t range = range_of(tile_begin, tile_end, p->count);
    const uint8_t *x = args->in[0].base;
    float scale = *(const float *)args->in[1].base, *y = args->out[0].base;
    int32_t point = point_of(&args->in[2], p->is_signed), flip = p->is_signed ? 0x80 : 0;
    int64_t i = range.begin;

    for (; i + 16 <= range.end; i += 16)
        vec16_store(y + i, quant_floats((quant_widen(*(const quant_u8_t *)(x + i)) ^ flip) - point) * vec16_splat(scale));
    for (; i < range.end; i++)
        y[i] = (float)((x[i] ^ flip) - point) * scale;
}

RLX_KERNEL_ENTRY(qflip)
{
    const rlx_qflip_params_t *p = (const rlx_qflip_params_t *)args->param;
    qmap_range_t range = range_of(tile_begin, tile_end, p->count);
    const uint8_t *x = args->in[0].base;
    uint8_t *y = args->out[0].base;

    for (int64_t i = range.begin; i < range.end; i++)
        y[i] = x[i] ^ 0x80;
}

RLX_KERNEL_ENTRY(qlookup)
{
    const rlx_qlookup_params_t *p = (const rlx_qlookup_params_t *)args->param;
    qmap_range_t range = range_of(tile_begin, tile_end, p->count);
    const uint8_t *x = args->in[0].base, *table = args->in[1].base;
    uint8_t *y = args->out[0].base;

    for (int64_t i = range.begin; i < range.end; i++)
        y[i] = table[x[i]];
}

VEC16_INLINE uint8_t add_1(const rlx_qbinary_params_t *p, uint8_t a, uint8_t b)
{
    float x = (float)(a - (int32_t)p->a_point) * rlx_param_f32(p->a_scale);

    return quant_byte(__builtin_fmaf((float)(b - (int32_t)p->b_point), rlx_param_f32(p->b_scale), x), rlx_param_f32(p->finish.lo),
                      rlx_param_f32(p->finish.hi), (int32_t)p->finish.point);
}

RLX_KERNEL_ENTRY(qadd)
{
    const rlx_qadd_params_t *p = (const rlx_qadd_params_t *)args->param;
    qmap_range_t range = range_of(tile_begin, tile_end, p->count);
    const uint8_t *a = args->in[0].base, *b = args->in[1].base;
    float lo = rlx_param_f32(p->finish.lo), hi = rlx_param_f32(p->finish.hi);
    vec16_t a_scale = vec16_splat(rlx_param_f32(p->a_scale)), b_scale = vec16_splat(rlx_param_f32(p->b_scale));
    int32_t a_point = (int32_t)p->a_point, b_point = (int32_t)p->b_point, point = (int32_t)p->finish.point;
    uint8_t *y = args->out[0].base;
    int64_t i = range.begin;

    for (; i + 16 <= range.end; i += 16) {
        vec16_t v = quant_floats(quant_widen(*(const quant_u8_t *)(a + i)) - a_point) * a_scale;

        v = vec16_fma(quant_floats(quant_widen(*(const quant_u8_t *)(b + i)) - b_point), b_scale, v);
        *(quant_u8_t *)(y + i) = quant_narrow(quant_bytes_lanes(v, lo, hi, point));
    }
    for (; i < range.end; i++)
        y[i] = add_1(p, a[i], b[i]);
}

VEC16_INLINE uint8_t mul_1(const rlx_qbinary_params_t *p, uint8_t a, uint8_t b)
{
    float v = (float)((a - (int32_t)p->a_point) * (b - (int32_t)p->b_point));

    return quant_byte(v * rlx_param_f32(p->a_scale), rlx_param_f32(p->finish.lo), rlx_param_f32(p->finish.hi), (int32_t)p->finish.point);
}

RLX_KERNEL_ENTRY(qmul)
{
    const rlx_qmul_params_t *p = (const rlx_qmul_params_t *)args->param;
    qmap_range_t range = range_of(tile_begin, tile_end, p->count);
    const uint8_t *a = args->in[0].base, *b = args->in[1].base;
    float lo = rlx_param_f32(p->finish.lo), hi = rlx_param_f32(p->finish.hi);
    vec16_t scale = vec16_splat(rlx_param_f32(p->a_scale));
    int32_t a_point = (int32_t)p->a_point, b_point = (int32_t)p->b_point, point = (int32_t)p->finish.point;
    uint8_t *y = args->out[0].base;
    int64_t i = range.begin;

    for (; i + 16 <= range.end && (p->b_step == 0 || p->lanes == 16); i += 16) {
        const uint8_t *other = p->b_step ? b + i / p->b_step * 16 : b + i;
        quant_i32_t v = (quant_widen(*(const quant_u8_t *)(a + i)) - a_point) * (quant_widen(*(const quant_u8_t *)other) - b_point);

        *(quant_u8_t *)(y + i) = quant_narrow(quant_bytes_lanes(quant_floats(v) * scale, lo, hi, point));
    }
    for (; i < range.end; i++)
        y[i] = mul_1(p, a[i], b[p->b_step ? i / p->b_step : i]);
}
