/* Whole files: mapped, read, or replaced atomically.
 *
 * Mappings are for files that nobody shrinks meanwhile (bundles in a store, models during a compile): a file cut while mapped kills the
 * process by SIGBUS. Files of unknown owners are read. Any thread; no state. */
#ifndef RLX_BASE_FILE_H
#define RLX_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

/* A borrowed run of bytes. */
typedef struct rlx_bytes {
    const void *data;
    size_t bytes;
} rlx_bytes_t;

/* Maps a regular file read-only and privately. An empty file gives data != NULL and 0 bytes. */
rlx_status_t rlx_file_map(const char *path, rlx_bytes_t *out_file, rlx_diag_t *diag);
void rlx_file_unmap(rlx_bytes_t *file);

/* Reads a file (or pipe) of at most `bytes_max` into malloc memory with a NUL after the last byte. Owned by the caller. */
rlx_status_t rlx_file_read(const char *path, size_t bytes_max, void **out_data, size_t *out_bytes, rlx_diag_t *diag);

/* Writes the parts one after another to a new file beside `path` and renames it over `path`: readers see the old or the new file, never a
 * part. Not synced, as results of compilers and converters are not: what a power failure takes can be made again. A `path` that exists and is
 * no regular file (a pipe, /dev/null) is written in place. */
rlx_status_t rlx_file_write_parts(const char *path, const rlx_bytes_t *parts, int n_parts, rlx_diag_t *diag);
rlx_status_t rlx_file_write(const char *path, const void *data, size_t bytes, rlx_diag_t *diag);
/* The same; the descriptor of the file written stays open for the caller, who closes it. */
rlx_status_t rlx_file_write_open(const char *path, const rlx_bytes_t *parts, int n_parts, int *out_fd, rlx_diag_t *diag);

/* All of it, however often `fd` takes less or is interrupted. False: errno says why. */
bool rlx_fd_write(int fd, const void *data, size_t bytes);
/* All of the file `from`, from its start, to `to`, an empty file at its start: in whole huge pages, so that the copy lies in such in the page
 * cache, as splicing's would not. False: errno says why. */
bool rlx_fd_copy(int from, int to);

#endif
