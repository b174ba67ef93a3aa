/* Operators: numbers are computed, arrays too, and what touches a tensor becomes a statement. */
#include <math.h>
#include <string.h>

#include "ir/module/evaluate.h"

static const struct mark {
    const char *mark, *op;  /* op: of the graph; NULL: none */
    const char *instead;
} marks[] = {{"+", "add", NULL},
             {"-", "sub", NULL},
             {"*", "mul", NULL},
             {"/", "div", NULL},
             {"@", "matmul", NULL},
             {"**", "pow", NULL},
             {"%", "mod", NULL},
             {"<", "less", NULL},
             {"<=", "less_equal", NULL},
             {">", "greater", NULL},
             {">=", "greater_equal", NULL},
             {"==", "equal", NULL},
             {"!=", "not_equal", NULL},
             {"//", NULL, "Write rlx.floor(a / b)."},
             {"&", NULL, "Write rlx.logical_and(a, b), or rlx.bit_and(a, b) for integers."},
             {"|", NULL, "Write rlx.logical_or(a, b), or rlx.bit_or(a, b) for integers."},
             {"^", NULL, "Write rlx.logical_xor(a, b), or rlx.bit_xor(a, b) for integers; a power is `**`."},
             {"<<", NULL, "Write rlx.bit_shift(a, b, direction=\"LEFT\")."},
             {">>", NULL, "Write rlx.bit_shift(a, b, direction=\"RIGHT\")."},
             {"in", NULL, "Write rlx.equal(a, b)."}};

/* An operator of the graph. `!=` is the negation of equal. */
static rlx_py_t *emit_binary(rlx_evaluator_t *e, const rlx_node_t *node, const char *op, rlx_py_t *a, rlx_py_t *b, const rlx_want_t *want)
{
    const struct mark *mark = NULL;
    rlx_syntax_statement_t *statement;
    rlx_py_t *operands[2] = {a, b}, *result;
    bool negate = strcmp(op, "!=") == 0;

    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (strcmp(marks[i].mark, op) == 0)
            mark = &marks[i];
    if (mark == NULL || mark->op == NULL) {
        rlx_finding_hint(rlx_report(e->findings, RLX_E_NOT_LANGUAGE, node->name_span, "tensors have no operator `%s`", op), "%s",
                         mark != NULL ? mark->instead : "docs/LANGUAGE.md lists the operators.");
        return NULL;
    }
    for (int i = 0; i < 2; i++) {
        const rlx_py_t *operand = operands[i];

        if (operand->kind == RLX_SYNTAX_TENSOR || operand->kind == RLX_SYNTAX_EXTERNAL)
            operands[i] = rlx_py_operand(e, operands[i], NULL);
        else if (operand->kind != RLX_SYNTAX_REF && operand->kind != RLX_SYNTAX_INT && operand->kind != RLX_SYNTAX_FLOAT &&
                 operand->kind != RLX_SYNTAX_BOOL) {
            rlx_finding_t *finding =
                rlx_report(e->findings, RLX_E_ARG_TYPE, operand->span, "`%s` cannot take %s beside a tensor", op, rlx_py_kind(operand));

            rlx_finding_hint(finding, operand->kind == RLX_SYNTAX_LIST ? "Make an array of it: np.array([...])."
                                                                       : "Operands are tensors, arrays and numbers.");
            return NULL;
        }
        if (operands[i] == NULL)
            return NULL;
    }
    statement = rlx_py_emit(e, "rlxc", negate ? "equal" : mark->op, node->name_span, node->span);
    if (statement == NULL)
        return NULL;
    rlx_syntax_arg_add(e->syntax, statement, operands[0]);
    rlx_syntax_arg_add(e->syntax, statement, operands[1]);
    result = rlx_py_results(e, statement, negate ? NULL : want);
    if (!negate)
        return result;
    statement = rlx_py_emit(e, "rlxc", "not", node->name_span, node->span);
    rlx_syntax_arg_add(e->syntax, statement, result);
    return rlx_py_results(e, statement, want);
}

static bool operand_read(rlx_evaluator_t *e, const rlx_py_t *value, rlx_operand_t *out)
{
    out->weak = value->kind != RLX_SYNTAX_TENSOR && value->kind != RLX_SYNTAX_EXTERNAL;
    if (value->kind == RLX_SYNTAX_LIST)
        out->weak = false;
    return rlx_py_as_array(e, value, &out->array);
}

static rlx_py_t *array_binary(rlx_evaluator_t *e, const rlx_node_t *node, const char *op, rlx_py_t *a, rlx_py_t *b)
{
    rlx_operand_t x, y;
    rlx_tensor_t result;
    rlx_array_error_t error;

    if (strlen(op) > 0 && strstr("+ - * / // % **", op) == NULL) {
        rlx_finding_hint(rlx_report(e->findings, RLX_E_NOT_LANGUAGE, node->name_span, "arrays of constants have no operator `%s`", op),
                         "They have + - * / // %% and **; what runs is made of operators of rlx.");
        return NULL;
    }
    if (!operand_read(e, a, &x) || !operand_read(e, b, &y))
        return NULL;
    error = rlx_array_binary(e->syntax, op, &x, &y, &result);
    return error == RLX_ARRAY_OK ? rlx_py_array(e, &result, node->span) : rlx_py_array_fail(e, error, node->span, &x.array, &y.array);
}

static rlx_py_t *number_fail(rlx_evaluator_t *e, const rlx_node_t *node, const char *what)
{
    rlx_finding_hint(rlx_report(e->findings, RLX_E_ARG_VALUE, node->span, "%s", what), "Correct the numbers.");
    return NULL;
}

static rlx_py_t *int_binary(rlx_evaluator_t *e, const rlx_node_t *node, const char *op, int64_t x, int64_t y)
{
    int64_t result = 0, shift = op[0] == '<' || op[0] == '>';

    if (shift && (y < 0 || y > 62 || x < 0 || (op[0] == '<' && x > INT64_MAX >> y)))
        return number_fail(e, node, "the shift is out of range");
    if (op[0] == '&' || op[0] == '|' || op[0] == '^' || shift)
        result = op[0] == '&' ? x & y : op[0] == '|' ? x | y : op[0] == '^' ? x ^ y : op[0] == '<' ? x << y : x >> y;
    else {
        rlx_tensor_t a = {.dtype = RLX_I64, .data = &x}, b = {.dtype = RLX_I64, .data = &y}, out;
        rlx_operand_t left = {a, false}, right = {b, false};
        rlx_array_error_t error = rlx_array_binary(e->syntax, op, &left, &right, &out);

        if (error == RLX_ARRAY_RANGE && strcmp(op, "**") == 0 && y < 0)
            return rlx_py_float(e, pow((double)x, (double)y), node->span);
        if (error != RLX_ARRAY_OK)
            return number_fail(e, node, error == RLX_ARRAY_ZERO ? "division by zero" : "the result does not fit into 64 bits");
        result = rlx_array_int(&out, 0);
    }
    return rlx_py_int(e, result, node->span);
}

static rlx_py_t *float_binary(rlx_evaluator_t *e, const rlx_node_t *node, const char *op, double x, double y)
{
    double result;

    if ((op[0] == '/' || op[0] == '%') && y == 0)
        return number_fail(e, node, "division by zero");
    switch (op[0]) {
    case '+': result = x + y; break;
    case '-': result = x - y; break;
    case '*': result = op[1] == '*' ? pow(x, y) : x * y; break;
    case '/': result = op[1] == '/' ? floor(x / y) : x / y; break;
    default: result = x - floor(x / y) * y; break;
    }
    if (isnan(result) && !isnan(x) && !isnan(y))
        return number_fail(e, node, "the result is no number");
    return rlx_py_float(e, result, node->span);
}

static bool is_comparison(const char *op) { return op[0] == '<' ? op[1] != '<' : op[0] == '>' ? op[1] != '>' : op[0] == '=' || op[0] == '!'; }

static rlx_py_t *compare(rlx_evaluator_t *e, const rlx_node_t *node, const char *op, const rlx_py_t *a, const rlx_py_t *b)
{
    double x, y;
    int order;

    if (op[0] == '=' || op[0] == '!')
        return rlx_py_bool(e, rlx_py_equal(a, b) == (op[0] == '='), node->span);
    if (a->kind == RLX_SYNTAX_STRING && b->kind == RLX_SYNTAX_STRING)
        order = strcmp(a->s, b->s);
    else if (rlx_py_as_real(a, &x) && rlx_py_as_real(b, &y))
        order = x < y ? -1 : x > y ? 1 : x == y ? 0 : 2;
    else {
        rlx_finding_hint(rlx_report(e->findings, RLX_E_ARG_TYPE, node->name_span, "%s and %s have no order", rlx_py_kind(a), rlx_py_kind(b)),
                         "Compare numbers with numbers.");
        return NULL;
    }
    if (order == 2)
        return rlx_py_bool(e, false, node->span);
    return rlx_py_bool(e, op[0] == '<' ? order < 0 || (op[1] == '=' && order == 0) : order > 0 || (op[1] == '=' && order == 0), node->span);
}

static rlx_py_t *contains(rlx_evaluator_t *e, const rlx_node_t *node, const rlx_py_t *a, const rlx_py_t *b)
{
    bool found = false;

    if (b->kind == RLX_SYNTAX_LIST)
        for (int i = 0; i < b->n_items; i++)
            found = found || rlx_py_equal(a, b->items[i]);
    else if (b->kind == RLX_SYNTAX_DICT && a->kind == RLX_SYNTAX_STRING)
        found = rlx_syntax_field(b->fields, b->n_fields, a->s) != NULL;
    else if (b->kind == RLX_SYNTAX_STRING && a->kind == RLX_SYNTAX_STRING)
        found = strstr(b->s, a->s) != NULL;
    else {
        rlx_finding_hint(
            rlx_report(e->findings, RLX_E_ARG_TYPE, node->items[1]->span, "`in` looks into lists and dictionaries, not into %s", rlx_py_kind(b)),
            "Compare with `==`.");
        return NULL;
    }
    return rlx_py_bool(e, found, node->span);
}

/* Lists are joined and repeated, strings joined. NULL: not these; *out_done: nothing else is to be tried. */
static rlx_py_t *sequence_binary(rlx_evaluator_t *e, const rlx_node_t *node, const char *op, const rlx_py_t *a, const rlx_py_t *b)
{
    const rlx_py_t *list = a->kind == RLX_SYNTAX_LIST ? a : b, *other = list == a ? b : a;
    rlx_py_t *result;
    int64_t times = 1;

    if (a->kind == RLX_SYNTAX_STRING && b->kind == RLX_SYNTAX_STRING && strcmp(op, "+") == 0) {
        result = rlx_py_new(e, RLX_SYNTAX_STRING, node->span);
        result->s = rlx_syntax_printf(e->syntax, "%s%s", a->s, b->s);
        return result;
    }
    if (list->kind != RLX_SYNTAX_LIST ||
        !((strcmp(op, "+") == 0 && other->kind == RLX_SYNTAX_LIST) || (strcmp(op, "*") == 0 && rlx_py_as_int(other, &times))))
        return NULL;
    if (times > 1000000 || times * (list->n_items + 1) > 10000000)
        return rlx_py_array_fail(e, RLX_ARRAY_TOO_LARGE, node->span, NULL, NULL);
    result = rlx_py_new(e, RLX_SYNTAX_LIST, node->span);
    for (int64_t n = 0; n < times; n++)
        for (int i = 0; i < (strcmp(op, "+") == 0 ? a->n_items : list->n_items); i++)
            rlx_syntax_value_add(e->syntax, result, strcmp(op, "+") == 0 ? a->items[i] : list->items[i]);
    for (int i = 0; strcmp(op, "+") == 0 && i < b->n_items; i++)
        rlx_syntax_value_add(e->syntax, result, b->items[i]);
    return result;
}

static bool is_array(const rlx_py_t *value) { return value->kind == RLX_SYNTAX_TENSOR || value->kind == RLX_SYNTAX_EXTERNAL; }
static bool has_axes(const rlx_py_t *value) { return is_array(value) && (value->kind == RLX_SYNTAX_EXTERNAL || value->tensor.rank > 0); }

rlx_py_t *rlx_py_binary(rlx_evaluator_t *e, const rlx_node_t *node, const char *op, rlx_py_t *a, rlx_py_t *b, const rlx_want_t *want)
{
    int errors = e->findings->n_errors;
    int64_t i, j;
    double x, y;
    rlx_py_t *result;

    if (a->kind == RLX_SYNTAX_REF || b->kind == RLX_SYNTAX_REF)
        return emit_binary(e, node, op, a, b, want);
    if (strcmp(op, "in") == 0)
        return contains(e, node, a, b);
    if (is_comparison(op) && !has_axes(a) && !has_axes(b))
        return compare(e, node, op, a, b);
    if (is_array(a) || is_array(b))
        return array_binary(e, node, op, a, b);
    if (rlx_py_as_int(a, &i) && rlx_py_as_int(b, &j) && strcmp(op, "/") != 0 && strcmp(op, "@") != 0)
        return int_binary(e, node, op, i, j);
    if (rlx_py_as_real(a, &x) && rlx_py_as_real(b, &y) && strchr("+-*/%", op[0]) != NULL)
        return float_binary(e, node, op, x, y);
    result = sequence_binary(e, node, op, a, b);
    if (result == NULL && e->findings->n_errors == errors)
        rlx_finding_hint(rlx_report(e->findings, RLX_E_ARG_TYPE, node->name_span, "`%s` cannot take %s and %s", op, rlx_py_kind(a), rlx_py_kind(b)),
                         strcmp(op, "+") == 0 && (a->kind == RLX_SYNTAX_STRING || b->kind == RLX_SYNTAX_STRING)
                             ? "Make a string of the other one: str(i)."
                             : "Compute with numbers, arrays and tensors.");
    return result;
}

rlx_py_t *rlx_py_unary(rlx_evaluator_t *e, const rlx_node_t *node, rlx_py_t *a, const rlx_want_t *want)
{
    rlx_syntax_statement_t *statement;
    rlx_tensor_t array, result;
    rlx_array_error_t error;

    if (node->s[0] == '~') {
        rlx_finding_hint(rlx_report(e->findings, RLX_E_NOT_LANGUAGE, node->name_span, "there is no operator `~`"),
                         "Write rlx.logical_not(x) or rlx.bit_not(x) for tensors, `not x` for constants.");
        return NULL;
    }
    if (a->kind == RLX_SYNTAX_REF) {
        if (node->s[0] == '+')
            return a;
        statement = rlx_py_emit(e, "rlxc", "neg", node->name_span, node->span);
        if (statement == NULL)
            return NULL;
        rlx_syntax_arg_add(e->syntax, statement, a);
        return rlx_py_results(e, statement, want);
    }
    if (a->kind == RLX_SYNTAX_FLOAT)
        return rlx_py_float(e, node->s[0] == '-' ? -a->f : a->f, node->span);
    if (a->kind == RLX_SYNTAX_INT || a->kind == RLX_SYNTAX_BOOL)
        return a->i == INT64_MIN ? number_fail(e, node, "the result does not fit into 64 bits")
                                 : rlx_py_int(e, node->s[0] == '-' ? -a->i : a->i, node->span);
    if (!is_array(a)) {
        rlx_finding_hint(rlx_report(e->findings, RLX_E_ARG_TYPE, node->span, "%s has no sign", rlx_py_kind(a)),
                         "Compute with numbers, arrays and tensors.");
        return NULL;
    }
    if (!rlx_py_as_array(e, a, &array) || node->s[0] == '+')
        return node->s[0] == '+' ? a : NULL;
    error = rlx_array_unary(e->syntax, "neg", &array, &result);
    return error == RLX_ARRAY_OK ? rlx_py_array(e, &result, node->span) : rlx_py_array_fail(e, error, node->span, &array, NULL);
}
