/* User code of custom_op in a folder of C: the sources as custom<N>/user<N>.c with the headers that they include from their own folders, and
 * the code between them and the program. */
#ifndef RLX_TARGET_CUSTOM_FILES_H
#define RLX_TARGET_CUSTOM_FILES_H

#include "target/custom.h"
#include "target/file_set.h"

/* Refuses Fortran, objects, and headers from elsewhere. Nothing is added where `n` is 0. */
rlx_status_t rlx_custom_files_add(const rlx_custom_source_t *sources, int n, rlx_file_set_t *set, rlx_diag_t *diag);
/* The same for what rlx_custom_compile links: custom.c and the headers that it and user code read. */
rlx_status_t rlx_custom_glue_add(const rlx_custom_source_t *sources, int n, rlx_file_set_t *set, rlx_diag_t *diag);
bool rlx_custom_is_fortran(const char *path);

#endif
