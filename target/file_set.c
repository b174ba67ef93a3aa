#include "target/file_set.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/file.h"

static rlx_file_entry_t *entry_find(rlx_file_set_t *set, const char *path)
{
    for (int i = 0; i < set->count; i++)
        if (strcmp(set->entries[i].path, path) == 0)
            return &set->entries[i];
    return NULL;
}

static rlx_file_entry_t *entry_add(rlx_file_set_t *set, const char *path)
{
    rlx_file_entry_t *entry = &set->entries[set->count++];

    RLX_ASSERT(set->count <= RLX_FILE_SET_MAX);
    RLX_ASSERT(strlen(path) < sizeof entry->path);
    *entry = (rlx_file_entry_t){0};
    strcpy(entry->path, path);
    rlx_text_init(&entry->text, RLX_FILE_TEXT_MAX);
    return entry;
}

rlx_text_t *rlx_file_set_add(rlx_file_set_t *set, const char *path)
{
    rlx_file_entry_t *entry = entry_find(set, path);

    return &(entry != NULL ? entry : entry_add(set, path))->text;
}

void rlx_file_set_borrow(rlx_file_set_t *set, const char *path, const void *data, size_t bytes)
{
    rlx_file_entry_t *entry = entry_find(set, path) != NULL ? NULL : entry_add(set, path);

    if (entry == NULL)
        return;
    entry->borrowed = data;
    entry->borrowed_bytes = bytes;
}

/* Every folder of `path` but the last part. */
static rlx_status_t folders_make(char *path, rlx_diag_t *diag)
{
    for (char *at = strchr(path + 1, '/'); at != NULL; at = strchr(at + 1, '/')) {
        *at = '\0';
        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            return rlx_fail(diag, RLX_E_FILE_WRITE, "cannot make the folder %s: %s", path, strerror(errno));
        *at = '/';
    }
    return RLX_OK;
}

static rlx_status_t entry_write(const rlx_file_entry_t *entry, const char *folder, rlx_diag_t *diag)
{
    char path[4096];

    if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, entry->path) >= sizeof path)
        return rlx_fail(diag, RLX_E_FILE_WRITE, "the path of '%s' in the output folder is too long", entry->path);
    RLX_TRY(folders_make(path, diag));
    if (entry->text.full)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "'%s' would be larger than %zu bytes, or memory is out", entry->path, RLX_FILE_TEXT_MAX);
    if (entry->borrowed != NULL)
        return rlx_file_write(path, entry->borrowed, entry->borrowed_bytes, diag);
    return rlx_file_write(path, entry->text.data != NULL ? entry->text.data : "", entry->text.bytes, diag);
}

/* Sources left from another compile would be built by whoever builds `kernels/` whole. */
static void stale_remove(const rlx_file_set_t *set, const char *folder)
{
    char path[4096], name[96];
    DIR *dir;

    snprintf(path, sizeof path, "%s/kernels", folder);
    dir = opendir(path);
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        size_t n = strlen(entry->d_name);
        bool source = n > 2 && n < 64 && entry->d_name[n - 2] == '.' && (entry->d_name[n - 1] == 'c' || entry->d_name[n - 1] == 'h');

        snprintf(name, sizeof name, "kernels/%.64s", entry->d_name);
        if (source && entry_find((rlx_file_set_t *)(uintptr_t)set, name) == NULL)
            (void)unlinkat(dirfd(dir), entry->d_name, 0);
    }
    if (dir != NULL)
        closedir(dir);
}

rlx_status_t rlx_file_set_write(const rlx_file_set_t *set, const char *folder, rlx_diag_t *diag)
{
    for (int i = 0; i < set->count; i++)
        RLX_TRY(entry_write(&set->entries[i], folder, diag));
    stale_remove(set, folder);
    return RLX_OK;
}

void rlx_file_set_fini(rlx_file_set_t *set)
{
    for (int i = 0; i < set->count; i++)
        rlx_text_fini(&set->entries[i].text);
    set->count = 0;
}
