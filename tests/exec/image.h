/* Kernels of this build, for tests that run what they have compiled without a bundle between. */
#ifndef RLX_TESTS_EXEC_IMAGE_H
#define RLX_TESTS_EXEC_IMAGE_H

#include "exec/executor.h"

/* The built-in image for this machine, mapped executable for the process' life; with `reference`, or where no image runs here, the reference
 * kernels. */
void image_kernels(bool reference, rlx_kernel_table_t *out_table);

#endif
