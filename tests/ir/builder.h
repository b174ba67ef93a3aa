/* Short forms for tests that build graphs by hand. A failed inference is the test's to expect: `op_status` returns it. */
#ifndef RLX_TESTS_IR_BUILDER_H
#define RLX_TESTS_IR_BUILDER_H

#include "ir/graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MAX_EXTENT ((int64_t)1 << 31)

static inline rlx_expr_t axis_symbol(rlx_graph_t *g, const char *name, rlx_value_t *input, int axis)
{
    return rlx_expr_symbol(g->exprs, rlx_graph_symbol(g, name, input, axis, 0, 0, MAX_EXTENT), 0, MAX_EXTENT);
}

/* An input from extents: a positive number, or 0 for the symbol of the same place in `names`. */
static inline rlx_value_t *input(rlx_graph_t *g, const char *name, rlx_dtype_t dtype, int rank, const int64_t *dims,
                                 const char *const *names)
{
    rlx_expr_t exprs[RLX_RANK_MAX];
    rlx_value_t *value;

    for (int i = 0; i < rank; i++)
        exprs[i] = names && names[i] ? RLX_EXPR_NONE : rlx_expr_const(g->exprs, dims[i]);
    value = rlx_graph_input(g, name, dtype, rank, exprs);
    for (int i = 0; i < rank; i++) {
        if (names && names[i])
            value->dims[i] = axis_symbol(g, names[i], value, i);
    }
    return value;
}

#define DIMS(...) ((const int64_t[]){__VA_ARGS__})
#define NAMES(...) ((const char *const[]){__VA_ARGS__})
#define I64S(g, ...) rlx_graph_const_i64(g, "c", DIMS(__VA_ARGS__), (int)(sizeof(DIMS(__VA_ARGS__)) / sizeof(int64_t)))
#define VALUES(...) ((rlx_value_t *const[]){__VA_ARGS__})
#define COUNT(...) ((int)(sizeof(VALUES(__VA_ARGS__)) / sizeof(rlx_value_t *)))

/* An op with one output, not yet inferred. */
static inline rlx_op_t *op_make(rlx_graph_t *g, rlx_op_kind_t kind, int n_in, rlx_value_t *const *in)
{
    rlx_value_t *out = rlx_graph_value(g, rlx_op_info(kind)->name, RLX_F32);

    return rlx_graph_op(g, NULL, kind, NULL, n_in, in, 1, &out);
}
#define OP(g, kind, ...) op_make(g, RLX_OP_##kind, COUNT(__VA_ARGS__), VALUES(__VA_ARGS__))

static inline rlx_value_t *infer(rlx_graph_t *g, rlx_op_t *op)
{
    rlx_diag_t diag = {0};

    if (rlx_op_infer(g, op, &diag) != RLX_OK)
        fail_msg("%s", diag.message);
    return op->out[0];
}
#define INFER(g, kind, ...) infer(g, OP(g, kind, __VA_ARGS__))

static inline rlx_error_code_t infer_code(rlx_graph_t *g, rlx_op_t *op)
{
    rlx_diag_t diag = {0};

    rlx_op_infer(g, op, &diag);
    return diag.code;
}

static inline void assert_expr_text(const rlx_graph_t *g, rlx_expr_t expr, const char *expected)
{
    const char *names[64];
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);

    for (int i = 0; i < g->n_symbols && i < 64; i++)
        names[i] = g->symbols[i].name;
    rlx_expr_print(g->exprs, expr, names, out);
    fclose(out);
    assert_string_equal(text, expected);
    free(text);
}

/* Extents as text, "n, 64, h/2". */
static inline void assert_shape(const rlx_graph_t *g, const rlx_value_t *value, const char *expected)
{
    const char *names[64];
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);

    for (int i = 0; i < g->n_symbols && i < 64; i++)
        names[i] = g->symbols[i].name;
    for (int i = 0; i < value->rank; i++) {
        fputs(i ? ", " : "", out);
        rlx_expr_print(g->exprs, value->dims[i], names, out);
    }
    fclose(out);
    assert_string_equal(text, expected);
    free(text);
}

static inline void assert_elements(const rlx_graph_t *g, const rlx_value_t *value, int n, const int64_t *expected)
{
    assert_int_equal(value->n_elements, n);
    assert_non_null(value->elements);
    for (int i = 0; i < n; i++)
        assert_true(rlx_expr_is(g->exprs, value->elements[i], expected[i]));
}
#define ASSERT_ELEMENTS(g, value, ...) assert_elements(g, value, (int)(sizeof(DIMS(__VA_ARGS__)) / sizeof(int64_t)), DIMS(__VA_ARGS__))

#endif
