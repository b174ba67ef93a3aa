/* Padding by a value, by reflection, by the edge, or by wrapping around. Reflection and wrapping go on for as long as needed, so a padding
 * larger than the axis never reads outside. */
#include "kernels/index.h"
#include "kernels/params.h"

/* Where output index `at` comes from on an axis of `extent`: an index, or -1 for outside. */
static int64_t source_index(int64_t mode, int64_t at, int64_t extent)
{
    if (at >= 0 && at < extent)
        return at;
    if (mode == RLX_PAD_CONSTANT || extent == 0)
        return -1;
    if (mode == RLX_PAD_EDGE)
        return at < 0 ? 0 : extent - 1;
    if (mode == RLX_PAD_WRAP) {
        at %= extent;
        return at < 0 ? at + extent : at;
    }
    if (extent == 1)
        return 0;
    at %= 2 * (extent - 1);
    at = at < 0 ? at + 2 * (extent - 1) : at;
    return at < extent ? at : 2 * (extent - 1) - at;
}

static void fill(char *to, int64_t n, const void *value, int64_t bytes)
{
    if (bytes == 4) {
        uint32_t element = *(const uint32_t *)value;

        for (int64_t i = 0; i < n; ++i)
            ((uint32_t *)(void *)to)[i] = element;
        return;
    }
    for (int64_t i = 0; i < n; ++i)
        rlx_copy_bytes(to + i * bytes, value, bytes);
}

/* One output row from input row `from` (NULL: outside). */
static void pad_row(const rlx_pad_params_t *p, char *to, const char *from, const void *value)
{
    int64_t begin = p->begin[7], n = p->dims[7], extent = p->in_dims[7], bytes = p->bytes;
    int64_t inner = begin < 0 ? 0 : begin < n ? begin : n;
    int64_t inner_end = begin + extent < 0 ? 0 : begin + extent < n ? begin + extent : n;

    if (from == NULL) {
        fill(to, n, value, bytes);
        return;
    }
    for (int64_t i = 0; i < n; ++i) {
        int64_t source;

        if (i == inner && inner_end > inner) {
            __builtin_memcpy(to + i * bytes, from + (i - begin) * bytes, (size_t)((inner_end - inner) * bytes));
            i = inner_end - 1;
            continue;
        }
        if (p->mode == RLX_PAD_CONSTANT) { /* the cells before or after the input */
            int64_t stop = i < inner && inner_end > inner ? inner : n;

            fill(to + i * bytes, stop - i, value, bytes);
            i = stop - 1;
            continue;
        }
        source = source_index(p->mode, i - begin, extent);
        rlx_copy_bytes(to + i * bytes, source < 0 ? value : from + source * bytes, bytes);
    }
}

RLX_KERNEL_ENTRY(pad)
{
    const rlx_pad_params_t *p = (const rlx_pad_params_t *)args->param;
    const uint64_t zero = 0;
    const void *value = args->in[1].base != NULL ? args->in[1].base : &zero;
    int64_t rows = 1, in_stride[8], at[8], end;

    in_stride[7] = p->bytes;
    for (int d = 6; d >= 0; --d)
        in_stride[d] = in_stride[d + 1] * p->in_dims[d + 1];
    for (int d = 0; d < 7; ++d)
        rows *= p->dims[d];
    end = tile_end * p->grain < rows ? tile_end * p->grain : rows;
    if (tile_begin * p->grain >= end || p->dims[7] == 0)
        return;
    rlx_index_unravel(tile_begin * p->grain, p->dims, 7, at);
    for (int64_t row = tile_begin * p->grain; row < end; ++row) {
        const char *from = args->in[0].base;

        for (int d = 0; d < 7 && from != NULL; ++d) {
            int64_t source = source_index(p->mode, at[d] - p->begin[d], p->in_dims[d]);

            from = source < 0 ? NULL : from + source * in_stride[d];
        }
        pad_row(p, (char *)args->out[0].base + row * p->dims[7] * p->bytes, from, value);
        rlx_index_next(at, p->dims, 7);
    }
}
