/* Expressions. A name is looked for in the function, then in the file; `rlx` and `np` are what is left. */
#include <string.h>

#include "base/closest.h"
#include "ir/graph.h"
#include "ir/module/evaluate.h"

const char *rlx_py_path(rlx_evaluator_t *e, const rlx_node_t *node, const char **out_root)
{
    const char *inner;

    if (node->kind == RLX_NODE_NAME) {
        bool is_np = strcmp(node->s, "np") == 0 || strcmp(node->s, "numpy") == 0;

        if ((!is_np && strcmp(node->s, "rlx") != 0) || rlx_scope_find(e->scope, node->s) != NULL || rlx_scope_find(e->file, node->s) != NULL)
            return NULL;
        *out_root = is_np ? "np" : "rlx";
        return *out_root;
    }
    if (node->kind != RLX_NODE_ATTRIBUTE || (inner = rlx_py_path(e, node->items[0], out_root)) == NULL)
        return NULL;
    return rlx_syntax_printf(e->syntax, "%s.%s", inner, node->s);
}

static void names_offer(rlx_closest_t *closest, const rlx_scope_t *scope)
{
    for (int i = 0; i < scope->n_bindings; i++)
        rlx_closest_offer(closest, scope->bindings[i]->name);
}

/* Where a later line of the function sets the name. */
static const rlx_target_t *target_later(rlx_line_t *const *lines, int n, const char *name)
{
    for (int i = 0; i < n; i++) {
        const rlx_target_t *inner;

        for (int k = 0; k < lines[i]->n_targets; k++)
            if (strcmp(lines[i]->targets[k].name, name) == 0)
                return &lines[i]->targets[k];
        if ((inner = target_later(lines[i]->body, lines[i]->n_body, name)) != NULL ||
            (inner = target_later(lines[i]->other, lines[i]->n_other, name)) != NULL)
            return inner;
    }
    return NULL;
}

/* Words of other languages and libraries. */
static const char *foreign_hint(const char *name)
{
    static const char *const words[][2] = {{"true", "Truth is written True."},
                                           {"false", "Truth is written False."},
                                           {"null", "Nothing is written None."},
                                           {"nil", "Nothing is written None."},
                                           {"none", "Nothing is written None."},
                                           {"torch", "Operators are those of rlx: rlx.relu, rlx.conv2d ... A PyTorch model comes in through ONNX."},
                                           {"nn", "Operators are those of rlx: rlx.relu, rlx.conv2d ... A PyTorch model comes in through ONNX."},
                                           {"F", "Operators are those of rlx: rlx.relu, rlx.conv2d ... A PyTorch model comes in through ONNX."},
                                           {"tf", "Operators are those of rlx: rlx.relu, rlx.matmul ... A TensorFlow model comes in through ONNX."},
                                           {"jnp", "Arrays of constants are made by np; what runs is made of operators of rlx."},
                                           {"math", "Write np: np.sqrt(2), np.pi."},
                                           {"random", "Random constants come from np.random: np.random.randn(64, 3, 7, 7)."},
                                           {"self", "A module is a function: values have plain names."},
                                           {"print", "A module is compiled, not run: nothing is printed. `rlx dump` shows what became of it."}};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i][0], name) == 0)
            return words[i][1];
    return NULL;
}

bool rlx_py_is_operator(const char *name)
{
    static const char *const others[] = {"tensor",    "constant",    "scalar",      "load",      "conv2d",
                                         "normalize", "postprocess", "remote_call", "custom_op", "module"};

    for (int kind = RLX_OP_NONE + 1; kind < RLX_OP_COUNT; kind++)
        if (strcmp(rlx_op_info((rlx_op_kind_t)kind)->name, name) == 0)
            return true;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(others[i], name) == 0)
            return true;
    return false;
}

static rlx_py_t *name_refuse(rlx_evaluator_t *e, const rlx_node_t *node)
{
    rlx_finding_t *finding = rlx_report(e->findings, RLX_E_NAME_UNKNOWN, node->span, "`%s` is not defined", node->s);
    const rlx_target_t *later = e->routine != NULL ? target_later(e->routine->lines, e->routine->n_lines, node->s) : NULL;
    rlx_closest_t closest;

    rlx_closest_init(&closest, node->s, strlen(node->s));
    names_offer(&closest, e->scope);
    names_offer(&closest, e->file);
    for (int i = 0; i < e->tree->n_routines; i++)
        rlx_closest_offer(&closest, e->tree->routines[i]->name);
    if (foreign_hint(node->s) != NULL)
        rlx_finding_hint(finding, "%s", foreign_hint(node->s));
    else if (rlx_py_is_operator(node->s))
        rlx_finding_hint(finding, "Operators are functions of rlx: rlx.%s(...).", node->s);
    else if (later != NULL)
        rlx_finding_note(rlx_finding_hint(finding, "Move the line that sets it above this one."), later->span, "it is set here, later");
    else if (closest.best != NULL)
        rlx_finding_hint(finding, "Did you mean `%s`?", closest.best);
    else
        rlx_finding_hint(finding, "Set it on a line above; what comes from outside is an input: %s = rlx.tensor(shape=[...]).", node->s);
    return NULL;
}

static rlx_py_t *evaluate_name(rlx_evaluator_t *e, const rlx_node_t *node)
{
    rlx_binding_t *binding = rlx_scope_find(e->scope, node->s);
    const char *root;
    rlx_py_t *value;

    if (binding == NULL)
        binding = rlx_scope_find(e->file, node->s);
    if (binding != NULL) {
        binding->used = true;
        return rlx_py_at(e, binding->value, node->span);
    }
    if (rlx_py_path(e, node, &root) != NULL) {
        rlx_finding_hint(rlx_report(e->findings, RLX_E_ARG_TYPE, node->span, "`%s` alone is no value", node->s), "Name what is in it: %s.",
                         root[0] == 'n' ? "np.zeros, np.float32" : "rlx.relu, rlx.tensor");
        return NULL;
    }
    if (rlx_py_routine(e, node->s) == NULL)
        return name_refuse(e, node);
    rlx_py_routine(e, node->s)->used = true;
    value = rlx_py_new(e, RLX_SYNTAX_NAME, node->span);
    value->s = node->s;
    return value;
}

static rlx_py_t *evaluate_attribute(rlx_evaluator_t *e, const rlx_node_t *node, const rlx_want_t *want)
{
    const char *root, *path = rlx_py_path(e, node, &root);
    rlx_py_t *object, *value;

    if (path == NULL) {
        object = rlx_py_evaluate(e, node->items[0], NULL);
        return object != NULL ? rlx_py_attribute(e, node, object, want) : NULL;
    }
    if (root[0] == 'n')
        return rlx_py_numpy_attribute(e, path, node->span);
    if (rlx_py_dtype_named(path + 4) != RLX_DTYPE_NONE) {
        value = rlx_py_new(e, RLX_SYNTAX_DTYPE, node->span);
        value->dtype = rlx_py_dtype_named(path + 4);
        return value;
    }
    rlx_finding_hint(rlx_report(e->findings, RLX_E_ARG_TYPE, node->span, "`%s` alone is no value", path),
                     "Call it: %s(...). Element types are rlx.float32, rlx.int64 and so on.", path);
    return NULL;
}

static rlx_py_t *evaluate_list(rlx_evaluator_t *e, const rlx_node_t *node)
{
    rlx_py_t *list = rlx_py_new(e, RLX_SYNTAX_LIST, node->span);
    bool good = true;

    for (int i = 0; i < node->n_items; i++) {
        rlx_py_t *item = rlx_py_evaluate(e, node->items[i], NULL);

        good = good && item != NULL;
        if (item != NULL)
            rlx_syntax_value_add(e->syntax, list, item);
    }
    return good ? list : NULL;
}

static rlx_py_t *evaluate_dict(rlx_evaluator_t *e, const rlx_node_t *node)
{
    rlx_py_t *dict = rlx_py_new(e, RLX_SYNTAX_DICT, node->span);
    bool good = true;

    for (int i = 0; i < node->n_fields; i++) {
        const rlx_node_field_t *field = &node->fields[i];
        const rlx_syntax_field_t *first = rlx_syntax_field(dict->fields, dict->n_fields, field->name);
        rlx_py_t *value = rlx_py_evaluate(e, field->value, NULL);

        if (first != NULL) {
            rlx_finding_t *finding = rlx_report(e->findings, RLX_E_NAME_TWICE, field->name_span, "the key \"%s\" stands twice", field->name);

            rlx_finding_note(rlx_finding_hint(finding, "Remove one of them."), first->name_span, "the first one");
        }
        good = good && value != NULL && first == NULL;
        rlx_syntax_field_add(e->syntax, &dict->fields, &dict->n_fields, field->name, field->name_span, value);
    }
    return good ? dict : NULL;
}

/* and, or, not: of constants. The second is computed only where it counts. */
static rlx_py_t *evaluate_logic(rlx_evaluator_t *e, const rlx_node_t *node)
{
    rlx_py_t *value = rlx_py_evaluate(e, node->items[0], NULL);
    bool truth;

    if (value == NULL)
        return NULL;
    if (value->kind == RLX_SYNTAX_REF) {
        rlx_finding_hint(rlx_report(e->findings, RLX_E_NOT_LANGUAGE, node->name_span, "`%s` works on constants, and this is a tensor", node->s),
                         "Write rlx.logical_%s(%s).", node->s, node->kind == RLX_NODE_UNARY ? "x" : "a, b");
        return NULL;
    }
    if (!rlx_py_truth(e, value, node->items[0]->span, &truth))
        return NULL;
    if (node->kind == RLX_NODE_UNARY)
        return rlx_py_bool(e, !truth, node->span);
    return truth == (node->s[0] == 'o') ? value : rlx_py_evaluate(e, node->items[1], NULL);
}

static rlx_py_t *evaluate_choice(rlx_evaluator_t *e, const rlx_node_t *node, const rlx_want_t *want)
{
    rlx_py_t *condition = rlx_py_evaluate(e, node->items[1], NULL);
    bool truth;

    if (condition == NULL || !rlx_py_truth(e, condition, node->items[1]->span, &truth))
        return NULL;
    return rlx_py_evaluate(e, node->items[truth ? 0 : 2], want);
}

static rlx_py_t *evaluate_operator(rlx_evaluator_t *e, const rlx_node_t *node, const rlx_want_t *want)
{
    rlx_py_t *a, *b = NULL;

    if (strcmp(node->s, "and") == 0 || strcmp(node->s, "or") == 0 || strcmp(node->s, "not") == 0)
        return evaluate_logic(e, node);
    a = rlx_py_evaluate(e, node->items[0], NULL);
    if (node->kind == RLX_NODE_UNARY)
        return a != NULL ? rlx_py_unary(e, node, a, want) : NULL;
    b = rlx_py_evaluate(e, node->items[1], NULL);
    return a != NULL && b != NULL ? rlx_py_binary(e, node, node->s, a, b, want) : NULL;
}

static rlx_py_t *evaluate_literal(rlx_evaluator_t *e, const rlx_node_t *node)
{
    rlx_py_t *value;

    if (node->kind == RLX_NODE_INT)
        return rlx_py_int(e, node->i, node->span);
    if (node->kind == RLX_NODE_FLOAT)
        return rlx_py_float(e, node->f, node->span);
    if (node->kind == RLX_NODE_BOOL)
        return rlx_py_bool(e, node->i != 0, node->span);
    value = rlx_py_new(e, node->kind == RLX_NODE_STRING ? RLX_SYNTAX_STRING : RLX_SYNTAX_NONE, node->span);
    value->s = node->s;
    return value;
}

static bool step_count(rlx_evaluator_t *e, const rlx_node_t *node)
{
    if (e->stopped)
        return false;
    if (++e->steps <= RLX_MODULE_STEPS_MAX && !rlx_syntax_is_full(e->syntax))
        return true;
    e->stopped = true;
    rlx_finding_hint(rlx_report(e->findings, RLX_E_TEXT_LIMIT, node->span, "the module takes too many steps, or too much memory"),
                     "Shorten the loops around this; keep large constants in a .safetensors file and use rlx.load.");
    return false;
}

rlx_py_t *rlx_py_evaluate(rlx_evaluator_t *e, const rlx_node_t *node, const rlx_want_t *want)
{
    rlx_py_t *object;

    if (node == NULL || !step_count(e, node))
        return NULL;
    switch (node->kind) {
    case RLX_NODE_NAME: return evaluate_name(e, node);
    case RLX_NODE_ATTRIBUTE: return evaluate_attribute(e, node, want);
    case RLX_NODE_CALL: return rlx_py_call(e, node, want);
    case RLX_NODE_SUBSCRIPT: object = rlx_py_evaluate(e, node->items[0], NULL); return object != NULL ? rlx_py_index(e, node, object, want) : NULL;
    case RLX_NODE_LIST:
    case RLX_NODE_TUPLE: return evaluate_list(e, node);
    case RLX_NODE_DICT: return evaluate_dict(e, node);
    case RLX_NODE_UNARY:
    case RLX_NODE_BINARY: return evaluate_operator(e, node, want);
    case RLX_NODE_CHOICE: return evaluate_choice(e, node, want);
    default: return evaluate_literal(e, node);
    }
}
