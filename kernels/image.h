/* The kernel code images built into this program (scripts/kernel_image.py), one per ISA, best first. Constant data; `rlx compile` copies
 * them into bundles. A build without clang 19 (meson -Dkernels=false) has none. */
#ifndef RLX_KERNELS_IMAGE_H
#define RLX_KERNELS_IMAGE_H

#include <stddef.h>
#include <stdint.h>

typedef struct rlx_kernel_image_entry {
    uint32_t kernel; /* rlx_kernel_id_t; ascending */
    uint32_t offset; /* of the entry point in the image */
} rlx_kernel_image_entry_t;

typedef struct rlx_kernel_image {
    const char *isa; /* "x86-64-v4" */
    const void *data;
    size_t bytes;
    const rlx_kernel_image_entry_t *entries;
    uint32_t n_entries;
} rlx_kernel_image_t;

const rlx_kernel_image_t *rlx_kernel_images(int *out_count);

#endif
