/* See cells.h. */
#include "tests/gss/cells.h"

#include <stdio.h>
#include <string.h>

uint64_t test_node_id(uint32_t n)
{
    char name[32];

    snprintf(name, sizeof name, "node-%u", n);
    return rlx_gss_id(name);
}

static void body_set(test_cell_t *cell, const rlx_text_t *text)
{
    memcpy(cell->body, text->data, text->bytes);
    cell->cell.bytes = (uint32_t)text->bytes;
}

test_cell_t test_node(uint32_t n, uint64_t incarnation, uint64_t boot, uint64_t sequence, uint32_t state)
{
    test_cell_t cell = {.cell = {.key = {.a = test_node_id(n), .kind = RLX_GSS_NODE}, .version = {incarnation, boot, sequence}}};
    rlx_gss_record_t record = {.state = state, .protocol_min = 1, .protocol_max = 1, .cores = sequence};
    rlx_text_t text;

    snprintf(record.name, sizeof record.name, "node-%u", n);
    rlx_text_init(&text, sizeof cell.body);
    rlx_gss_record_encode(&record, &text);
    body_set(&cell, &text);
    rlx_text_fini(&text);
    return cell;
}

test_cell_t test_eviction(uint32_t n, uint64_t incarnation)
{
    return (test_cell_t){.cell = {.key = {.a = test_node_id(n), .kind = RLX_GSS_EVICTION}, .version = {.a = incarnation}}};
}

test_cell_t test_row(uint32_t n, uint64_t observer, uint64_t incarnation, uint64_t boot, uint64_t counter, bool suspect)
{
    return (test_cell_t){.cell = {.key = {.a = test_node_id(n), .b = observer, .kind = RLX_GSS_ROW},
                                  .version = {incarnation, boot, 2 * counter + suspect}}};
}

test_cell_t test_intent(uint64_t actor, uint64_t sequence, bool removed, uint32_t kind, uint32_t n, const char *value)
{
    test_cell_t cell = {.cell = {.key = {.a = actor, .b = sequence, .kind = RLX_GSS_INTENT}, .version = {.a = removed ? 2 : 1}}};
    rlx_gss_intent_t intent = {.target = test_node_id(n), .kind = kind};
    rlx_text_t text;

    snprintf(intent.value, sizeof intent.value, "%s", value);
    rlx_text_init(&text, sizeof cell.body);
    rlx_gss_intent_encode(&intent, &text);
    body_set(&cell, &text);
    rlx_text_fini(&text);
    return cell;
}

test_cell_t test_other(uint32_t kind, uint64_t a, uint64_t version, const char *body)
{
    test_cell_t cell = {.cell = {.key = {.a = a, .kind = kind}, .version = {.a = version}, .bytes = (uint32_t)strlen(body)}};

    memcpy(cell.body, body, strlen(body));
    return cell;
}

test_cell_t test_random(rlx_prng_t *prng)
{
    uint32_t n = (uint32_t)rlx_prng_below(prng, 3);
    uint64_t incarnation = rlx_prng_between(prng, 1, 3), boot = rlx_prng_between(prng, 1, 2);

    switch (rlx_prng_below(prng, 6)) {
    case 0: return test_eviction(n, incarnation);
    case 1: return test_row(n, rlx_prng_between(prng, 1, 3), incarnation, boot, rlx_prng_below(prng, 3), rlx_prng_chance(prng, 500));
    case 2: return test_intent(rlx_prng_between(prng, 1, 2), rlx_prng_between(prng, 1, 3), rlx_prng_chance(prng, 300), RLX_GSS_INTENT_CORDON, n, "x");
    case 3: return test_other((uint32_t)rlx_prng_between(prng, 6, 9), rlx_prng_between(prng, 1, 2), incarnation, boot == 1 ? "a" : "longer");
    default: return test_node(n, incarnation, boot, rlx_prng_between(prng, 1, 3), (uint32_t)rlx_prng_below(prng, 4));
    }
}

void test_state(rlx_gss_state_t *state)
{
    static rlx_gss_options_t options;

    options = rlx_gss_options_default(500, 64);
    rlx_gss_state_init(state, &options);
}

rlx_gss_joined_t test_join(rlx_gss_state_t *state, const test_cell_t *cell)
{
    rlx_gss_cell_t borrowed = cell->cell;

    borrowed.body = cell->body;
    return rlx_gss_state_join(state, &borrowed, RLX_GSS_NONE, 1000);
}

static bool holds(const rlx_gss_state_t *state, const rlx_gss_cell_t *cell)
{
    const rlx_gss_entry_t *held = rlx_gss_store_find(&state->store, cell->key);

    return held != NULL && rlx_gss_cell_compare(&held->cell, cell) == 0;
}

bool test_same(const rlx_gss_state_t *x, const rlx_gss_state_t *y)
{
    for (uint32_t i = 0; i < x->store.touched; i++)
        if (x->store.entries[i].serial != 0 && !holds(y, &x->store.entries[i].cell))
            return false;
    return x->store.n == y->store.n && rlx_gss_state_digest(x) == rlx_gss_state_digest(y);
}

void test_merge(rlx_gss_state_t *to, const rlx_gss_state_t *from)
{
    for (int list = 0; list < RLX_GSS_LISTS; list++)
        for (const rlx_gss_entry_t *entry = rlx_gss_store_after(&from->store, (rlx_gss_list_t)list, 0); entry != NULL;
             entry = rlx_gss_store_next(&from->store, entry))
            rlx_gss_state_join(to, &entry->cell, 0, 1000);
}
