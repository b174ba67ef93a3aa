#include "target/custom.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "target/custom_files.h"
#include "target/elf_image.h"
#include "target/source_files.h"
#include "target/toolchain.h"

/* As the kernels are compiled (scripts/kernel_image.py): no contraction, so that every machine computes the same. */
#define COMMON "-O3 -ffp-contract=off -fno-math-errno -fno-jump-tables -fno-stack-protector -fno-asynchronous-unwind-tables " \
               "-fcf-protection=none -fno-common -I."
#define CLANG "clang-19 -std=gnu17 -ffreestanding -fPIC -fvisibility=hidden -fno-plt -fno-unwind-tables -fno-ident -w " COMMON
#define FORTRAN "gfortran -fPIE -fno-exceptions -fno-frontend-optimize -fno-ident -w " COMMON
#define LINK "ld.lld-19 -pie --no-dynamic-linker -z norelro -z nognustack --build-id=none -Bsymbolic --no-rosegment --orphan-handling=place " \
             "--unresolved-symbols=ignore-all -T image.ld -o image.elf"

#define OBJECT_BYTES_MAX ((size_t)16 << 20)

typedef struct custom_job {
    const rlx_custom_source_t *sources;
    int n;
    bool v4;
    char folder[4096];
} custom_job_t;

static bool ends(const char *text, const char *ending)
{
    size_t n = strlen(text), k = strlen(ending);

    return n > k && strcmp(text + n - k, ending) == 0;
}

static bool is_identifier(const char *name)
{
    if (!isalpha((unsigned char)name[0]) && name[0] != '_')
        return false;
    for (; *name != '\0'; name++)
        if (!isalnum((unsigned char)*name) && *name != '_')
            return false;
    return true;
}

rlx_status_t rlx_custom_source_check(const rlx_custom_source_t *source, rlx_diag_t *diag)
{
    if (!is_identifier(source->name) || strlen(source->name) > 200)
        return rlx_fail(diag, RLX_E_USAGE, "--custom: '%s' is no name of a C function", source->name);
    if (ends(source->path, ".so") || strstr(source->path, ".so.") != NULL) {
        rlx_fail(diag, RLX_E_USAGE, "--custom: %s is a shared object: what it loads and runs is decided by each machine, not by the bundle", source->path);
        return rlx_diag_hint(diag, "Give the source, --custom %s=FILE.c or FILE.f90; or the object that it was linked from, %s=FILE.o with --key.",
                             source->name, source->name);
    }
    if (!ends(source->path, ".c") && !rlx_custom_is_fortran(source->path) && !rlx_custom_is_object(source->path))
        return rlx_fail(diag, RLX_E_USAGE, "--custom: %s is neither C (.c) nor Fortran (.f90, .f95, .f03, .f08, .f) nor an object (.o)", source->path);
    return RLX_OK;
}

bool rlx_custom_is_object(const char *path) { return ends(path, ".o"); }

static rlx_status_t files_write(const custom_job_t *job, rlx_file_set_t *set, rlx_diag_t *diag)
{
    const rlx_template_word_t none[] = {{NULL, NULL}};

    RLX_TRY(rlx_custom_glue_add(job->sources, job->n, set, diag));
    RLX_TRY(rlx_source_template_add(set, "memory.c", "memory.c", none, diag));
    RLX_TRY(rlx_source_template_add(set, "rlx_custom.inc", "rlx_custom.inc", none, diag));
    rlx_text_puts(rlx_file_set_add(set, "image.ld"), rlx_elf_image_script);
    return rlx_file_set_write(set, job->folder, diag);
}

static void isa_words(const custom_job_t *job, bool fortran, rlx_tool_t *tool)
{
    rlx_tool_words(tool, job->v4 ? "-march=x86-64-v4 -mprefer-vector-width=512" : "-march=x86-64-v3");
    if (!fortran)
        rlx_tool_word(tool, "--target=x86_64-pc-linux-gnu");
}

/* An object: the very file, under the name that the link looks for. */
static rlx_status_t object_copy(const custom_job_t *job, int index, rlx_diag_t *diag)
{
    char path[4200];
    size_t bytes;
    void *data;
    rlx_status_t status;

    snprintf(path, sizeof path, "%s/user%d.o", job->folder, index);
    RLX_TRY(rlx_file_read(job->sources[index].path, OBJECT_BYTES_MAX, &data, &bytes, diag));
    status = bytes > 4 && memcmp(data, "\177ELF", 4) == 0
                 ? rlx_file_write(path, data, bytes, diag)
                 : rlx_fail(diag, RLX_E_CUSTOM_CODE, "%s is no ELF object: cc -c makes one", job->sources[index].path);
    free(data);
    return status;
}

static rlx_status_t source_compile(const custom_job_t *job, int index, rlx_diag_t *diag)
{
    const rlx_custom_source_t *source = &job->sources[index];
    bool fortran = rlx_custom_is_fortran(source->path);
    char *path = realpath(source->path, NULL), *slash;
    rlx_tool_t tool = {0};
    rlx_status_t status;

    if (path == NULL)
        return rlx_fail(diag, RLX_E_FILE_OPEN, "%s: %s", source->path, strerror(errno));
    slash = strrchr(path, '/');
    rlx_tool_words(&tool, fortran ? FORTRAN : CLANG);
    isa_words(job, fortran, &tool);
    rlx_tool_word(&tool, "-ffile-prefix-map=%.*s=.", (int)(slash - path), path); /* __FILE__ must not decide bytes */
    rlx_tool_words(&tool, "-c -o");
    rlx_tool_word(&tool, "user%d.o", index);
    rlx_tool_word(&tool, "%s", path);
    free(path);
    status = rlx_tool_run(&tool, job->folder, diag);
    if (status != RLX_OK && fortran)
        rlx_diag_hint(diag, "Fortran sources need gfortran (apt-get install gfortran).");
    return status;
}

/* An earlier source that is the same file; its object serves both. */
static bool compiled_before(const custom_job_t *job, int index)
{
    for (int i = 0; i < index; i++)
        if (strcmp(job->sources[i].path, job->sources[index].path) == 0)
            return true;
    return false;
}

static rlx_status_t image_link(const custom_job_t *job, rlx_diag_t *diag)
{
    rlx_tool_t compile = {0}, link = {0};

    rlx_tool_words(&compile, CLANG);
    isa_words(job, false, &compile);
    rlx_tool_words(&compile, "-c custom.c memory.c");
    RLX_TRY(rlx_tool_run(&compile, job->folder, diag));
    rlx_tool_words(&link, LINK);
    rlx_tool_words(&link, "custom.o memory.o");
    for (int i = 0; i < job->n; i++) {
        if (compiled_before(job, i))
            continue;
        RLX_TRY(rlx_custom_is_object(job->sources[i].path) ? object_copy(job, i, diag) : source_compile(job, i, diag));
        rlx_tool_word(&link, "user%d.o", i);
    }
    return rlx_tool_run(&link, job->folder, diag);
}

static rlx_status_t undefined_refuse(const custom_job_t *job, const rlx_elf_t *elf, rlx_diag_t *diag)
{
    char names[512];
    uint64_t address;

    for (int i = 0; i < job->n; i++)
        if (!rlx_elf_symbol(elf, job->sources[i].name, &address)) {
            rlx_fail(diag, RLX_E_CUSTOM_CODE, "%s does not define the function '%s'", job->sources[i].path, job->sources[i].name);
            return rlx_diag_hint(diag, "The function has the custom_op's name and is not static; in Fortran: bind(C, name=\"%s\").",
                                 job->sources[i].name);
        }
    rlx_elf_undefined(elf, names, sizeof names);
    if (names[0] == '\0')
        return RLX_OK;
    rlx_fail(diag, RLX_E_CUSTOM_CODE, "%s%s calls what is not in it: %s", job->sources[0].path, job->n > 1 ? " or another source" : "", names);
    return rlx_diag_hint(diag, "Custom code is linked into the bundle without any library: no input or output, no allocation, no libm or "
                               "libgfortran. In C, __builtin_sqrt and the like need none.");
}

static rlx_status_t entries_find(const custom_job_t *job, const rlx_elf_t *elf, rlx_custom_code_t *out_code, rlx_diag_t *diag)
{
    char name[256];
    uint64_t address;

    for (int i = 0; i < job->n; i++) {
        snprintf(name, sizeof name, "rlx_custom_entry_%d", i);
        if (!rlx_elf_symbol(elf, name, &address) || address >= out_code->bytes)
            return rlx_fail(diag, RLX_E_INTERNAL, "the linked code lacks %s", name);
        out_code->entry[i] = (uint32_t)address;
        snprintf(name, sizeof name, "rlx_custom_split_%s", job->sources[i].name);
        out_code->split[i] = rlx_elf_symbol(elf, name, &address);
    }
    return RLX_OK;
}

static rlx_status_t image_take(const custom_job_t *job, rlx_custom_code_t *out_code, rlx_diag_t *diag)
{
    char path[4200];
    rlx_bytes_t file;
    rlx_elf_t elf;
    rlx_status_t status;

    snprintf(path, sizeof path, "%s/image.elf", job->folder);
    RLX_TRY(rlx_file_map(path, &file, diag));
    elf = (rlx_elf_t){file.data, file.bytes};
    status = rlx_elf_check(&elf, diag);
    if (status == RLX_OK)
        status = undefined_refuse(job, &elf, diag);
    if (status == RLX_OK && rlx_elf_flatten(&elf, &out_code->data, &out_code->bytes, diag) != RLX_OK)
        status = rlx_diag_at(diag, "%s", job->sources[0].path);
    if (status == RLX_OK)
        status = entries_find(job, &elf, out_code, diag);
    rlx_file_unmap(&file);
    return status;
}

static rlx_status_t folder_make(custom_job_t *job, rlx_diag_t *diag)
{
    const char *parent = getenv("TMPDIR");

    snprintf(job->folder, sizeof job->folder, "%s/rlx-custom-XXXXXX", parent != NULL && parent[0] == '/' ? parent : "/tmp");
    return mkdtemp(job->folder) != NULL ? RLX_OK : rlx_fail(diag, RLX_E_FILE_WRITE, "cannot make the folder %s: %s", job->folder, strerror(errno));
}

rlx_status_t rlx_custom_compile(const rlx_custom_source_t *sources, int n, const char *isa, rlx_custom_code_t *out_code, rlx_diag_t *diag)
{
    custom_job_t job = {.sources = sources, .n = n, .v4 = strcmp(isa, "x86-64-v4") == 0};
    rlx_file_set_t *set = calloc(1, sizeof *set);
    rlx_custom_code_t code = {0};
    rlx_status_t status;

    if (set == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    status = folder_make(&job, diag);
    if (status == RLX_OK) {
        status = files_write(&job, set, diag);
        if (status == RLX_OK)
            status = image_link(&job, diag);
        if (status == RLX_OK)
            status = image_take(&job, &code, diag);
        rlx_tool_folder_remove(job.folder);
    }
    rlx_file_set_fini(set);
    free(set);
    if (status != RLX_OK)
        rlx_custom_code_fini(&code);
    else
        *out_code = code;
    return status;
}

void rlx_custom_code_fini(rlx_custom_code_t *code)
{
    free(code->data);
    *code = (rlx_custom_code_t){0};
}
