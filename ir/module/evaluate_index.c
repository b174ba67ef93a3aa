/* x[...]: elements of lists, dictionaries and arrays, and slices of tensors. */
#include <string.h>

#include "base/closest.h"
#include "ir/module/evaluate.h"

typedef struct range {
    int64_t first, stride, count;
    bool drop; /* one index: the axis goes */
} range_t;

/* An integer of the index, or `fallback` where none is written. */
static bool part_read(rlx_evaluator_t *e, const rlx_node_t *node, int64_t fallback, int64_t *out)
{
    rlx_py_t *value;

    *out = fallback;
    if (node == NULL)
        return true;
    value = rlx_py_evaluate(e, node, NULL);
    if (value == NULL || rlx_py_as_int(value, out))
        return value != NULL;
    if (value->kind == RLX_SYNTAX_NONE)
        return true;
    rlx_finding_hint(rlx_report(e->findings, RLX_E_ARG_TYPE, value->span, "an index is %s", rlx_py_kind(value)),
                     value->kind == RLX_SYNTAX_REF ? "Elements that a tensor names are picked by rlx.gather(x, indices, axis=...)."
                                                   : "An index is an integer, or a slice begin:end.");
    return false;
}

static int64_t clamp(int64_t at, int64_t low, int64_t high) { return at < low ? low : at > high ? high : at; }

/* Python's rules for begin:end:step on an axis of `extent`. */
static bool slice_read(rlx_evaluator_t *e, const rlx_node_t *node, int64_t extent, range_t *out)
{
    int64_t first, last, step;

    if (!part_read(e, node->items[2], 1, &step))
        return false;
    if (step == 0 || step == INT64_MIN) {
        rlx_finding_hint(rlx_report(e->findings, RLX_E_ARG_VALUE, node->span, "a slice cannot step by %lld", (long long)step),
                         "Leave the step out, or write another.");
        return false;
    }
    if (!part_read(e, node->items[0], step > 0 ? 0 : extent - 1, &first) || !part_read(e, node->items[1], step > 0 ? extent : -extent - 1, &last))
        return false;
    first = clamp(first < 0 ? first + extent : first, step > 0 ? 0 : -1, step > 0 ? extent : extent - 1);
    last = clamp(last < 0 ? last + extent : last, step > 0 ? 0 : -1, step > 0 ? extent : extent - 1);
    *out = (range_t){first, step, step > 0 ? (last - first + step - 1) / step : (first - last - step - 1) / -step, false};
    out->count = out->count > 0 ? out->count : 0;
    return true;
}

static bool range_read(rlx_evaluator_t *e, const rlx_node_t *node, int64_t extent, range_t *out)
{
    if (node->kind == RLX_NODE_SLICE)
        return slice_read(e, node, extent, out);
    *out = (range_t){0, 1, 1, true};
    if (!part_read(e, node, 0, &out->first))
        return false;
    if (out->first < -extent || out->first >= extent) {
        rlx_finding_hint(rlx_finding_expected(rlx_report(e->findings, RLX_E_ARG_VALUE, node->span, "index %lld of %lld elements",
                                                         (long long)out->first, (long long)extent),
                                              "%lld to %lld", (long long)-extent, (long long)extent - 1),
                         "Indices begin with 0; negative ones count from the end.");
        return false;
    }
    out->first += out->first < 0 ? extent : 0;
    return true;
}

static rlx_py_t *index_list(rlx_evaluator_t *e, const rlx_node_t *node, const rlx_py_t *list)
{
    range_t range;
    rlx_py_t *result;

    if (!range_read(e, node->items[1], list->n_items, &range))
        return NULL;
    if (range.drop)
        return rlx_py_at(e, list->items[range.first], node->span);
    result = rlx_py_new(e, RLX_SYNTAX_LIST, node->span);
    for (int64_t i = 0; i < range.count; i++)
        rlx_syntax_value_add(e->syntax, result, list->items[range.first + i * range.stride]);
    return result;
}

static rlx_py_t *index_dict(rlx_evaluator_t *e, const rlx_node_t *node, const rlx_py_t *dict)
{
    rlx_py_t *key = rlx_py_evaluate(e, node->items[1], NULL);
    const rlx_syntax_field_t *field = key != NULL && key->kind == RLX_SYNTAX_STRING ? rlx_syntax_field(dict->fields, dict->n_fields, key->s) : NULL;
    rlx_closest_t closest;
    rlx_finding_t *finding;

    if (field != NULL)
        return rlx_py_at(e, field->value, node->span);
    if (key == NULL)
        return NULL;
    if (key->kind != RLX_SYNTAX_STRING) {
        rlx_finding_hint(rlx_report(e->findings, RLX_E_ARG_TYPE, key->span, "a key is %s", rlx_py_kind(key)), "Keys of dictionaries are strings.");
        return NULL;
    }
    finding = rlx_report(e->findings, RLX_E_NAME_UNKNOWN, key->span, "the dictionary has no key \"%s\"", key->s);
    rlx_closest_init(&closest, key->s, strlen(key->s));
    for (int i = 0; i < dict->n_fields; i++)
        rlx_closest_offer(&closest, dict->fields[i].name);
    if (closest.best != NULL)
        rlx_finding_hint(finding, "Did you mean \"%s\"?", closest.best);
    else
        rlx_finding_hint(finding, "Add it to the dictionary, or use one that is there.");
    return NULL;
}

static rlx_py_t *index_array(rlx_evaluator_t *e, const rlx_node_t *node, const rlx_py_t *value)
{
    const rlx_node_t *index = node->items[1];
    int n = index->kind == RLX_NODE_TUPLE ? index->n_items : 1, axis = 0;
    rlx_tensor_t array;

    if (!rlx_py_as_array(e, value, &array))
        return NULL;
    if (n > array.rank) {
        rlx_finding_hint(rlx_report(e->findings, RLX_E_ARG_VALUE, index->span, "%d indices of an array of shape %s", n, rlx_py_shape_text(e, &array)),
                         "Write at most one index per axis.");
        return NULL;
    }
    for (int i = 0; i < n; i++) {
        range_t range;
        rlx_tensor_t picked;

        if (!range_read(e, index->kind == RLX_NODE_TUPLE ? index->items[i] : index, array.dims[axis], &range))
            return NULL;
        if (rlx_array_pick(e->syntax, &array, axis, range.first, range.stride, range.count, range.drop, &picked) != RLX_ARRAY_OK)
            return rlx_py_array_fail(e, RLX_ARRAY_TOO_LARGE, node->span, &array, NULL);
        array = picked;
        axis += !range.drop;
    }
    return rlx_py_array(e, &array, node->span);
}

typedef struct slicing {
    rlx_py_t *starts, *ends, *axes, *steps;
} slicing_t;

/* begin:end:step of an axis whose extent nobody knows yet: INT64_MAX stands for its end. */
static bool slicing_add(rlx_evaluator_t *e, const rlx_node_t *node, int axis, slicing_t *slicing)
{
    int64_t first, last, step;

    if (node->items[0] == NULL && node->items[1] == NULL && node->items[2] == NULL)
        return true;
    if (!part_read(e, node->items[2], 1, &step) || !part_read(e, node->items[0], step > 0 ? 0 : INT64_MAX, &first) ||
        !part_read(e, node->items[1], step > 0 ? INT64_MAX : INT64_MIN, &last))
        return false;
    if (step == 0) {
        rlx_finding_hint(rlx_report(e->findings, RLX_E_ARG_VALUE, node->span, "a slice cannot step by 0"), "Leave the step out, or write another.");
        return false;
    }
    rlx_syntax_value_add(e->syntax, slicing->starts, rlx_py_int(e, first, node->span));
    rlx_syntax_value_add(e->syntax, slicing->ends, rlx_py_int(e, last, node->span));
    rlx_syntax_value_add(e->syntax, slicing->axes, rlx_py_int(e, axis, node->span));
    rlx_syntax_value_add(e->syntax, slicing->steps, rlx_py_int(e, step, node->span));
    return true;
}

static rlx_py_t *emit_slice(rlx_evaluator_t *e, rlx_py_t *object, const slicing_t *slicing, rlx_span_t span, const rlx_want_t *want)
{
    rlx_py_t *const operands[] = {object, slicing->starts, slicing->ends, slicing->axes, slicing->steps};
    rlx_syntax_statement_t *statement = rlx_py_emit(e, "rlxc", "slice", span, span);

    for (int i = 0; statement != NULL && i < 5; i++)
        rlx_syntax_arg_add(e->syntax, statement, operands[i]);
    return statement != NULL ? rlx_py_results(e, statement, want) : NULL;
}

/* One index: the axis goes. */
static rlx_py_t *emit_pick(rlx_evaluator_t *e, rlx_py_t *object, int64_t index, int axis, rlx_span_t span, const rlx_want_t *want)
{
    rlx_tensor_t number;
    rlx_py_t *operand = rlx_array_make(e->syntax, RLX_I64, 0, NULL, &number) ? rlx_py_array(e, &number, span) : NULL;
    rlx_syntax_statement_t *statement;

    if (operand == NULL)
        return NULL;
    *(int64_t *)number.data = index;
    operand = rlx_py_operand(e, operand, NULL);
    statement = operand != NULL ? rlx_py_emit(e, "rlxc", "gather", span, span) : NULL;
    if (statement == NULL)
        return NULL;
    rlx_syntax_arg_add(e->syntax, statement, object);
    rlx_syntax_arg_add(e->syntax, statement, operand);
    rlx_syntax_field_add(e->syntax, &statement->keywords, &statement->n_keywords, "axis", span, rlx_py_int(e, axis, span));
    return rlx_py_results(e, statement, want);
}

/* x[0, 2:] of a tensor: one slice, and a gather for each axis that has one index. */
static rlx_py_t *index_tensor(rlx_evaluator_t *e, const rlx_node_t *node, rlx_py_t *object, const rlx_want_t *want)
{
    const rlx_node_t *index = node->items[1];
    int n = index->kind == RLX_NODE_TUPLE ? index->n_items : 1, picks = 0, axis = 0;
    slicing_t slicing = {rlx_py_new(e, RLX_SYNTAX_LIST, node->span), rlx_py_new(e, RLX_SYNTAX_LIST, node->span),
                         rlx_py_new(e, RLX_SYNTAX_LIST, node->span), rlx_py_new(e, RLX_SYNTAX_LIST, node->span)};
    int64_t first;

    for (int i = 0; i < n; i++) {
        const rlx_node_t *part = index->kind == RLX_NODE_TUPLE ? index->items[i] : index;

        picks += part->kind != RLX_NODE_SLICE;
        if (part->kind == RLX_NODE_SLICE && !slicing_add(e, part, i, &slicing))
            return NULL;
    }
    if (slicing.axes->n_items > 0)
        object = emit_slice(e, object, &slicing, node->span, picks == 0 ? want : NULL);
    for (int i = 0; i < n && object != NULL; i++) {
        const rlx_node_t *part = index->kind == RLX_NODE_TUPLE ? index->items[i] : index;

        if (part->kind == RLX_NODE_SLICE)
            axis++;
        else if (part_read(e, part, 0, &first))
            object = emit_pick(e, object, first, axis, node->span, --picks == 0 ? want : NULL);
        else
            return NULL;
    }
    return object;
}

rlx_py_t *rlx_py_index(rlx_evaluator_t *e, const rlx_node_t *node, rlx_py_t *object, const rlx_want_t *want)
{
    const rlx_node_t *index = node->items[1];

    if (object->kind == RLX_SYNTAX_REF)
        return index_tensor(e, node, object, want);
    if (object->kind == RLX_SYNTAX_TENSOR || object->kind == RLX_SYNTAX_EXTERNAL)
        return index_array(e, node, object);
    if (object->kind == RLX_SYNTAX_DICT)
        return index_dict(e, node, object);
    if (object->kind == RLX_SYNTAX_LIST && index->kind != RLX_NODE_TUPLE)
        return index_list(e, node, object);
    rlx_finding_hint(rlx_report(e->findings, RLX_E_ARG_TYPE, node->span, "%s cannot be indexed%s", rlx_py_kind(object),
                                object->kind == RLX_SYNTAX_LIST ? " twice at once" : ""),
                     "Lists, dictionaries, arrays and tensors have elements.");
    return NULL;
}
