/* The write side of .npz: stored members, zip64 only where a size or an offset needs it, the date of 1 January 1980.
 *
 * Everything but the arrays' own bytes is laid out in one block of text first, so that the file is written from borrowed parts. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/file.h"
#include "base/npy.h"
#include "base/npz.h"

#define ZIP_DATE 0x0021u /* 1980-01-01 */
#define ZIP_UTF8 0x0800u
#define LIMIT32 0xffffffffull
#define MEMBER_TEXT_MAX (2 * (46 + 32 + RLX_NPZ_NAME_MAX + 4) + RLX_NPY_HEADER_MAX)

typedef struct npz_writer {
    uint8_t *text; /* headers of all members, then the directory */
    size_t used;
    uint64_t offset; /* in the file */
} npz_writer_t;

typedef struct npz_member {
    uint64_t offset, bytes;
    uint32_t crc;
} npz_member_t;

static void put(npz_writer_t *writer, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        writer->text[writer->used++] = (uint8_t)(value >> (8 * i));
    writer->offset += (uint64_t)bytes;
}

static void put_bytes(npz_writer_t *writer, const void *data, size_t bytes)
{
    memcpy(writer->text + writer->used, data, bytes);
    writer->used += bytes;
    writer->offset += bytes;
}

static uint64_t clamp32(uint64_t value) { return value < LIMIT32 ? value : LIMIT32; }

static size_t array_bytes(const rlx_tensor_t *tensor)
{
    int64_t count = 0;

    return rlx_dims_count(tensor->dims, tensor->rank, &count) ? (size_t)count * rlx_dtype_size(tensor->dtype) : 0;
}

/* The fields that local header and directory entry share, from "version needed" on. */
static void put_member_fields(npz_writer_t *writer, const npz_member_t *member, size_t name_bytes, size_t extra_bytes)
{
    put(writer, extra_bytes > 0 ? 45 : 20, 2);
    put(writer, ZIP_UTF8, 2);
    put(writer, 0, 2); /* stored */
    put(writer, 0, 2);
    put(writer, ZIP_DATE, 2);
    put(writer, member->crc, 4);
    put(writer, clamp32(member->bytes), 4);
    put(writer, clamp32(member->bytes), 4);
    put(writer, name_bytes, 2);
    put(writer, extra_bytes, 2);
}

static void put_local(npz_writer_t *writer, const rlx_npz_array_t *array, npz_member_t *member)
{
    char header[RLX_NPY_HEADER_MAX];
    size_t header_bytes = rlx_npy_header(&array->tensor, header), data_bytes = array_bytes(&array->tensor);
    size_t name_bytes = strlen(array->name);
    bool large;

    member->offset = writer->offset;
    member->bytes = header_bytes + data_bytes;
    member->crc = (uint32_t)crc32_z(crc32_z(0, (const Bytef *)header, header_bytes), array->tensor.data, data_bytes);
    if (data_bytes == 0)
        member->crc = (uint32_t)crc32_z(0, (const Bytef *)header, header_bytes);
    large = member->bytes >= LIMIT32;
    put_bytes(writer, "PK\3\4", 4);
    put_member_fields(writer, member, name_bytes + 4, large ? 20 : 0);
    put_bytes(writer, array->name, name_bytes);
    put_bytes(writer, ".npy", 4);
    if (large) {
        put(writer, 1, 2);
        put(writer, 16, 2);
        put(writer, member->bytes, 8);
        put(writer, member->bytes, 8);
    }
    put_bytes(writer, header, header_bytes);
    writer->offset += data_bytes;
}

static void put_entry(npz_writer_t *writer, const char *name, const npz_member_t *member)
{
    bool large = member->bytes >= LIMIT32, far = member->offset >= LIMIT32;
    size_t extra = (large ? 16 : 0) + (far ? 8 : 0), name_bytes = strlen(name);

    put_bytes(writer, "PK\1\2", 4);
    put(writer, 45, 2);
    put_member_fields(writer, member, name_bytes + 4, extra > 0 ? extra + 4 : 0);
    put(writer, 0, 6); /* comment length, disk, internal attributes */
    put(writer, 0, 4); /* external attributes */
    put(writer, clamp32(member->offset), 4);
    put_bytes(writer, name, name_bytes);
    put_bytes(writer, ".npy", 4);
    if (extra > 0) {
        put(writer, 1, 2);
        put(writer, extra, 2);
    }
    if (large) {
        put(writer, member->bytes, 8);
        put(writer, member->bytes, 8);
    }
    if (far)
        put(writer, member->offset, 8);
}

static void put_end(npz_writer_t *writer, int n_arrays, uint64_t start)
{
    uint64_t size = writer->offset - start, end64 = writer->offset;

    if (start >= LIMIT32) {
        put_bytes(writer, "PK\6\6", 4);
        put(writer, 44, 8);
        put(writer, 45, 2);
        put(writer, 45, 2);
        put(writer, 0, 8);
        put(writer, (uint64_t)n_arrays, 8);
        put(writer, (uint64_t)n_arrays, 8);
        put(writer, size, 8);
        put(writer, start, 8);
        put_bytes(writer, "PK\6\7", 4);
        put(writer, 0, 4);
        put(writer, end64, 8);
        put(writer, 1, 4);
    }
    put_bytes(writer, "PK\5\6", 4);
    put(writer, 0, 4);
    put(writer, (uint64_t)n_arrays, 2);
    put(writer, (uint64_t)n_arrays, 2);
    put(writer, size, 4);
    put(writer, clamp32(start), 4);
    put(writer, 0, 2);
}

static rlx_status_t arrays_check(const rlx_npz_array_t *arrays, int n_arrays, rlx_diag_t *diag)
{
    if (n_arrays > RLX_NPZ_ARRAYS_MAX)
        return rlx_fail(diag, RLX_E_NPZ, "%d arrays, the limit is %d", n_arrays, RLX_NPZ_ARRAYS_MAX);
    for (int i = 0; i < n_arrays; i++) {
        if (arrays[i].name[0] == '\0' || strlen(arrays[i].name) > RLX_NPZ_NAME_MAX)
            return rlx_fail(diag, RLX_E_NPZ, "array %d has an empty or too long name", i);
        for (int k = 0; k < i; k++)
            if (strcmp(arrays[i].name, arrays[k].name) == 0)
                return rlx_fail(diag, RLX_E_NPZ, "two arrays are named '%s'", arrays[i].name);
    }
    return RLX_OK;
}

rlx_status_t rlx_npz_write(const char *path, const rlx_npz_array_t *arrays, int n_arrays, rlx_diag_t *diag)
{
    npz_writer_t writer = {0};
    npz_member_t *members;
    rlx_bytes_t *parts;
    rlx_status_t status;
    size_t used = 0;
    uint64_t start;
    int n_parts = 0;

    RLX_TRY(arrays_check(arrays, n_arrays, diag));
    writer.text = malloc((size_t)n_arrays * MEMBER_TEXT_MAX + 128);
    members = calloc((size_t)n_arrays + 1, sizeof *members);
    parts = calloc(2 * (size_t)n_arrays + 1, sizeof *parts);
    if (writer.text == NULL || members == NULL || parts == NULL) {
        status = rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory writing %s", path);
        goto free_all;
    }
    for (int i = 0; i < n_arrays; i++) {
        put_local(&writer, &arrays[i], &members[i]);
        parts[n_parts++] = (rlx_bytes_t){writer.text + used, writer.used - used};
        parts[n_parts++] = (rlx_bytes_t){arrays[i].tensor.data, array_bytes(&arrays[i].tensor)};
        used = writer.used;
    }
    start = writer.offset;
    for (int i = 0; i < n_arrays; i++)
        put_entry(&writer, arrays[i].name, &members[i]);
    put_end(&writer, n_arrays, start);
    parts[n_parts++] = (rlx_bytes_t){writer.text + used, writer.used - used};
    status = rlx_file_write_parts(path, parts, n_parts, diag);
free_all:
    free(parts);
    free(members);
    free(writer.text);
    return status;
}
