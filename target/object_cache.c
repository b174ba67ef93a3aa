#include "target/object_cache.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/file.h"
#include "target/source_files.h"
#include "target/toolchain.h"

#define OBJECT_BYTES_MAX ((size_t)16 << 20)
#define KEY_BYTES_MAX ((size_t)16 << 20)

rlx_status_t rlx_object_cache_open(const char *folder, const char *compiler, rlx_object_cache_t *out_cache, rlx_diag_t *diag)
{
    rlx_object_cache_t cache = {.folder = folder};
    rlx_tool_t tool = {0};
    char said[RLX_TOOL_SAID_MAX + 1];

    if (folder != NULL) {
        rlx_tool_word(&tool, "%s", compiler);
        rlx_tool_word(&tool, "--version");
        RLX_TRY(rlx_tool_read(&tool, "/", said, diag));
        snprintf(cache.compiler, sizeof cache.compiler, "%.*s", (int)sizeof cache.compiler - 1, said);
    }
    *out_cache = cache;
    return RLX_OK;
}

/* The entry's path. False: nothing is kept, or there is no memory. */
static bool entry_path(const rlx_object_cache_t *cache, const char *source, const char *flags, char out_path[4200])
{
    /* Included by name or by flag besides what the archive knows of a kernel. */
    static const char *const common[] = {"template/string.h", "template/stable.h"};
    uint8_t digest[RLX_BLAKE2B_BYTES];
    char hex[2 * RLX_BLAKE2B_BYTES + 1];
    rlx_text_t key;
    bool whole;

    if (cache->folder == NULL)
        return false;
    rlx_text_init(&key, KEY_BYTES_MAX);
    rlx_text_printf(&key, "rlx object 1\n%s\n%s\n", cache->compiler, flags);
    whole = rlx_source_read(source, &key);
    for (size_t i = 0; i < sizeof common / sizeof *common; i++)
        whole = rlx_source_read(common[i], &key) && whole;
    if (whole && !key.full)
        rlx_digest_blake2b(key.data, key.bytes, digest);
    whole = whole && !key.full;
    rlx_text_fini(&key);
    rlx_digest_hex(digest, sizeof digest, hex);
    return whole && snprintf(out_path, 4200, "%s/%s.o", cache->folder, hex) < 4200;
}

bool rlx_object_cache_take(const rlx_object_cache_t *cache, const char *source, const char *flags, const char *path)
{
    uint8_t digest[RLX_BLAKE2B_BYTES];
    char entry[4200];
    void *data;
    size_t bytes;
    bool good;

    if (!entry_path(cache, source, flags, entry) || access(entry, R_OK) != 0 ||
        rlx_file_read(entry, OBJECT_BYTES_MAX + sizeof digest, &data, &bytes, NULL) != RLX_OK)
        return false;
    good = bytes > sizeof digest;
    if (good)
        rlx_digest_blake2b((const char *)data + sizeof digest, bytes - sizeof digest, digest);
    good = good && memcmp(data, digest, sizeof digest) == 0 &&
           rlx_file_write(path, (const char *)data + sizeof digest, bytes - sizeof digest, NULL) == RLX_OK;
    if (good)
        (void)utimensat(AT_FDCWD, entry, NULL, 0); /* the oldest go first */
    free(data);
    return good;
}

void rlx_object_cache_put(const rlx_object_cache_t *cache, const char *source, const char *flags, const char *path)
{
    uint8_t digest[RLX_BLAKE2B_BYTES];
    rlx_bytes_t parts[] = {{digest, sizeof digest}, {NULL, 0}};
    char entry[4200];
    void *data;

    if (!entry_path(cache, source, flags, entry) || rlx_file_read(path, OBJECT_BYTES_MAX, &data, &parts[1].bytes, NULL) != RLX_OK)
        return;
    parts[1].data = data;
    rlx_digest_blake2b(data, parts[1].bytes, digest);
    (void)rlx_file_write_parts(entry, parts, 2, NULL);
    free(data);
}
