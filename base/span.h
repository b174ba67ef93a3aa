/* A place in a text: what errors point at. Plain values. */
#ifndef RLX_BASE_SPAN_H
#define RLX_BASE_SPAN_H

#include <stdint.h>

/* Line and column count from 1; column and length are bytes. Length 0: a place between two characters, or a thing that was not written.
 * A thing of several lines ends with its first one. Line 0: nowhere. */
typedef struct rlx_span {
    uint32_t line, column, length;
} rlx_span_t;

#define RLX_SPAN_NONE ((rlx_span_t){0, 0, 0})

/* From the begin of `first` to the end of `last`, or all of `first` where `last` stands on another line. */
static inline rlx_span_t rlx_span_join(rlx_span_t first, rlx_span_t last)
{
    if (last.line == first.line && last.column >= first.column)
        first.length = last.column + last.length - first.column;
    return first;
}

#endif
