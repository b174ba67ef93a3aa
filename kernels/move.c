/* Moves of whole tensors by strides. The order of elements written does not matter: no two tiles write the same place. */
#include "kernels/index.h"
#include "kernels/params.h"
#include "kernels/transpose_tile.h"

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

static void copy_block(char *to, const char *from, const rlx_strided_copy_params_t *p, int64_t rows, int64_t columns)
{
    for (int64_t i = 0; i < rows; ++i)
        copy_run(to + i * p->out_stride[6], p->out_stride[7], from + i * p->in_stride[6], p->in_stride[7], columns, p->bytes);
}

/* Rows whose elements are contiguous in the input along the rows: a transpose, in square blocks. */
static void copy_plane(char *to, const char *from, const rlx_strided_copy_params_t *p, int64_t rows, int64_t columns)
{
    int in_registers = p->bytes == 4 && p->out_stride[7] == 4;
    int64_t side = in_registers ? 8 : PLANE_BLOCK;

    for (int64_t i = 0; i < rows; i += side)
        for (int64_t j = 0; j < columns; j += side) {
            char *block = to + i * p->out_stride[6] + j * p->out_stride[7];
            const char *source = from + i * p->in_stride[6] + j * p->in_stride[7];

            if (in_registers && i + 8 <= rows && j + 8 <= columns)
                rlx_transpose_8x8(block, p->out_stride[6], source, p->in_stride[7]);
            else
                copy_block(block, source, p, least(side, rows - i), least(side, columns - j));
        }
}

/* Where index `at` of axes 0 to 6 begins. Axes before `lead` have extent 1. */
static char *copy_place(const rlx_operand_t *side, const int64_t *at, const int64_t *stride, int lead)
{
    char *base = side->rows != NULL ? side->rows[at[0]] : side->base;

    lead += side->rows != NULL && lead == 0; /* axis 0 is the batch */
    return base + rlx_index_dot(at + lead, stride + lead, 7 - lead);
}

/* Rows [row, end) and `columns` elements from `first` on. */
static void copy_rows(const rlx_kernel_args_t *args, const rlx_strided_copy_params_t *p, int64_t row, int64_t end, int64_t first,
                      int64_t columns)
{
    int is_plane = p->in_stride[7] != p->bytes && p->in_stride[6] == p->bytes;
    int64_t out = p->out_offset + first * p->out_stride[7], in = p->in_offset + first * p->in_stride[7];
    int64_t at[8];
    int lead = 0;

    while (lead < 6 && p->dims[lead] == 1)
        lead++;
    rlx_index_unravel(row, p->dims, 7, at);
    while (row < end) {
        int64_t count = least(p->dims[6] - at[6], end - row);
        char *to = copy_place(&args->out[0], at, p->out_stride, lead) + out;
        const char *from = copy_place(&args->in[0], at, p->in_stride, lead) + in;

        if (is_plane)
            copy_plane(to, from, p, count, columns);
        else
            copy_block(to, from, p, count, columns);
        row += count;
        at[6] += count - 1;
        rlx_index_next(at, p->dims, 7);
    }
}

RLX_KERNEL_ENTRY(strided_copy)
{
    const rlx_strided_copy_params_t *p = (const rlx_strided_copy_params_t *)args->param;
    int64_t rows = 1, chunks = (p->dims[7] + p->chunk - 1) / p->chunk;

    for (int d = 0; d < 7; ++d)
        rows *= p->dims[d];
    for (int64_t tile = tile_begin; tile < tile_end; ++tile) {
        int64_t row = tile / chunks * p->grain, first = tile % chunks * p->chunk;

        if (row < rows)
            copy_rows(args, p, row, least(row + p->grain, rows), first, least(p->chunk, p->dims[7] - first));
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
