/* What the repository folder holds: DIR/NAME.rlxb is version 1 of NAME; DIR/NAME/VERSION/FILE.rlxb is a numbered version. NAME may contain
 * folders. Everything else in the folder is left alone. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "daemon/models/inside.h"

#define DEPTH_MAX 8
#define NAMES_MAX 4096

bool rlx_version_parse(const char *text, uint64_t *out_version)
{
    size_t length = strlen(text);

    if (length < 1 || length > 18 || text[0] == '0' || strspn(text, "0123456789") != length)
        return false;
    *out_version = strtoull(text, NULL, 10);
    return true;
}

rlx_status_t rlx_model_name_check(const char *name, rlx_diag_t *diag)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/";
    size_t length = strlen(name);
    bool fine = length >= 1 && length < RLX_MODEL_NAME_MAX && strspn(name, allowed) == length && name[length - 1] != '/';

    for (const char *at = name; fine && at != NULL; at = strchr(at, '/') != NULL ? strchr(at, '/') + 1 : NULL)
        fine = *at != '.' && *at != '/'; /* no "..", no hidden file, no empty part */
    if (fine)
        return RLX_OK;
    return rlx_fail(diag, RLX_E_MODEL_NAME,
                    "'%.64s' is no model name: 1 to %d letters, digits and ._-/, no part empty or beginning with a dot", name,
                    RLX_MODEL_NAME_MAX - 1);
}

/* "x.rlxb" -> length of "x"; 0 when it is no bundle's name. */
static size_t stem_length(const char *file)
{
    size_t length = strlen(file);

    return length > 5 && file[0] != '.' && strcmp(file + length - 5, ".rlxb") == 0 ? length - 5 : 0;
}

static bool is_kind(const char *path, mode_t kind)
{
    struct stat info;

    return stat(path, &info) == 0 && (info.st_mode & S_IFMT) == kind;
}

static rlx_status_t found_add(rlx_found_t **found, int *n, uint64_t version, const char *path, const char *name, rlx_diag_t *diag)
{
    rlx_found_t *grown;

    for (int i = 0; i < *n; i++)
        if ((*found)[i].version == version)
            return rlx_fail(diag, RLX_E_MODEL_NAME, "version %" PRIu64 " of model '%s' is there twice: '%.200s' and '%.200s'", version,
                            name, (*found)[i].path, path);
    if (*n == RLX_VERSIONS_MAX)
        return rlx_fail(diag, RLX_E_MODEL_LIMIT, "model '%s' has more than %d versions", name, RLX_VERSIONS_MAX);
    grown = realloc(*found, (size_t)(*n + 1) * sizeof *grown);
    if (grown == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for the versions of a model");
    *found = grown;
    grown[*n].version = version;
    snprintf(grown[*n].path, sizeof grown[*n].path, "%s", path);
    (*n)++;
    return RLX_OK;
}

/* The one bundle of a version's folder. */
static rlx_status_t version_scan(const char *folder, uint64_t version, const char *name, rlx_found_t **found, int *n, rlx_diag_t *diag)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    rlx_status_t status = RLX_OK;

    while (dir != NULL && status == RLX_OK && (entry = readdir(dir)) != NULL) {
        char path[RLX_MODEL_PATH_MAX];

        if (stem_length(entry->d_name) > 0 && snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) < (int)sizeof path)
            status = found_add(found, n, version, path, name, diag);
    }
    if (dir != NULL)
        closedir(dir);
    return status;
}

static rlx_status_t versions_scan(const char *folder, const char *name, rlx_found_t **found, int *n, rlx_diag_t *diag)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    rlx_status_t status = RLX_OK;

    while (dir != NULL && status == RLX_OK && (entry = readdir(dir)) != NULL) {
        char path[RLX_MODEL_PATH_MAX];
        uint64_t version;

        if (rlx_version_parse(entry->d_name, &version) && snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) < (int)sizeof path)
            status = version_scan(path, version, name, found, n, diag);
    }
    if (dir != NULL)
        closedir(dir);
    return status;
}

static int by_version(const void *a, const void *b)
{
    uint64_t one = ((const rlx_found_t *)a)->version, other = ((const rlx_found_t *)b)->version;

    return (one > other) - (one < other);
}

rlx_status_t rlx_models_scan_name(const char *repository, const char *name, rlx_found_t **out_found, int *out_n, rlx_diag_t *diag)
{
    char path[RLX_MODEL_PATH_MAX];
    rlx_found_t *found = NULL;
    rlx_status_t status = RLX_OK;
    int n = 0;

    if (repository == NULL) {
        rlx_fail(diag, RLX_E_MODEL_UNKNOWN, "this server has no model repository to load '%s' from", name);
        return rlx_diag_hint(diag, "Configure models.repository, or start rlxd with --models DIR.");
    }
    if (snprintf(path, sizeof path, "%s/%s.rlxb", repository, name) >= (int)sizeof path)
        return rlx_fail(diag, RLX_E_MODEL_NAME, "the path of model '%s' is too long", name);
    if (is_kind(path, S_IFREG))
        status = found_add(&found, &n, 1, path, name, diag);
    snprintf(path, sizeof path, "%s/%s", repository, name);
    if (status == RLX_OK)
        status = versions_scan(path, name, &found, &n, diag);
    if (status == RLX_OK && n == 0) {
        status = rlx_fail(diag, RLX_E_MODEL_UNKNOWN,
                          "the model repository has no bundle for '%s': neither %s.rlxb nor %s/VERSION/FILE.rlxb", name, name, name);
        rlx_diag_hint(diag, "Put the bundle there, or correct the name.");
    }
    if (status != RLX_OK) {
        free(found);
        return status;
    }
    qsort(found, (size_t)n, sizeof *found, by_version);
    *out_found = found;
    *out_n = n;
    return RLX_OK;
}

typedef struct names {
    char **items;
    int n;
} names_t;

static rlx_status_t name_add(names_t *names, const char *name, size_t length, rlx_diag_t *diag)
{
    char **grown;

    for (int i = 0; i < names->n; i++)
        if (strlen(names->items[i]) == length && memcmp(names->items[i], name, length) == 0)
            return RLX_OK;
    if (names->n == NAMES_MAX)
        return rlx_fail(diag, RLX_E_MODEL_LIMIT, "the model repository has more than %d models", NAMES_MAX);
    grown = realloc(names->items, (size_t)(names->n + 1) * sizeof *grown);
    if (grown == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for the names of models");
    names->items = grown;
    grown[names->n] = strndup(name, length);
    if (grown[names->n] == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for the names of models");
    names->n++;
    return RLX_OK;
}

/* `prefix`: the folder below the repository, "" or "ocr". In the folder of a version the name is that of its parent. */
static rlx_status_t folder_scan(const char *repository, const char *prefix, int depth, names_t *names, rlx_diag_t *diag)
{
    char path[RLX_MODEL_PATH_MAX], below[RLX_MODEL_PATH_MAX];
    const char *last = strrchr(prefix, '/');
    const struct dirent *entry;
    rlx_status_t status = RLX_OK;
    uint64_t version;
    bool numbered = last != NULL && rlx_version_parse(last + 1, &version);
    DIR *dir;

    if (depth > DEPTH_MAX || snprintf(path, sizeof path, "%s/%s", repository, prefix) >= (int)sizeof path || (dir = opendir(path)) == NULL)
        return RLX_OK;
    while (status == RLX_OK && (entry = readdir(dir)) != NULL) {
        size_t stem = stem_length(entry->d_name);

        if (entry->d_name[0] == '.')
            continue;
        if (snprintf(below, sizeof below, "%s%s%s", prefix, prefix[0] != '\0' ? "/" : "", entry->d_name) >= (int)sizeof below ||
            snprintf(path, sizeof path, "%s/%s", repository, below) >= (int)sizeof path)
            continue;
        if (is_kind(path, S_IFDIR))
            status = folder_scan(repository, below, depth + 1, names, diag);
        else if (stem > 0 && numbered)
            status = name_add(names, prefix, (size_t)(last - prefix), diag);
        else if (stem > 0)
            status = name_add(names, below, strlen(below) - 5, diag);
    }
    closedir(dir);
    return status;
}

rlx_status_t rlx_models_repository_check(const char *repository, rlx_diag_t *diag)
{
    DIR *dir = opendir(repository);

    if (dir == NULL)
        return rlx_fail(diag, RLX_E_FILE_OPEN, "cannot open the model repository '%s': %s", repository, strerror(errno));
    closedir(dir);
    return RLX_OK;
}

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

rlx_status_t rlx_models_scan(const char *repository, char ***out_names, int *out_n, rlx_diag_t *diag)
{
    names_t names = {0};
    rlx_status_t status;

    RLX_TRY(rlx_models_repository_check(repository, diag));
    status = folder_scan(repository, "", 0, &names, diag);
    if (status != RLX_OK) {
        for (int i = 0; i < names.n; i++)
            free(names.items[i]);
        free(names.items);
        return status;
    }
    if (names.n > 0)
        qsort(names.items, (size_t)names.n, sizeof *names.items, by_text);
    *out_names = names.items;
    *out_n = names.n;
    return RLX_OK;
}
