/* Expressions, by precedence climbing. A node's span covers it as far as its first line goes; errors inside a call point at the argument. */
#include <string.h>

#include "ir/module/parse.h"

static const struct operator {
    const char *mark;
    int binds; /* tighter when larger */
} operators[] = {{"or", 1},  {"and", 2}, {"==", 4}, {"!=", 4}, {"<=", 4}, {">=", 4}, {"<", 4},  {">", 4}, {"in", 4}, {"|", 5},  {"^", 6},
                 {"&", 7},   {"<<", 8},  {">>", 8}, {"+", 9},  {"-", 9},  {"*", 10}, {"/", 10}, {"//", 10}, {"%", 10}, {"@", 10}};
#define BINDS_COMPARISON 4
#define BINDS_NOT 3
#define BINDS_UNARY 11
#define N_OPERATORS (sizeof operators / sizeof *operators)


/* Text of an operator's token, "not in" being none of them. */
static const struct operator *operator_find(const rlx_module_token_t *token)
{
    for (size_t i = 0; i < N_OPERATORS; i++)
        if (rlx_module_token_is(token, operators[i].mark))
            return &operators[i];
    return NULL;
}

static bool depth_enter(rlx_module_parser_t *parser)
{
    if (++parser->depth <= RLX_SYNTAX_DEPTH_MAX)
        return true;
    rlx_finding_hint(
        rlx_report(parser->findings, RLX_E_TEXT_LIMIT, parser->lex.token.span, "expressions nest more than %d deep", RLX_SYNTAX_DEPTH_MAX),
        "Give the inner parts names: `a = ...` on lines of their own.");
    return false;
}

/* name=value or value, up to `)`. */
static bool parse_argument(rlx_module_parser_t *parser, rlx_node_t *call)
{
    rlx_module_token_t token = parser->lex.token, next = {0};
    rlx_node_t *value;

    if (rlx_module_refuse_star(parser))
        return false;
    if (token.kind == RLX_MODULE_NAME)
        next = rlx_module_lex_peek(&parser->lex);
    if (rlx_module_token_is(&next, "=")) {
        const char *name = rlx_syntax_strndup(parser->syntax, token.text, token.bytes);

        rlx_module_lex_next(&parser->lex);
        rlx_module_lex_next(&parser->lex);
        value = rlx_module_parse_expr(parser);
        if (value == NULL || rlx_module_refuse_comprehension(parser))
            return false;
        rlx_module_field_add(parser, call, name, token.span, value);
        return true;
    }
    if (rlx_module_token_is(&next, ":") || rlx_module_token_is(&next, ":=")) {
        rlx_module_lex_next(&parser->lex);
        return rlx_module_parse_fail(parser, "`=`",
                                     next.bytes == 1 ? "A named argument reads name=value." : "Set the name on a line of its own, above.") != NULL;
    }
    value = rlx_module_parse_expr(parser);
    if (value == NULL || rlx_module_refuse_comprehension(parser))
        return false;
    if (call->n_fields > 0) {
        rlx_finding_hint(rlx_report(parser->findings, RLX_E_SYNTAX, value->span, "an argument without a name stands behind one with a name"),
                         "Put it in front, or name it: name=value.");
        return true; /* its place is known to be wrong; the others are read */
    }
    rlx_module_node_add(parser, call, value);
    return true;
}

static rlx_node_t *parse_call(rlx_module_parser_t *parser, rlx_node_t *callee, const rlx_module_token_t *first)
{
    rlx_node_t *call = rlx_module_node(parser, RLX_NODE_CALL, callee->span);

    rlx_module_node_add(parser, call, callee);
    rlx_module_lex_next(&parser->lex);
    while (!rlx_module_token_is(&parser->lex.token, ")")) {
        if (!parse_argument(parser, call) || rlx_syntax_is_full(parser->syntax))
            return NULL;
        if (rlx_module_token_is(&parser->lex.token, ","))
            rlx_module_lex_next(&parser->lex);
        else if (!rlx_module_token_is(&parser->lex.token, ")"))
            return rlx_module_parse_fail(parser, "`,` or `)`", "Put a comma between two arguments, or close the call.");
    }
    rlx_module_lex_next(&parser->lex);
    call->span = rlx_module_lex_span(&parser->lex, first);
    return call;
}

/* One index: an expression, or begin:end:step with any part left out. */
static rlx_node_t *parse_index(rlx_module_parser_t *parser)
{
    rlx_module_token_t first = parser->lex.token;
    rlx_node_t *slice, *parts[3] = {NULL, NULL, NULL};
    int n = 0;

    for (;; rlx_module_lex_next(&parser->lex), n++) {
        const rlx_module_token_t *token = &parser->lex.token;

        if (!rlx_module_token_is(token, ":") && !rlx_module_token_is(token, "]") && !rlx_module_token_is(token, ",") &&
            (parts[n] = rlx_module_parse_expr(parser)) == NULL)
            return NULL;
        if (!rlx_module_token_is(&parser->lex.token, ":"))
            break;
        if (n == 2)
            return rlx_module_parse_fail(parser, "`]`", "A slice reads begin:end or begin:end:step.");
    }
    if (n == 0 && parts[0] == NULL)
        return rlx_module_parse_fail(parser, "an index", "Write a number, or a slice begin:end.");
    if (n == 0)
        return parts[0];
    slice = rlx_module_node(parser, RLX_NODE_SLICE, first.span);
    for (int i = 0; i < 3; i++)
        rlx_module_node_add(parser, slice, parts[i]);
    slice->span = rlx_module_lex_span(&parser->lex, &first);
    return slice;
}

static rlx_node_t *parse_subscript(rlx_module_parser_t *parser, rlx_node_t *object, const rlx_module_token_t *first)
{
    rlx_node_t *node = rlx_module_node(parser, RLX_NODE_SUBSCRIPT, object->span), *index, *tuple = NULL;

    rlx_module_lex_next(&parser->lex);
    rlx_module_node_add(parser, node, object);
    do {
        if (tuple != NULL)
            rlx_module_lex_next(&parser->lex);
        if (tuple != NULL && rlx_module_token_is(&parser->lex.token, "]"))
            break;
        if ((index = parse_index(parser)) == NULL)
            return NULL;
        if (tuple == NULL && rlx_module_token_is(&parser->lex.token, ","))
            tuple = rlx_module_node(parser, RLX_NODE_TUPLE, index->span);
        if (tuple != NULL)
            rlx_module_node_add(parser, tuple, index);
    } while (rlx_module_token_is(&parser->lex.token, ","));
    if (!rlx_module_parse_mark(parser, "]", "Close the index with `]`."))
        return NULL;
    rlx_module_node_add(parser, node, tuple != NULL ? tuple : index);
    node->span = rlx_module_lex_span(&parser->lex, first);
    return node;
}

static rlx_node_t *parse_attribute(rlx_module_parser_t *parser, rlx_node_t *object, const rlx_module_token_t *first)
{
    rlx_node_t *node = rlx_module_node(parser, RLX_NODE_ATTRIBUTE, object->span);

    rlx_module_lex_next(&parser->lex);
    if (parser->lex.token.kind != RLX_MODULE_NAME)
        return rlx_module_parse_fail(parser, "a name", "Behind a point stands a name: rlx.relu, np.float32, x.T.");
    rlx_module_node_add(parser, node, object);
    node->s = rlx_syntax_strndup(parser->syntax, parser->lex.token.text, parser->lex.token.bytes);
    node->name_span = parser->lex.token.span;
    rlx_module_lex_next(&parser->lex);
    node->span = rlx_module_lex_span(&parser->lex, first);
    return node;
}

static rlx_node_t *parse_primary(rlx_module_parser_t *parser)
{
    rlx_module_token_t first = parser->lex.token;
    rlx_node_t *node = rlx_module_parse_atom(parser);

    for (int n = 0; node != NULL; n++) {
        if (rlx_module_token_is(&parser->lex.token, "("))
            node = parse_call(parser, node, &first);
        else if (rlx_module_token_is(&parser->lex.token, "["))
            node = parse_subscript(parser, node, &first);
        else if (rlx_module_token_is(&parser->lex.token, "."))
            node = parse_attribute(parser, node, &first);
        else
            return node;
        if (n == RLX_SYNTAX_DEPTH_MAX) /* x.a.b.c...: as deep a tree as brackets make */
            return rlx_module_parse_fail(parser, "less of a chain", "Give the inner parts names: `a = ...` on lines of their own.");
    }
    return NULL;
}

static rlx_node_t *parse_binds(rlx_module_parser_t *parser, int binds);

/* -x, +x, ~x, not x; ** binds tighter than a sign in front of it. */
static rlx_node_t *parse_unary(rlx_module_parser_t *parser)
{
    rlx_module_token_t first = parser->lex.token;
    bool negation = rlx_module_token_is(&first, "not");
    rlx_node_t *node, *left;

    if (negation || rlx_module_token_is(&first, "-") || rlx_module_token_is(&first, "+") || rlx_module_token_is(&first, "~")) {
        rlx_module_lex_next(&parser->lex);
        node = rlx_module_node(parser, RLX_NODE_UNARY, first.span);
        node->s = rlx_syntax_strndup(parser->syntax, first.text, first.bytes);
        node->name_span = first.span;
        left = parse_binds(parser, negation ? BINDS_NOT : BINDS_UNARY);
        rlx_module_node_add(parser, node, left);
        node->span = rlx_module_lex_span(&parser->lex, &first);
        return left != NULL ? node : NULL;
    }
    left = parse_primary(parser);
    if (left == NULL || !rlx_module_token_is(&parser->lex.token, "**"))
        return left;
    node = rlx_module_node(parser, RLX_NODE_BINARY, left->span);
    node->s = "**";
    node->name_span = parser->lex.token.span;
    rlx_module_node_add(parser, node, left);
    rlx_module_lex_next(&parser->lex);
    left = parse_binds(parser, BINDS_UNARY);
    rlx_module_node_add(parser, node, left);
    node->span = rlx_module_lex_span(&parser->lex, &first);
    return left != NULL ? node : NULL;
}

static rlx_node_t *chain_refuse(rlx_module_parser_t *parser)
{
    rlx_finding_hint(rlx_report(parser->findings, RLX_E_NOT_LANGUAGE, parser->lex.token.span, "comparisons cannot be chained"),
                     "Compare twice: rlx.logical_and(a < b, b < c) for tensors, `a < b and b < c` for numbers.");
    return NULL;
}

static rlx_node_t *binds_parse(rlx_module_parser_t *parser, int binds)
{
    rlx_module_token_t first = parser->lex.token;
    rlx_node_t *left = parse_unary(parser);
    const struct operator *known;

    while (left != NULL && (known = operator_find(&parser->lex.token)) != NULL && known->binds >= binds) {
        rlx_node_t *node = rlx_module_node(parser, RLX_NODE_BINARY, left->span), *right;

        if (known->binds == BINDS_COMPARISON && left->kind == RLX_NODE_BINARY && left->i == BINDS_COMPARISON)
            return chain_refuse(parser);
        node->s = known->mark;
        node->i = known->binds; /* in brackets a comparison may stand on the left: parentheses reset this */
        node->name_span = parser->lex.token.span;
        rlx_module_lex_next(&parser->lex);
        right = parse_binds(parser, known->binds + 1);
        rlx_module_node_add(parser, node, left);
        rlx_module_node_add(parser, node, right);
        node->span = rlx_module_lex_span(&parser->lex, &first);
        left = right != NULL && !rlx_syntax_is_full(parser->syntax) ? node : NULL;
    }
    return left;
}

static rlx_node_t *parse_binds(rlx_module_parser_t *parser, int binds)
{
    rlx_node_t *node = depth_enter(parser) ? binds_parse(parser, binds) : NULL;

    parser->depth--;
    return node;
}

rlx_node_t *rlx_module_parse_expr(rlx_module_parser_t *parser)
{
    rlx_module_token_t first = parser->lex.token;
    rlx_node_t *node = parse_binds(parser, 0), *choice, *condition, *other;

    if (node == NULL || !rlx_module_token_is(&parser->lex.token, "if"))
        return node;
    choice = rlx_module_node(parser, RLX_NODE_CHOICE, node->span);
    rlx_module_lex_next(&parser->lex);
    condition = parse_binds(parser, 0);
    if (condition == NULL)
        return NULL;
    if (!rlx_module_parse_mark(parser, "else", "A choice reads `a if condition else b`."))
        return NULL;
    other = depth_enter(parser) ? rlx_module_parse_expr(parser) : NULL;
    parser->depth--;
    rlx_module_node_add(parser, choice, node);
    rlx_module_node_add(parser, choice, condition);
    rlx_module_node_add(parser, choice, other);
    choice->span = rlx_module_lex_span(&parser->lex, &first);
    return other != NULL ? choice : NULL;
}

rlx_node_t *rlx_module_parse_tuple(rlx_module_parser_t *parser)
{
    rlx_module_token_t first = parser->lex.token;
    rlx_node_t *node = rlx_module_parse_expr(parser), *tuple;

    if (node == NULL || !rlx_module_token_is(&parser->lex.token, ","))
        return node;
    tuple = rlx_module_node(parser, RLX_NODE_TUPLE, node->span);
    rlx_module_node_add(parser, tuple, node);
    while (rlx_module_token_is(&parser->lex.token, ",")) {
        rlx_module_lex_next(&parser->lex);
        if (parser->lex.token.kind == RLX_MODULE_NEWLINE)
            break;
        node = rlx_module_parse_expr(parser);
        if (node == NULL)
            return NULL;
        rlx_module_node_add(parser, tuple, node);
    }
    tuple->span = rlx_module_lex_span(&parser->lex, &first);
    return tuple;
}
