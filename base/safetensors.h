/* .safetensors files: named tensors in one file, as the Python library of that name writes them.
 *
 * Read: the header's length (8 bytes), the header (JSON), the data; every rule of the format is checked, since the bytes come from strangers:
 * the header's size, names that are unique, shapes that give the bytes they take, ranges that follow each other without gap or overlap up to the
 * end of the file. Write: exact and deterministic, equal tensors give equal bytes in whatever order they are given. Any thread; no state. */
#ifndef RLX_BASE_SAFETENSORS_H
#define RLX_BASE_SAFETENSORS_H

#include "base/diag.h"
#include "base/tensor.h"

#define RLX_SAFETENSORS_HEADER_MAX ((size_t)64 << 20)
#define RLX_SAFETENSORS_TENSORS_MAX 1000000
#define RLX_SAFETENSORS_NAME_MAX 4096

typedef struct rlx_safetensor {
    const char *name;    /* UTF-8 without NUL */
    rlx_tensor_t tensor; /* data: within the file, no alignment promised, NULL where only the header was given; dtype NONE: a type that RLX has not */
    char type[16];       /* as the file calls it: "F32", "F8_E4M3" */
    uint64_t offset;     /* of the data, from the begin of the file */
    uint64_t bytes;
} rlx_safetensor_t;

typedef struct rlx_safetensors {
    rlx_safetensor_t *tensors; /* in order of offset; owned with their names */
    int n_tensors;
} rlx_safetensors_t;

/* `data` is the whole file, and must outlive what is read. */
rlx_status_t rlx_safetensors_parse(const void *data, size_t bytes, rlx_safetensors_t *out, rlx_diag_t *diag);
/* The same from the begin of a file of `file_bytes`: for files that are not read as a whole. `data` needs to hold the header only: give 8 bytes to
 * rlx_safetensors_header_bytes, which says how many these are (the 8 included). */
rlx_status_t rlx_safetensors_header_bytes(const void *data, size_t bytes, uint64_t file_bytes, size_t *out_bytes, rlx_diag_t *diag);
rlx_status_t rlx_safetensors_parse_header(const void *data, size_t bytes, uint64_t file_bytes, rlx_safetensors_t *out, rlx_diag_t *diag);
void rlx_safetensors_fini(rlx_safetensors_t *tensors);
/* NULL when there is no tensor of that name. */
const rlx_safetensor_t *rlx_safetensors_find(const rlx_safetensors_t *tensors, const char *name);

/* What a file holds: a name (unique, UTF-8, at most RLX_SAFETENSORS_NAME_MAX bytes, not "__metadata__") and row-major data. */
typedef struct rlx_safetensors_item {
    const char *name;
    rlx_tensor_t tensor;
} rlx_safetensors_item_t;
/* Items are borrowed; the array is sorted: larger elements first, then by name, so that data is aligned to its element. The data of the first
 * begins at a multiple of 64. */
rlx_status_t rlx_safetensors_write(const char *path, rlx_safetensors_item_t *items, int n_items, rlx_diag_t *diag);

#endif
