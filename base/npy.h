/* The .npy format, one array: header text and bytes. Used by base/npz.c. */
#ifndef RLX_BASE_NPY_H
#define RLX_BASE_NPY_H

#include "base/diag.h"
#include "base/tensor.h"

#define RLX_NPY_HEADER_MAX 1024 /* of what rlx_npy_header writes */

/* Reads type and extents; `out_tensor->data` points into `data` (no alignment promised). The array's bytes end exactly at `bytes`. */
rlx_status_t rlx_npy_parse(const void *data, size_t bytes, rlx_tensor_t *out_tensor, size_t *out_data_bytes, rlx_diag_t *diag);
/* Writes a version 1 header, padded to 64 bytes; returns its length. */
size_t rlx_npy_header(const rlx_tensor_t *tensor, char out_header[RLX_NPY_HEADER_MAX]);

#endif
