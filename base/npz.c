/* Named arrays from and to zip archives.
 *
 * Memory: each array is one block of its own: the .npy, its array moved to the start unless it is aligned where it stands. What a hostile
 * archive can make us allocate is bounded by RLX_NPZ_BYTES_MAX and by its own size times deflate's best ratio. */
#include "base/npz.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/block.h"
#include "base/file.h"
#include "base/npy.h"
#include "base/zip.h"

#define ALIGN 64

void rlx_npz_fini(rlx_npz_t *npz)
{
    for (int i = 0; i < npz->n_arrays; i++) {
        free((char *)npz->arrays[i].name);
        free(npz->arrays[i].block);
    }
    free(npz->arrays);
    *npz = (rlx_npz_t){0};
}

const rlx_tensor_t *rlx_npz_find(const rlx_npz_t *npz, const char *name)
{
    for (int i = 0; i < npz->n_arrays; i++)
        if (strcmp(npz->arrays[i].name, name) == 0)
            return &npz->arrays[i].tensor;
    return NULL;
}

/* Reads the array in `block` (owned, moved) and appends it under `name`. */
static rlx_status_t npz_append(rlx_npz_t *npz, const char *name, size_t name_bytes, void *take_block, size_t bytes, rlx_diag_t *diag)
{
    rlx_npz_array_t array = {0};
    size_t data_bytes = 0;
    rlx_status_t status = rlx_npy_parse(take_block, bytes, &array.tensor, &data_bytes, diag);
    char *copy = NULL;

    if (status == RLX_OK && (copy = strndup(name, name_bytes)) == NULL)
        status = rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory for an array's name");
    else if (status == RLX_OK && rlx_npz_find(npz, copy) != NULL)
        status = rlx_fail(diag, RLX_E_NPZ, "the archive holds two arrays named '%s'", copy);
    if (status != RLX_OK) {
        free(copy);
        free(take_block);
        return status;
    }
    if ((uintptr_t)array.tensor.data % ALIGN != 0) /* NumPy pads headers to it */
        array.tensor.data = memmove(take_block, array.tensor.data, data_bytes);
    array.block = take_block;
    array.name = copy;
    npz->arrays[npz->n_arrays++] = array;
    return RLX_OK;
}

static rlx_status_t npz_member_read(rlx_npz_t *npz, const rlx_zip_member_t *member, size_t *budget, rlx_diag_t *diag)
{
    size_t name_bytes = member->name_bytes;
    void *block;
    rlx_status_t status;

    if (name_bytes >= 4 && memcmp(member->name + name_bytes - 4, ".npy", 4) == 0)
        name_bytes -= 4;
    if (name_bytes == 0 || name_bytes > RLX_NPZ_NAME_MAX || memchr(member->name, '\0', name_bytes) != NULL)
        return rlx_fail(diag, RLX_E_NPZ, "an array's name is empty, too long, or holds a zero byte");
    if (member->bytes > *budget)
        return rlx_fail(diag, RLX_E_NPZ, "the archive's arrays take more than %zu bytes together", RLX_NPZ_BYTES_MAX);
    *budget -= member->bytes;
    block = rlx_block_alloc(member->bytes);
    if (block == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "cannot allocate %zu bytes for array '%.*s'", member->bytes, (int)name_bytes, member->name);
    status = rlx_zip_unpack(member, block, diag);
    if (status != RLX_OK)
        free(block);
    else
        status = npz_append(npz, member->name, name_bytes, block, member->bytes, diag);
    if (status != RLX_OK)
        rlx_diag_at(diag, "array '%.*s'", (int)name_bytes, member->name);
    return status;
}

static rlx_status_t npz_archive_parse(const void *data, size_t bytes, rlx_npz_t *npz, rlx_diag_t *diag)
{
    size_t budget = RLX_NPZ_BYTES_MAX;
    rlx_zip_member_t member;
    rlx_zip_t zip;
    bool more;

    RLX_TRY(rlx_zip_open(data, bytes, &zip, diag));
    if (zip.n_left > RLX_NPZ_ARRAYS_MAX)
        return rlx_fail(diag, RLX_E_NPZ, "the archive holds %llu arrays, the limit is %d", (unsigned long long)zip.n_left,
                        RLX_NPZ_ARRAYS_MAX);
    npz->arrays = calloc(zip.n_left + 1, sizeof *npz->arrays);
    if (npz->arrays == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    for (;;) {
        RLX_TRY(rlx_zip_next(&zip, &member, &more, diag));
        if (!more)
            return RLX_OK;
        RLX_TRY(npz_member_read(npz, &member, &budget, diag));
    }
}

static rlx_status_t npy_file_parse(const void *data, size_t bytes, rlx_npz_t *npz, rlx_diag_t *diag)
{
    void *block = rlx_block_alloc(bytes);

    npz->arrays = calloc(1, sizeof *npz->arrays);
    if (block == NULL || npz->arrays == NULL) {
        free(block);
        return rlx_fail(diag, RLX_E_NO_MEMORY, "cannot allocate %zu bytes", bytes);
    }
    memcpy(block, data, bytes);
    return npz_append(npz, "", 0, block, bytes, diag);
}

rlx_status_t rlx_npz_parse(const void *data, size_t bytes, rlx_npz_t *out_npz, rlx_diag_t *diag)
{
    bool bare = bytes >= 6 && memcmp(data, "\x93NUMPY", 6) == 0;
    rlx_npz_t npz = {0};
    rlx_status_t status = bare ? npy_file_parse(data, bytes, &npz, diag) : npz_archive_parse(data, bytes, &npz, diag);

    if (status != RLX_OK)
        rlx_npz_fini(&npz);
    else
        *out_npz = npz;
    return status;
}

rlx_status_t rlx_npz_read(const char *path, rlx_npz_t *out_npz, rlx_diag_t *diag)
{
    void *data;
    size_t bytes;
    rlx_status_t status;

    RLX_TRY(rlx_file_read(path, RLX_NPZ_BYTES_MAX, &data, &bytes, diag));
    status = rlx_npz_parse(data, bytes, out_npz, diag);
    free(data);
    if (status != RLX_OK && diag != NULL && diag->where[0] != '\0') {
        char where[sizeof diag->where];

        memcpy(where, diag->where, sizeof where);
        diag->where[0] = '\0';
        return rlx_diag_at(diag, "%s: %s", path, where);
    }
    return status == RLX_OK ? RLX_OK : rlx_diag_at(diag, "%s", path);
}
