/* A program as text: symbols, values and steps as the executor will see them. */
#ifndef RLX_CLI_PROGRAM_TEXT_H
#define RLX_CLI_PROGRAM_TEXT_H

#include <stdio.h>

#include "bundle/program.h"

/* `program` passed rlx_program_check. */
void rlx_program_print(const rlx_program_header_t *program, FILE *out);

#endif
