/* A request's head against its model, before anything is taken: names, types, ranks, extents, bounds of symbols, sizes. */
#ifndef RLX_DAEMON_NODE_INFER_CHECK_H
#define RLX_DAEMON_NODE_INFER_CHECK_H

#include "daemon/models/models.h"
#include "daemon/node/infer.h"

#define RLX_INFER_ALIGN 64

/* What begin finds out before it takes anything. */
typedef struct rlx_infer_plan {
    const rlx_infer_head_t *head;
    rlx_served_t *served;
    int input_of[RLX_INFER_PORTS_MAX], output_of[RLX_INFER_PORTS_MAX]; /* model port of the head's port; -1 where the model has none */
    uint64_t bytes[RLX_INFER_PORTS_MAX];   /* by head input: logical size */
    uint64_t in_slot;                      /* memory of the inputs that come in the message, each aligned */
} rlx_infer_plan_t;

/* Finds the model and checks the head. On failure the model's statistics have one failure more. */
rlx_status_t rlx_infer_check(rlx_node_t *node, const rlx_infer_head_t *head, rlx_infer_plan_t *out_plan, rlx_diag_t *diag);
static inline uint64_t rlx_infer_align(uint64_t bytes) { return (bytes + RLX_INFER_ALIGN - 1) / RLX_INFER_ALIGN * RLX_INFER_ALIGN; }

#endif
