/* Growing arrays, numbered texts, and an index from numbers to rows: what a profile is kept in. When memory is out a call says so; what was
 * there stays. */
#ifndef RLX_CLI_PROFILE_TABLE_H
#define RLX_CLI_PROFILE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RLX_NO_ROW UINT32_MAX

#define RLX_TABLE(type) \
    struct { \
        type *row; \
        uint32_t n, room; \
    }
/* A new zeroed row at the end, or NULL. */
#define RLX_TABLE_ADD(table) \
    (rlx_table_grow((void **)&(table)->row, (table)->n, &(table)->room, sizeof *(table)->row) ? &(table)->row[(table)->n++] : NULL)
bool rlx_table_grow(void **rows, uint32_t n, uint32_t *room, size_t row_bytes);

/* From a 64-bit key to a row number. */
typedef struct rlx_index {
    struct rlx_index_entry {
        uint64_t key;
        uint32_t row; /* RLX_NO_ROW: empty */
    } *entry;
    uint32_t n, room; /* room: a power of two */
} rlx_index_t;
uint32_t rlx_index_find(const rlx_index_t *index, uint64_t key); /* RLX_NO_ROW: not there */
bool rlx_index_put(rlx_index_t *index, uint64_t key, uint32_t row);
void rlx_index_free(rlx_index_t *index);

/* Equal texts have one number; number 0 is "". */
typedef struct rlx_texts {
    RLX_TABLE(char *) text;
    rlx_index_t by_hash; /* collisions are resolved by trying the next hash */
} rlx_texts_t;
uint32_t rlx_texts_put(rlx_texts_t *texts, const char *text); /* RLX_NO_ROW: no memory */
const char *rlx_texts_get(const rlx_texts_t *texts, uint32_t number);
void rlx_texts_free(rlx_texts_t *texts);

#endif
