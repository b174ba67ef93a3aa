#include "cli/custom_code.h"

#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/file.h"

#define SOURCE_BYTES_MAX ((size_t)16 << 20)
#define CODE_ALIGNMENT 4096

rlx_status_t rlx_compile_job_custom(rlx_compile_job_t *job, const char *text, rlx_diag_t *diag)
{
    const char *equals = strchr(text, '=');
    rlx_custom_file_t file = {0};
    int at = job->n_custom;

    if (equals == NULL || equals == text || equals[1] == '\0')
        return rlx_fail(diag, RLX_E_USAGE, "--custom: '%s' is not NAME=FILE, as in physics_update=physics.c", text);
    if ((size_t)(equals - text) >= sizeof file.name)
        return rlx_fail(diag, RLX_E_USAGE, "--custom: the name in '%s' has more than %d bytes", text, (int)sizeof file.name - 1);
    if (job->n_custom == RLX_CUSTOM_MAX)
        return rlx_fail(diag, RLX_E_USAGE, "--custom: a bundle takes at most %d functions", RLX_CUSTOM_MAX);
    memcpy(file.name, text, (size_t)(equals - text));
    file.path = equals + 1;
    RLX_TRY(rlx_custom_source_check(&(rlx_custom_source_t){file.name, file.path}, diag));
    for (; at > 0 && strcmp(job->custom[at - 1].name, file.name) >= 0; at--) { /* by name: the order of the words must not decide bytes */
        if (strcmp(job->custom[at - 1].name, file.name) == 0)
            return rlx_fail(diag, RLX_E_USAGE, "--custom: '%s' is given twice", file.name);
        job->custom[at] = job->custom[at - 1];
    }
    job->custom[at] = file;
    job->n_custom++;
    return RLX_OK;
}

rlx_status_t rlx_compile_job_custom_record(rlx_compile_job_t *job, rlx_diag_t *diag)
{
    uint8_t digest[RLX_BLAKE2B_BYTES];
    char hex[2 * RLX_BLAKE2B_BYTES + 1];
    size_t bytes;
    void *data;

    for (int i = 0; i < job->n_custom; i++) {
        rlx_custom_file_t *file = &job->custom[i];

        RLX_TRY(rlx_file_read(file->path, SOURCE_BYTES_MAX, &data, &bytes, diag));
        rlx_digest_blake2b(data, bytes, digest);
        rlx_digest_hex(digest, sizeof digest, hex);
        free(data);
        snprintf(file->record, sizeof file->record, "%s=%s", file->name, hex);
        RLX_TRY(rlx_compile_job_record(job, "custom", file->record, diag));
    }
    return RLX_OK;
}

static void set_fill(const rlx_compile_job_t *job, const rlx_custom_code_t *code, rlx_custom_set_t *out_set)
{
    out_set->n = job->n_custom;
    for (int i = 0; i < job->n_custom; i++)
        out_set->functions[i] = (rlx_custom_function_t){job->custom[i].name, code->split[i]};
}

rlx_status_t rlx_custom_build(const rlx_compile_job_t *job, rlx_custom_built_t *out_built, rlx_diag_t *diag)
{
    rlx_custom_source_t sources[RLX_CUSTOM_MAX];
    const rlx_kernel_image_t *images;
    rlx_custom_built_t built = {0};
    int n_images;

    images = rlx_kernel_images(&n_images);
    for (int i = 0; i < job->n_custom; i++)
        sources[i] = (rlx_custom_source_t){job->custom[i].name, job->custom[i].path};
    for (int i = 0; i < n_images && i < RLX_CUSTOM_ISAS_MAX && job->n_custom > 0; i++) {
        if (rlx_custom_compile(sources, job->n_custom, images[i].isa, &built.codes[i], diag) != RLX_OK) {
            rlx_custom_built_fini(&built);
            return diag->status;
        }
        built.n_codes++;
    }
    if (built.n_codes > 0)
        set_fill(job, &built.codes[0], &built.set);
    *out_built = built;
    return RLX_OK;
}

void rlx_custom_built_fini(rlx_custom_built_t *built)
{
    for (int i = 0; i < built->n_codes; i++)
        rlx_custom_code_fini(&built->codes[i]);
    built->n_codes = 0;
}

rlx_status_t rlx_custom_image_extend(const rlx_custom_built_t *built, int index, rlx_bundle_image_t *image, rlx_bundle_entry_t *entries,
                                     void **out_owned, rlx_diag_t *diag)
{
    size_t start = (image->bytes + CODE_ALIGNMENT - 1) / CODE_ALIGNMENT * CODE_ALIGNMENT;
    const rlx_custom_code_t *code = &built->codes[index];
    char *data;

    *out_owned = NULL;
    if (index >= built->n_codes)
        return RLX_OK;
    data = calloc(1, start + code->bytes);
    if (data == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    memcpy(data, image->data, image->bytes);
    memcpy(data + start, code->data, code->bytes);
    for (int i = 0; i < built->set.n; i++)
        entries[image->n_entries++] = (rlx_bundle_entry_t){(uint32_t)(RLX_CUSTOM_FIRST + i), (uint32_t)(start + code->entry[i])};
    image->data = *out_owned = data;
    image->bytes = start + code->bytes;
    return RLX_OK;
}
