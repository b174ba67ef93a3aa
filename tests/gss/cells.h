/* Cells for tests. A cell's body lives in the cell, so cells can be copied and kept. */
#ifndef RLX_TESTS_GSS_CELLS_H
#define RLX_TESTS_GSS_CELLS_H

#include "base/prng.h"
#include "gss/core/state.h"

typedef struct test_cell {
    rlx_gss_cell_t cell;
    uint8_t body[256];
} test_cell_t;

/* Node `n` ("node-N"), serving or in another state. */
test_cell_t test_node(uint32_t n, uint64_t incarnation, uint64_t boot, uint64_t sequence, uint32_t state);
test_cell_t test_eviction(uint32_t n, uint64_t incarnation);
test_cell_t test_row(uint32_t n, uint64_t observer, uint64_t incarnation, uint64_t boot, uint64_t counter, bool suspect);
test_cell_t test_intent(uint64_t actor, uint64_t sequence, bool removed, uint32_t kind, uint32_t n, const char *value);
test_cell_t test_other(uint32_t kind, uint64_t a, uint64_t version, const char *body);
/* Any cell of a small world, so that keys meet often. */
test_cell_t test_random(rlx_prng_t *prng);

uint64_t test_node_id(uint32_t n);
void test_state(rlx_gss_state_t *state);
rlx_gss_joined_t test_join(rlx_gss_state_t *state, const test_cell_t *cell);
/* Equal sets of cells, byte for byte. */
bool test_same(const rlx_gss_state_t *x, const rlx_gss_state_t *y);
/* Joins all of `from` into `to`, in the order in which they changed there. */
void test_merge(rlx_gss_state_t *to, const rlx_gss_state_t *from);

#endif
