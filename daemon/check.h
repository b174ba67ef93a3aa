/* rlxd --check: what a start would read, read and told about, and nothing served or written. */
#ifndef RLX_DAEMON_CHECK_H
#define RLX_DAEMON_CHECK_H

#include "daemon/serve.h"

/* The configuration is good already. Looks at TLS files, store, repository and the models of the command line; good things are lines on
 * standard output, bad ones diagnoses on standard error, all of them. Returns the exit code that a start would end with, but 1 for any bad
 * bundle: a start serves the others. */
int rlxd_check(const rlx_serve_options_t *options);

#endif
