/* Files named by a text, beside the text: opened only below its folder, through no link, and only plain files with one name (a hard link could
 * stand for a file elsewhere). Whoever wrote the text does not get to read the rest of the machine. Any thread; no state. */
#ifndef RLX_BASE_BENEATH_H
#define RLX_BASE_BENEATH_H

#include <stdint.h>

#include "base/diag.h"

/* `location` is relative to the folder `dir_fd` and stays below it. Gives a descriptor that the caller closes, and the file's size. Errors carry
 * `code` and begin with `what` ("external data"). */
rlx_status_t rlx_beneath_open(int dir_fd, const char *location, rlx_error_code_t code, const char *what, int *out_fd, uint64_t *out_bytes,
                              rlx_diag_t *diag);
/* All of [offset, offset + bytes), which must lie within the file. */
rlx_status_t rlx_beneath_read(int fd, uint64_t offset, void *out, size_t bytes, rlx_error_code_t code, const char *what, rlx_diag_t *diag);

#endif
