/* See cell.h. */
#include "gss/core/cell.h"

#include <string.h>

#include "base/assert.h"
#include "base/digest.h"
#include "gss/core/mutant.h"

#ifdef RLX_GSS_MUTANTS
rlx_gss_mutant_t rlx_gss_mutant;
#endif

static int compare(uint64_t x, uint64_t y) { return (x > y) - (x < y); }

int rlx_gss_version_compare(rlx_gss_version_t x, rlx_gss_version_t y)
{
    int order = compare(x.a, y.a);

    if (order == 0)
        order = compare(x.b, y.b);
    return order != 0 ? order : compare(x.c, y.c);
}

int rlx_gss_cell_compare(const rlx_gss_cell_t *x, const rlx_gss_cell_t *y)
{
    int order = rlx_gss_version_compare(x->version, y->version);

    if (order == 0)
        order = compare(x->bytes, y->bytes);
    return order != 0 || x->bytes == 0 ? order : memcmp(x->body, y->body, x->bytes);
}

static const rlx_gss_cell_t *larger(const rlx_gss_cell_t *x, const rlx_gss_cell_t *y)
{
    if (RLX_MUTANT(ARRIVAL))
        return y;
    return rlx_gss_cell_compare(x, y) >= 0 ? x : y;
}

#ifdef RLX_GSS_LAWS
/* Same cell by value: which of two equal ones is returned does not matter. */
static bool same(const rlx_gss_cell_t *x, const rlx_gss_cell_t *y) { return rlx_gss_cell_compare(x, y) == 0; }

static void check_laws(const rlx_gss_cell_t *x, const rlx_gss_cell_t *y)
{
    rlx_gss_cell_t third = {.key = x->key, .version = {y->version.a, x->version.b, y->version.c}, .body = x->body, .bytes = x->bytes};
    const rlx_gss_cell_t *left = larger(larger(x, y), &third), *right = larger(x, larger(y, &third));

    RLX_ASSERT(same(larger(x, y), larger(y, x)));
    RLX_ASSERT(same(larger(x, x), x));
    RLX_ASSERT(same(left, right));
    RLX_ASSERT(rlx_gss_cell_compare(left, x) >= 0); /* nothing is lost */
    RLX_ASSERT(rlx_gss_cell_compare(left, y) >= 0);
}
#endif

const rlx_gss_cell_t *rlx_gss_cell_join(const rlx_gss_cell_t *x, const rlx_gss_cell_t *y)
{
    RLX_ASSERT(rlx_gss_key_equal(x->key, y->key));
#ifdef RLX_GSS_LAWS
    check_laws(x, y);
#endif
    return larger(x, y);
}

uint64_t rlx_gss_cell_hash(const rlx_gss_cell_t *cell)
{
    uint64_t words[8] = {cell->key.a, cell->key.b, cell->key.kind, cell->version.a, cell->version.b, cell->version.c, 0, 0};
    uint64_t digest[2];

    rlx_digest_xxh3(cell->body, cell->bytes, &words[6]);
    rlx_digest_xxh3(words, sizeof words, digest);
    return digest[0];
}

uint64_t rlx_gss_id(const char *name)
{
    uint64_t digest[2];

    rlx_digest_xxh3(name, strlen(name), digest);
    return digest[0] == 0 ? 1 : digest[0];
}
