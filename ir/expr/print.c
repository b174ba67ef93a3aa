/* Value and text of an expression. Both work on the DAG without recursion over shared parts more often than bounded:
 * evaluation visits each node once, printing stops at PRINT_NODES_MAX nodes with "...". */
#include "ir/expr/pool.h"

#include <stdlib.h>

#define PRINT_NODES_MAX 512

static void mark_needed(const rlx_exprs_t *exprs, rlx_expr_t expr, bool *needed)
{
    needed[expr] = true;
    for (rlx_expr_t i = expr; i >= 0; i--) {
        const rlx_expr_node_t *node = &exprs->nodes[i];
        if (!needed[i])
            continue;
        if (node->a >= 0)
            needed[node->a] = true;
        if (node->b >= 0)
            needed[node->b] = true;
        if (node->c >= 0)
            needed[node->c] = true;
    }
}

static bool node_eval(const rlx_expr_node_t *node, const int64_t *symbols, int64_t *values, int64_t *out)
{
    switch (node->op) {
    case RLX_EXPR_CONST:
        *out = node->value;
        return true;
    case RLX_EXPR_SYMBOL:
        *out = symbols[node->value];
        return true;
    case RLX_EXPR_SELECT:
        *out = values[node->a] != 0 ? values[node->b] : values[node->c];
        return true;
    default:
        return rlx_int_fold(node->op, values[node->a], values[node->b], out);
    }
}

bool rlx_expr_eval(const rlx_exprs_t *exprs, rlx_expr_t expr, const int64_t *symbols, int64_t *out_value)
{
    int64_t *values;
    bool *needed;
    bool ok = expr >= 0;

    if (!ok)
        return false;
    values = calloc((size_t)expr + 1, sizeof(*values));
    needed = calloc((size_t)expr + 1, sizeof(*needed));
    if (values == NULL || needed == NULL)
        abort();
    mark_needed(exprs, expr, needed);
    for (rlx_expr_t i = 0; i <= expr && ok; i++) {
        if (needed[i])
            ok = node_eval(&exprs->nodes[i], symbols, values, &values[i]);
    }
    if (ok)
        *out_value = values[expr];
    free(values);
    free(needed);
    return ok;
}

typedef struct printer {
    const rlx_exprs_t *exprs;
    const char *const *names;
    FILE *out;
    int budget;
} printer_t;

typedef struct operator_text {
    const char *infix;  /* or */
    const char *prefix; /* name(a, b) */
    int level;          /* binding: 1 comparison, 2 sum, 3 product */
} operator_text_t;

static const operator_text_t operator_texts[] = {
    [RLX_EXPR_ADD] = {"+", NULL, 2},
    [RLX_EXPR_SUB] = {"-", NULL, 2},
    [RLX_EXPR_MUL] = {"*", NULL, 3},
    [RLX_EXPR_FLOORDIV] = {"/", NULL, 3},
    [RLX_EXPR_CEILDIV] = {NULL, "ceildiv", 0},
    [RLX_EXPR_TRUNCDIV] = {NULL, "truncdiv", 0},
    [RLX_EXPR_MOD] = {"%", NULL, 3},
    [RLX_EXPR_MIN] = {NULL, "min", 0},
    [RLX_EXPR_MAX] = {NULL, "max", 0},
    [RLX_EXPR_SELECT] = {NULL, "select", 0},
    [RLX_EXPR_LT] = {"<", NULL, 1},
    [RLX_EXPR_EQ] = {"==", NULL, 1},
    [RLX_EXPR_FSCALE] = {NULL, "fscale", 0},
    [RLX_EXPR_FCEILDIV] = {NULL, "fceildiv", 0},
    [RLX_EXPR_FSUB] = {NULL, "fsub", 0},
};

static void print(printer_t *printer, rlx_expr_t expr, int level);

static void print_infix(printer_t *printer, const rlx_expr_node_t *node, const operator_text_t *text, int level)
{
    const rlx_expr_node_t *right = &printer->exprs->nodes[node->b];
    bool negative = node->op == RLX_EXPR_ADD && right->op == RLX_EXPR_CONST && right->value < 0;

    if (text->level < level)
        fputc('(', printer->out);
    print(printer, node->a, text->level);
    if (!negative)
        fputs(text->infix, printer->out);
    print(printer, node->b, text->level + 1);
    if (text->level < level)
        fputc(')', printer->out);
}

static void print_call(printer_t *printer, const rlx_expr_node_t *node, const operator_text_t *text)
{
    fprintf(printer->out, "%s(", text->prefix);
    print(printer, node->a, 0);
    fputs(", ", printer->out);
    print(printer, node->b, 0);
    if (node->op == RLX_EXPR_SELECT) {
        fputs(", ", printer->out);
        print(printer, node->c, 0);
    }
    fputc(')', printer->out);
}

static void print(printer_t *printer, rlx_expr_t expr, int level)
{
    const rlx_expr_node_t *node;

    if (expr < 0) {
        fputs(expr == RLX_EXPR_ERROR ? "error" : "?", printer->out);
        return;
    }
    if (printer->budget-- <= 0) {
        fputs("...", printer->out);
        return;
    }
    node = &printer->exprs->nodes[expr];
    if (node->op == RLX_EXPR_CONST)
        fprintf(printer->out, "%lld", (long long)node->value);
    else if (node->op == RLX_EXPR_SYMBOL && printer->names != NULL)
        fputs(printer->names[node->value], printer->out);
    else if (node->op == RLX_EXPR_SYMBOL)
        fprintf(printer->out, "s%lld", (long long)node->value);
    else if (operator_texts[node->op].infix != NULL)
        print_infix(printer, node, &operator_texts[node->op], level);
    else
        print_call(printer, node, &operator_texts[node->op]);
}

void rlx_expr_print(const rlx_exprs_t *exprs, rlx_expr_t expr, const char *const *symbol_names, FILE *out)
{
    printer_t printer = {exprs, symbol_names, out, PRINT_NODES_MAX};

    print(&printer, expr, 0);
}
