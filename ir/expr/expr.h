/* Symbolic integers: extents and elements of shape tensors.
 *
 * An expression is an index into a pool that only grows; equal expressions have equal indices (hash-consed, simplified on creation), so
 * `a == b` proves equality. Indices are given in order of creation and reach the bundle, and C leaves the order of a call's arguments open:
 * at most one argument of a call may create an expression that is no constant. Constant arithmetic is checked: overflow gives RLX_EXPR_ERROR, which spreads. Owner: the graph. One thread. */
#ifndef RLX_IR_EXPR_H
#define RLX_IR_EXPR_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef int32_t rlx_expr_t;
#define RLX_EXPR_NONE (-1)  /* unknown: depends on data */
#define RLX_EXPR_ERROR (-2) /* overflow or division by zero while folding */

typedef enum rlx_expr_op {
    RLX_EXPR_CONST,
    RLX_EXPR_SYMBOL,
    RLX_EXPR_ADD,
    RLX_EXPR_SUB,
    RLX_EXPR_MUL,
    RLX_EXPR_FLOORDIV,
    RLX_EXPR_CEILDIV,
    RLX_EXPR_TRUNCDIV,
    RLX_EXPR_MOD,
    RLX_EXPR_MIN,
    RLX_EXPR_MAX,
    RLX_EXPR_SELECT,
    RLX_EXPR_LT,
    RLX_EXPR_EQ,
    RLX_EXPR_FSCALE,   /* floor(a * the f32 whose bits are b); base/float_bits.h */
    RLX_EXPR_FCEILDIV, /* ceil(the f32 whose bits are a / the f32 whose bits are b) */
    RLX_EXPR_FSUB,     /* the bits of the difference of these, in f32 */
} rlx_expr_op_t;

typedef struct rlx_expr_node {
    rlx_expr_op_t op;
    rlx_expr_t a, b, c; /* operands */
    int64_t value;      /* CONST: the number; SYMBOL: its index */
    int64_t min, max;   /* proven bounds, inclusive */
} rlx_expr_node_t;

typedef struct rlx_exprs rlx_exprs_t;

rlx_exprs_t *rlx_exprs_create(void);
void rlx_exprs_destroy(rlx_exprs_t *exprs);

rlx_expr_t rlx_expr_const(rlx_exprs_t *exprs, int64_t value);
/* The symbol's bounds are fixed at its first use. */
rlx_expr_t rlx_expr_symbol(rlx_exprs_t *exprs, int symbol, int64_t min, int64_t max);
/* Any operand NONE gives NONE, ERROR gives ERROR. */
rlx_expr_t rlx_expr_binary(rlx_exprs_t *exprs, rlx_expr_op_t op, rlx_expr_t a, rlx_expr_t b);
rlx_expr_t rlx_expr_select(rlx_exprs_t *exprs, rlx_expr_t cond, rlx_expr_t a, rlx_expr_t b);

static inline rlx_expr_t rlx_expr_add(rlx_exprs_t *e, rlx_expr_t a, rlx_expr_t b) { return rlx_expr_binary(e, RLX_EXPR_ADD, a, b); }
static inline rlx_expr_t rlx_expr_sub(rlx_exprs_t *e, rlx_expr_t a, rlx_expr_t b) { return rlx_expr_binary(e, RLX_EXPR_SUB, a, b); }
static inline rlx_expr_t rlx_expr_mul(rlx_exprs_t *e, rlx_expr_t a, rlx_expr_t b) { return rlx_expr_binary(e, RLX_EXPR_MUL, a, b); }
static inline rlx_expr_t rlx_expr_floordiv(rlx_exprs_t *e, rlx_expr_t a, rlx_expr_t b)
{
    return rlx_expr_binary(e, RLX_EXPR_FLOORDIV, a, b);
}
static inline rlx_expr_t rlx_expr_ceildiv(rlx_exprs_t *e, rlx_expr_t a, rlx_expr_t b) { return rlx_expr_binary(e, RLX_EXPR_CEILDIV, a, b); }
static inline rlx_expr_t rlx_expr_min(rlx_exprs_t *e, rlx_expr_t a, rlx_expr_t b) { return rlx_expr_binary(e, RLX_EXPR_MIN, a, b); }
static inline rlx_expr_t rlx_expr_max(rlx_exprs_t *e, rlx_expr_t a, rlx_expr_t b) { return rlx_expr_binary(e, RLX_EXPR_MAX, a, b); }
static inline rlx_expr_t rlx_expr_eq(rlx_exprs_t *e, rlx_expr_t a, rlx_expr_t b) { return rlx_expr_binary(e, RLX_EXPR_EQ, a, b); }
static inline rlx_expr_t rlx_expr_lt(rlx_exprs_t *e, rlx_expr_t a, rlx_expr_t b) { return rlx_expr_binary(e, RLX_EXPR_LT, a, b); }

/* How many expressions exist: indices [0, count). Operands of an expression have smaller indices. */
int rlx_exprs_count(const rlx_exprs_t *exprs);
const rlx_expr_node_t *rlx_expr_node(const rlx_exprs_t *exprs, rlx_expr_t expr);
/* True and the value when `expr` is a constant. */
bool rlx_expr_is_const(const rlx_exprs_t *exprs, rlx_expr_t expr, int64_t *out_value);
bool rlx_expr_is(const rlx_exprs_t *exprs, rlx_expr_t expr, int64_t value);
/* Value under given symbol values; false on overflow or division by zero. */
bool rlx_expr_eval(const rlx_exprs_t *exprs, rlx_expr_t expr, const int64_t *symbols, int64_t *out_value);
/* Prints "batch*(seq+1)" with the symbols' names. */
void rlx_expr_print(const rlx_exprs_t *exprs, rlx_expr_t expr, const char *const *symbol_names, FILE *out);

#endif
