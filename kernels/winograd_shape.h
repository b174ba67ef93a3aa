/* Sizes of Winograd's algorithms, for kernels and for the compiler that packs their filters. m and stride as in kernels/params_conv.h. */
#ifndef RLX_KERNELS_WINOGRAD_SHAPE_H
#define RLX_KERNELS_WINOGRAD_SHAPE_H

#include <stdint.h>

/* Input cells of a patch along an axis: as many transformed ones. */
static inline int64_t winograd_side(int64_t m, int64_t stride) { return stride == 2 ? 5 : m + 2; }
/* Sums of products along an axis. Transformed cells [winograd_first(i), winograd_first(i + 1)) take part in sum i. */
static inline int64_t winograd_sums(int64_t m, int64_t stride) { return stride == 2 ? 3 : m + 2; }
static inline int64_t winograd_first(int64_t stride, int64_t i) { return stride == 2 ? 2 * i - i / 2 : i; }

#endif
