/* Rows are zero when they are new; an index has open addressing and is at most three quarters full. */
#include "cli/profile/table.h"

#include <stdlib.h>
#include <string.h>

#define ROWS_MAX (1u << 30)

bool rlx_table_grow(void **rows, uint32_t n, uint32_t *room, size_t row_bytes)
{
    uint32_t want = *room > 0 ? 2 * *room : 64;
    void *grown;

    if (n < *room) {
        memset((char *)*rows + (size_t)n * row_bytes, 0, row_bytes);
        return true;
    }
    if (want > ROWS_MAX || (grown = realloc(*rows, (size_t)want * row_bytes)) == NULL)
        return false;
    *rows = grown;
    *room = want;
    memset((char *)grown + (size_t)n * row_bytes, 0, row_bytes);
    return true;
}

static uint64_t mixed(uint64_t key)
{
    key = (key ^ key >> 31) * 0x9e3779b97f4a7c15u;
    return key ^ key >> 29;
}

/* The entry of `key`, or the empty one where it would be. There is always an empty one. */
static struct rlx_index_entry *entry_of(const rlx_index_t *index, uint64_t key)
{
    uint64_t at = mixed(key) & (index->room - 1);

    while (index->entry[at].row != RLX_NO_ROW && index->entry[at].key != key)
        at = (at + 1) & (index->room - 1);
    return &index->entry[at];
}

uint32_t rlx_index_find(const rlx_index_t *index, uint64_t key) { return index->room > 0 ? entry_of(index, key)->row : RLX_NO_ROW; }

static bool index_grow(rlx_index_t *index)
{
    rlx_index_t grown = {.n = index->n, .room = index->room > 0 ? 2 * index->room : 256};

    if (grown.room > ROWS_MAX || (grown.entry = malloc(grown.room * sizeof *grown.entry)) == NULL)
        return false;
    for (uint32_t i = 0; i < grown.room; i++)
        grown.entry[i].row = RLX_NO_ROW;
    for (uint32_t i = 0; i < index->room; i++)
        if (index->entry[i].row != RLX_NO_ROW)
            *entry_of(&grown, index->entry[i].key) = index->entry[i];
    free(index->entry);
    *index = grown;
    return true;
}

bool rlx_index_put(rlx_index_t *index, uint64_t key, uint32_t row)
{
    struct rlx_index_entry *entry;

    if (index->n + 1 > index->room / 4 * 3 && !index_grow(index))
        return false;
    entry = entry_of(index, key);
    index->n += entry->row == RLX_NO_ROW;
    *entry = (struct rlx_index_entry){key, row};
    return true;
}

void rlx_index_free(rlx_index_t *index)
{
    free(index->entry);
    *index = (rlx_index_t){0};
}

static uint64_t text_hash(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash;
}

uint32_t rlx_texts_put(rlx_texts_t *texts, const char *text)
{
    uint64_t hash = text_hash(text);
    uint32_t number;
    char **row;

    if (texts->text.n == 0 && text[0] != '\0' && rlx_texts_put(texts, "") == RLX_NO_ROW)
        return RLX_NO_ROW;
    while ((number = rlx_index_find(&texts->by_hash, hash)) != RLX_NO_ROW) {
        if (strcmp(texts->text.row[number], text) == 0)
            return number;
        hash++;
    }
    row = RLX_TABLE_ADD(&texts->text);
    if (row == NULL || (*row = strdup(text)) == NULL || !rlx_index_put(&texts->by_hash, hash, texts->text.n - 1))
        return RLX_NO_ROW;
    return texts->text.n - 1;
}

const char *rlx_texts_get(const rlx_texts_t *texts, uint32_t number) { return number < texts->text.n ? texts->text.row[number] : ""; }

void rlx_texts_free(rlx_texts_t *texts)
{
    for (uint32_t i = 0; i < texts->text.n; i++)
        free(texts->text.row[i]);
    free(texts->text.row);
    rlx_index_free(&texts->by_hash);
    *texts = (rlx_texts_t){0};
}
