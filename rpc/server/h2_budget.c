/* Budgets against floods. Frames that make us work without asking for anything spend tokens; requests, data sent and finished calls earn
 * them, and time does. An honest peer that answers every DATA frame with two window updates, or that cancels each of a thousand calls,
 * stays within them; one that sends nothing else runs out and is told to calm down. */
#include "rpc/server/inside.h"

#define CONTROL_MAX 10000
#define CONTROL_PER_S 500
#define RESETS_MAX 1000
#define RESETS_PER_S 100
#define NS_PER_S 1000000000u

void rlx_rpc_budget_init(rlx_rpc_budget_t *budget, uint64_t now_ns)
{
    budget->control = CONTROL_MAX;
    budget->resets = RESETS_MAX;
    budget->filled_ns = now_ns;
}

static int64_t at_most(int64_t a, int64_t b) { return a < b ? a : b; }

/* Only looked at when a budget is empty, so that it costs nothing before. */
static void refill(rlx_rpc_conn_t *conn)
{
    rlx_rpc_budget_t *budget = &conn->budget;
    uint64_t seconds_x1000 = (conn->read_ns - budget->filled_ns) / (NS_PER_S / 1000);

    budget->control = at_most(budget->control + (int64_t)(seconds_x1000 * CONTROL_PER_S / 1000), CONTROL_MAX);
    budget->resets = at_most(budget->resets + (int64_t)(seconds_x1000 * RESETS_PER_S / 1000), RESETS_MAX);
    budget->filled_ns = conn->read_ns;
}

void rlx_rpc_budget_earn(rlx_rpc_conn_t *conn, int control, int resets)
{
    conn->budget.control = at_most(conn->budget.control + control, CONTROL_MAX);
    conn->budget.resets = at_most(conn->budget.resets + resets, RESETS_MAX);
}

/* A frame's head has come. */
void rlx_rpc_budget_frame(rlx_rpc_conn_t *conn, const nghttp2_frame_hd *head)
{
    if (head->type == NGHTTP2_HEADERS) {
        rlx_rpc_budget_earn(conn, 4, 0);
        return;
    }
    /* Data is what we are here for; an empty frame that ends nothing is not. */
    if (head->type == NGHTTP2_DATA && (head->length > 0 || (head->flags & NGHTTP2_FLAG_END_STREAM) != 0))
        return;
    if (--conn->budget.control > 0)
        return;
    refill(conn);
    if (conn->budget.control <= 0) {
        conn->server->counters.flood_control++;
        rlx_rpc_h2_fail(conn);
    }
}

/* A stream was reset by the peer before its answer, or by us for what the peer did. */
void rlx_rpc_budget_reset(rlx_rpc_conn_t *conn)
{
    if (--conn->budget.resets > 0)
        return;
    refill(conn);
    if (conn->budget.resets <= 0) {
        conn->server->counters.flood_resets++;
        rlx_rpc_h2_fail(conn);
    }
}
