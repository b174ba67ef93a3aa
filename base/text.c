/* Doubles up to its bound. After the first thing that does not fit nothing is added any more. */
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

#define CAPACITY_FIRST 1024

void rlx_text_init(rlx_text_t *text, size_t bytes_max) { *text = (rlx_text_t){.bytes_max = bytes_max}; }

void rlx_text_fini(rlx_text_t *text)
{
    free(text->data);
    *text = (rlx_text_t){.bytes_max = text->bytes_max};
}

void rlx_text_clear(rlx_text_t *text)
{
    text->bytes = 0;
    text->full = false;
}

/* Room for `bytes` more, which the bound allows. */
static bool text_grow(rlx_text_t *text, size_t bytes)
{
    size_t capacity = text->capacity > 0 ? text->capacity : CAPACITY_FIRST;
    char *data;

    while (capacity < text->bytes + bytes)
        capacity = capacity > text->bytes_max / 2 ? text->bytes_max : 2 * capacity;
    data = realloc(text->data, capacity);
    if (data == NULL)
        return false;
    text->data = data;
    text->capacity = capacity;
    return true;
}

char *rlx_text_reserve(rlx_text_t *text, size_t bytes)
{
    if (text->full)
        return NULL;
    text->full = bytes > text->bytes_max - text->bytes || (bytes > text->capacity - text->bytes && !text_grow(text, bytes));
    if (text->full)
        return NULL;
    return text->data + text->bytes;
}

void rlx_text_commit(rlx_text_t *text, size_t bytes)
{
    RLX_ASSERT(bytes <= text->capacity - text->bytes);
    text->bytes += bytes;
}

void rlx_text_add(rlx_text_t *text, const void *data, size_t bytes)
{
    char *to = bytes > 0 ? rlx_text_reserve(text, bytes) : NULL;

    if (to == NULL)
        return;
    memcpy(to, data, bytes);
    text->bytes += bytes;
}

void rlx_text_puts(rlx_text_t *text, const char *string) { rlx_text_add(text, string, strlen(string)); }

void rlx_text_printf(rlx_text_t *text, const char *format, ...)
{
    va_list list, again;
    char *to;
    int n;

    va_start(list, format);
    va_copy(again, list);
    n = vsnprintf(NULL, 0, format, list);
    to = n > 0 ? rlx_text_reserve(text, (size_t)n + 1) : NULL;
    if (to != NULL) {
        vsnprintf(to, (size_t)n + 1, format, again);
        text->bytes += (size_t)n;
    }
    va_end(again);
    va_end(list);
}
