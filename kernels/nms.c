/* Non-maximum suppression, greedy: for each batch and class the boxes by falling score. Every arithmetic step is one f32 operation in the
 * order written here. */
#include "kernels/order.h"
#include "kernels/params.h"

typedef struct box {
    float y1, x1, y2, x2, area;
} box_t;

static float smaller(float a, float b) { return a < b ? a : b; }
static float larger(float a, float b) { return a > b ? a : b; }

static box_t box_read(const float *at, int64_t centre)
{
    box_t box;

    if (centre) {
        float half_w = at[2] / 2, half_h = at[3] / 2;

        box.x1 = at[0] - half_w;
        box.x2 = at[0] + half_w;
        box.y1 = at[1] - half_h;
        box.y2 = at[1] + half_h;
    } else {
        box.y1 = smaller(at[0], at[2]);
        box.y2 = larger(at[0], at[2]);
        box.x1 = smaller(at[1], at[3]);
        box.x2 = larger(at[1], at[3]);
    }
    box.area = (box.y2 - box.y1) * (box.x2 - box.x1);
    return box;
}

static int overlaps(const box_t *a, const box_t *b, float limit)
{
    float height = smaller(a->y2, b->y2) - larger(a->y1, b->y1), width = smaller(a->x2, b->x2) - larger(a->x1, b->x1);
    float both, either;

    if (height <= 0 || width <= 0)
        return 0;
    both = height * width;
    either = a->area + b->area - both;
    return a->area > 0 && b->area > 0 && either > 0 && both / either > limit;
}

static int before(const float *scores, int64_t a, int64_t b) { return scores[a] > scores[b] || (scores[a] == scores[b] && a < b); }

static void sift(int64_t *heap, int64_t n, int64_t at, const float *scores)
{
    for (;;) {
        int64_t child = 2 * at + 1, index = heap[at];

        if (child >= n)
            return;
        if (child + 1 < n && before(scores, heap[child + 1], heap[child]))
            ++child;
        if (!before(scores, heap[child], index))
            return;
        heap[at] = heap[child];
        heap[child] = index;
        at = child;
    }
}

/* Boxes above the least score, as a heap with the best first; NaN is above nothing. */
static int64_t candidates(const float *scores, int64_t n, const float *least, int64_t *heap)
{
    int64_t count = 0;

    for (int64_t i = 0; i < n; ++i)
        if (scores[i] == scores[i] && (least == NULL || scores[i] > *least))
            heap[count++] = i;
    for (int64_t i = count / 2; i-- > 0;)
        sift(heap, count, i, scores);
    return count;
}

static int64_t boxes_select(const rlx_non_max_suppression_params_t *p, const float *boxes, const float *scores, float iou, const float *least,
                      int64_t most, int64_t *heap, int64_t *selected)
{
    int64_t left = candidates(scores, p->boxes, least, heap), taken = 0;

    for (; left > 0 && taken < most; heap[0] = heap[--left], sift(heap, left, 0, scores)) {
        box_t box = box_read(boxes + heap[0] * 4, p->centre);
        int kept = 1;

        for (int64_t i = 0; i < taken && kept; ++i) {
            box_t other = box_read(boxes + selected[i] * 4, p->centre);

            kept = !overlaps(&box, &other, iou);
        }
        if (kept)
            selected[taken++] = heap[0];
    }
    return taken;
}

RLX_KERNEL_ENTRY(non_max_suppression)
{
    const rlx_non_max_suppression_params_t *p = (const rlx_non_max_suppression_params_t *)args->param;
    const float *boxes = args->in[0].base, *scores = args->in[1].base, *least = args->in[4].base;
    int64_t most = args->in[2].base != NULL ? *(const int64_t *)args->in[2].base : 0;
    float iou = args->in[3].base != NULL ? *(const float *)args->in[3].base : 0;
    int64_t *selected = args->out[0].base, *counts = args->out[1].base;

    most = most < 0 ? 0 : most > p->keep ? p->keep : most;
    for (int64_t tile = tile_begin; tile < tile_end; ++tile) {
        int64_t *to = selected + tile * p->keep, n;

        n = boxes_select(p, boxes + tile / p->classes * p->boxes * 4, scores + tile * p->boxes, iou, least, most, args->scratch, to);
        counts[tile] = n;
        for (; n < p->keep; ++n)
            to[n] = 0;
    }
}

RLX_KERNEL_ENTRY(nms_rows)
{
    const rlx_nms_rows_params_t *p = (const rlx_nms_rows_params_t *)args->param;
    const int64_t *selected = args->in[0].base, *counts = args->in[1].base;
    int64_t *out = args->out[0].base, row = 0;

    if (tile_begin >= tile_end)
        return;
    for (int64_t i = 0; i < p->batch * p->classes; ++i)
        for (int64_t k = 0; k < counts[i] && k < p->keep && row < p->found; ++k, ++row) {
            out[3 * row] = i / p->classes;
            out[3 * row + 1] = i % p->classes;
            out[3 * row + 2] = selected[i * p->keep + k];
        }
    for (; row < p->found; ++row)
        out[3 * row] = out[3 * row + 1] = out[3 * row + 2] = 0;
}
