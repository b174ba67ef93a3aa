/* --target c: the program and its kernels as C, complete in one folder. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "target/custom_files.h"
#include "target/folder_c.h"
#include "target/source_files.h"

#define NAME_MAX_BYTES 64

static rlx_status_t kernels_add(const rlx_frozen_t *frozen, rlx_file_set_t *set, rlx_diag_t *diag)
{
    const rlx_model_t *model = frozen->model;

    RLX_TRY(rlx_source_add(set, "kernels/abi.h", diag));
    for (uint64_t i = 0; i < model->header->steps.count; i++)
        if (frozen->plan->steps[i].tiles > 0 && model->steps[i].kernel < RLX_CUSTOM_FIRST)
            RLX_TRY(rlx_source_kernel_add(set, model->steps[i].kernel, diag));
    return RLX_OK;
}

/* "kernel.o fma.o kernels/gemm.o": everything in the set that is compiled. */
static void objects_list(const rlx_file_set_t *set, bool freestanding, rlx_text_t *out)
{
    rlx_text_puts(out, freestanding ? "kernel.o weights.o fma.o memory.o" : "kernel.o weights.o fma.o");
    for (int i = 0; i < set->count; i++) {
        const char *path = set->entries[i].path;
        size_t n = strlen(path);

        if ((strncmp(path, "kernels/", 8) == 0 || strncmp(path, "custom", 6) == 0) && path[n - 1] == 'c')
            rlx_text_printf(out, " \\\n\t%.*s.o", (int)n - 2, path);
    }
}

static void sample_list(const rlx_frozen_t *frozen, rlx_text_t *out)
{
    for (uint64_t i = 0; i < frozen->model->header->inputs.count; i++)
        rlx_text_printf(out, "%sin%" PRIu64 ".npy", i > 0 ? " " : "", i);
    for (uint64_t i = 0; i < frozen->model->header->outputs.count; i++)
        rlx_text_printf(out, " out%" PRIu64 ".npy", i);
}

typedef struct folder {
    const rlx_target_job_t *job;
    const rlx_emit_c_t *emit;
    rlx_file_set_t *set;
    rlx_text_t objects, sample, tensors;
} folder_t;

static rlx_status_t templates_add(const folder_t *folder, rlx_diag_t *diag)
{
    const rlx_frozen_t *frozen = folder->emit->frozen;
    bool bare = folder->job->freestanding;
    char weights[32], arena[32];
    const rlx_template_word_t words[] = {
        {"NAME", folder->emit->name},       {"MACRO", folder->emit->macro},      {"MODEL", folder->job->model},
        {"COMPILER", folder->job->compiler}, {"WEIGHTS_BYTES", weights},          {"ARENA_BYTES", arena},
        {"OBJECTS", folder->objects.data},  {"SAMPLE", folder->sample.data},     {"INPUTS", folder->tensors.data},
        {"REPORT", folder->job->report},    {"ALIGN_POWER", bare ? "6" : "12"},  {NULL, NULL},
    };

    snprintf(weights, sizeof weights, "%zu", frozen->constants_bytes);
    snprintf(arena, sizeof arena, "%" PRId64, frozen->arena_bytes);
    RLX_TRY(rlx_source_template_add(folder->set, "weights.S", "weights.S", words, diag));
    RLX_TRY(rlx_source_template_add(folder->set, "weights_embed.c", "weights_embed.c", words, diag));
    RLX_TRY(rlx_source_template_add(folder->set, "fma.c", "fma.c", words, diag));
    if (bare) {
        RLX_TRY(rlx_source_template_add(folder->set, "memory.c", "memory.c", words, diag));
        RLX_TRY(rlx_source_template_add(folder->set, "string.h", "libc/string.h", words, diag));
        RLX_TRY(rlx_source_template_add(folder->set, "Makefile.freestanding", "Makefile", words, diag));
        return rlx_source_template_add(folder->set, "README.freestanding.md", "README.md", words, diag);
    }
    RLX_TRY(rlx_source_template_add(folder->set, "main.c", "main.c", words, diag));
    RLX_TRY(rlx_source_template_add(folder->set, "Makefile", "Makefile", words, diag));
    return rlx_source_template_add(folder->set, "README.md", "README.md", words, diag);
}

static void text_end(rlx_text_t *text) { rlx_text_add(text, "", 1); }

rlx_status_t rlx_folder_c_make(const rlx_target_job_t *job, const rlx_frozen_t *frozen, rlx_file_set_t *out_set, rlx_diag_t *diag)
{
    char name[NAME_MAX_BYTES], macro[NAME_MAX_BYTES];
    const rlx_emit_c_t emit = {frozen, name, macro, job->model, job->compiler, job->freestanding};
    folder_t folder = {.job = job, .emit = &emit, .set = out_set};
    rlx_status_t status;

    rlx_emit_c_name(job->stem, sizeof name, name, macro);
    RLX_TRY(kernels_add(frozen, out_set, diag));
    RLX_TRY(rlx_custom_files_add(job->custom, job->n_custom, out_set, diag));
    rlx_emit_c_header(&emit, rlx_file_set_add(out_set, "kernel.h"));
    rlx_emit_c_source(&emit, rlx_file_set_add(out_set, "kernel.c"));
    rlx_file_set_borrow(out_set, "weights.bin", frozen->constants, frozen->constants_bytes);
    rlx_text_init(&folder.objects, RLX_FILE_TEXT_MAX);
    rlx_text_init(&folder.sample, RLX_FILE_TEXT_MAX);
    rlx_text_init(&folder.tensors, RLX_FILE_TEXT_MAX);
    objects_list(out_set, job->freestanding, &folder.objects);
    sample_list(frozen, &folder.sample);
    rlx_emit_c_tensors(&emit, &folder.tensors);
    text_end(&folder.objects);
    text_end(&folder.sample);
    text_end(&folder.tensors);
    status = folder.objects.full || folder.sample.full || folder.tensors.full ? rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for the output")
                                                                              : templates_add(&folder, diag);
    rlx_text_fini(&folder.objects);
    rlx_text_fini(&folder.sample);
    rlx_text_fini(&folder.tensors);
    return status;
}

static rlx_status_t make(const rlx_target_job_t *job, rlx_target_figures_t *out_figures, rlx_diag_t *diag)
{
    rlx_file_set_t *set = calloc(1, sizeof *set);
    rlx_frozen_t frozen;
    rlx_status_t status;

    if (set == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for the output");
    status = rlx_frozen_make(job->program, job->constants, job->constants_bytes, &frozen, diag);
    if (status == RLX_OK) {
        status = rlx_folder_c_make(job, &frozen, set, diag);
        if (status == RLX_OK)
            status = rlx_file_set_write(set, job->folder, diag);
        *out_figures = (rlx_target_figures_t){frozen.arena_bytes, (int64_t)frozen.constants_bytes, set->count};
        rlx_frozen_fini(&frozen);
    }
    rlx_file_set_fini(set);
    free(set);
    return status;
}

const rlx_target_t rlx_target_c = {"c", "portable C17 in one folder", make};
