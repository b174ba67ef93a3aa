/* The expression pool: hash-consed nodes with proven bounds.
 *
 * Nodes are never changed or removed; operands have smaller indices than the node, so a walk in order of index is a topological walk.
 * Bounds are true for every assignment on which evaluation succeeds: values are int64, so saturated bounds are still bounds.
 * Memory that runs out aborts; the number of nodes is capped by RLX_EXPR_NODES_MAX. */
#include "ir/expr/pool.h"

#include "base/assert.h"
#include "base/float_bits.h"

#include <stdlib.h>
#include <string.h>

typedef struct interval {
    int64_t min, max;
} interval_t;

typedef __int128 wide_t;

static int64_t saturate(wide_t value)
{
    return value > INT64_MAX ? INT64_MAX : value < INT64_MIN ? INT64_MIN : (int64_t)value;
}

static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }

static interval_t hull(const wide_t *candidates, int n)
{
    wide_t lo = candidates[0], hi = candidates[0];

    for (int i = 1; i < n; i++) {
        lo = candidates[i] < lo ? candidates[i] : lo;
        hi = candidates[i] > hi ? candidates[i] : hi;
    }
    return (interval_t){saturate(lo), saturate(hi)};
}

static wide_t wide_floordiv(wide_t a, wide_t b) { return a / b - (a % b != 0 && (a % b < 0) != (b < 0)); }

/* |a / b| <= |a| whatever the rounding: used when the divisor's sign is open. */
static interval_t magnitude(interval_t a)
{
    wide_t m = -(wide_t)a.min > (wide_t)a.max ? -(wide_t)a.min : (wide_t)a.max;

    return (interval_t){saturate(-m), saturate(m)};
}

static interval_t divide_bounds(rlx_expr_op_t op, interval_t a, interval_t b)
{
    const int64_t as[2] = {a.min, a.max}, bs[2] = {b.min, b.max};
    wide_t q[4];

    if (b.min <= 0) {
        interval_t m = magnitude(a);
        return op == RLX_EXPR_CEILDIV || op == RLX_EXPR_FLOORDIV ? (interval_t){saturate((wide_t)m.min - 1), saturate((wide_t)m.max + 1)}
                                                                 : m;
    }
    for (int i = 0; i < 4; i++) {
        wide_t x = as[i / 2], y = bs[i % 2];
        q[i] = op == RLX_EXPR_FLOORDIV ? wide_floordiv(x, y) : op == RLX_EXPR_CEILDIV ? -wide_floordiv(-x, y) : x / y;
    }
    return hull(q, 4);
}

static interval_t mod_bounds(interval_t a, interval_t b)
{
    wide_t m;

    if (b.min > 0)
        return (interval_t){0, a.min >= 0 ? min64(a.max, b.max - 1) : b.max - 1};
    m = -(wide_t)b.min > (wide_t)b.max ? -(wide_t)b.min : (wide_t)b.max;
    return (interval_t){saturate(-m), saturate(m)};
}

static interval_t mul_bounds(interval_t a, interval_t b)
{
    wide_t p[4] = {(wide_t)a.min * b.min, (wide_t)a.min * b.max, (wide_t)a.max * b.min, (wide_t)a.max * b.max};

    return hull(p, 4);
}

/* A divisor of 0 is an error, so a divisor that is not negative is at least 1. */
static interval_t divisor_bounds(interval_t b)
{
    return (interval_t){b.min == 0 && b.max > 0 ? 1 : b.min, b.max};
}

static interval_t bounds(const rlx_exprs_t *exprs, rlx_expr_op_t op, rlx_expr_t ea, rlx_expr_t eb, rlx_expr_t ec)
{
    interval_t a = {exprs->nodes[ea].min, exprs->nodes[ea].max}, b = {exprs->nodes[eb].min, exprs->nodes[eb].max};

    switch (op) {
    case RLX_EXPR_ADD:
        return (interval_t){saturate((wide_t)a.min + b.min), saturate((wide_t)a.max + b.max)};
    case RLX_EXPR_SUB:
        return (interval_t){saturate((wide_t)a.min - b.max), saturate((wide_t)a.max - b.min)};
    case RLX_EXPR_MUL:
        return mul_bounds(a, b);
    case RLX_EXPR_FLOORDIV:
    case RLX_EXPR_CEILDIV:
    case RLX_EXPR_TRUNCDIV:
        return divide_bounds(op, a, divisor_bounds(b));
    case RLX_EXPR_MOD:
        return mod_bounds(a, divisor_bounds(b));
    case RLX_EXPR_MIN:
        return (interval_t){min64(a.min, b.min), min64(a.max, b.max)};
    case RLX_EXPR_MAX:
        return (interval_t){max64(a.min, b.min), max64(a.max, b.max)};
    case RLX_EXPR_SELECT: {
        interval_t c = {exprs->nodes[ec].min, exprs->nodes[ec].max};
        return (interval_t){min64(b.min, c.min), max64(b.max, c.max)};
    }
    case RLX_EXPR_FSCALE: /* bits of negative numbers and -0 are above INT32_MAX */
        return (interval_t){a.min >= 0 && b.max <= INT32_MAX ? 0 : INT64_MIN, INT64_MAX};
    case RLX_EXPR_FCEILDIV:
        return (interval_t){a.max <= INT32_MAX && b.max <= INT32_MAX ? 0 : INT64_MIN, INT64_MAX};
    case RLX_EXPR_FSUB:
        return (interval_t){0, UINT32_MAX};
    default:
        return (interval_t){0, 1};
    }
}

static uint32_t node_hash(const rlx_expr_node_t *node)
{
    const uint64_t words[3] = {(uint64_t)node->op << 32 | (uint32_t)node->a, (uint64_t)(uint32_t)node->b << 32 | (uint32_t)node->c,
                               (uint64_t)node->value};
    uint64_t hash = 0x9e3779b97f4a7c15u;

    for (int i = 0; i < 3; i++) {
        hash = (hash ^ words[i]) * 0xff51afd7ed558ccdu;
        hash ^= hash >> 32;
    }
    return (uint32_t)hash;
}

static bool node_same(const rlx_expr_node_t *x, const rlx_expr_node_t *y)
{
    return x->op == y->op && x->a == y->a && x->b == y->b && x->c == y->c && x->value == y->value;
}

static rlx_expr_t *table_slot(rlx_exprs_t *exprs, const rlx_expr_node_t *node)
{
    uint32_t mask = (uint32_t)exprs->table_cap - 1, i = node_hash(node) & mask;

    while (exprs->table[i] != RLX_EXPR_NONE && !node_same(&exprs->nodes[exprs->table[i]], node))
        i = (i + 1) & mask;
    return &exprs->table[i];
}

static void *checked_realloc(void *memory, size_t bytes)
{
    void *result = realloc(memory, bytes);

    if (result == NULL)
        abort();
    return result;
}

static void table_rebuild(rlx_exprs_t *exprs, int cap)
{
    exprs->table = checked_realloc(exprs->table, (size_t)cap * sizeof(rlx_expr_t));
    exprs->table_cap = cap;
    for (int i = 0; i < cap; i++)
        exprs->table[i] = RLX_EXPR_NONE;
    for (int i = 0; i < exprs->n; i++)
        *table_slot(exprs, &exprs->nodes[i]) = i;
}

static void pool_grow(rlx_exprs_t *exprs)
{
    exprs->cap = exprs->cap ? exprs->cap * 2 : 256;
    exprs->nodes = checked_realloc(exprs->nodes, (size_t)exprs->cap * sizeof(rlx_expr_node_t));
    exprs->depth = checked_realloc(exprs->depth, (size_t)exprs->cap * sizeof(int16_t));
    table_rebuild(exprs, exprs->cap * 4);
}

rlx_exprs_t *rlx_exprs_create(void)
{
    rlx_exprs_t *exprs = calloc(1, sizeof(*exprs));

    if (exprs == NULL)
        abort();
    pool_grow(exprs);
    return exprs;
}

void rlx_exprs_destroy(rlx_exprs_t *exprs)
{
    if (exprs == NULL)
        return;
    free(exprs->nodes);
    free(exprs->depth);
    free(exprs->table);
    free(exprs);
}

static rlx_expr_t node_add(rlx_exprs_t *exprs, const rlx_expr_node_t *node, int depth)
{
    rlx_expr_t *slot = table_slot(exprs, node);

    if (*slot != RLX_EXPR_NONE)
        return *slot;
    if (exprs->n >= RLX_EXPR_NODES_MAX || depth > RLX_EXPR_DEPTH_MAX)
        return RLX_EXPR_ERROR;
    if (exprs->n == exprs->cap) {
        pool_grow(exprs);
        slot = table_slot(exprs, node);
    }
    exprs->nodes[exprs->n] = *node;
    exprs->depth[exprs->n] = (int16_t)depth;
    *slot = exprs->n;
    return exprs->n++;
}

static int operand_depth(const rlx_exprs_t *exprs, rlx_expr_t operand) { return operand < 0 ? 0 : exprs->depth[operand]; }

rlx_expr_t rlx_exprs_intern(rlx_exprs_t *exprs, rlx_expr_op_t op, rlx_expr_t a, rlx_expr_t b, rlx_expr_t c, int64_t value)
{
    interval_t range = {value, value};
    rlx_expr_node_t node;
    int depth = operand_depth(exprs, a);

    if (op != RLX_EXPR_CONST)
        range = bounds(exprs, op, a, b, c);
    depth = operand_depth(exprs, b) > depth ? operand_depth(exprs, b) : depth;
    depth = operand_depth(exprs, c) > depth ? operand_depth(exprs, c) : depth;
    node = (rlx_expr_node_t){.op = op, .a = a, .b = b, .c = c, .value = value, .min = range.min, .max = range.max};
    return node_add(exprs, &node, depth + 1);
}

rlx_expr_t rlx_expr_const(rlx_exprs_t *exprs, int64_t value)
{
    return rlx_exprs_intern(exprs, RLX_EXPR_CONST, RLX_EXPR_NONE, RLX_EXPR_NONE, RLX_EXPR_NONE, value);
}

rlx_expr_t rlx_expr_symbol(rlx_exprs_t *exprs, int symbol, int64_t min, int64_t max)
{
    rlx_expr_node_t node = {RLX_EXPR_SYMBOL, RLX_EXPR_NONE, RLX_EXPR_NONE, RLX_EXPR_NONE, symbol, min, max};

    RLX_ASSERT(symbol >= 0);
    RLX_ASSERT(min <= max);
    if (min == max)
        return rlx_expr_const(exprs, min);
    return node_add(exprs, &node, 1);
}

bool rlx_exprs_before(const rlx_exprs_t *exprs, rlx_expr_t a, rlx_expr_t b)
{
    while (a != b) { /* equal expressions have one index: the operands that differ decide */
        const rlx_expr_node_t *x = &exprs->nodes[a], *y = &exprs->nodes[b];

        if (exprs->depth[a] != exprs->depth[b])
            return exprs->depth[a] < exprs->depth[b];
        if (x->op != y->op)
            return x->op < y->op;
        if (x->value != y->value)
            return x->value < y->value;
        a = x->a != y->a ? x->a : x->b != y->b ? x->b : x->c;
        b = x->a != y->a ? y->a : x->b != y->b ? y->b : y->c;
        RLX_ASSERT(a >= 0);
        RLX_ASSERT(b >= 0);
    }
    return false;
}

int rlx_exprs_count(const rlx_exprs_t *exprs) { return exprs->n; }

const rlx_expr_node_t *rlx_expr_node(const rlx_exprs_t *exprs, rlx_expr_t expr)
{
    RLX_ASSERT(expr >= 0);
    RLX_ASSERT(expr < exprs->n);
    return &exprs->nodes[expr];
}

bool rlx_expr_is_const(const rlx_exprs_t *exprs, rlx_expr_t expr, int64_t *out_value)
{
    if (expr < 0 || exprs->nodes[expr].op != RLX_EXPR_CONST)
        return false;
    *out_value = exprs->nodes[expr].value;
    return true;
}

bool rlx_expr_is(const rlx_exprs_t *exprs, rlx_expr_t expr, int64_t value)
{
    int64_t found;

    return rlx_expr_is_const(exprs, expr, &found) && found == value;
}

bool rlx_int_fold(rlx_expr_op_t op, int64_t a, int64_t b, int64_t *out)
{
    switch (op) {
    case RLX_EXPR_ADD: return !__builtin_add_overflow(a, b, out);
    case RLX_EXPR_SUB: return !__builtin_sub_overflow(a, b, out);
    case RLX_EXPR_MUL: return !__builtin_mul_overflow(a, b, out);
    case RLX_EXPR_MIN: *out = min64(a, b); return true;
    case RLX_EXPR_MAX: *out = max64(a, b); return true;
    case RLX_EXPR_LT: *out = a < b; return true;
    case RLX_EXPR_EQ: *out = a == b; return true;
    case RLX_EXPR_FSCALE: return rlx_float_bits_scale(a, b, out);
    case RLX_EXPR_FCEILDIV: return rlx_float_bits_ceildiv(a, b, out);
    case RLX_EXPR_FSUB: return rlx_float_bits_sub(a, b, out);
    case RLX_EXPR_MOD:
        if (b == 0)
            return false;
        *out = rlx_int_mod(a, b);
        return true;
    default:
        break;
    }
    if (b == 0 || (a == INT64_MIN && b == -1))
        return false;
    *out = op == RLX_EXPR_TRUNCDIV  ? a / b
           : op == RLX_EXPR_CEILDIV ? a / b + (a % b != 0 && (a % b < 0) == (b < 0))
                                    : rlx_int_floordiv(a, b);
    return true;
}
