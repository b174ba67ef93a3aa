/* The reader of the SSA form: text to syntax tree. docs/IR.md has the grammar.
 *
 * Reads the whole file whatever it meets: after an error it goes on with the next statement, so that one run reports many. One thread. */
#ifndef RLX_IR_TEXT_READ_H
#define RLX_IR_TEXT_READ_H

#include "base/diag_list.h"
#include "ir/text/syntax.h"

/* `text` has a NUL behind its last byte; it is borrowed for the call. The findings' source is set by the caller. Always returns a tree
 * for the caller to destroy. Where there were errors it can be built nevertheless, to find more of them: broken statements have no callee. */
rlx_syntax_t *rlx_ssa_read(const char *path, const char *text, size_t bytes, rlx_diag_list_t *findings);

#endif
