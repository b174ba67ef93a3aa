/* A set of cells: found by key, and in the order in which they changed here. Whoever has been given everything up to a serial lacks exactly
 * what changed after it, so a delta is a walk along a list, however long the other was away; nothing is buffered per receiver.
 *
 * Owner: one replica or node. No I/O, no clock; the table is allocated at init, bodies when a cell changes. Bounds: cells_max cells,
 * bytes_max bytes of bodies; what does not fit is refused (RLX_GSS_PUT_FULL) and nothing changes. */
#ifndef RLX_GSS_CORE_STORE_H
#define RLX_GSS_CORE_STORE_H

#include <stddef.h>

#include "gss/core/cell.h"
#include "gss/core/options.h"

/* Beats change all the time and go to replicas only; everything else is the topology. */
typedef enum rlx_gss_list { RLX_GSS_TOPOLOGY, RLX_GSS_BEATS, RLX_GSS_LISTS } rlx_gss_list_t;

typedef struct rlx_gss_entry {
    rlx_gss_cell_t cell; /* the body is owned */
    uint64_t serial;     /* of its last change here; 0: unused */
    uint64_t changed_ms; /* when that was */
    uint32_t from;       /* the peer that told us; RLX_GSS_NONE: nobody */
    uint32_t mark;       /* the caller's */
    uint32_t bucket_next, prev, next, kind_prev, kind_next; /* index + 1; 0: none */
    uint32_t body_max;
} rlx_gss_entry_t;

typedef struct rlx_gss_store {
    rlx_gss_entry_t *entries;
    uint32_t *buckets;
    uint32_t entries_max, buckets_mask, touched, free, n;
    uint32_t heads[RLX_GSS_LISTS], tails[RLX_GSS_LISTS]; /* by serial, ascending */
    uint32_t kind_heads[RLX_GSS_KINDS], kind_counts[RLX_GSS_KINDS];
    uint64_t serial, last[RLX_GSS_LISTS]; /* serial of the newest change: of all, and per list */
    uint64_t digest;                      /* sum over the hashes of live records and intents: equal sets, equal digests */
    size_t bytes, bytes_max;
} rlx_gss_store_t;

typedef enum rlx_gss_put { RLX_GSS_PUT_SAME, RLX_GSS_PUT_CHANGED, RLX_GSS_PUT_FULL } rlx_gss_put_t;

/* False when there is no memory; fini is allowed either way. */
bool rlx_gss_store_init(rlx_gss_store_t *store, uint32_t cells_max, size_t bytes_max);
void rlx_gss_store_fini(rlx_gss_store_t *store);
/* Forgets every cell; serials go on. */
void rlx_gss_store_clear(rlx_gss_store_t *store);

rlx_gss_entry_t *rlx_gss_store_find(const rlx_gss_store_t *store, rlx_gss_key_t key);
/* Joins `cell` in. It changes the store only if it is larger than what is held. */
rlx_gss_put_t rlx_gss_store_put(rlx_gss_store_t *store, const rlx_gss_cell_t *cell, uint32_t from, uint64_t now_ms);
void rlx_gss_store_remove(rlx_gss_store_t *store, rlx_gss_entry_t *entry);

/* The first entry of the list that changed after `serial`, and the one after an entry; NULL at the end. */
const rlx_gss_entry_t *rlx_gss_store_after(const rlx_gss_store_t *store, rlx_gss_list_t list, uint64_t serial);
const rlx_gss_entry_t *rlx_gss_store_next(const rlx_gss_store_t *store, const rlx_gss_entry_t *entry);
/* All cells of a kind, in no order that means anything (but the same for the same history). The entry at hand may be removed after its
 * successor was asked for. */
rlx_gss_entry_t *rlx_gss_store_kind(const rlx_gss_store_t *store, rlx_gss_kind_t kind);
rlx_gss_entry_t *rlx_gss_store_kind_next(const rlx_gss_store_t *store, const rlx_gss_entry_t *entry);
/* An eviction, a removed intent, or the record of a node that left. */
bool rlx_gss_store_is_tombstone(const rlx_gss_entry_t *entry);

#endif
