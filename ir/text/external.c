/* Tensors of files beside the text: .safetensors, .npy and .npz (ir/text/builder.h). Paths are relative and stay below the text's folder. A file
 * is opened once; of a .safetensors only the header and the tensors that are asked for are read. */
#include "ir/text/external.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/digest.h"
#include "base/npz.h"
#include "base/safetensors.h"
#include "ir/text/builder.h"

#define FILES_MAX 1024

typedef struct rlx_text_file {
    char *location;
    int fd;
    bool whole; /* .npy or .npz: read as a whole */
    rlx_safetensors_t tensors;
    void *header; /* the names of `tensors` may point into it */
    rlx_npz_t arrays;
} rlx_text_file_t;

struct rlx_text_files {
    int dir_fd;
    int n_files;
    rlx_text_file_t files[FILES_MAX];
};

rlx_text_files_t *rlx_text_files_create(const char *path)
{
    rlx_text_files_t *files = calloc(1, sizeof *files);
    const char *slash = strrchr(path, '/');
    char *folder = slash == NULL ? strdup(".") : strndup(path, (size_t)(slash - path) + 1);

    if (files == NULL || folder == NULL)
        abort();
    files->dir_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    free(folder);
    return files;
}

void rlx_text_files_destroy(rlx_text_files_t *files)
{
    for (int i = 0; i < files->n_files; i++) {
        rlx_text_file_t *file = &files->files[i];

        rlx_safetensors_fini(&file->tensors);
        rlx_npz_fini(&file->arrays);
        free(file->header);
        free(file->location);
        close(file->fd);
    }
    if (files->dir_fd >= 0)
        close(files->dir_fd);
    free(files);
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), k = strlen(end);

    return n > k && strcmp(text + n - k, end) == 0;
}

static rlx_status_t header_read(rlx_text_file_t *file, uint64_t bytes, rlx_diag_t *diag)
{
    char first[8];
    size_t wanted;

    if (bytes < sizeof first)
        return rlx_fail(diag, RLX_E_SAFETENSORS, "'%s' is no .safetensors file: it has %" PRIu64 " bytes", file->location, bytes);
    RLX_TRY(rlx_beneath_read(file->fd, 0, first, sizeof first, RLX_E_CONST_FILE, "file", diag));
    RLX_TRY(rlx_safetensors_header_bytes(first, sizeof first, bytes, &wanted, diag));
    file->header = malloc(wanted + 1);
    if (file->header == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for the header of '%s'", file->location);
    RLX_TRY(rlx_beneath_read(file->fd, 0, file->header, wanted, RLX_E_CONST_FILE, "file", diag));
    return rlx_safetensors_parse_header(file->header, wanted, bytes, &file->tensors, diag);
}

static rlx_status_t arrays_read(rlx_text_file_t *file, uint64_t bytes, rlx_diag_t *diag)
{
    rlx_status_t status;
    void *data;

    if (bytes > RLX_NPZ_BYTES_MAX)
        return rlx_fail(diag, RLX_E_CONST_FILE, "'%s' is too large", file->location);
    data = malloc((size_t)bytes + 1);
    if (data == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for '%s'", file->location);
    status = rlx_beneath_read(file->fd, 0, data, (size_t)bytes, RLX_E_CONST_FILE, "file", diag);
    if (status == RLX_OK)
        status = rlx_npz_parse(data, (size_t)bytes, &file->arrays, diag);
    free(data);
    return status;
}

static rlx_status_t file_open(rlx_text_files_t *files, const char *location, rlx_text_file_t **out, rlx_diag_t *diag)
{
    rlx_text_file_t *file = &files->files[files->n_files];
    rlx_status_t status;
    uint64_t bytes;

    for (int i = 0; i < files->n_files; i++)
        if (strcmp(files->files[i].location, location) == 0) {
            *out = &files->files[i];
            return RLX_OK;
        }
    if (files->n_files == FILES_MAX)
        return rlx_fail(diag, RLX_E_TEXT_LIMIT, "the text names more than %d files", FILES_MAX);
    if (files->dir_fd < 0)
        return rlx_fail(diag, RLX_E_CONST_FILE, "there is no folder for '%s'", location);
    RLX_TRY(rlx_beneath_open(files->dir_fd, location, RLX_E_CONST_FILE, "file", &file->fd, &bytes, diag));
    file->location = strdup(location);
    if (file->location == NULL)
        abort();
    file->whole = !ends_with(location, ".safetensors");
    status = file->whole ? arrays_read(file, bytes, diag) : header_read(file, bytes, diag);
    files->n_files++; /* broken or not: closed with the others */
    *out = file;
    return status;
}

static rlx_status_t tensor_take(rlx_graph_t *graph, const rlx_text_file_t *file, const char *key, rlx_tensor_t *out, int64_t *out_bytes,
                                rlx_diag_t *diag)
{
    const rlx_safetensor_t *tensor = key != NULL && !file->whole ? rlx_safetensors_find(&file->tensors, key) : NULL;
    const char *name = key == NULL || ends_with(file->location, ".npy") ? "" : key; /* the array of a .npy has no name */
    const rlx_tensor_t *array = file->whole ? rlx_npz_find(&file->arrays, name) : NULL;
    int64_t count;

    if (tensor == NULL && array == NULL)
        return rlx_fail(diag, RLX_E_CONST_FILE, "'%s' has no tensor '%s'", file->location, key != NULL ? key : "");
    *out = tensor != NULL ? tensor->tensor : *array;
    if (rlx_dtype_size(out->dtype) == 0)
        return rlx_fail(diag, RLX_E_CONST_FILE, "'%s' in '%s' has a type that RLX has not (%s)", key, file->location, tensor->type);
    if (!rlx_dims_count(out->dims, out->rank, &count) || !rlx_size_mul(count, (int64_t)rlx_dtype_size(out->dtype), out_bytes) ||
        *out_bytes > ((int64_t)16 << 30))
        return rlx_fail(diag, RLX_E_CONST_FILE, "'%s' in '%s' is too large", key != NULL ? key : "", file->location);
    out->data = rlx_graph_alloc(graph, *out_bytes < 64 ? 64 : (size_t)*out_bytes);
    if (array != NULL)
        memcpy(out->data, array->data, (size_t)*out_bytes);
    else
        RLX_TRY(rlx_beneath_read(file->fd, tensor->offset, out->data, (size_t)*out_bytes, RLX_E_CONST_FILE, "file", diag));
    return RLX_OK;
}

static rlx_status_t type_check(const rlx_syntax_external_t *external, const rlx_tensor_t *tensor, rlx_diag_t *diag)
{
    bool same = external->dtype == RLX_DTYPE_NONE || (external->dtype == tensor->dtype && external->rank == tensor->rank);

    for (int i = 0; external->dtype != RLX_DTYPE_NONE && same && i < tensor->rank; i++)
        same = external->dims[i] == tensor->dims[i];
    return same ? RLX_OK : rlx_fail(diag, RLX_E_CONST_FILE, "the tensor in '%s' has another type or shape than the text says", external->file);
}

static rlx_status_t digest_check(const rlx_syntax_external_t *external, const rlx_tensor_t *tensor, int64_t bytes, rlx_diag_t *diag)
{
    uint64_t digest[2];
    char hex[33];

    if (external->digest == NULL)
        return RLX_OK;
    rlx_digest_xxh3(tensor->data, (size_t)bytes, digest);
    snprintf(hex, sizeof hex, "%016" PRIx64 "%016" PRIx64, digest[1], digest[0]);
    if (strcmp(hex, external->digest) == 0)
        return RLX_OK;
    rlx_fail(diag, RLX_E_CONST_FILE, "the tensor in '%s' has changed: its bytes have the digest %s", external->file, hex);
    return rlx_diag_hint(diag, "Take the file that was written with the text, or dump the model again.");
}

static rlx_status_t load(rlx_text_builder_t *builder, const rlx_syntax_external_t *external, rlx_tensor_t *out, rlx_diag_t *diag)
{
    rlx_text_file_t *file;
    int64_t bytes;

    if (external->file == NULL)
        return rlx_fail(diag, RLX_E_CONST_FILE, "the constant's data is not in this text, which a bundle keeps for reading only");
    RLX_TRY(file_open(builder->files, external->file, &file, diag));
    RLX_TRY(tensor_take(builder->graph, file, external->key != NULL ? external->key : external->digest, out, &bytes, diag));
    RLX_TRY(type_check(external, out, diag));
    return digest_check(external, out, bytes, diag);
}

bool rlx_text_external_load(rlx_text_builder_t *builder, const rlx_syntax_value_t *value, rlx_tensor_t *out)
{
    rlx_diag_t diag = {0};

    if (load(builder, &value->external, out, &diag) == RLX_OK)
        return true;
    diag.where[0] = '\0';
    rlx_report_diag(builder->findings, &diag, value->span);
    return false;
}
