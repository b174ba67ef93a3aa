/* A diagnosis as one line for clients: "RLX-1603: where: message. what to do". */
#ifndef RLX_DAEMON_NODE_ERROR_TEXT_H
#define RLX_DAEMON_NODE_ERROR_TEXT_H

#include <stddef.h>

#include "base/diag.h"

#define RLX_ERROR_TEXT_MAX 1536

/* Always terminated; cut where it does not fit. Without a hint of its own the code's general fix is told. */
void rlx_error_text(const rlx_diag_t *diag, char *out, size_t size);

#endif
