/* The built-in image's code, mapped executable (tests/exec/image.h). */
#include "image.h"

#include <string.h>
#include <sys/mman.h>

#include "bundle/bundle.h"
#include "kernels/image.h"
#include "kernels/reference.h"

static bool image_map(rlx_kernel_table_t *table)
{
    int count;
    const rlx_kernel_image_t *images = rlx_kernel_images(&count);

    for (int i = 0; i < count; i++) {
        char *code;

        if (!rlx_isa_runs(images[i].isa))
            continue;
        code = mmap(NULL, images[i].bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (code == MAP_FAILED)
            return false;
        memcpy(code, images[i].data, images[i].bytes);
        if (mprotect(code, images[i].bytes, PROT_READ | PROT_EXEC) != 0)
            return false;
        for (uint32_t k = 0; k < images[i].n_entries; k++)
            table->entry[images[i].entries[k].kernel] = (rlx_kernel_fn_t *)(void *)(code + images[i].entries[k].offset);
        table->target = images[i].isa;
        return true;
    }
    return false;
}

void image_kernels(bool reference, rlx_kernel_table_t *out_table)
{
    memset(out_table, 0, sizeof *out_table);
    if (!reference && image_map(out_table))
        return;
    for (int id = 1; id < RLX_K_END; id++)
        out_table->entry[id] = rlx_reference_kernel((rlx_kernel_id_t)id);
    out_table->target = "reference";
}
