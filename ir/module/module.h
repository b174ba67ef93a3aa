/* The module form of RLX-IR: a text in Python's syntax, read without Python, becomes the common syntax tree. docs/LANGUAGE.md describes it.
 *
 * Functions with @rlx.module become modules; what they call is inlined, constants are computed, loops over constants unrolled. One thread. */
#ifndef RLX_IR_MODULE_MODULE_H
#define RLX_IR_MODULE_MODULE_H

#include "base/diag_list.h"
#include "ir/text/syntax.h"

/* `text` (NUL-terminated) is borrowed for the call; the findings' source is set by the caller. Files that it names are read below the folder
 * of `path`. Always returns a tree, which is of no use where there were errors; the caller destroys it. */
rlx_syntax_t *rlx_module_read(const char *path, const char *text, size_t bytes, rlx_diag_list_t *findings);

#endif
