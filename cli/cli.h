/* The `rlx` program: what its verbs share.
 *
 * A verb parses its own options, does its work and returns a status; main prints the diagnosis and turns it into the exit code: 0 done,
 * 1 refused (the input, the model, the machine), 2 command line not understood. One thread. */
#ifndef RLX_CLI_CLI_H
#define RLX_CLI_CLI_H

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "bundle/key.h"
#include "ir/compile.h"

enum { RLX_EXIT_DONE = 0, RLX_EXIT_REFUSED = 1, RLX_EXIT_USAGE = 2 };

typedef struct rlx_verb {
    const char *name, *alias; /* alias: another spelling, or NULL */
    const char *summary;      /* one line of `rlx help` */
    const char *help;         /* what `rlx help VERB` prints */
    rlx_status_t (*run)(int argc, char **argv, rlx_diag_t *diag); /* argv[0] is the verb */
    const char *(*program)(int argc, char **argv);                /* or NULL: the program beside this one that these words are for, or NULL */
} rlx_verb_t;

/* One per file cli/verb_<name>.c. */
extern const rlx_verb_t rlx_verb_init, rlx_verb_compile, rlx_verb_run, rlx_verb_infer, rlx_verb_bench, rlx_verb_profile, rlx_verb_dump,
    rlx_verb_explain, rlx_verb_keygen, rlx_verb_sign, rlx_verb_verify, rlx_verb_validate;

/* The next option's `val`; -1 at the end; '?' with `diag` set when it is unknown or lacks its value. Operands may stand anywhere. */
int rlx_cli_option_next(int argc, char **argv, const struct option *options, rlx_diag_t *diag);
/* The single operand, or an error that says what was expected. Call after the last option. */
rlx_status_t rlx_cli_operand(int argc, char **argv, const char *what, const char **out_operand, rlx_diag_t *diag);
rlx_status_t rlx_cli_int(const char *option, const char *text, int64_t min, int64_t max, int64_t *out_value, rlx_diag_t *diag);
rlx_status_t rlx_cli_seconds(const char *option, const char *text, double *out_seconds, rlx_diag_t *diag);
/* "image=1x3x224x224", "x=?x8": adds to options->shapes. */
rlx_status_t rlx_cli_shape(const char *text, rlx_compile_options_t *options, rlx_diag_t *diag);
/* "batch=8,width=2048": adds to options->maxima. */
rlx_status_t rlx_cli_maxima(const char *text, rlx_compile_options_t *options, rlx_diag_t *diag);

/* Says what a long work is at, on standard error, where that is a terminal. NULL wipes the line. */
void rlx_cli_progress(void *unused, const char *phase);

/* cli/verb_sign.c: "FILE: signed by ID 'comment'". */
void rlx_cli_signed_print(const char *path, const rlx_public_key_t *key);
/* Ends the file's name so? */
bool rlx_cli_ends_with(const char *path, const char *end);

/* Makes a folder and its parents. */
rlx_status_t rlx_cli_folder_make(const char *path, rlx_diag_t *diag);

const char *rlx_cli_version(void);
const char *rlx_cli_commit(void);

#endif
