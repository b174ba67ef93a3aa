/* Includes are found by reading lines that begin with #include and a quoted name. What is not there is left to the compiler, which knows whether
 * the line counts. */
#include "target/custom_files.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "target/source_files.h"

#define SOURCE_BYTES_MAX ((size_t)16 << 20)
#define DEPTH_MAX 16
#define OTHER_FILES_MAX 32 /* of a set, that are added after these */

rlx_status_t rlx_custom_glue_add(const rlx_custom_source_t *sources, int n, rlx_file_set_t *set, rlx_diag_t *diag)
{
    const rlx_template_word_t none[] = {{NULL, NULL}};
    rlx_template_word_t words[] = {{"FUNCTIONS", NULL}, {NULL, NULL}};
    rlx_text_t functions;
    rlx_status_t status;

    rlx_text_init(&functions, 1 << 16);
    for (int i = 0; i < n; i++)
        rlx_text_printf(&functions, "CUSTOM(%d, %s)\n", i, sources[i].name);
    rlx_text_add(&functions, "", 1);
    words[0].text = functions.data;
    status = functions.full ? rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory") : RLX_OK;
    if (status == RLX_OK)
        status = rlx_source_add(set, "kernels/abi.h", diag);
    if (status == RLX_OK)
        status = rlx_source_add(set, "kernels/params_custom.h", diag);
    if (status == RLX_OK)
        status = rlx_source_template_add(set, "custom.c", "custom.c", words, diag);
    if (status == RLX_OK)
        status = rlx_source_template_add(set, "rlx_custom.h", "rlx_custom.h", none, diag);
    rlx_text_fini(&functions);
    return status;
}

bool rlx_custom_is_fortran(const char *path)
{
    static const char *const endings[] = {".f90", ".f95", ".f03", ".f08", ".f", ".F90"};
    const char *dot = strrchr(path, '.');

    for (size_t i = 0; dot != NULL && i < sizeof endings / sizeof *endings; i++)
        if (strcmp(dot, endings[i]) == 0)
            return true;
    return false;
}

/* A file on its way: where it is, and where it goes. */
typedef struct place {
    const char *path; /* that of the file itself */
    char to[96];
} place_t;

static bool is_there(const rlx_file_set_t *set, const char *path)
{
    for (int i = 0; i < set->count; i++)
        if (strcmp(set->entries[i].path, path) == 0)
            return true;
    return false;
}

/* The name between quotes, if the line is an include of that form. */
static bool include_read(const char *line, const char *end, const char **out_name, int *out_bytes)
{
    const char *close;

    while (line < end && (*line == ' ' || *line == '\t'))
        line++;
    if (line == end || *line++ != '#')
        return false;
    while (line < end && (*line == ' ' || *line == '\t'))
        line++;
    if (end - line < 7 || memcmp(line, "include", 7) != 0)
        return false;
    for (line += 7; line < end && (*line == ' ' || *line == '\t');)
        line++;
    if (line == end || *line++ != '"' || (close = memchr(line, '"', (size_t)(end - line))) == NULL || close == line)
        return false;
    *out_name = line;
    *out_bytes = (int)(close - line);
    return true;
}

/* The name is a plain path below the folder of who includes it. */
static bool name_is_plain(const char *name, int bytes)
{
    for (int i = 0; i < bytes; i++)
        if (!isalnum((unsigned char)name[i]) && strchr("_-./", name[i]) == NULL)
            return false;
    return name[0] != '/' && memmem(name, (size_t)bytes, "..", 2) == NULL;
}

static rlx_status_t file_add(const place_t *place, int depth, rlx_file_set_t *set, rlx_diag_t *diag);

static rlx_status_t included_add(const place_t *by, const char *name, int bytes, int depth, rlx_file_set_t *set, rlx_diag_t *diag)
{
    int folder = strrchr(by->path, '/') != NULL ? (int)(strrchr(by->path, '/') - by->path) + 1 : 0;
    int to_folder = (int)(strrchr(by->to, '/') - by->to) + 1;
    place_t place;
    char *path;
    bool fits, is_own = bytes == 12 && memcmp(name, "rlx_custom.h", 12) == 0;
    rlx_status_t status = RLX_OK;

    if (asprintf(&path, "%.*s%.*s", folder, by->path, bytes, name) < 0)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    place.path = path;
    fits = (size_t)snprintf(place.to, sizeof place.to, "%.*s%.*s", to_folder, by->to, bytes, name) < sizeof place.to;
    if (is_own || access(path, R_OK) != 0) {
        free(path);
        return RLX_OK;
    }
    if (set->count > RLX_FILE_SET_MAX - OTHER_FILES_MAX)
        status = rlx_fail(diag, RLX_E_TARGET_MODEL, "%s: user code has too many headers", by->path);
    else if (!fits || !name_is_plain(name, bytes) || depth == DEPTH_MAX)
        status = rlx_fail(diag, RLX_E_TARGET_MODEL,
                          "%s includes \"%.*s\", which cannot go along: this target takes headers of the source's own folder and folders in "
                          "it, with plain names", by->path, bytes, name);
    else if (!is_there(set, place.to))
        status = file_add(&place, depth + 1, set, diag);
    free(path);
    return status;
}

static rlx_status_t file_add(const place_t *place, int depth, rlx_file_set_t *set, rlx_diag_t *diag)
{
    rlx_status_t status = RLX_OK;
    const char *at, *end;
    size_t bytes;
    void *data;

    RLX_TRY(rlx_file_read(place->path, SOURCE_BYTES_MAX, &data, &bytes, diag));
    rlx_text_add(rlx_file_set_add(set, place->to), data, bytes);
    end = (const char *)data + bytes;
    for (at = data; at < end && status == RLX_OK;) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at)), *name;
        int n;

        line_end = line_end != NULL ? line_end : end;
        if (include_read(at, line_end, &name, &n))
            status = included_add(place, name, n, depth, set, diag);
        at = line_end < end ? line_end + 1 : end;
    }
    free(data);
    return status;
}

rlx_status_t rlx_custom_files_add(const rlx_custom_source_t *sources, int n, rlx_file_set_t *set, rlx_diag_t *diag)
{
    if (n == 0)
        return RLX_OK;
    RLX_TRY(rlx_custom_glue_add(sources, n, set, diag));
    for (int i = 0; i < n; i++) {
        place_t place = {.path = sources[i].path};
        bool before = false;

        if (rlx_custom_is_fortran(sources[i].path) || rlx_custom_is_object(sources[i].path)) {
            rlx_fail(diag, RLX_E_TARGET_MODEL, "--custom: %s is %s, and this target takes user code in C", sources[i].path,
                     rlx_custom_is_object(sources[i].path) ? "an object for x86-64" : "Fortran");
            return rlx_diag_hint(diag, "Give the function in C, or compile for x86_64 alone.");
        }
        for (int k = 0; k < i; k++)
            before |= strcmp(sources[k].path, sources[i].path) == 0;
        snprintf(place.to, sizeof place.to, "custom%d/user%d.c", i, i);
        if (!before)
            RLX_TRY(file_add(&place, 0, set, diag));
    }
    return RLX_OK;
}
