/* Inside of the expression pool: raw nodes, linear sums and products. For ir/expr*.c only.
 *
 * Canonical forms. A sum is a left-associated chain of ADD and SUB over terms `coefficient * atom`, sorted (rlx_exprs_before), constant
 * last; a product is a left-associated MUL chain of sorted factors, constant last; a product of one sum and a constant is
 * distributed. A factor that is a sum has content 1 and a positive first coefficient. So equal polynomials in factored form have equal
 * indices, and their form depends on nothing that was made before them. */
#ifndef RLX_IR_EXPR_POOL_H
#define RLX_IR_EXPR_POOL_H

#include "ir/expr/expr.h"

#define RLX_LINEAR_MAX 48     /* terms of one sum; longer sums stay as they were built */
#define RLX_PRODUCT_MAX 32    /* factors of one product */
#define RLX_EXPR_DEPTH_MAX 1024
#define RLX_EXPR_NODES_MAX (1 << 22)

struct rlx_exprs {
    rlx_expr_node_t *nodes;
    int16_t *depth;
    int n, cap;
    rlx_expr_t *table; /* open addressing; RLX_EXPR_NONE is empty */
    int table_cap;     /* a power of two, at least twice n */
};

/* The node, made if new, with bounds from its operands. Nothing is simplified. RLX_EXPR_ERROR past the limits. */
rlx_expr_t rlx_exprs_intern(rlx_exprs_t *exprs, rlx_expr_op_t op, rlx_expr_t a, rlx_expr_t b, rlx_expr_t c, int64_t value);

/* The order of terms, factors and operands: the shallower first, then by operator, symbol or number, then by operands. By structure alone: an
 * index says what was made first, also by an operator that was refused, and a text that is read again makes things in another order. */
bool rlx_exprs_before(const rlx_exprs_t *exprs, rlx_expr_t a, rlx_expr_t b);

typedef struct rlx_linear {
    int n;
    int64_t k;
    int64_t coef[RLX_LINEAR_MAX];
    rlx_expr_t term[RLX_LINEAR_MAX];
} rlx_linear_t;

/* linear += coef * expr. False on overflow or when there are too many terms; then `linear` is spoilt. */
bool rlx_linear_add(const rlx_exprs_t *exprs, rlx_linear_t *linear, rlx_expr_t expr, int64_t coef);
rlx_expr_t rlx_linear_build(rlx_exprs_t *exprs, const rlx_linear_t *linear);
/* Divides by the gcd of all coefficients and the constant (at least 1) and returns it. */
int64_t rlx_linear_primitive(rlx_linear_t *linear);
void rlx_linear_bounds(const rlx_exprs_t *exprs, const rlx_linear_t *linear, int64_t *out_min, int64_t *out_max);
/* linear = a - b with all products of sums multiplied out: zero terms prove equality up to k. */
bool rlx_linear_expand_difference(rlx_exprs_t *exprs, rlx_expr_t a, rlx_expr_t b, rlx_linear_t *linear);

typedef struct rlx_product {
    int64_t coef;
    int n;
    rlx_expr_t factor[RLX_PRODUCT_MAX]; /* sorted, repeated for powers */
} rlx_product_t;

/* product *= expr; false on overflow or too many factors. Start from {.coef = 1}. */
bool rlx_product_mul(rlx_exprs_t *exprs, rlx_product_t *product, rlx_expr_t expr);
rlx_expr_t rlx_product_build(rlx_exprs_t *exprs, const rlx_product_t *product);
/* Removes the factors (not the coefficient) of `divisor` from `product`; false, unchanged, when one is missing. */
bool rlx_product_remove(rlx_product_t *product, const rlx_product_t *divisor);

/* floor division and its remainder (sign of the divisor); divisor not 0, no INT64_MIN / -1. */
static inline int64_t rlx_int_floordiv(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a % b < 0) != (b < 0)); }
static inline int64_t rlx_int_mod(int64_t a, int64_t b) { return b == -1 ? 0 : a % b + ((a % b != 0 && (a % b < 0) != (b < 0)) ? b : 0); }
/* Folds `op` on constants; false on overflow or division by zero. */
bool rlx_int_fold(rlx_expr_op_t op, int64_t a, int64_t b, int64_t *out);

#endif
