/* The printer of the SSA form. Canonical: equal trees give equal bytes, and what it prints reads back to an equal tree (spans aside). A statement
 * stands on one line where that has at most 120 columns; else each attribute has a line of its own. Reads only. */
#ifndef RLX_IR_TEXT_PRINT_H
#define RLX_IR_TEXT_PRINT_H

#include <stdio.h>

#include "ir/text/syntax.h"

/* Always with the version line. Tensors are printed with all their elements: what is large was moved to a file before (ir/text/external.h). */
void rlx_ssa_print(const rlx_syntax_t *syntax, FILE *out);

#endif
