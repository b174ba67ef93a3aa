/* What every program of this folder does the same way: it turns a verb's status into an exit code, and finds the others. One thread. */
#ifndef RLX_CLI_PROGRAM_H
#define RLX_CLI_PROGRAM_H

#include "cli/cli.h"

/* Runs the verb, or prints its help where it is asked for; prints the diagnosis of a failure. */
int rlx_cli_verb_run(const rlx_verb_t *verb, int argc, char **argv);

/* Another program of RLX: in this one's folder or, in a build folder, at `built` from there. `for_verb` stands in the message. */
rlx_status_t rlx_cli_program_find(const char *for_verb, const char *name, const char *built, char *out_path, size_t bytes, rlx_diag_t *diag);

#endif
