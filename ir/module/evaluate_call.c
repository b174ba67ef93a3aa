/* Calls: who is called decides. */
#include <string.h>

#include "ir/module/evaluate.h"

/* All arguments are computed, so that every mistake in them is found. False: one of them has none. */
static bool arguments_read(rlx_evaluator_t *e, const rlx_node_t *node, rlx_arguments_t *out)
{
    bool good = true;

    for (int i = 1; i < node->n_items; i++) {
        rlx_py_t *value = rlx_py_evaluate(e, node->items[i], NULL);

        good = good && value != NULL;
        out->values = rlx_syntax_grow(e->syntax, out->values, out->n, sizeof(rlx_py_t *));
        out->values[out->n++] = value;
    }
    for (int i = 0; i < node->n_fields; i++) {
        const rlx_node_field_t *field = &node->fields[i];
        const rlx_syntax_field_t *first = rlx_syntax_field(out->fields, out->n_fields, field->name);
        rlx_py_t *value = rlx_py_evaluate(e, field->value, NULL);

        if (first != NULL) {
            rlx_finding_t *finding = rlx_report(e->findings, RLX_E_NAME_TWICE, field->name_span, "the argument `%s` stands twice", field->name);

            rlx_finding_note(rlx_finding_hint(finding, "Remove one of them."), first->name_span, "the first one");
        }
        good = good && value != NULL && first == NULL;
        rlx_syntax_field_add(e->syntax, &out->fields, &out->n_fields, field->name, field->name_span, value);
    }
    return good;
}

static rlx_py_t *call_refuse(rlx_evaluator_t *e, const rlx_node_t *callee, const rlx_py_t *object)
{
    rlx_finding_t *finding = rlx_report(e->findings, RLX_E_ARG_TYPE, callee->span, "%s cannot be called", rlx_py_kind(object));

    if (object->kind == RLX_SYNTAX_DTYPE)
        rlx_finding_hint(finding, "Convert an array with .astype(...), a tensor with rlx.cast(x, to=...).");
    else if (object->kind == RLX_SYNTAX_REF)
        rlx_finding_hint(finding, "An element or a slice is x[...] with square brackets; functions are those of the file, rlx.NAME and np.NAME.");
    else
        rlx_finding_hint(finding, "Only functions of the file, rlx.NAME and np.NAME can be called.");
    return NULL;
}

/* A plain name: a function of the file, or one of Python's. */
static rlx_py_t *call_named(rlx_evaluator_t *e, const rlx_node_t *callee, rlx_arguments_t *arguments, bool good)
{
    bool hidden = rlx_scope_find(e->scope, callee->s) != NULL || rlx_scope_find(e->file, callee->s) != NULL;
    rlx_routine_t *routine = hidden ? NULL : rlx_py_routine(e, callee->s);
    rlx_py_t *object;

    arguments->name = callee->s;
    arguments->name_span = callee->span;
    if (routine != NULL) {
        routine->used = true;
        return good ? rlx_py_inline(e, routine, arguments) : NULL;
    }
    if (!hidden && rlx_py_is_builtin(callee->s))
        return good ? rlx_py_builtin(e, arguments) : NULL;
    object = rlx_py_evaluate(e, callee, NULL); /* unknown names are refused there */
    if (object != NULL && object->kind == RLX_SYNTAX_NAME && rlx_py_routine(e, object->s) != NULL)
        return good ? rlx_py_inline(e, rlx_py_routine(e, object->s), arguments) : NULL;
    return object != NULL ? call_refuse(e, callee, object) : NULL;
}

static rlx_py_t *call_method(rlx_evaluator_t *e, const rlx_node_t *callee, rlx_arguments_t *arguments, bool good, const rlx_want_t *want)
{
    rlx_py_t *object = rlx_py_evaluate(e, callee->items[0], NULL);

    arguments->name = callee->s;
    arguments->name_span = callee->name_span;
    return object != NULL && good ? rlx_py_method(e, object, arguments, want) : NULL;
}

rlx_py_t *rlx_py_call(rlx_evaluator_t *e, const rlx_node_t *node, const rlx_want_t *want)
{
    const rlx_node_t *callee = node->items[0];
    rlx_arguments_t arguments = {.span = node->span, .name_span = callee->span};
    bool good = arguments_read(e, node, &arguments);
    const char *root = NULL, *path = rlx_py_path(e, callee, &root);
    rlx_py_t *object;

    if (path != NULL && callee->kind == RLX_NODE_ATTRIBUTE) {
        arguments.name = path;
        if (!good && root[0] == 'n')
            return NULL;
        if (root[0] == 'n')
            return rlx_py_numpy(e, &arguments);
        return good ? rlx_py_rlx(e, &arguments, want) : NULL;
    }
    if (callee->kind == RLX_NODE_NAME)
        return call_named(e, callee, &arguments, good);
    if (callee->kind == RLX_NODE_ATTRIBUTE)
        return call_method(e, callee, &arguments, good, want);
    object = rlx_py_evaluate(e, callee, NULL);
    return object != NULL ? call_refuse(e, callee, object) : NULL;
}
