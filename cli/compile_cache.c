/* The compile cache: bundles named after everything that went into them.
 *
 * External data is found in the model's bytes: its key "location" with the path behind it. Where that key stands in any other form than
 * writers use, the model is compiled without the cache, so that what was not understood cannot be stale. At most ENTRIES_MAX bundles and
 * BYTES_MAX bytes are kept; the oldest go. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/compile_job.h"
#include "ir/annotation.h"
#include "ir/source_digest.h"
#include "ir/text/load.h"

#define ENTRIES_MAX 64
#define BYTES_MAX ((uint64_t)8 << 30)
#define HASHERS 2
#define KEY_BYTES_MAX ((size_t)1 << 20)

/* One line of the key: what, and the digest of a file's bytes ("absent" where it cannot be read: then the compiler will say why). */
static void key_file(rlx_text_t *key, const char *what, const char *path)
{
    uint8_t digest[RLX_BLAKE2B_BYTES];
    char hex[2 * RLX_BLAKE2B_BYTES + 1] = "absent";
    struct stat info;
    rlx_bytes_t file;

    if (stat(path, &info) == 0 && S_ISREG(info.st_mode) && rlx_file_map(path, &file, NULL) == RLX_OK) {
        if (rlx_bundle_digest_tree(file.data, file.bytes, HASHERS, digest))
            rlx_digest_hex(digest, sizeof digest, hex);
        else
            key->full = true; /* without memory there is no key */
        rlx_file_unmap(&file);
    }
    rlx_text_printf(key, "%s %s\n", what, hex);
}

/* The location's text behind its key: tag 0x12, length (one or two bytes), bytes. False: in another form. */
static bool location_read(const uint8_t *at, const uint8_t *end, char *out, size_t bytes)
{
    size_t n;

    if (end - at < 3 || at[0] != 0x12)
        return false;
    n = at[1] < 0x80 ? at[1] : (size_t)(at[1] & 0x7f) | (size_t)at[2] << 7;
    at += at[1] < 0x80 ? 2 : 3;
    if (n == 0 || n >= bytes || n > (size_t)(end - at) || memchr(at, 0, n) != NULL)
        return false;
    memcpy(out, at, n);
    out[n] = '\0';
    return true;
}

/* Adds the external files of the model; false where there may be some that were not understood. */
static bool key_external(rlx_text_t *key, const char *model, const rlx_bytes_t *file)
{
    static const uint8_t mark[] = "\x0a\x08location";
    const uint8_t *at = file->data, *end = at + file->bytes;
    int folder = strrchr(model, '/') != NULL ? (int)(strrchr(model, '/') - model) + 1 : 0;
    char location[4096], last[4096] = "", *path = NULL;

    while ((at = memmem(at, (size_t)(end - at), mark, sizeof mark - 1)) != NULL) {
        at += sizeof mark - 1;
        if (!location_read(at, end, location, sizeof location))
            return false;
        if (strcmp(location, last) == 0) /* tensors of one file stand together */
            continue;
        strcpy(last, location);
        if (location[0] == '/' || strstr(location, "..") != NULL)
            continue; /* the compiler refuses it */
        if (asprintf(&path, "%.*s%s", folder, model, location) < 0)
            return false;
        rlx_text_printf(key, "%s ", location);
        key_file(key, "external", path);
        free(path);
    }
    return true;
}

/* A text names other files in many ways: what it comes to is digested, constants included. False where it cannot be read. What there is to say
 * about the text is said here too, as nothing else may read it. */
static bool key_text(rlx_text_t *key, const rlx_compile_job_t *job, rlx_diag_t *diag)
{
    uint8_t digest[RLX_BLAKE2B_BYTES];
    rlx_diag_t ignored = {.list = diag != NULL ? diag->list : NULL};
    rlx_graph_t *graph;
    bool read;

    if (rlx_model_load_file(job->model, &graph, &ignored) != RLX_OK)
        return false;
    if (ignored.list != NULL)
        rlx_annotations_unfollowed(graph, job->options.opt_level, ignored.list);
    read = rlx_graph_source_digest(graph, digest, &ignored) == RLX_OK;
    rlx_graph_destroy(graph);
    rlx_text_add(key, digest, sizeof digest);
    return read;
}

/* The digest of everything, in hexadecimal; "" where the model cannot be cached. */
static rlx_status_t key_make(const rlx_compile_job_t *job, char out_hex[2 * RLX_BLAKE2B_BYTES + 1], rlx_diag_t *diag)
{
    uint8_t digest[RLX_BLAKE2B_BYTES];
    rlx_bytes_t file;
    rlx_text_t key;
    char *signatures;
    bool whole;

    out_hex[0] = '\0';
    RLX_TRY(rlx_file_map(job->model, &file, diag));
    rlx_text_init(&key, KEY_BYTES_MAX);
    rlx_text_puts(&key, "rlx compile cache 3\n");
    key_file(&key, "program", "/proc/self/exe");
    whole = rlx_bundle_digest_tree(file.data, file.bytes, HASHERS, digest);
    rlx_text_puts(&key, "model ");
    rlx_text_add(&key, digest, sizeof digest);
    whole = whole && (rlx_path_is_text(job->model) ? key_text(&key, job, diag) : key_external(&key, job->model, &file));
    if (asprintf(&signatures, "%s.sig", job->model) < 0)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    key_file(&key, "signatures", signatures);
    free(signatures);
    for (int i = 0; i < job->n_recorded; i++)
        rlx_text_printf(&key, "option %s %s\n", job->recorded[i].key, job->recorded[i].value);
    rlx_file_unmap(&file);
    if (whole && !key.full) {
        rlx_digest_blake2b(key.data, key.bytes, digest);
        rlx_digest_hex(digest, sizeof digest, out_hex);
    }
    rlx_text_fini(&key);
    return RLX_OK;
}

rlx_status_t rlx_cli_cache_folder(const char *name, char **out_folder, rlx_diag_t *diag)
{
    const char *own = getenv("RLX_CACHE_DIR"); /* main.c fills it in */

    if (own == NULL || own[0] == '\0') {
        rlx_fail(diag, RLX_E_FILE_WRITE, "there is no folder for compiled models: neither RLX_CACHE_DIR nor HOME is set");
        return rlx_diag_hint(diag, "Set RLX_CACHE_DIR, or compile the model with `rlx compile` and name the bundle.");
    }
    if (asprintf(out_folder, "%s/%s", own, name) < 0)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    return rlx_cli_folder_make(*out_folder, diag);
}

static bool ends(const char *name, const char *ending)
{
    size_t n = strlen(name), k = strlen(ending);

    return n > k && strcmp(name + n - k, ending) == 0;
}

/* Removes the oldest entry. False: nothing could be removed. `out_bytes`: what all took before. */
static bool oldest_remove(const char *folder, const char *ending, int *out_entries, uint64_t *out_bytes, bool remove)
{
    struct dirent **names;
    int n = scandir(folder, &names, NULL, NULL);
    struct timespec oldest_time = {0};
    char path[4096], oldest[4096] = "";
    struct stat info;

    *out_entries = 0;
    *out_bytes = 0;
    for (int i = 0; i < n; i++) {
        bool listed = ends(names[i]->d_name, ending);

        snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
        free(names[i]);
        if (!listed || stat(path, &info) != 0)
            continue;
        ++*out_entries;
        *out_bytes += (uint64_t)info.st_size;
        if (oldest[0] == '\0' || info.st_mtim.tv_sec < oldest_time.tv_sec) {
            strcpy(oldest, path);
            oldest_time = info.st_mtim;
        }
    }
    if (n >= 0)
        free(names);
    return remove && oldest[0] != '\0' && unlink(oldest) == 0;
}

void rlx_cli_cache_trim(const char *folder, const char *ending, int entries_max, uint64_t bytes_max)
{
    uint64_t bytes;
    int n;

    do
        (void)oldest_remove(folder, ending, &n, &bytes, false);
    while ((n > entries_max || bytes > bytes_max) && oldest_remove(folder, ending, &n, &bytes, true));
}

static void cache_trim(const char *folder) { rlx_cli_cache_trim(folder, ".rlxb", ENTRIES_MAX, BYTES_MAX); }

static bool entry_good(const char *path)
{
    rlx_bundle_t *bundle;

    if (access(path, R_OK) != 0 || rlx_bundle_open(path, RLX_BUNDLE_SKIP_CODE, &bundle, NULL) != RLX_OK)
        return false;
    rlx_bundle_close(bundle);
    return true;
}

/* The key was made of a text, and the text has errors: they are told already. */
static bool text_is_wrong(const rlx_diag_t *diag) { return diag != NULL && diag->list != NULL && diag->list->n_errors > 0; }

/* The entry's path, there or not yet, and its folder; both owned by the caller. `out_cached` false: the model has no key. */
static rlx_status_t entry_find(const rlx_compile_job_t *job, char **out_folder, char **out_path, bool *out_cached, rlx_diag_t *diag)
{
    char hex[2 * RLX_BLAKE2B_BYTES + 1], *folder = NULL;

    RLX_TRY(key_make(job, hex, diag));
    if (text_is_wrong(diag))
        return rlx_diag_list_close(diag->list, diag);
    RLX_TRY(rlx_cli_cache_folder("bundles", &folder, diag));
    *out_cached = hex[0] != '\0';
    if (asprintf(out_path, "%s/%s%ld.rlxb", folder, *out_cached ? hex : "uncached-", *out_cached ? 0L : (long)getpid()) < 0) {
        free(folder);
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    }
    *out_folder = folder;
    return RLX_OK;
}

rlx_status_t rlx_compile_cached(const rlx_compile_job_t *job, char **out_path, rlx_diag_t *diag)
{
    char *folder, *path;
    rlx_compile_figures_t figures;
    rlx_status_t status = RLX_OK;
    bool cached;

    RLX_TRY(entry_find(job, &folder, &path, &cached, diag));
    if (!cached || !entry_good(path)) {
        fprintf(stderr, "compiling %s\n", job->model);
        status = rlx_compile_job_run(job, path, &figures, diag);
        cache_trim(folder);
    }
    free(folder);
    if (status == RLX_OK)
        *out_path = path;
    else
        free(path);
    return status;
}

/* What can be told of a bundle that was compiled before. */
static void figures_read(const rlx_bundle_t *bundle, rlx_compile_figures_t *out_figures)
{
    const rlx_program_header_t *program = rlx_bundle_program(bundle);
    const rlx_program_value_t *values = RLX_PROGRAM_TABLE(rlx_program_value_t, program, values);
    const rlx_program_symbol_t *symbols = RLX_PROGRAM_TABLE(rlx_program_symbol_t, program, symbols);
    size_t constants_bytes;

    (void)rlx_bundle_constants(bundle, &constants_bytes);
    *out_figures = (rlx_compile_figures_t){
        .n_steps = (int64_t)program->steps.count, .constants_bytes = (int64_t)constants_bytes, .cached = true};
    for (uint64_t i = 0; i < program->values.count && out_figures->independent[0] == '\0'; i++)
        if (values[i].batch_symbol < program->symbols.count)
            snprintf(out_figures->independent, sizeof out_figures->independent, "%.63s",
                     RLX_PROGRAM_TABLE(char, program, strings) + symbols[values[i].batch_symbol].name);
}

/* False: there is no such entry, it is damaged, or the copy failed: compiling will tell. */
static bool entry_take(const char *entry, const char *path, rlx_compile_figures_t *out_figures)
{
    rlx_bundle_t *bundle;

    if (access(entry, R_OK) != 0 || rlx_cli_parent_make(path, NULL) != RLX_OK || rlx_bundle_copy(entry, path, &bundle, NULL) != RLX_OK)
        return false;
    figures_read(bundle, out_figures);
    rlx_bundle_close(bundle);
    return true;
}

rlx_status_t rlx_compile_cached_to(const rlx_compile_job_t *job, const char *path, rlx_compile_figures_t *out_figures, rlx_diag_t *diag)
{
    char *folder, *entry;
    rlx_diag_t found = {.list = diag->list};
    rlx_compile_figures_t copied;
    rlx_status_t status;
    bool cached;

    if (entry_find(job, &folder, &entry, &cached, &found) != RLX_OK)
        return text_is_wrong(diag) ? rlx_diag_list_close(diag->list, diag) : rlx_compile_job_run(job, path, out_figures, diag);
    if (cached && entry_take(entry, path, out_figures)) {
        status = RLX_OK;
    } else if (!cached || access(folder, W_OK) != 0) {
        status = rlx_compile_job_run(job, path, out_figures, diag);
    } else {
        status = rlx_compile_job_run(job, entry, out_figures, diag);
        cache_trim(folder);
        if (status == RLX_OK ? !entry_take(entry, path, &copied) : diag->code == RLX_E_FILE_WRITE) { /* no room for both? */
            (void)unlink(entry);
            *diag = (rlx_diag_t){.list = diag->list};
            status = rlx_compile_job_run(job, path, out_figures, diag);
        }
    }
    free(folder);
    free(entry);
    return status;
}
