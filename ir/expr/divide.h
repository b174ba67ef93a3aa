/* Rules for division and remainder; called by rlx_expr_binary with non-constant pairs and a divisor that is not the constant 0. */
#ifndef RLX_IR_EXPR_DIVIDE_H
#define RLX_IR_EXPR_DIVIDE_H

#include "ir/expr/pool.h"

rlx_expr_t rlx_expr_simplify_floordiv(rlx_exprs_t *exprs, rlx_expr_t a, rlx_expr_t b);
rlx_expr_t rlx_expr_simplify_ceildiv(rlx_exprs_t *exprs, rlx_expr_t a, rlx_expr_t b);
rlx_expr_t rlx_expr_simplify_truncdiv(rlx_exprs_t *exprs, rlx_expr_t a, rlx_expr_t b);
rlx_expr_t rlx_expr_simplify_mod(rlx_exprs_t *exprs, rlx_expr_t a, rlx_expr_t b);

#endif
