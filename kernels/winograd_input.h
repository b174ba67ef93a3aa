/* Input transform of F(2,3) and F(4,3) on blocked activations: shared by conv_winograd_c16, which transforms block by block into scratch, and
 * conv_winograd_input_c16, which does it once for all threads where the map is small. Body: conv_winograd_input.c. */
#ifndef RLX_KERNELS_WINOGRAD_INPUT_H
#define RLX_KERNELS_WINOGRAD_INPUT_H

#include "kernels/winograd.h"

typedef struct winograd_input {
    const rlx_conv_window_t *window;
    int64_t m;
    const float *x;         /* all images, C16 */
    int64_t channel_blocks;
    int64_t patches;        /* of a whole block, whatever `count` is */
} winograd_input_t;

/* Transforms input-channel block `c` of patches [first, first + count) to v, the beginning of their block (winograd_tap_step). */
void rlx_winograd_input(const winograd_input_t *input, int64_t c, int64_t first, int64_t count, float *v);

#endif
