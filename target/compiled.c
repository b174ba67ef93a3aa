#include "target/compiled.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target/source_files.h"

#define CLANG "clang-19"
#define FLAGS "-std=gnu17 -O2 -ffp-contract=off -fno-math-errno -fno-strict-aliasing -ffunction-sections -fdata-sections -ffreestanding " \
              "-nostdlibinc -fno-ident -fno-stack-protector -fno-asynchronous-unwind-tables -Wno-psabi -Wno-pass-failed -I. -Ilibc"

rlx_status_t rlx_compiled_c_begin(const rlx_target_job_t *job, rlx_compiled_c_t *out, rlx_diag_t *diag)
{
    const rlx_template_word_t none[] = {{NULL, NULL}};
    rlx_compiled_c_t compiled = {.job = job, .set = calloc(1, sizeof *compiled.set)};
    rlx_status_t status;

    if (compiled.set == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for the output");
    status = rlx_frozen_make(job->program, job->constants, job->constants_bytes, &compiled.frozen, diag);
    if (status != RLX_OK) {
        free(compiled.set);
        return status;
    }
    snprintf(compiled.work, sizeof compiled.work, "%s/.work", job->folder);
    rlx_tool_folder_remove(compiled.work);
    status = rlx_object_cache_open(job->objects, CLANG, &compiled.cache, diag);
    if (status == RLX_OK)
        status = rlx_folder_c_make(job, &compiled.frozen, compiled.set, diag);
    if (status == RLX_OK && !job->freestanding)
        status = rlx_source_template_add(compiled.set, "string.h", "libc/string.h", none, diag);
    if (status == RLX_OK)
        status = rlx_file_set_write(compiled.set, compiled.work, diag);
    *out = compiled;
    if (status != RLX_OK)
        rlx_compiled_c_end(out, NULL);
    return status;
}

void rlx_compiled_c_end(rlx_compiled_c_t *compiled, rlx_target_figures_t *out_figures)
{
    if (out_figures != NULL) {
        out_figures->arena_bytes = compiled->frozen.arena_bytes;
        out_figures->constants_bytes = (int64_t)compiled->frozen.constants_bytes;
    }
    rlx_tool_folder_remove(compiled->work);
    rlx_file_set_fini(compiled->set);
    free(compiled->set);
    rlx_frozen_fini(&compiled->frozen);
}

static bool listed(const char *list, const char *name)
{
    size_t n = strlen(name);

    for (const char *at = list; (at = strstr(at, name)) != NULL; at += n)
        if ((at == list || at[-1] == ',') && (at[n] == ',' || at[n] == '\0'))
            return true;
    return false;
}

/* Sources that the folder's own Makefile compiles, but the sample. */
static bool is_source(const char *path, const char *without, const char *more)
{
    size_t n = strlen(path);

    if (listed(more, path))
        return true;
    if (strcmp(path, "main.c") == 0 || strcmp(path, "weights_embed.c") == 0 || listed(without, path))
        return false;
    return n > 2 && path[n - 2] == '.' && (path[n - 1] == 'c' || path[n - 1] == 'S');
}

/* gemm.o of kernels/gemm.c: all objects lie side by side. */
static void object_name(const char *source, const char *ending, char out_name[96])
{
    const char *slash = strrchr(source, '/'), *name = slash != NULL ? slash + 1 : source;

    snprintf(out_name, 96, "%.*s%s", (int)strlen(name) - 2, name, ending);
}

static bool is_kernel(const char *path) { return strncmp(path, "kernels/", 8) == 0; }

static bool object_take(const rlx_compiled_c_t *compiled, const char *source, const char *flags, const char *ending)
{
    char name[96], path[4200];

    object_name(source, ending, name);
    snprintf(path, sizeof path, "%s/%s", compiled->work, name);
    return is_kernel(source) && rlx_object_cache_take(&compiled->cache, source, flags, path);
}

static void object_put(const rlx_compiled_c_t *compiled, const char *source, const char *flags, const char *ending)
{
    char name[96], path[4200];

    object_name(source, ending, name);
    snprintf(path, sizeof path, "%s/%s", compiled->work, name);
    if (is_kernel(source))
        rlx_object_cache_put(&compiled->cache, source, flags, path);
}

rlx_status_t rlx_compiled_c_clang(const rlx_compiled_c_t *compiled, const char *flags, const char *ending, const char *without, const char *more,
                                  rlx_diag_t *diag)
{
    const rlx_file_set_t *set = compiled->set;
    bool made[RLX_FILE_SET_MAX] = {0};
    char all[sizeof FLAGS + 512];
    rlx_tool_t tool = {0};

    snprintf(all, sizeof all, "%s %s%s -c", FLAGS, flags, strcmp(ending, ".bc") == 0 ? " -emit-llvm" : "");
    rlx_tool_word(&tool, CLANG);
    rlx_tool_words(&tool, all);
    for (int i = 0; i < set->count; i++) {
        made[i] = is_source(set->entries[i].path, without, more) && !object_take(compiled, set->entries[i].path, all, ending);
        if (made[i])
            rlx_tool_word(&tool, "%s", set->entries[i].path);
    }
    RLX_TRY(rlx_tool_run(&tool, compiled->work, diag));
    for (int i = 0; i < set->count; i++)
        if (made[i])
            object_put(compiled, set->entries[i].path, all, ending);
    return RLX_OK;
}

void rlx_compiled_c_objects(const rlx_compiled_c_t *compiled, const char *without, const char *more, const char *ending, rlx_tool_t *tool)
{
    char name[96];

    for (int i = 0; i < compiled->set->count; i++)
        if (is_source(compiled->set->entries[i].path, without, more)) {
            object_name(compiled->set->entries[i].path, ending, name);
            rlx_tool_word(tool, "%s", name);
        }
}

rlx_status_t rlx_compiled_c_take(const rlx_compiled_c_t *compiled, const char *name, const char *as, rlx_diag_t *diag)
{
    char from[4200], to[4200];

    snprintf(from, sizeof from, "%s/%s", compiled->work, name);
    snprintf(to, sizeof to, "%s/%s", compiled->job->folder, as);
    return rename(from, to) == 0 ? RLX_OK : rlx_fail(diag, RLX_E_FILE_WRITE, "cannot write %s: %s", to, strerror(errno));
}
