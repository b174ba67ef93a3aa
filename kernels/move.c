/* Moves of whole tensors by strides. The order of elements written does not matter: no two tiles write the same place. */
#include "kernels/index.h"
#include "kernels/params.h"

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

RLX_KERNEL_ENTRY(copy)
{
    const rlx_copy_params_t *p = (const rlx_copy_params_t *)args->param;
    int64_t begin = tile_begin * p->grain, end = least(tile_end * p->grain, p->size);

    if (begin < end)
        __builtin_memcpy((char *)args->out[0].base + begin, (const char *)args->in[0].base + begin, (size_t)(end - begin));
}

#define COPY_RUN(type)                                                            \
    for (int64_t i = 0; i < n; ++i)                                               \
        *(type *)(to + i * to_stride) = *(const type *)(from + i * from_stride)

static void copy_run(char *restrict to, int64_t to_stride, const char *restrict from, int64_t from_stride, int64_t n, int64_t bytes)
{
    if (to_stride == bytes && from_stride == bytes)
        __builtin_memcpy(to, from, (size_t)(n * bytes));
    else if (bytes == 4 && to_stride == 4)
        for (int64_t i = 0; i < n; ++i)
            ((uint32_t *)to)[i] = *(const uint32_t *)(from + i * from_stride);
    else if (bytes == 4)
        COPY_RUN(uint32_t);
    else if (bytes == 8)
        COPY_RUN(uint64_t);
    else if (bytes == 2)
        COPY_RUN(uint16_t);
    else
        COPY_RUN(uint8_t);
}

#define PLANE_BLOCK 16

/* `rows` consecutive rows whose elements are contiguous in the input along the rows: a transpose, in square blocks. */
static void copy_plane(char *to, const char *from, const rlx_strided_copy_params_t *p, int64_t rows)
{
    for (int64_t j = 0; j < p->dims[7]; j += PLANE_BLOCK)
        for (int64_t i = 0; i < rows; ++i)
            copy_run(to + i * p->out_stride[6] + j * p->out_stride[7], p->out_stride[7], from + i * p->in_stride[6] + j * p->in_stride[7],
                     p->in_stride[7], least(PLANE_BLOCK, p->dims[7] - j), p->bytes);
}

RLX_KERNEL_ENTRY(strided_copy)
{
    const rlx_strided_copy_params_t *p = (const rlx_strided_copy_params_t *)args->param;
    int64_t rows = 1, at[8];
    int64_t row = tile_begin * p->grain, end;
    int is_plane = p->in_stride[7] != p->bytes && p->in_stride[6] == p->bytes;

    for (int d = 0; d < 7; ++d)
        rows *= p->dims[d];
    end = least(tile_end * p->grain, rows);
    if (row >= end || p->dims[7] == 0)
        return;
    rlx_index_unravel(row, p->dims, 7, at);
    while (row < end) {
        char *to = (char *)args->out[0].base + p->out_offset + rlx_index_dot(at, p->out_stride, 7);
        const char *from = (const char *)args->in[0].base + p->in_offset + rlx_index_dot(at, p->in_stride, 7);
        int64_t count = is_plane ? least(p->dims[6] - at[6], end - row) : 1;

        if (is_plane)
            copy_plane(to, from, p, count);
        else
            copy_run(to, p->out_stride[7], from, p->in_stride[7], p->dims[7], p->bytes);
        row += count;
        at[6] += count - 1;
        rlx_index_next(at, p->dims, 7);
    }
}

RLX_KERNEL_ENTRY(reverse_sequence)
{
    const rlx_reverse_sequence_params_t *p = (const rlx_reverse_sequence_params_t *)args->param;
    const int64_t *lens = args->in[1].base;

    for (int64_t b = tile_begin; b < tile_end; ++b) {
        int64_t length = lens[b];

        if (length < 0 || length > p->time) {
            rlx_kernel_error(args, RLX_KERR_VALUE);
            length = 0;
        }
        for (int64_t t = 0; t < p->time; ++t) {
            int64_t source = t < length ? length - 1 - t : t;

            __builtin_memcpy((char *)args->out[0].base + b * p->batch_stride + t * p->time_stride,
                             (const char *)args->in[0].base + b * p->batch_stride + source * p->time_stride, (size_t)p->inner_bytes);
        }
    }
}

RLX_KERNEL_ENTRY(trilu)
{
    const rlx_trilu_params_t *p = (const rlx_trilu_params_t *)args->param;
    int64_t row_bytes = p->columns * p->bytes;

    for (int64_t r = tile_begin * p->rows; r < tile_end * p->rows; ++r) {
        char *to = (char *)args->out[0].base + r * row_bytes;
        const char *from = (const char *)args->in[0].base + r * row_bytes;
        int64_t k = p->k > p->columns ? p->columns : p->k < -p->rows ? -p->rows : p->k;
        int64_t edge = r % p->rows + k + (p->upper ? 0 : 1); /* first kept (upper) or first zeroed (lower) column */

        edge = edge < 0 ? 0 : edge > p->columns ? p->columns : edge;
        __builtin_memcpy(to, from, (size_t)row_bytes);
        if (p->upper)
            __builtin_memset(to, 0, (size_t)(edge * p->bytes));
        else
            __builtin_memset(to + edge * p->bytes, 0, (size_t)((p->columns - edge) * p->bytes));
    }
}
