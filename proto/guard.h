/* The guard: a resumable walker over protobuf wire bytes. It checks depth, field and byte caps before any decoder sees the bytes, and
 * yields every field as an event: scalars by value, strings and bytes as slices of the caller's buffer (no copy), messages as enter and
 * leave.
 *
 * What a length-delimited field holds is told by a schema: static tables of the fields that matter. Fields outside the tables are walked
 * over and yielded as bytes with `field == NULL`. Groups are refused. Bytes may come in any pieces: feed a piece, take events until
 * RLX_GUARD_MORE, feed the next; a slice that crosses pieces comes in parts. No heap, no recursion, O(1) state.
 *
 * Owner: the caller, by value. Thread: one at a time. After RLX_GUARD_BAD the guard only says RLX_GUARD_BAD.
 *
 *     rlx_guard_init(&guard, &model_message, &limits, file_bytes);
 *     rlx_guard_feed(&guard, file, file_bytes);
 *     for (;;) switch (rlx_guard_next(&guard, &item, diag)) { case RLX_GUARD_SCALAR: ... case RLX_GUARD_END: return RLX_OK; ... } */
#ifndef RLX_PROTO_GUARD_H
#define RLX_PROTO_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

#define RLX_GUARD_DEPTH_MAX 64

typedef enum rlx_guard_kind {
    RLX_GUARD_KIND_SCALAR = 0,  /* varint, fixed32 or fixed64, never length-delimited */
    RLX_GUARD_KIND_BYTES = 1,   /* string or bytes */
    RLX_GUARD_KIND_MESSAGE = 2, /* entered, walked by `message` */
    RLX_GUARD_KIND_PACKED = 3,  /* repeated scalar: single values come as SCALAR, packed runs as BYTES */
} rlx_guard_kind_t;

typedef struct rlx_guard_message rlx_guard_message_t;

typedef struct rlx_guard_field {
    uint32_t number;
    rlx_guard_kind_t kind;
    uint64_t bytes_max;                 /* of one occurrence; 0: the guard's total only */
    const rlx_guard_message_t *message; /* MESSAGE only */
    const char *name;                   /* for errors */
    int tag;                            /* the caller's, for switches over item.field->tag */
} rlx_guard_field_t;

struct rlx_guard_message {
    const char *name;
    const rlx_guard_field_t *fields;
    int n_fields;
};

typedef struct rlx_guard_limits {
    int depth_max;           /* nested messages, <= RLX_GUARD_DEPTH_MAX; the root counts 1 */
    uint64_t fields_max;     /* fields of all messages together */
    rlx_error_code_t broken; /* code for malformed bytes */
    rlx_error_code_t above;  /* code for a passed limit */
} rlx_guard_limits_t;

typedef enum rlx_guard_event {
    RLX_GUARD_MORE = 0,   /* the fed bytes are used up */
    RLX_GUARD_SCALAR = 1, /* item.value */
    RLX_GUARD_BYTES = 2,  /* item.data, item.bytes: a part of a string or bytes field; an empty field gives one empty part */
    RLX_GUARD_ENTER = 3,  /* a message begins; item.total is its size */
    RLX_GUARD_LEAVE = 4,  /* it ended; item.field is the field that began it */
    RLX_GUARD_END = 5,    /* all bytes announced at init were walked and every message closed */
    RLX_GUARD_BAD = 6,    /* refused; diag says why */
} rlx_guard_event_t;

typedef struct rlx_guard_item {
    const rlx_guard_message_t *message; /* the message that holds the field */
    const rlx_guard_field_t *field;     /* NULL: not in the schema */
    uint32_t number;
    uint32_t wire;       /* 0 varint, 1 fixed64, 2 length-delimited, 5 fixed32 */
    int depth;           /* of the message that holds the field; root 1 */
    uint64_t value;      /* SCALAR: raw bits; fixed32 zero-extended */
    const uint8_t *data; /* BYTES: borrowed from the fed piece */
    size_t bytes;
    uint64_t done;   /* BYTES: bytes of this field in earlier parts */
    uint64_t total;  /* BYTES, ENTER: bytes of the whole field */
    uint64_t offset; /* BYTES, ENTER: of data[0] in the stream */
} rlx_guard_item_t;

typedef struct rlx_guard_frame {
    const rlx_guard_message_t *message;
    const rlx_guard_field_t *field;
    uint64_t end;
} rlx_guard_frame_t;

typedef struct rlx_guard {
    rlx_guard_limits_t limits;
    const uint8_t *piece;
    size_t piece_bytes, piece_at;
    uint64_t offset, fields;
    int depth, state;
    rlx_guard_frame_t frames[RLX_GUARD_DEPTH_MAX];
    const rlx_guard_field_t *field;
    uint32_t number, wire;
    uint64_t word;  /* of the varint or fixed number being read */
    int word_bytes; /* bytes of it read so far */
    uint64_t left;  /* of the slice being yielded */
    uint64_t total;
} rlx_guard_t;

/* `total` bytes will be fed in all: the root message's size. */
void rlx_guard_init(rlx_guard_t *guard, const rlx_guard_message_t *root, const rlx_guard_limits_t *limits, uint64_t total);
/* The next piece: borrowed until the next RLX_GUARD_MORE. Only at the start and after RLX_GUARD_MORE. */
void rlx_guard_feed(rlx_guard_t *guard, const void *data, size_t bytes);
rlx_guard_event_t rlx_guard_next(rlx_guard_t *guard, rlx_guard_item_t *out_item, rlx_diag_t *diag);
/* Walks one complete message and only checks it. */
rlx_status_t rlx_guard_check(const rlx_guard_message_t *root, const rlx_guard_limits_t *limits, const void *data, size_t bytes,
                             rlx_diag_t *diag);

/* A varint out of a packed run: returns the bytes used, 0 when malformed. */
size_t rlx_guard_varint(const uint8_t *data, size_t bytes, uint64_t *out_value);

#endif
