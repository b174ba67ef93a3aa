#include "target/source_files.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/assert.h"

typedef struct source_row {
    const char *path;
    uint32_t offset, bytes;
    uint32_t first_need, n_needs;
} source_row_t;

typedef struct source_kernel {
    uint32_t kernel, row;
} source_kernel_t;

#include "source_index.h"

__asm__(".section .rodata.rlx_sources,\"a\",@progbits\n"
        "rlx_sources_packed:\n"
        ".incbin \"" RLX_SOURCES_PATH "\"\n"
        ".previous\n");
extern const uint8_t rlx_sources_packed[] __attribute__((visibility("hidden")));

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static char *unpacked;

static void unpack(void)
{
    uLongf bytes = RLX_SOURCES_BYTES;

    unpacked = malloc(RLX_SOURCES_BYTES + 1);
    if (unpacked == NULL)
        return;
    RLX_ASSERT(uncompress((Bytef *)unpacked, &bytes, rlx_sources_packed, RLX_SOURCES_PACKED) == Z_OK);
    RLX_ASSERT(bytes == RLX_SOURCES_BYTES);
}

/* Unpacked bytes of all files; kept for the rest of the process. */
static const char *sources_open(rlx_diag_t *diag)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, unpack);
    if (unpacked == NULL)
        rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for the kernels' sources");
    return unpacked;
}

static const source_row_t *row_find(const char *path)
{
    for (size_t i = 0; i < COUNT(source_rows); i++)
        if (strcmp(source_rows[i].path, path) == 0)
            return &source_rows[i];
    return NULL;
}

static rlx_status_t row_add(rlx_file_set_t *set, const source_row_t *row, rlx_diag_t *diag)
{
    const char *all = sources_open(diag);

    if (all == NULL)
        return RLX_RESOURCE_EXHAUSTED;
    rlx_file_set_borrow(set, row->path, all + row->offset, row->bytes);
    for (uint32_t i = 0; i < row->n_needs; i++) {
        const source_row_t *need = &source_rows[source_needs[row->first_need + i]];

        rlx_file_set_borrow(set, need->path, all + need->offset, need->bytes);
    }
    return RLX_OK;
}

rlx_status_t rlx_source_add(rlx_file_set_t *set, const char *path, rlx_diag_t *diag)
{
    const source_row_t *row = row_find(path);

    RLX_ASSERT(row != NULL);
    return row_add(set, row, diag);
}

static void row_read(const source_row_t *row, const char *all, rlx_text_t *out)
{
    rlx_text_printf(out, "%s %u\n", row->path, row->bytes);
    rlx_text_add(out, all + row->offset, row->bytes);
}

bool rlx_source_read(const char *path, rlx_text_t *out)
{
    const source_row_t *row = row_find(path);
    const char *all = sources_open(NULL);

    RLX_ASSERT(row != NULL);
    if (all == NULL)
        return false;
    row_read(row, all, out);
    for (uint32_t i = 0; i < row->n_needs; i++)
        row_read(&source_rows[source_needs[row->first_need + i]], all, out);
    return !out->full;
}

rlx_status_t rlx_source_kernel_add(rlx_file_set_t *set, uint32_t kernel, rlx_diag_t *diag)
{
    for (size_t i = 0; i < COUNT(source_kernels); i++)
        if (source_kernels[i].kernel == kernel)
            return row_add(set, &source_rows[source_kernels[i].row], diag);
    return rlx_fail(diag, RLX_E_INTERNAL, "no source of kernel %u is packed", kernel);
}

/* The word whose key stands at `at`, between two '@'; NULL: an '@' of its own. */
static const rlx_template_word_t *word_at(const rlx_template_word_t *words, const char *at, const char *end)
{
    for (; words->key != NULL; words++) {
        size_t n = strlen(words->key);

        if ((size_t)(end - at) >= n + 2 && memcmp(at + 1, words->key, n) == 0 && at[n + 1] == '@')
            return words;
    }
    return NULL;
}

rlx_status_t rlx_source_template_add(rlx_file_set_t *set, const char *name, const char *path, const rlx_template_word_t *words, rlx_diag_t *diag)
{
    rlx_text_t *text = rlx_file_set_add(set, path);
    const char *all = sources_open(diag), *at, *end;
    const source_row_t *row;
    char full[96];

    snprintf(full, sizeof full, "template/%s", name);
    row = row_find(full);
    RLX_ASSERT(row != NULL);
    if (all == NULL)
        return RLX_RESOURCE_EXHAUSTED;
    at = all + row->offset;
    end = at + row->bytes;
    while (at < end) {
        const char *mark = memchr(at, '@', (size_t)(end - at)), *stop = mark != NULL ? mark : end;
        const rlx_template_word_t *word = mark != NULL ? word_at(words, mark, end) : NULL;

        rlx_text_add(text, at, (size_t)(stop - at));
        if (word != NULL)
            rlx_text_puts(text, word->text);
        else if (mark != NULL)
            rlx_text_puts(text, "@");
        at = word != NULL ? mark + strlen(word->key) + 2 : mark != NULL ? mark + 1 : end;
    }
    return RLX_OK;
}
