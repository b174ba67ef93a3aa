/* Making expressions: every rule that turns operands into a canonical node. Pure functions on the pool.
 *
 * A comparison is decided when the bounds of the difference of its sides decide it, or the structure does (min <= operand <= max);
 * otherwise it is kept as "positive terms OP negative terms and constant", divided by the common factor. */
#include "ir/expr/divide.h"

#include "base/assert.h"

#define PROVE_DEPTH 6

static rlx_expr_t raw(rlx_exprs_t *exprs, rlx_expr_op_t op, rlx_expr_t a, rlx_expr_t b)
{
    return a < 0 ? a : b < 0 ? b : rlx_exprs_intern(exprs, op, a, b, RLX_EXPR_NONE, 0);
}

/* a == b as it is, the sides in order. */
static rlx_expr_t raw_equal(rlx_exprs_t *exprs, rlx_expr_t a, rlx_expr_t b)
{
    return rlx_exprs_before(exprs, b, a) ? raw(exprs, RLX_EXPR_EQ, b, a) : raw(exprs, RLX_EXPR_EQ, a, b);
}

static bool is_bool(const rlx_exprs_t *exprs, rlx_expr_t expr) { return exprs->nodes[expr].min >= 0 && exprs->nodes[expr].max <= 1; }

/* a <= b for all symbol values? */
static bool prove_le(const rlx_exprs_t *exprs, rlx_expr_t a, rlx_expr_t b, int depth)
{
    const rlx_expr_node_t *x = &exprs->nodes[a], *y = &exprs->nodes[b];
    rlx_linear_t difference = {0};
    int64_t lo, hi;

    if (a == b || x->max <= y->min)
        return true;
    if (depth == 0)
        return false;
    if (rlx_linear_add(exprs, &difference, b, 1) && rlx_linear_add(exprs, &difference, a, -1)) {
        rlx_linear_bounds(exprs, &difference, &lo, &hi);
        if (lo >= 0)
            return true;
    }
    if (x->op == RLX_EXPR_MAX || x->op == RLX_EXPR_SELECT) {
        rlx_expr_t second = x->op == RLX_EXPR_MAX ? x->a : x->c;
        return prove_le(exprs, x->b, b, depth - 1) && prove_le(exprs, second, b, depth - 1);
    }
    if (y->op == RLX_EXPR_MIN)
        return prove_le(exprs, a, y->a, depth - 1) && prove_le(exprs, a, y->b, depth - 1);
    if (x->op == RLX_EXPR_MIN && (prove_le(exprs, x->a, b, depth - 1) || prove_le(exprs, x->b, b, depth - 1)))
        return true;
    return y->op == RLX_EXPR_MAX && (prove_le(exprs, a, y->a, depth - 1) || prove_le(exprs, a, y->b, depth - 1));
}

static rlx_expr_t make_sum(rlx_exprs_t *exprs, rlx_expr_op_t op, rlx_expr_t a, rlx_expr_t b)
{
    rlx_linear_t linear = {0};
    rlx_expr_t result;

    if (!rlx_linear_add(exprs, &linear, a, 1) || !rlx_linear_add(exprs, &linear, b, op == RLX_EXPR_ADD ? 1 : -1))
        return raw(exprs, op, a, b);
    result = rlx_linear_build(exprs, &linear);
    if (result >= 0 && exprs->nodes[result].min == exprs->nodes[result].max)
        return rlx_expr_const(exprs, exprs->nodes[result].min);
    return result;
}

static rlx_expr_t make_product(rlx_exprs_t *exprs, rlx_expr_t a, rlx_expr_t b)
{
    rlx_product_t product = {.coef = 1};

    if (!rlx_product_mul(exprs, &product, a) || !rlx_product_mul(exprs, &product, b))
        return raw(exprs, RLX_EXPR_MUL, a, b);
    return rlx_product_build(exprs, &product);
}

/* Constants last, so that min(min(x, 3), 5) meets both constants. */
static rlx_expr_t make_extremum(rlx_exprs_t *exprs, rlx_expr_op_t op, rlx_expr_t a, rlx_expr_t b)
{
    int64_t inner, outer;

    if (prove_le(exprs, a, b, PROVE_DEPTH))
        return op == RLX_EXPR_MIN ? a : b;
    if (prove_le(exprs, b, a, PROVE_DEPTH))
        return op == RLX_EXPR_MIN ? b : a;
    if (exprs->nodes[a].op == RLX_EXPR_CONST || (exprs->nodes[b].op != RLX_EXPR_CONST && rlx_exprs_before(exprs, b, a))) {
        rlx_expr_t swap = a;
        a = b;
        b = swap;
    }
    if (exprs->nodes[a].op == op && rlx_expr_is_const(exprs, exprs->nodes[a].b, &inner) && rlx_expr_is_const(exprs, b, &outer))
        return rlx_expr_binary(exprs, op, exprs->nodes[a].a,
                               rlx_expr_const(exprs, (op == RLX_EXPR_MIN) == (inner < outer) ? inner : outer));
    return raw(exprs, op, a, b);
}

/* Sides of a comparison from the difference: terms with positive coefficients left, the others right; the constant where it stands alone,
 * else right. */
static bool make_sides(rlx_exprs_t *exprs, const rlx_linear_t *difference, rlx_expr_t *out_left, rlx_expr_t *out_right)
{
    rlx_linear_t left = {0}, right = {0};

    for (int i = 0; i < difference->n; i++) {
        bool positive = difference->coef[i] > 0;
        if (difference->coef[i] == INT64_MIN)
            return false;
        if (!rlx_linear_add(exprs, positive ? &left : &right, difference->term[i], positive ? difference->coef[i] : -difference->coef[i]))
            return false;
    }
    if (difference->k == INT64_MIN)
        return false;
    left.k = left.n == 0 ? difference->k : 0;
    right.k = left.n == 0 ? 0 : -difference->k;
    *out_left = rlx_linear_build(exprs, &left);
    *out_right = rlx_linear_build(exprs, &right);
    return *out_left >= 0 && *out_right >= 0;
}

static bool linear_negate(rlx_linear_t *linear)
{
    for (int i = 0; i < linear->n; i++) {
        if (linear->coef[i] == INT64_MIN)
            return false;
        linear->coef[i] = -linear->coef[i];
    }
    if (linear->k == INT64_MIN)
        return false;
    linear->k = -linear->k;
    return true;
}

static int64_t coefficients_divide(rlx_linear_t *linear)
{
    int64_t k = linear->k, g;

    linear->k = 0;
    g = rlx_linear_primitive(linear);
    linear->k = k;
    return g;
}

/* c == 0 of a comparison c is its negation. */
static rlx_expr_t make_equal_zero(rlx_exprs_t *exprs, rlx_expr_t a)
{
    const rlx_expr_node_t node = exprs->nodes[a];
    rlx_expr_t next;

    if (node.op == RLX_EXPR_EQ && rlx_expr_is(exprs, node.b, 0) && is_bool(exprs, node.a))
        return node.a;
    if (node.op == RLX_EXPR_LT) {
        next = rlx_expr_add(exprs, node.a, rlx_expr_const(exprs, 1));
        if (next >= 0)
            return rlx_expr_lt(exprs, node.b, next);
    }
    return RLX_EXPR_NONE;
}

static rlx_expr_t make_equal(rlx_exprs_t *exprs, rlx_expr_t a, rlx_expr_t b)
{
    rlx_linear_t difference;
    int64_t lo, hi, g;
    rlx_expr_t left, right;

    if (a == b)
        return rlx_expr_const(exprs, 1);
    if (rlx_expr_is(exprs, b, 1) && is_bool(exprs, a))
        return a;
    if (rlx_expr_is(exprs, a, 1) && is_bool(exprs, b))
        return b;
    if (rlx_expr_is(exprs, a, 0) || rlx_expr_is(exprs, b, 0)) {
        rlx_expr_t negated = make_equal_zero(exprs, rlx_expr_is(exprs, a, 0) ? b : a);
        if (negated != RLX_EXPR_NONE)
            return negated;
    }
    if (!rlx_linear_expand_difference(exprs, a, b, &difference))
        return raw_equal(exprs, a, b);
    rlx_linear_bounds(exprs, &difference, &lo, &hi);
    if (lo > 0 || hi < 0 || (lo == 0 && hi == 0))
        return rlx_expr_const(exprs, lo == 0 && hi == 0);
    difference = (rlx_linear_t){0};
    if (!rlx_linear_add(exprs, &difference, a, 1) || !rlx_linear_add(exprs, &difference, b, -1))
        return raw_equal(exprs, a, b);
    g = coefficients_divide(&difference);
    if (difference.k % g != 0)
        return rlx_expr_const(exprs, 0);
    difference.k /= g;
    if ((difference.n > 0 && difference.coef[0] < 0 && !linear_negate(&difference)) || !make_sides(exprs, &difference, &left, &right))
        return raw_equal(exprs, a, b);
    return raw(exprs, RLX_EXPR_EQ, left, right);
}

/* difference < 0 where the only term is a division by a constant d > 0: the condition on the dividend. NONE when it is not of that form.
 *   x/d + k < 0  <=>  x < -k*d        k - x/d < 0  <=>  (k+1)*d - 1 < x */
static rlx_expr_t make_less_undivided(rlx_exprs_t *exprs, const rlx_linear_t *difference)
{
    int64_t d, limit;
    rlx_expr_t x;

    if (difference->n != 1 || (difference->coef[0] != 1 && difference->coef[0] != -1) ||
        exprs->nodes[difference->term[0]].op != RLX_EXPR_FLOORDIV)
        return RLX_EXPR_NONE;
    if (!rlx_expr_is_const(exprs, exprs->nodes[difference->term[0]].b, &d) || d <= 0)
        return RLX_EXPR_NONE;
    x = exprs->nodes[difference->term[0]].a;
    if (difference->coef[0] == 1)
        return __builtin_mul_overflow(difference->k, -d, &limit) ? RLX_EXPR_NONE : rlx_expr_lt(exprs, x, rlx_expr_const(exprs, limit));
    if (difference->k == INT64_MAX || __builtin_mul_overflow(difference->k + 1, d, &limit) || limit == INT64_MIN)
        return RLX_EXPR_NONE;
    return rlx_expr_lt(exprs, rlx_expr_const(exprs, limit - 1), x);
}

static rlx_expr_t make_less(rlx_exprs_t *exprs, rlx_expr_t a, rlx_expr_t b)
{
    rlx_linear_t difference;
    int64_t lo, hi, g;
    rlx_expr_t left, right, undivided;

    if (prove_le(exprs, b, a, PROVE_DEPTH))
        return rlx_expr_const(exprs, 0);
    if (exprs->nodes[a].max < exprs->nodes[b].min)
        return rlx_expr_const(exprs, 1);
    if (!rlx_linear_expand_difference(exprs, a, b, &difference))
        return raw(exprs, RLX_EXPR_LT, a, b);
    rlx_linear_bounds(exprs, &difference, &lo, &hi);
    if (hi < 0 || lo >= 0)
        return rlx_expr_const(exprs, hi < 0);
    difference = (rlx_linear_t){0};
    if (!rlx_linear_add(exprs, &difference, a, 1) || !rlx_linear_add(exprs, &difference, b, -1))
        return raw(exprs, RLX_EXPR_LT, a, b);
    g = coefficients_divide(&difference);
    difference.k = rlx_int_floordiv(difference.k, g); /* g*t + k < 0 <=> t + floor(k/g) < 0 */
    undivided = make_less_undivided(exprs, &difference);
    if (undivided != RLX_EXPR_NONE)
        return undivided;
    if (!make_sides(exprs, &difference, &left, &right))
        return raw(exprs, RLX_EXPR_LT, a, b);
    return raw(exprs, RLX_EXPR_LT, left, right);
}

rlx_expr_t rlx_expr_binary(rlx_exprs_t *exprs, rlx_expr_op_t op, rlx_expr_t a, rlx_expr_t b)
{
    int64_t x = 0, y = 0, folded;
    bool a_const, b_const;

    if (a < 0 || b < 0)
        return a == RLX_EXPR_ERROR || b == RLX_EXPR_ERROR ? RLX_EXPR_ERROR : RLX_EXPR_NONE;
    RLX_ASSERT(a < exprs->n);
    RLX_ASSERT(b < exprs->n);
    a_const = rlx_expr_is_const(exprs, a, &x);
    b_const = rlx_expr_is_const(exprs, b, &y);
    if (a_const && b_const)
        return rlx_int_fold(op, x, y, &folded) ? rlx_expr_const(exprs, folded) : RLX_EXPR_ERROR;
    switch (op) {
    case RLX_EXPR_ADD:
    case RLX_EXPR_SUB:
        return make_sum(exprs, op, a, b);
    case RLX_EXPR_MUL:
        return make_product(exprs, a, b);
    case RLX_EXPR_FLOORDIV:
        return b_const && y == 0 ? RLX_EXPR_ERROR : rlx_expr_simplify_floordiv(exprs, a, b);
    case RLX_EXPR_CEILDIV:
        return b_const && y == 0 ? RLX_EXPR_ERROR : rlx_expr_simplify_ceildiv(exprs, a, b);
    case RLX_EXPR_TRUNCDIV:
        return b_const && y == 0 ? RLX_EXPR_ERROR : rlx_expr_simplify_truncdiv(exprs, a, b);
    case RLX_EXPR_MOD:
        return b_const && y == 0 ? RLX_EXPR_ERROR : rlx_expr_simplify_mod(exprs, a, b);
    case RLX_EXPR_MIN:
    case RLX_EXPR_MAX:
        return make_extremum(exprs, op, a, b);
    case RLX_EXPR_LT:
        return make_less(exprs, a, b);
    case RLX_EXPR_EQ:
        return make_equal(exprs, a, b);
    case RLX_EXPR_FSCALE:
    case RLX_EXPR_FCEILDIV:
    case RLX_EXPR_FSUB:
        return raw(exprs, op, a, b);
    default:
        return RLX_EXPR_ERROR;
    }
}

/* select(x == y, x, y) = y, and so with the arms the other way round. */
static bool select_follows_equality(const rlx_exprs_t *exprs, rlx_expr_t cond, rlx_expr_t a, rlx_expr_t b)
{
    const rlx_expr_node_t *node = &exprs->nodes[cond];

    return node->op == RLX_EXPR_EQ && ((node->a == a && node->b == b) || (node->a == b && node->b == a));
}

/* What an equality `x == k` says: the value of x, and of g where x is min(g, c) or max(g, c) with another c. */
typedef struct assumption {
    rlx_expr_t known[2];
    int64_t value;
} assumption_t;

static assumption_t assume(const rlx_exprs_t *exprs, rlx_expr_t x, int64_t k)
{
    const rlx_expr_node_t *node = &exprs->nodes[x];
    assumption_t assumption = {{x, RLX_EXPR_NONE}, k};
    int64_t bound;

    if (node->op != RLX_EXPR_MIN && node->op != RLX_EXPR_MAX)
        return assumption;
    if (rlx_expr_is_const(exprs, node->a, &bound) && bound != k)
        assumption.known[1] = node->b;
    if (rlx_expr_is_const(exprs, node->b, &bound) && bound != k)
        assumption.known[1] = node->a;
    return assumption;
}

/* The value of `expr` under the assumption, if that settles it; `depth` bounds the search. */
static bool settled(const rlx_exprs_t *exprs, rlx_expr_t expr, const assumption_t *assumption, int depth, int64_t *out)
{
    const rlx_expr_node_t *node = &exprs->nodes[expr];
    int64_t a, b;

    if (rlx_expr_is_const(exprs, expr, out))
        return true;
    *out = assumption->value;
    if (expr == assumption->known[0] || expr == assumption->known[1])
        return true;
    if (depth == 0 || node->op == RLX_EXPR_SYMBOL || !settled(exprs, node->a, assumption, depth - 1, &a))
        return false;
    if (node->op == RLX_EXPR_SELECT)
        return settled(exprs, a != 0 ? node->b : node->c, assumption, depth - 1, out);
    return settled(exprs, node->b, assumption, depth - 1, &b) && rlx_int_fold(node->op, a, b, out);
}

/* select(x == k, a, x) is x where a is k whenever x is: what remains of a broadcast whose extents agree anyway. */
static bool select_is_redundant(const rlx_exprs_t *exprs, rlx_expr_t cond, rlx_expr_t a, rlx_expr_t b)
{
    const rlx_expr_node_t *node = &exprs->nodes[cond];
    int64_t k, value;
    assumption_t assumption;

    if (node->op != RLX_EXPR_EQ || node->a != b || !rlx_expr_is_const(exprs, node->b, &k))
        return false;
    assumption = assume(exprs, b, k);
    return settled(exprs, a, &assumption, 6, &value) && value == k;
}

rlx_expr_t rlx_expr_select(rlx_exprs_t *exprs, rlx_expr_t cond, rlx_expr_t a, rlx_expr_t b)
{
    int64_t value;

    if (cond < 0)
        return cond;
    if (rlx_expr_is_const(exprs, cond, &value))
        return value != 0 ? a : b;
    if (exprs->nodes[cond].min > 0 || exprs->nodes[cond].max < 0)
        return a;
    if (a == b)
        return a;
    if (a < 0 || b < 0)
        return a == RLX_EXPR_ERROR || b == RLX_EXPR_ERROR ? RLX_EXPR_ERROR : RLX_EXPR_NONE;
    if (select_follows_equality(exprs, cond, a, b) || select_is_redundant(exprs, cond, a, b))
        return b;
    if (exprs->nodes[cond].op == RLX_EXPR_EQ && rlx_expr_is(exprs, exprs->nodes[cond].b, 0) && is_bool(exprs, exprs->nodes[cond].a))
        return rlx_expr_select(exprs, exprs->nodes[cond].a, b, a);
    if (is_bool(exprs, cond) && rlx_expr_is(exprs, a, 1) && rlx_expr_is(exprs, b, 0))
        return cond;
    return rlx_exprs_intern(exprs, RLX_EXPR_SELECT, cond, a, b, 0);
}
