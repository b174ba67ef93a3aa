/* The kernels' sources and the templates, built into this program (scripts/source_archive.py). Unpacked once, on first use: any thread. */
#ifndef RLX_TARGET_SOURCE_FILES_H
#define RLX_TARGET_SOURCE_FILES_H

#include "target/file_set.h"

/* Adds the source of a kernel and all that it needs, as kernels/<name>. Fails for a kernel that only an image has (none that programs name). */
rlx_status_t rlx_source_kernel_add(rlx_file_set_t *set, uint32_t kernel, rlx_diag_t *diag);
/* The same for one file of the archive ("kernels/abi.h"). */
rlx_status_t rlx_source_add(rlx_file_set_t *set, const char *path, rlx_diag_t *diag);

/* Appends to `out` all that decides what a file of the archive compiles to: paths, lengths and bytes of it and of what it needs. False: no memory. */
bool rlx_source_read(const char *path, rlx_text_t *out);

/* One replacement in a template: @KEY@ by the text. */
typedef struct rlx_template_word {
    const char *key, *text;
} rlx_template_word_t;
/* Adds template `name` as `path`, with its words replaced; `words` ends with a NULL key. Any other @ stays. */
rlx_status_t rlx_source_template_add(rlx_file_set_t *set, const char *name, const char *path, const rlx_template_word_t *words, rlx_diag_t *diag);

#endif
