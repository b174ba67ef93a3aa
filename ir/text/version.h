/* Schema versions of the text, and the steps between them: docs/IR.md, "Versions". */
#ifndef RLX_IR_TEXT_VERSION_H
#define RLX_IR_TEXT_VERSION_H

#include "base/diag_list.h"
#include "ir/text/syntax.h"

/* Brings a tree to RLX_SCHEMA_VERSION, step by step. A text without a version counts as the current one and gets a note; an older one is upgraded
 * with a note; one that no step reads, or from a newer program, is an error. */
void rlx_syntax_upgrade(rlx_syntax_t *syntax, rlx_diag_list_t *findings);

#endif
