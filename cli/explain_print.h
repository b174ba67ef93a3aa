/* Decisions of a compilation (ir/dump/explain.h) for people and programs. */
#ifndef RLX_CLI_EXPLAIN_PRINT_H
#define RLX_CLI_EXPLAIN_PRINT_H

#include <stdbool.h>
#include <stdio.h>

#include "ir/dump/explain.h"

/* One line a decision, in the order of the model; or one JSON object with them all. Sorts `explain`. */
void rlx_explain_print(rlx_explain_t *explain, bool json, FILE *out);

#endif
