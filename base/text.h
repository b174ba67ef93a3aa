/* A growing buffer of text, bounded. For answers that are made when somebody asks: metrics, JSON, status.
 *
 * Owner: the caller, by value; the bytes are malloc memory. When the bound is reached or memory is out, `full` is set, what would not fit
 * is dropped, and so is everything after it: look once, at the end. Any thread, one at a time. */
#ifndef RLX_BASE_TEXT_H
#define RLX_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

typedef struct rlx_text {
    char *data; /* not terminated; NULL while empty */
    size_t bytes, capacity, bytes_max;
    bool full;
} rlx_text_t;

void rlx_text_init(rlx_text_t *text, size_t bytes_max);
void rlx_text_fini(rlx_text_t *text);
/* Empties it and keeps the memory. */
void rlx_text_clear(rlx_text_t *text);

/* Room for `bytes` more, or NULL (then `full` is set). What was written there is taken over by rlx_text_commit. */
char *rlx_text_reserve(rlx_text_t *text, size_t bytes);
void rlx_text_commit(rlx_text_t *text, size_t bytes);

void rlx_text_add(rlx_text_t *text, const void *data, size_t bytes);
void rlx_text_puts(rlx_text_t *text, const char *string);
void rlx_text_printf(rlx_text_t *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
