/* Data of files beside the text, where it is computed with: whole arrays are read into the arena. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/closest.h"
#include "base/npz.h"
#include "base/safetensors.h"
#include "ir/module/evaluate.h"

#define FILE_MAX ((uint64_t)1 << 30) /* bytes of a file that is computed with */

static rlx_py_t *diag_refuse(rlx_evaluator_t *e, const rlx_diag_t *diag, rlx_span_t span)
{
    rlx_finding_hint(rlx_report(e->findings, RLX_E_CONST_FILE, span, "%s", diag->message), "%s",
                     diag->hint[0] != '\0'
                         ? diag->hint
                         : rlx_error_find((int)(diag->code == RLX_E_SAFETENSORS || diag->code == RLX_E_NPZ ? diag->code : RLX_E_CONST_FILE))->fix);
    return NULL;
}

static void *file_read(rlx_evaluator_t *e, const rlx_py_t *external, size_t *out_bytes)
{
    rlx_diag_t diag = {0};
    uint64_t bytes = 0;
    void *data = NULL;
    int fd;

    if (e->dir_fd < 0)
        rlx_fail(&diag, RLX_E_CONST_FILE, "there is no folder to read '%s' from", external->external.file);
    else if (rlx_beneath_open(e->dir_fd, external->external.file, RLX_E_CONST_FILE, "the file", &fd, &bytes, &diag) == RLX_OK) {
        if (bytes > FILE_MAX)
            rlx_fail(&diag, RLX_E_CONST_FILE, "'%s' has %llu bytes, too many to compute with", external->external.file, (unsigned long long)bytes);
        else if ((data = malloc((size_t)bytes + 1)) == NULL)
            rlx_fail(&diag, RLX_E_NO_MEMORY, "out of memory for %llu bytes", (unsigned long long)bytes);
        else
            rlx_beneath_read(fd, 0, data, (size_t)bytes, RLX_E_CONST_FILE, external->external.file, &diag);
        close(fd);
    }
    *out_bytes = (size_t)bytes;
    if (diag.code == RLX_E_NONE)
        return data;
    free(data);
    diag_refuse(e, &diag, external->span);
    return NULL;
}

static bool keep(rlx_evaluator_t *e, const rlx_tensor_t *from, rlx_span_t span, rlx_tensor_t *out)
{
    if (!rlx_array_make(e->syntax, from->dtype, from->rank, from->dims, out)) {
        rlx_py_array_fail(e, RLX_ARRAY_TOO_LARGE, span, from, NULL);
        return false;
    }
    memcpy(out->data, from->data, (size_t)rlx_array_count(from) * rlx_dtype_size(from->dtype));
    return true;
}

static bool key_refuse(rlx_evaluator_t *e, const rlx_py_t *external, const rlx_closest_t *closest)
{
    rlx_finding_t *finding =
        rlx_report(e->findings, RLX_E_CONST_FILE, external->span,
                   external->external.key != NULL ? "'%s' has no array '%s'" : "'%s' holds several arrays, and no key says which%s",
                   external->external.file, external->external.key != NULL ? external->external.key : "");

    if (closest->best != NULL)
        rlx_finding_hint(finding, "Did you mean '%s'?", closest->best);
    else
        rlx_finding_hint(finding, "Name one that is there: rlx.load(\"%s\", \"key\").", external->external.file);
    return false;
}

static bool safetensors_pick(rlx_evaluator_t *e, const rlx_py_t *external, const void *data, size_t bytes, rlx_tensor_t *out)
{
    const char *key = external->external.key;
    rlx_safetensors_t file;
    rlx_diag_t diag = {0};
    const rlx_safetensor_t *found;
    rlx_closest_t closest;
    bool good;

    if (rlx_safetensors_parse(data, bytes, &file, &diag) != RLX_OK)
        return diag_refuse(e, &diag, external->span) != NULL;
    rlx_closest_init(&closest, key != NULL ? key : "", key != NULL ? strlen(key) : 0);
    for (int i = 0; i < file.n_tensors; i++)
        rlx_closest_offer(&closest, file.tensors[i].name);
    found = key != NULL ? rlx_safetensors_find(&file, key) : file.n_tensors == 1 ? &file.tensors[0] : NULL;
    if (found == NULL)
        good = key_refuse(e, external, &closest);
    else if (found->tensor.dtype == RLX_DTYPE_NONE) {
        rlx_finding_hint(rlx_report(e->findings, RLX_E_CONST_FILE, external->span, "'%s' has elements of type %s", found->name, found->type),
                         "Convert it before.");
        good = false;
    } else
        good = keep(e, &found->tensor, external->span, out);
    rlx_safetensors_fini(&file);
    return good;
}

static bool npz_pick(rlx_evaluator_t *e, const rlx_py_t *external, const void *data, size_t bytes, rlx_tensor_t *out)
{
    const char *key = external->external.key;
    rlx_npz_t file;
    rlx_diag_t diag = {0};
    const rlx_tensor_t *found;
    rlx_closest_t closest;
    bool good;

    if (rlx_npz_parse(data, bytes, &file, &diag) != RLX_OK)
        return diag_refuse(e, &diag, external->span) != NULL;
    rlx_closest_init(&closest, key != NULL ? key : "", key != NULL ? strlen(key) : 0);
    for (int i = 0; i < file.n_arrays; i++)
        rlx_closest_offer(&closest, file.arrays[i].name);
    found = key != NULL ? rlx_npz_find(&file, key) : file.n_arrays == 1 ? &file.arrays[0].tensor : NULL;
    good = found != NULL ? keep(e, found, external->span, out) : key_refuse(e, external, &closest);
    rlx_npz_fini(&file);
    return good;
}

rlx_py_t *rlx_py_load(rlx_evaluator_t *e, const rlx_py_t *external)
{
    const char *name = external->external.file;
    size_t length = strlen(name), bytes;
    void *data = file_read(e, external, &bytes);
    rlx_tensor_t array;
    bool good;

    if (data == NULL)
        return NULL;
    if (length > 12 && strcmp(name + length - 12, ".safetensors") == 0)
        good = safetensors_pick(e, external, data, bytes, &array);
    else
        good = npz_pick(e, external, data, bytes, &array);
    free(data);
    return good ? rlx_py_array(e, &array, external->span) : NULL;
}
