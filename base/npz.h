/* .npz and .npy files: named arrays as NumPy writes them.
 *
 * Read: zip archives of stored or deflated .npy members (zip64 too), or one bare .npy file (its array has the name "").
 * .npy versions 1 to 3, C order, little-endian numbers of base/tensor.h. Everything is checked and capped: the bytes come from strangers.
 * Write: stored members with a fixed date, so equal arrays give equal bytes. Any thread; no state. */
#ifndef RLX_BASE_NPZ_H
#define RLX_BASE_NPZ_H

#include "base/diag.h"
#include "base/tensor.h"

#define RLX_NPZ_ARRAYS_MAX 4096
#define RLX_NPZ_NAME_MAX 1024
#define RLX_NPZ_BYTES_MAX ((size_t)16 << 30) /* file, and contents together */

typedef struct rlx_npz_array {
    const char *name;
    rlx_tensor_t tensor; /* data: 64-byte aligned, inside `block`; never NULL */
    void *block;         /* owned by the rlx_npz_t that was read; not looked at when writing */
} rlx_npz_array_t;

typedef struct rlx_npz {
    rlx_npz_array_t *arrays; /* in the archive's order; names are unique */
    int n_arrays;
} rlx_npz_t;

rlx_status_t rlx_npz_read(const char *path, rlx_npz_t *out_npz, rlx_diag_t *diag);
rlx_status_t rlx_npz_parse(const void *data, size_t bytes, rlx_npz_t *out_npz, rlx_diag_t *diag);
void rlx_npz_fini(rlx_npz_t *npz);
/* NULL when there is no array of that name. */
const rlx_tensor_t *rlx_npz_find(const rlx_npz_t *npz, const char *name);

/* Names must be unique, not empty and at most RLX_NPZ_NAME_MAX bytes. Arrays are borrowed. */
rlx_status_t rlx_npz_write(const char *path, const rlx_npz_array_t *arrays, int n_arrays, rlx_diag_t *diag);

#endif
