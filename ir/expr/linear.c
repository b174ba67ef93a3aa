/* Sums and products of expressions in canonical form (ir/expr/pool.h). Pure functions on the pool. */
#include "ir/expr/pool.h"

#include <string.h>

typedef __int128 wide_t;

static bool is_sum(const rlx_exprs_t *exprs, rlx_expr_t expr)
{
    return exprs->nodes[expr].op == RLX_EXPR_ADD || exprs->nodes[expr].op == RLX_EXPR_SUB;
}

static bool term_add(const rlx_exprs_t *exprs, rlx_linear_t *linear, rlx_expr_t term, int64_t coef)
{
    int i = 0;

    while (i < linear->n && rlx_exprs_before(exprs, linear->term[i], term))
        i++;
    if (i < linear->n && linear->term[i] == term) {
        if (__builtin_add_overflow(linear->coef[i], coef, &linear->coef[i]))
            return false;
        if (linear->coef[i] != 0)
            return true;
        linear->n--;
        memmove(&linear->coef[i], &linear->coef[i + 1], (size_t)(linear->n - i) * sizeof(linear->coef[0]));
        memmove(&linear->term[i], &linear->term[i + 1], (size_t)(linear->n - i) * sizeof(linear->term[0]));
        return true;
    }
    if (linear->n == RLX_LINEAR_MAX)
        return false;
    memmove(&linear->coef[i + 1], &linear->coef[i], (size_t)(linear->n - i) * sizeof(linear->coef[0]));
    memmove(&linear->term[i + 1], &linear->term[i], (size_t)(linear->n - i) * sizeof(linear->term[0]));
    linear->coef[i] = coef;
    linear->term[i] = term;
    linear->n++;
    return true;
}

bool rlx_linear_add(const rlx_exprs_t *exprs, rlx_linear_t *linear, rlx_expr_t expr, int64_t coef)
{
    const rlx_expr_node_t *node = &exprs->nodes[expr];
    int64_t value;

    if (coef == 0)
        return true;
    switch (node->op) {
    case RLX_EXPR_CONST:
        return !__builtin_mul_overflow(node->value, coef, &value) && !__builtin_add_overflow(linear->k, value, &linear->k);
    case RLX_EXPR_ADD:
        return rlx_linear_add(exprs, linear, node->a, coef) && rlx_linear_add(exprs, linear, node->b, coef);
    case RLX_EXPR_SUB:
        return coef != INT64_MIN && rlx_linear_add(exprs, linear, node->a, coef) && rlx_linear_add(exprs, linear, node->b, -coef);
    case RLX_EXPR_MUL:
        if (exprs->nodes[node->b].op != RLX_EXPR_CONST)
            return term_add(exprs, linear, expr, coef);
        return !__builtin_mul_overflow(exprs->nodes[node->b].value, coef, &value) && rlx_linear_add(exprs, linear, node->a, value);
    default:
        return term_add(exprs, linear, expr, coef);
    }
}

static rlx_expr_t scaled(rlx_exprs_t *exprs, rlx_expr_t term, int64_t coef)
{
    rlx_expr_t factor;

    if (coef == 1)
        return term;
    factor = rlx_expr_const(exprs, coef);
    return factor < 0 ? factor : rlx_exprs_intern(exprs, RLX_EXPR_MUL, term, factor, RLX_EXPR_NONE, 0);
}

static rlx_expr_t append(rlx_exprs_t *exprs, rlx_expr_op_t op, rlx_expr_t sum, rlx_expr_t term)
{
    return sum < 0 ? sum : term < 0 ? term : rlx_exprs_intern(exprs, op, sum, term, RLX_EXPR_NONE, 0);
}

rlx_expr_t rlx_linear_build(rlx_exprs_t *exprs, const rlx_linear_t *linear)
{
    rlx_expr_t sum;
    int first = 0;
    bool constant_used = false;

    while (first < linear->n && linear->coef[first] < 0)
        first++;
    if (first < linear->n) {
        sum = scaled(exprs, linear->term[first], linear->coef[first]);
    } else if (linear->n == 1 && linear->k == 0) {
        return scaled(exprs, linear->term[0], linear->coef[0]);
    } else {
        sum = rlx_expr_const(exprs, linear->k);
        constant_used = true;
    }
    for (int i = 0; i < linear->n; i++) {
        if (i == first)
            continue;
        if (linear->coef[i] > 0 || linear->coef[i] == INT64_MIN)
            sum = append(exprs, RLX_EXPR_ADD, sum, scaled(exprs, linear->term[i], linear->coef[i]));
        else
            sum = append(exprs, RLX_EXPR_SUB, sum, scaled(exprs, linear->term[i], -linear->coef[i]));
    }
    if (linear->k != 0 && !constant_used)
        sum = append(exprs, RLX_EXPR_ADD, sum, rlx_expr_const(exprs, linear->k));
    return sum;
}

static uint64_t magnitude(int64_t value) { return value < 0 ? 0 - (uint64_t)value : (uint64_t)value; }

static uint64_t gcd(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

int64_t rlx_linear_primitive(rlx_linear_t *linear)
{
    uint64_t g = magnitude(linear->k);

    for (int i = 0; i < linear->n; i++)
        g = gcd(g, magnitude(linear->coef[i]));
    if (g <= 1 || g > INT64_MAX)
        return 1;
    for (int i = 0; i < linear->n; i++)
        linear->coef[i] /= (int64_t)g;
    linear->k /= (int64_t)g;
    return (int64_t)g;
}

static wide_t clamp_wide(wide_t value)
{
    const wide_t limit = (wide_t)1 << 100;

    return value > limit ? limit : value < -limit ? -limit : value;
}

static int64_t saturate(wide_t value)
{
    return value > INT64_MAX ? INT64_MAX : value < INT64_MIN ? INT64_MIN : (int64_t)value;
}

void rlx_linear_bounds(const rlx_exprs_t *exprs, const rlx_linear_t *linear, int64_t *out_min, int64_t *out_max)
{
    wide_t lo = linear->k, hi = linear->k;

    for (int i = 0; i < linear->n; i++) {
        const rlx_expr_node_t *term = &exprs->nodes[linear->term[i]];
        wide_t x = clamp_wide((wide_t)linear->coef[i] * term->min), y = clamp_wide((wide_t)linear->coef[i] * term->max);
        lo += x < y ? x : y;
        hi += x < y ? y : x;
    }
    *out_min = saturate(lo);
    *out_max = saturate(hi);
}

static bool factor_add(const rlx_exprs_t *exprs, rlx_product_t *product, rlx_expr_t factor)
{
    int i = product->n;

    if (product->n == RLX_PRODUCT_MAX)
        return false;
    for (; i > 0 && rlx_exprs_before(exprs, factor, product->factor[i - 1]); i--)
        product->factor[i] = product->factor[i - 1];
    product->factor[i] = factor;
    product->n++;
    return true;
}

/* A sum as a factor: its content goes to the coefficient. */
static bool sum_factor_add(rlx_exprs_t *exprs, rlx_product_t *product, rlx_expr_t expr)
{
    rlx_linear_t linear = {0};
    int64_t content;

    if (!rlx_linear_add(exprs, &linear, expr, 1))
        return factor_add(exprs, product, expr);
    if (linear.n == 0)
        return !__builtin_mul_overflow(product->coef, linear.k, &product->coef);
    content = rlx_linear_primitive(&linear);
    if (linear.coef[0] < 0) {
        rlx_linear_t negated = {0};
        if (!rlx_linear_add(exprs, &negated, rlx_linear_build(exprs, &linear), -1))
            return factor_add(exprs, product, expr);
        linear = negated;
        content = -content;
    }
    if (__builtin_mul_overflow(product->coef, content, &product->coef))
        return false;
    if (linear.n == 1 && linear.k == 0)
        return linear.coef[0] == 1 && rlx_product_mul(exprs, product, linear.term[0]);
    expr = rlx_linear_build(exprs, &linear);
    return expr >= 0 && factor_add(exprs, product, expr);
}

bool rlx_product_mul(rlx_exprs_t *exprs, rlx_product_t *product, rlx_expr_t expr)
{
    const rlx_expr_node_t node = exprs->nodes[expr]; /* by value: the pool may move */

    if (node.op == RLX_EXPR_CONST)
        return !__builtin_mul_overflow(product->coef, node.value, &product->coef);
    if (node.op == RLX_EXPR_MUL)
        return rlx_product_mul(exprs, product, node.a) && rlx_product_mul(exprs, product, node.b);
    return is_sum(exprs, expr) ? sum_factor_add(exprs, product, expr) : factor_add(exprs, product, expr);
}

rlx_expr_t rlx_product_build(rlx_exprs_t *exprs, const rlx_product_t *product)
{
    rlx_linear_t linear = {0};
    rlx_expr_t result;

    if (product->coef == 0 || product->n == 0)
        return rlx_expr_const(exprs, product->coef);
    result = product->factor[0];
    if (product->n == 1 && is_sum(exprs, result) && product->coef != 1 && rlx_linear_add(exprs, &linear, result, product->coef))
        return rlx_linear_build(exprs, &linear);
    for (int i = 1; i < product->n; i++)
        result = append(exprs, RLX_EXPR_MUL, result, product->factor[i]);
    return result < 0 ? result : scaled(exprs, result, product->coef);
}

bool rlx_product_remove(rlx_product_t *product, const rlx_product_t *divisor)
{
    rlx_product_t rest = {.coef = product->coef};
    int d = 0;

    for (int i = 0; i < product->n; i++) {
        if (d < divisor->n && product->factor[i] == divisor->factor[d])
            d++;
        else
            rest.factor[rest.n++] = product->factor[i];
    }
    if (d != divisor->n)
        return false;
    *product = rest;
    return true;
}

static bool expand(rlx_exprs_t *exprs, rlx_expr_t expr, int64_t coef, int depth, rlx_linear_t *out);

/* acc = acc * b, term by term; both are expanded. */
static bool multiply_out(rlx_exprs_t *exprs, rlx_linear_t *acc, const rlx_linear_t *b)
{
    rlx_linear_t result = {0};

    for (int i = -1; i < acc->n; i++) {
        for (int j = -1; j < b->n; j++) {
            rlx_product_t product = {.coef = i < 0 ? acc->k : acc->coef[i]};
            rlx_expr_t term;
            if (__builtin_mul_overflow(product.coef, j < 0 ? b->k : b->coef[j], &product.coef))
                return false;
            if ((i >= 0 && !rlx_product_mul(exprs, &product, acc->term[i])) || (j >= 0 && !rlx_product_mul(exprs, &product, b->term[j])))
                return false;
            term = rlx_product_build(exprs, &product);
            if (term < 0 || !rlx_linear_add(exprs, &result, term, 1))
                return false;
        }
    }
    *acc = result;
    return true;
}

static bool expand_term(rlx_exprs_t *exprs, rlx_expr_t term, int64_t coef, int depth, rlx_linear_t *out)
{
    rlx_product_t product = {.coef = 1};
    rlx_linear_t acc = {.k = coef};

    if (!rlx_product_mul(exprs, &product, term))
        return false;
    for (int i = 0; i < product.n; i++) {
        rlx_linear_t factor = {0};
        bool ok = is_sum(exprs, product.factor[i]) ? expand(exprs, product.factor[i], 1, depth + 1, &factor)
                                                   : rlx_linear_add(exprs, &factor, product.factor[i], 1);
        if (!ok || !multiply_out(exprs, &acc, &factor))
            return false;
    }
    for (int i = 0; i < acc.n; i++) {
        if (__builtin_mul_overflow(acc.coef[i], product.coef, &acc.coef[i]) || !rlx_linear_add(exprs, out, acc.term[i], acc.coef[i]))
            return false;
    }
    return !__builtin_mul_overflow(acc.k, product.coef, &acc.k) && !__builtin_add_overflow(out->k, acc.k, &out->k);
}

/* out += coef * expr, products of sums multiplied out. */
static bool expand(rlx_exprs_t *exprs, rlx_expr_t expr, int64_t coef, int depth, rlx_linear_t *out)
{
    rlx_linear_t linear = {0};

    if (depth > 4 || !rlx_linear_add(exprs, &linear, expr, coef) || __builtin_add_overflow(out->k, linear.k, &out->k))
        return false;
    for (int i = 0; i < linear.n; i++) {
        bool product = exprs->nodes[linear.term[i]].op == RLX_EXPR_MUL;
        if (product ? !expand_term(exprs, linear.term[i], linear.coef[i], depth, out)
                    : !rlx_linear_add(exprs, out, linear.term[i], linear.coef[i]))
            return false;
    }
    return true;
}

bool rlx_linear_expand_difference(rlx_exprs_t *exprs, rlx_expr_t a, rlx_expr_t b, rlx_linear_t *linear)
{
    *linear = (rlx_linear_t){0};
    return expand(exprs, a, 1, 0, linear) && expand(exprs, b, -1, 0, linear);
}
