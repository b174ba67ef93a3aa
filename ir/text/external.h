/* Files of constants beside a text: those that a builder has open, and moving large constants of a tree to one. */
#ifndef RLX_IR_TEXT_EXTERNAL_H
#define RLX_IR_TEXT_EXTERNAL_H

#include "base/diag.h"
#include "ir/text/syntax.h"

#define RLX_TEXT_INLINE_MAX 1024 /* bytes of a constant that stands in the text itself */

typedef struct rlx_text_files rlx_text_files_t;

/* `path` is the text's: its folder is where files are looked for. */
rlx_text_files_t *rlx_text_files_create(const char *path);
void rlx_text_files_destroy(rlx_text_files_t *files);

/* Every tensor of the tree of more than RLX_TEXT_INLINE_MAX bytes becomes one of a file, its key the digest of its bytes. `location` is what the text
 * calls the file; `path` is where it is written, NULL: nowhere (a text that is only read). No file is written where none is needed; then
 * *out_written is false. */
rlx_status_t rlx_syntax_externalise(rlx_syntax_t *syntax, const char *location, const char *path, bool *out_written, rlx_diag_t *diag);

#endif
