/* A ring of records between one producer and one consumer. Neither waits: when it is full the record is dropped and counted.
 *
 * Records have any size and never wrap: what is left at the end is skipped. Memory is allocated at create only. */
#ifndef RLX_TRACE_RING_H
#define RLX_TRACE_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RLX_RING_RECORD_MAX 4096

/* The first member of every record. */
typedef struct rlx_ring_head {
    uint32_t bytes; /* of the record in the ring, a multiple of 16; written by reserve */
    uint32_t kind;  /* the producer's; 0 is the ring's own */
} rlx_ring_head_t;

typedef struct rlx_ring {
    char *data;
    uint64_t capacity; /* a power of two */
    _Alignas(64) _Atomic uint64_t written; /* bytes ever, of the producer */
    _Alignas(64) _Atomic uint64_t read;    /* bytes ever, of the consumer */
    _Alignas(64) _Atomic uint64_t dropped; /* records, counted by the producer */
    uint64_t reserved; /* bytes of the record under way, with what was skipped before it; the producer's */
} rlx_ring_t;

bool rlx_ring_init(rlx_ring_t *ring, size_t capacity); /* false: no memory */
void rlx_ring_fini(rlx_ring_t *ring);

/* Room for a record of `bytes` (at most RLX_RING_RECORD_MAX), or NULL. Commit makes it visible. */
void *rlx_ring_reserve(rlx_ring_t *ring, size_t bytes, uint32_t kind);
void rlx_ring_commit(rlx_ring_t *ring);

/* The oldest record, or NULL; next gives its room back. */
const rlx_ring_head_t *rlx_ring_peek(rlx_ring_t *ring);
void rlx_ring_next(rlx_ring_t *ring, const rlx_ring_head_t *record);

#endif
