/* Embeds the kernel code images. image_v3.h and image_v4.h are written by scripts/kernel_image.py beside the images: the image's path, size
 * and entry points. With RLX_NO_KERNEL_IMAGES the list is empty. */
#include "kernels/image.h"

#ifndef RLX_NO_KERNEL_IMAGES

#define EMBED(name, path)                                  \
    __asm__(".section .rodata." #name ",\"a\",@progbits\n" \
            ".balign 4096\n"                               \
            #name ":\n"                                    \
            ".incbin \"" path "\"\n"                       \
            ".previous\n");                                \
    extern const uint8_t name[] __attribute__((visibility("hidden")))

#define RLX_IMAGE_ENTRY(kernel, offset) {kernel, offset},

#include "image_v4.h"
EMBED(rlx_image_v4, RLX_IMAGE_PATH);
static const rlx_kernel_image_entry_t entries_v4[] = {RLX_IMAGE_ENTRIES};
enum { BYTES_V4 = RLX_IMAGE_BYTES };
#undef RLX_IMAGE_PATH
#undef RLX_IMAGE_ENTRIES
#undef RLX_IMAGE_BYTES
#undef RLX_IMAGE_DIGEST

#include "image_v3.h"
EMBED(rlx_image_v3, RLX_IMAGE_PATH);
static const rlx_kernel_image_entry_t entries_v3[] = {RLX_IMAGE_ENTRIES};
enum { BYTES_V3 = RLX_IMAGE_BYTES };

#define COUNT(array) (uint32_t)(sizeof(array) / sizeof(array)[0])

const rlx_kernel_image_t *rlx_kernel_images(int *out_count)
{
    static const rlx_kernel_image_t images[] = {
        {"x86-64-v4", rlx_image_v4, BYTES_V4, entries_v4, COUNT(entries_v4)},
        {"x86-64-v3", rlx_image_v3, BYTES_V3, entries_v3, COUNT(entries_v3)},
    };

    *out_count = 2;
    return images;
}

#else

const rlx_kernel_image_t *rlx_kernel_images(int *out_count)
{
    *out_count = 0;
    return NULL;
}

#endif
