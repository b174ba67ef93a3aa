/* The unit of replicated state: a key, a version, a body. All of the cluster's state is a set of cells, at most one per key, and one join
 * serves them all: the larger version stays whole; of equal versions the larger body. That is a maximum in a total order, so it is
 * commutative, associative and idempotent, and no clock takes part. Bodies are the writer's own bytes, never written anew: fields and kinds
 * that this code does not know are kept and passed on. Pure; any thread. */
#ifndef RLX_GSS_CORE_CELL_H
#define RLX_GSS_CORE_CELL_H

#include <stdbool.h>
#include <stdint.h>

/* What a key means (a, b) and what a version is (a, b, c). Kinds above are a newer version's: joined and passed on alike. */
typedef enum rlx_gss_kind {
    RLX_GSS_NODE = 1,     /* node, 0: incarnation, boot, sequence. Written by the node alone (record.h) */
    RLX_GSS_BEAT = 2,     /* node, 0: incarnation, boot, counter. The node's heartbeat; body: watermarks. Between replicas only */
    RLX_GSS_ROW = 3,      /* subject, observer: incarnation, boot, 2 * counter + suspect. The observer's last word about the subject */
    RLX_GSS_EVICTION = 4, /* node, 0: incarnation, 0, 0. That incarnation and those before are out */
    RLX_GSS_INTENT = 5,   /* a dot (actor, sequence): 1 live, 2 removed. An operator's intent (record.h) */
    RLX_GSS_CONTEXT = 6,  /* actor, 0: sequence of its newest intent */
    RLX_GSS_KINDS,        /* known ones, and 0 for the others */
} rlx_gss_kind_t;

typedef struct rlx_gss_key {
    uint64_t a, b;
    uint32_t kind;
} rlx_gss_key_t;

typedef struct rlx_gss_version {
    uint64_t a, b, c;
} rlx_gss_version_t;

/* A cell as it is passed around: the body is borrowed. */
typedef struct rlx_gss_cell {
    rlx_gss_key_t key;
    rlx_gss_version_t version;
    const uint8_t *body;
    uint32_t bytes;
} rlx_gss_cell_t;

static inline bool rlx_gss_key_equal(rlx_gss_key_t x, rlx_gss_key_t y)
{
    return x.a == y.a && x.b == y.b && x.kind == y.kind;
}
/* Below, at or above 0 as x is before, equal to or after y. */
int rlx_gss_version_compare(rlx_gss_version_t x, rlx_gss_version_t y);
/* Version, then body, of cells with one key. 0 only for equal cells. */
int rlx_gss_cell_compare(const rlx_gss_cell_t *x, const rlx_gss_cell_t *y);
/* The join of two cells with one key: one of them. Asserts its laws where RLX_GSS_LAWS is defined (builds with sanitizers). */
const rlx_gss_cell_t *rlx_gss_cell_join(const rlx_gss_cell_t *x, const rlx_gss_cell_t *y);
/* Of the whole cell; for digests of sets. */
uint64_t rlx_gss_cell_hash(const rlx_gss_cell_t *cell);

/* Nodes and bundles are known by the hash of their name. */
uint64_t rlx_gss_id(const char *name);

#endif
