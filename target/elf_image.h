/* A linked position-independent ELF file as a code image: flat bytes that run wherever they are mapped, as scripts/kernel_image.py makes them of
 * the kernels. What would need a loader, or could keep state, is refused. Any thread; no state. */
#ifndef RLX_TARGET_ELF_IMAGE_H
#define RLX_TARGET_ELF_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

typedef struct rlx_elf {
    const uint8_t *data; /* borrowed */
    size_t bytes;
} rlx_elf_t;

/* The linker script that the file must be linked with (its sections are known by name). */
extern const char rlx_elf_image_script[];

/* Is it an ELF file whose tables lie inside it? Before the others. */
rlx_status_t rlx_elf_check(const rlx_elf_t *elf, rlx_diag_t *diag);
/* Names of undefined symbols, sorted, by commas, as many as there is room for; "" where there are none. */
void rlx_elf_undefined(const rlx_elf_t *elf, char *out, size_t size);
/* Address of a defined symbol. */
bool rlx_elf_symbol(const rlx_elf_t *elf, const char *name, uint64_t *out_address);
/* The flat bytes; malloc'd, owned by the caller. */
rlx_status_t rlx_elf_flatten(const rlx_elf_t *elf, void **out_data, size_t *out_bytes, rlx_diag_t *diag);

#endif
