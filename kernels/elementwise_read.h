/* How the elementwise kernel reads its inputs: an index space with neighbouring axes merged, cut into blocks, and for each block and input
 * a pointer to as many elements in the input's register class. Contiguous native operands are read in place; what repeats is built once and
 * kept in the input's slot while the same part of the input is wanted. */
#ifndef RLX_KERNELS_ELEMENTWISE_READ_H
#define RLX_KERNELS_ELEMENTWISE_READ_H

#include "kernels/abi.h"
#include "kernels/map.h"
#include "kernels/params.h"

/* A space is walked by rows (long innermost axis), by planes of whole short rows, or as a line of elements with every index counted. */
typedef enum walk_mode { WALK_ROWS, WALK_PLANES, WALK_LINE } walk_mode_t;

#define WALK_ROW_LEAST 128
#define WALK_PLANE_LEAST 64

typedef struct walk {
    walk_mode_t mode;
    int rank, n_in, any_broadcast;
    int64_t dims[8];
    int64_t stride[RLX_ELEMENTWISE_INPUTS][8];
    int contiguous[RLX_ELEMENTWISE_INPUTS];
    int64_t index[8];                       /* of the block's first element */
    int64_t kept[RLX_ELEMENTWISE_INPUTS];   /* element offset whose repetition the slot holds, or -1 */
} walk_t;

static int walk_can_merge(const walk_t *w, int axis)
{
    for (int k = 0; k < w->n_in; k++)
        if (w->stride[k][axis] != w->stride[k][axis + 1] * w->dims[axis + 1])
            return 0;
    return 1;
}

/* Drops the axis before which `axis` was merged. */
static void walk_merge(walk_t *w, int axis)
{
    w->dims[axis] *= w->dims[axis + 1];
    for (int k = 0; k < w->n_in; k++)
        w->stride[k][axis] = w->stride[k][axis + 1];
    for (int i = axis + 1; i + 1 < w->rank; i++) {
        w->dims[i] = w->dims[i + 1];
        for (int k = 0; k < w->n_in; k++)
            w->stride[k][i] = w->stride[k][i + 1];
    }
    w->rank--;
}

static int walk_is_contiguous(const walk_t *w, int k)
{
    int64_t dense = 1;

    for (int i = w->rank - 1; i >= 0; i--) {
        if (w->stride[k][i] != dense)
            return 0;
        dense *= w->dims[i];
    }
    return 1;
}

static void walk_init(walk_t *w, const rlx_elementwise_params_t *p, const rlx_elementwise_input_t *inputs)
{
    w->n_in = (int)p->n_in;
    w->rank = 0;
    w->any_broadcast = 0;
    for (int i = 0; i < 8; i++) {
        if (p->dims[i] == 1 && (i < 7 || w->rank > 0))
            continue;
        w->dims[w->rank] = p->dims[i];
        for (int k = 0; k < w->n_in; k++)
            w->stride[k][w->rank] = p->dims[i] == 1 ? 0 : inputs[k].stride[i];
        w->rank++;
    }
    for (int i = w->rank - 2; i >= 0; i--)
        if (walk_can_merge(w, i))
            walk_merge(w, i);
    for (int k = 0; k < w->n_in; k++) {
        w->contiguous[k] = walk_is_contiguous(w, k);
        w->any_broadcast |= !w->contiguous[k];
        w->kept[k] = -1;
    }
    if (!w->any_broadcast || w->dims[w->rank - 1] >= WALK_ROW_LEAST || w->rank == 1)
        w->mode = WALK_ROWS;
    else
        w->mode = w->dims[w->rank - 1] * w->dims[w->rank - 2] >= WALK_PLANE_LEAST ? WALK_PLANES : WALK_LINE;
}

/* Where a tile that should begin at element `at` begins: planes are cut between rows. */
static int64_t walk_boundary(const walk_t *w, int64_t at, int64_t count)
{
    if (at >= count)
        return count;
    return w->mode == WALK_PLANES ? at - at % w->dims[w->rank - 1] : at;
}

/* Places the walk at element `at` and returns how many elements the next block has. */
static int64_t walk_block(walk_t *w, int64_t at, int64_t end)
{
    int64_t n = end - at < RLX_ELEMENTWISE_BLOCK ? end - at : RLX_ELEMENTWISE_BLOCK, last = w->rank - 1, most, rows;

    if (!w->any_broadcast)
        return n;
    for (int i = (int)last; i >= 0; i--) {
        w->index[i] = i == 0 ? at : at % w->dims[i];
        at = i == 0 ? 0 : at / w->dims[i];
    }
    if (w->mode == WALK_LINE)
        return n;
    if (w->mode == WALK_ROWS) {
        most = w->dims[last] - w->index[last];
        return n < most ? n : most;
    }
    rows = n / w->dims[last];
    most = w->dims[last - 1] - w->index[last - 1];
    return (rows < most ? rows : most) * w->dims[last];
}

static int64_t walk_offset(const walk_t *w, int k)
{
    int64_t offset = 0;

    for (int i = 0; i < w->rank; i++)
        offset += w->index[i] * w->stride[k][i];
    return offset;
}

/* `rows` runs of `n` elements, from strided memory to a dense block. */
#define WALK_FILL(type)                                                                                             \
    static void walk_fill_##type(type *restrict to, const type *from, int64_t rows, int64_t n, int64_t row_stride, int64_t stride) \
    {                                                                                                               \
        for (int64_t r = 0; r < rows; r++, to += n, from += row_stride) {                                           \
            if (stride == 0) {                                                                                      \
                type v = *from;                                                                                     \
                for (int64_t i = 0; i < n; i++)                                                                     \
                    to[i] = v;                                                                                      \
            } else if (stride == 1) {                                                                               \
                for (int64_t i = 0; i < n; i++)                                                                     \
                    to[i] = from[i];                                                                                \
            } else {                                                                                                \
                for (int64_t i = 0; i < n; i++)                                                                     \
                    to[i] = from[i * stride];                                                                       \
            }                                                                                                       \
        }                                                                                                           \
    }
WALK_FILL(uint8_t)
WALK_FILL(uint16_t)
WALK_FILL(uint32_t)
WALK_FILL(uint64_t)
#undef WALK_FILL

static void walk_fill(int64_t bytes, void *to, const void *from, int64_t offset, int64_t rows, int64_t n, int64_t row_stride,
                      int64_t stride)
{
    if (bytes == 4)
        walk_fill_uint32_t(to, (const uint32_t *)from + offset, rows, n, row_stride, stride);
    else if (bytes == 8)
        walk_fill_uint64_t(to, (const uint64_t *)from + offset, rows, n, row_stride, stride);
    else if (bytes == 2)
        walk_fill_uint16_t(to, (const uint16_t *)from + offset, rows, n, row_stride, stride);
    else
        walk_fill_uint8_t(to, (const uint8_t *)from + offset, rows, n, row_stride, stride);
}

/* The block [index, index + n) as runs along the innermost axis, whatever the strides. */
static void walk_fill_line(const walk_t *w, int k, int64_t bytes, void *to, const void *from, int64_t n)
{
    int64_t index[8], last = w->rank - 1, done = 0;

    for (int i = 0; i < w->rank; i++)
        index[i] = w->index[i];
    while (done < n) {
        int64_t run = w->dims[last] - index[last], offset = 0;

        run = run < n - done ? run : n - done;
        for (int i = 0; i < w->rank; i++)
            offset += index[i] * w->stride[k][i];
        walk_fill(bytes, (char *)to + done * bytes, from, offset, 1, run, 0, w->stride[k][last]);
        done += run;
        index[last] += run;
        for (int i = (int)last; i > 0 && index[i] == w->dims[i]; i--) {
            index[i] = 0;
            index[i - 1]++;
        }
    }
}

/* Whether input `k`'s block is memory as it stands; if not, whether it is the same for every block that starts at the same offset. */
static int walk_in_place(const walk_t *w, int k)
{
    int last = w->rank - 1;

    if (w->mode == WALK_LINE || w->stride[k][last] != 1)
        return 0;
    return w->mode == WALK_ROWS || w->stride[k][last - 1] == w->dims[last];
}

static int walk_repeats(const walk_t *w, int k)
{
    int last = w->rank - 1;

    if (w->mode == WALK_ROWS)
        return w->stride[k][last] == 0;
    return w->mode == WALK_PLANES && w->stride[k][last - 1] == 0;
}

/* Builds the block of a broadcast input in `to`, in the input's own dtype. */
static void walk_gather(const walk_t *w, int k, int64_t bytes, void *to, const void *from, int64_t offset, int64_t n)
{
    int last = w->rank - 1;
    int64_t inner = w->dims[last];

    if (w->mode == WALK_LINE)
        walk_fill_line(w, k, bytes, to, from, n);
    else if (w->mode == WALK_ROWS)
        walk_fill(bytes, to, from, offset, 1, w->stride[k][last] == 0 ? RLX_ELEMENTWISE_BLOCK : n, 0, w->stride[k][last]);
    else if (w->stride[k][last - 1] == 0)
        walk_fill(bytes, to, from, offset, RLX_ELEMENTWISE_BLOCK / inner, inner, 0, w->stride[k][last]);
    else
        walk_fill(bytes, to, from, offset, n / inner, inner, w->stride[k][last - 1], w->stride[k][last]);
}

/* The `n` elements of input `k` from element `at` of the space, in their register class. `slot` and `raw` are room for one block each. */
static const void *walk_read(walk_t *w, int k, int64_t dtype, const char *base, int64_t at, int64_t n, void *slot, void *raw)
{
    int64_t bytes = rlx_number_bytes(dtype), offset = w->contiguous[k] ? at : walk_offset(w, k);
    int native = rlx_map_is_native(dtype);

    if (w->contiguous[k] || walk_in_place(w, k)) {
        if (native)
            return base + offset * bytes;
        rlx_map_load(dtype, slot, base + offset * bytes, n);
        return slot;
    }
    if (walk_repeats(w, k) && w->kept[k] == offset)
        return slot;
    walk_gather(w, k, bytes, native ? slot : raw, base, offset, n);
    if (!native)
        rlx_map_load(dtype, slot, raw, walk_repeats(w, k) ? RLX_ELEMENTWISE_BLOCK : n);
    w->kept[k] = walk_repeats(w, k) ? offset : -1;
    return slot;
}

#endif
