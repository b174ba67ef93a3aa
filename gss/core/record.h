/* What the bodies of cells say (proto/gss.proto: NodeRecord, Intent). Read for decisions; never written anew, so a field that this version
 * does not know stays where it is. Pure; any thread. */
#ifndef RLX_GSS_CORE_RECORD_H
#define RLX_GSS_CORE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "gss/core/options.h"

/* What a node says of itself. RLX_GSS_NODE_STATE(id, text) */
#define RLX_GSS_NODE_STATES(X) X(STARTING, "starting") X(SERVING, "serving") X(DRAINING, "draining") X(LEFT, "left")
typedef enum rlx_gss_node_state {
#define X(id, text) RLX_GSS_NODE_##id,
    RLX_GSS_NODE_STATES(X)
#undef X
    RLX_GSS_NODE_STATES
} rlx_gss_node_state_t;

typedef struct rlx_gss_record {
    char name[RLX_GSS_NAME_MAX + 1];
    char address[128]; /* where its peers and clients reach it; may be empty */
    char zone[RLX_GSS_NAME_MAX + 1];
    uint32_t state;    /* rlx_gss_node_state_t; a larger number is a newer version's: counts as not serving */
    uint32_t protocol_min, protocol_max;
    uint64_t cores, memory_bytes;
} rlx_gss_record_t;

/* RLX_GSS_INTENT_KIND(id, text) */
#define RLX_GSS_INTENT_KINDS(X) \
    X(NOTHING, "nothing") X(CORDON, "cordon") X(DRAIN, "drain") X(BAN, "ban") X(LABEL, "label") X(BUNDLE, "bundle")
typedef enum rlx_gss_intent_kind {
#define X(id, text) RLX_GSS_INTENT_##id,
    RLX_GSS_INTENT_KINDS(X)
#undef X
    RLX_GSS_INTENT_KINDS
} rlx_gss_intent_kind_t;
const char *rlx_gss_intent_kind_name(uint32_t kind);

/* Cordon, drain and ban: of a node. Label: of a node, key and value. Bundle: target is 0, key the bundle's name, value its digest. */
typedef struct rlx_gss_intent {
    uint64_t target;
    uint32_t kind;
    char key[RLX_GSS_NAME_MAX + 1];
    char value[256];
} rlx_gss_intent_t;

/* Appends; look at out->full. */
void rlx_gss_record_encode(const rlx_gss_record_t *record, rlx_text_t *out);
void rlx_gss_intent_encode(const rlx_gss_intent_t *intent, rlx_text_t *out);
/* False when the bytes are malformed, a text is too long or has a zero byte, or a record has no name. Unknown fields are fine. */
bool rlx_gss_record_decode(const void *body, size_t bytes, rlx_gss_record_t *out_record);
bool rlx_gss_intent_decode(const void *body, size_t bytes, rlx_gss_intent_t *out_intent);
/* The same kind, target and key: what a removal removes, and what a new label replaces. */
bool rlx_gss_intent_same_key(const rlx_gss_intent_t *x, const rlx_gss_intent_t *y);

#endif
