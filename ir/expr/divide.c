/* Division and remainder in canonical form. Rules, for a sum P and a product Q:
 *   terms of P that Q divides exactly move out of the quotient (and vanish from the remainder);
 *   factors common to all that is left and to Q are cancelled;
 *   floor(floor(x/a) + k)/b) = floor((x + k*a) / (a*b)) for constants a, b > 0, which joins the extents of strided layers.
 * Cancelling a factor assumes that it is not 0 at run time: a quotient by 0 is an error or, after cancelling, defined. */
#include "ir/expr/divide.h"

#include <string.h>

static int64_t gcd(int64_t a, int64_t b)
{
    uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a, y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;

    while (y != 0) {
        uint64_t r = x % y;
        x = y;
        y = r;
    }
    return x > INT64_MAX ? 1 : (int64_t)x;
}

/* coef * term / q when exact. */
static bool term_divide(rlx_exprs_t *exprs, int64_t coef, rlx_expr_t term, const rlx_product_t *q, rlx_expr_t *out)
{
    rlx_product_t product = {.coef = 1};

    if ((coef == INT64_MIN && q->coef == -1) || coef % q->coef != 0)
        return false;
    if (!rlx_product_mul(exprs, &product, term) || product.coef != 1 || !rlx_product_remove(&product, q))
        return false;
    product.coef = coef / q->coef;
    *out = rlx_product_build(exprs, &product);
    return *out >= 0;
}

/* Splits p into quotient * q + rest. */
static bool split_exact(rlx_exprs_t *exprs, const rlx_linear_t *p, const rlx_product_t *q, rlx_linear_t *quotient, rlx_linear_t *rest)
{
    rlx_expr_t part;

    *quotient = *rest = (rlx_linear_t){0};
    for (int i = 0; i < p->n; i++) {
        bool exact = term_divide(exprs, p->coef[i], p->term[i], q, &part);
        if (exact ? !rlx_linear_add(exprs, quotient, part, 1) : !rlx_linear_add(exprs, rest, p->term[i], p->coef[i]))
            return false;
    }
    rest->k = p->k;
    if (q->n == 0 && !(p->k == INT64_MIN && q->coef == -1)) {
        int64_t k = rlx_int_floordiv(p->k, q->coef);
        rest->k = rlx_int_mod(p->k, q->coef);
        return !__builtin_add_overflow(quotient->k, k, &quotient->k);
    }
    return true;
}

/* True when every term of p has `factor`; then p without it. */
static bool linear_cancel(rlx_exprs_t *exprs, rlx_linear_t *p, rlx_expr_t factor)
{
    const rlx_product_t q = {.coef = 1, .n = 1, .factor = {factor}};
    rlx_linear_t result = {0};
    rlx_expr_t part;

    if (p->k != 0 || p->n == 0)
        return false;
    for (int i = 0; i < p->n; i++) {
        if (!term_divide(exprs, p->coef[i], p->term[i], &q, &part) || !rlx_linear_add(exprs, &result, part, 1))
            return false;
    }
    *p = result;
    return true;
}

/* Cancels what p and q share; q's coefficient becomes positive. With q a constant the constant of p is rounded down. */
static bool cancel_common(rlx_exprs_t *exprs, rlx_linear_t *p, rlx_product_t *q)
{
    int64_t g = q->coef;

    for (int i = q->n - 1; i >= 0; i--) {
        rlx_product_t one = {.coef = 1, .n = 1, .factor = {q->factor[i]}};
        if (linear_cancel(exprs, p, q->factor[i]))
            rlx_product_remove(q, &one);
        if (i > q->n)
            i = q->n;
    }
    for (int i = 0; i < p->n; i++)
        g = gcd(g, p->coef[i]);
    if (q->n > 0)
        g = gcd(g, p->k);
    g = g < 0 ? -g : g;
    if (q->coef < 0)
        g = -g;
    if (g == 0 || g == INT64_MIN || g == 1)
        return true;
    for (int i = 0; i < p->n; i++) {
        if (g == -1 && p->coef[i] == INT64_MIN)
            return false;
        p->coef[i] /= g;
    }
    if (g == -1 && p->k == INT64_MIN)
        return false;
    p->k = rlx_int_floordiv(p->k, g);
    q->coef /= g;
    return true;
}

static rlx_expr_t divide_raw(rlx_exprs_t *exprs, rlx_expr_op_t op, rlx_expr_t a, rlx_expr_t b)
{
    rlx_expr_t result;

    if (a < 0 || b < 0)
        return a < 0 ? a : b;
    result = rlx_exprs_intern(exprs, op, a, b, RLX_EXPR_NONE, 0);
    if (result >= 0 && exprs->nodes[result].min == exprs->nodes[result].max)
        return rlx_expr_const(exprs, exprs->nodes[result].min);
    return result;
}

/* floor((floor(x/a) + k) / b): the joined division, or RLX_EXPR_NONE when p is not of that form. */
static rlx_expr_t divide_joined(rlx_exprs_t *exprs, const rlx_linear_t *p, int64_t b)
{
    rlx_linear_t inner = {0};
    int64_t a, ab, ka;
    rlx_expr_t divisor, dividend;

    if (p->n != 1 || p->coef[0] != 1 || exprs->nodes[p->term[0]].op != RLX_EXPR_FLOORDIV || b <= 0)
        return RLX_EXPR_NONE;
    if (!rlx_expr_is_const(exprs, exprs->nodes[p->term[0]].b, &a) || a <= 0)
        return RLX_EXPR_NONE;
    if (__builtin_mul_overflow(a, b, &ab) || __builtin_mul_overflow(p->k, a, &ka))
        return RLX_EXPR_NONE;
    if (!rlx_linear_add(exprs, &inner, exprs->nodes[p->term[0]].a, 1) || __builtin_add_overflow(inner.k, ka, &inner.k))
        return RLX_EXPR_NONE;
    dividend = rlx_linear_build(exprs, &inner);
    divisor = rlx_expr_const(exprs, ab);
    return dividend < 0 || divisor < 0 ? RLX_EXPR_NONE : rlx_expr_floordiv(exprs, dividend, divisor);
}

static bool remainder_vanishes(const rlx_exprs_t *exprs, const rlx_linear_t *rest, rlx_expr_t b)
{
    int64_t lo, hi;

    rlx_linear_bounds(exprs, rest, &lo, &hi);
    return exprs->nodes[b].min > 0 && lo >= 0 && hi < exprs->nodes[b].min;
}

rlx_expr_t rlx_expr_simplify_floordiv(rlx_exprs_t *exprs, rlx_expr_t a, rlx_expr_t b)
{
    rlx_linear_t p = {0}, quotient, rest;
    rlx_product_t q = {.coef = 1};
    rlx_expr_t part, divisor;

    if (!rlx_linear_add(exprs, &p, a, 1) || !rlx_product_mul(exprs, &q, b) || q.coef == 0)
        return divide_raw(exprs, RLX_EXPR_FLOORDIV, a, b);
    if (!split_exact(exprs, &p, &q, &quotient, &rest) || !cancel_common(exprs, &rest, &q))
        return divide_raw(exprs, RLX_EXPR_FLOORDIV, a, b);
    if (q.n == 0 && q.coef == 1) {
        if (!rlx_linear_add(exprs, &quotient, rlx_linear_build(exprs, &rest), 1))
            return divide_raw(exprs, RLX_EXPR_FLOORDIV, a, b);
        return rlx_linear_build(exprs, &quotient);
    }
    divisor = rlx_product_build(exprs, &q);
    if (divisor < 0)
        return divisor;
    if ((rest.n == 0 && rest.k == 0) || remainder_vanishes(exprs, &rest, divisor))
        return rlx_linear_build(exprs, &quotient);
    part = q.n == 0 ? divide_joined(exprs, &rest, q.coef) : RLX_EXPR_NONE;
    if (part == RLX_EXPR_NONE)
        part = divide_raw(exprs, RLX_EXPR_FLOORDIV, rlx_linear_build(exprs, &rest), divisor);
    if (part < 0)
        return part;
    if (!rlx_linear_add(exprs, &quotient, part, 1))
        return divide_raw(exprs, RLX_EXPR_FLOORDIV, a, b);
    return rlx_linear_build(exprs, &quotient);
}

/* ceil(a/b) = floor((a + b - 1) / b) for b > 0. */
rlx_expr_t rlx_expr_simplify_ceildiv(rlx_exprs_t *exprs, rlx_expr_t a, rlx_expr_t b)
{
    rlx_linear_t p = {.k = -1};
    int64_t lo, hi;
    rlx_expr_t dividend;

    if (exprs->nodes[b].min <= 0 || !rlx_linear_add(exprs, &p, a, 1) || !rlx_linear_add(exprs, &p, b, 1))
        return divide_raw(exprs, RLX_EXPR_CEILDIV, a, b);
    rlx_linear_bounds(exprs, &p, &lo, &hi);
    if (hi == INT64_MAX)
        return divide_raw(exprs, RLX_EXPR_CEILDIV, a, b);
    dividend = rlx_linear_build(exprs, &p);
    return dividend < 0 ? dividend : rlx_expr_floordiv(exprs, dividend, b);
}

rlx_expr_t rlx_expr_simplify_truncdiv(rlx_exprs_t *exprs, rlx_expr_t a, rlx_expr_t b)
{
    rlx_linear_t p = {0}, quotient, rest;
    rlx_product_t q = {.coef = 1};

    if (exprs->nodes[a].min >= 0 && exprs->nodes[b].min > 0)
        return rlx_expr_floordiv(exprs, a, b);
    if (!rlx_linear_add(exprs, &p, a, 1) || !rlx_product_mul(exprs, &q, b) || q.coef == 0)
        return divide_raw(exprs, RLX_EXPR_TRUNCDIV, a, b);
    if (split_exact(exprs, &p, &q, &quotient, &rest) && rest.n == 0 && rest.k == 0)
        return rlx_linear_build(exprs, &quotient);
    return divide_raw(exprs, RLX_EXPR_TRUNCDIV, a, b);
}

rlx_expr_t rlx_expr_simplify_mod(rlx_exprs_t *exprs, rlx_expr_t a, rlx_expr_t b)
{
    rlx_linear_t p = {0}, quotient, rest;
    rlx_product_t q = {.coef = 1};
    rlx_expr_t dividend;

    if (!rlx_linear_add(exprs, &p, a, 1) || !rlx_product_mul(exprs, &q, b) || q.coef == 0)
        return divide_raw(exprs, RLX_EXPR_MOD, a, b);
    if (!split_exact(exprs, &p, &q, &quotient, &rest))
        return divide_raw(exprs, RLX_EXPR_MOD, a, b);
    if (q.n == 0 && q.coef > 1) {
        rlx_linear_t reduced = {.k = rest.k};
        for (int i = 0; i < rest.n; i++) {
            if (!rlx_linear_add(exprs, &reduced, rest.term[i], rlx_int_mod(rest.coef[i], q.coef)))
                return divide_raw(exprs, RLX_EXPR_MOD, a, b);
        }
        rest = reduced;
    }
    dividend = rlx_linear_build(exprs, &rest);
    if (dividend < 0)
        return dividend;
    if (rlx_expr_is(exprs, dividend, 0) || remainder_vanishes(exprs, &rest, b))
        return dividend;
    return divide_raw(exprs, RLX_EXPR_MOD, dividend, b);
}
