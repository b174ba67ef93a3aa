/* The small model that `rlx init` starts a project with: a convolutional classifier of 8x8 pictures, batch open,
 * weights from a fixed seed. */
#ifndef RLX_CLI_ONNX_SAMPLE_H
#define RLX_CLI_ONNX_SAMPLE_H

#include <stddef.h>

#define RLX_SAMPLE_INPUT "image"
#define RLX_SAMPLE_SIDE 8

/* An ONNX file's bytes, the same every time. Owned by the caller (free). */
void *rlx_onnx_sample(size_t *out_bytes);

#endif
