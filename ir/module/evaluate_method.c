/* object.name: of arrays, and the few of tensors that people write by habit. */
#include <string.h>

#include "ir/module/evaluate.h"

static bool is_array(const rlx_py_t *value) { return value->kind == RLX_SYNTAX_TENSOR || value->kind == RLX_SYNTAX_EXTERNAL; }

static rlx_py_t *shape_value(rlx_evaluator_t *e, const rlx_tensor_t *array, rlx_span_t span)
{
    rlx_py_t *shape = rlx_py_new(e, RLX_SYNTAX_LIST, span);

    for (int i = 0; i < array->rank; i++)
        rlx_syntax_value_add(e->syntax, shape, rlx_py_int(e, array->dims[i], span));
    return shape;
}

static rlx_py_t *transposed(rlx_evaluator_t *e, const rlx_tensor_t *array, const int *perm, rlx_span_t span)
{
    rlx_tensor_t result;

    if (rlx_array_transpose(e->syntax, array, perm, &result) != RLX_ARRAY_OK)
        return rlx_py_array_fail(e, RLX_ARRAY_TOO_LARGE, span, array, NULL);
    return rlx_py_array(e, &result, span);
}

static rlx_py_t *array_attribute(rlx_evaluator_t *e, const rlx_node_t *node, const rlx_py_t *object)
{
    rlx_tensor_t array;
    rlx_py_t *value;

    if (!rlx_py_as_array(e, object, &array))
        return NULL;
    if (strcmp(node->s, "T") == 0)
        return transposed(e, &array, NULL, node->span);
    if (strcmp(node->s, "shape") == 0)
        return shape_value(e, &array, node->span);
    if (strcmp(node->s, "ndim") == 0)
        return rlx_py_int(e, array.rank, node->span);
    if (strcmp(node->s, "size") == 0)
        return rlx_py_int(e, rlx_array_count(&array), node->span);
    if (strcmp(node->s, "dtype") == 0) {
        value = rlx_py_new(e, RLX_SYNTAX_DTYPE, node->span);
        value->dtype = array.dtype;
        return value;
    }
    rlx_finding_hint(rlx_finding_expected(rlx_report(e->findings, RLX_E_OP_UNKNOWN, node->name_span, "arrays have no `%s`", node->s),
                                          "T, shape, ndim, size, dtype; or a call of astype, reshape, transpose, flatten, copy"),
                     "docs/LANGUAGE.md lists what arrays of constants can do.");
    return NULL;
}

rlx_py_t *rlx_py_attribute(rlx_evaluator_t *e, const rlx_node_t *node, rlx_py_t *object, const rlx_want_t *want)
{
    rlx_syntax_statement_t *statement;
    rlx_finding_t *finding;

    if (is_array(object))
        return array_attribute(e, node, object);
    if (object->kind == RLX_SYNTAX_REF && strcmp(node->s, "T") == 0) {
        statement = rlx_py_emit(e, "rlxc", "transpose", node->name_span, node->span);
        if (statement == NULL)
            return NULL;
        rlx_syntax_arg_add(e->syntax, statement, object);
        return rlx_py_results(e, statement, want);
    }
    finding = rlx_report(e->findings, RLX_E_OP_UNKNOWN, node->name_span, "%s has no `%s`", rlx_py_kind(object), node->s);
    if (object->kind == RLX_SYNTAX_REF && (strcmp(node->s, "shape") == 0 || strcmp(node->s, "size") == 0 || strcmp(node->s, "ndim") == 0))
        rlx_finding_hint(finding, "Extents are known when the module is compiled, not while it is read; rlx.shape(x) gives them as a tensor.");
    else if (object->kind == RLX_SYNTAX_DICT)
        rlx_finding_hint(finding, "Values of a dictionary are read as d[\"%s\"].", node->s);
    else
        rlx_finding_hint(finding, "Operators are functions: rlx.%s(x, ...).", node->s);
    return NULL;
}

/* x.reshape(2, 3) or x.reshape([2, 3]): the list. */
static rlx_py_t *shape_argument(rlx_evaluator_t *e, const rlx_arguments_t *arguments)
{
    rlx_py_t *list;

    if (arguments->n == 1 && arguments->n_fields == 0)
        return arguments->values[0];
    if (arguments->n == 0 && arguments->n_fields == 1 && strcmp(arguments->fields[0].name, "shape") == 0)
        return arguments->fields[0].value;
    if (arguments->n == 0 || arguments->n_fields > 0) {
        rlx_finding_hint(rlx_report(e->findings, arguments->n == 0 ? RLX_E_ARG_MISSING : RLX_E_ARG_UNKNOWN, arguments->name_span,
                                    "%s takes a shape, and nothing else", arguments->name),
                         "Write .%s(64, 3, 7, 7).", arguments->name);
        return NULL;
    }
    list = rlx_py_new(e, RLX_SYNTAX_LIST, arguments->span);
    for (int i = 0; i < arguments->n; i++)
        rlx_syntax_value_add(e->syntax, list, arguments->values[i]);
    return list;
}

static rlx_py_t *array_reshape(rlx_evaluator_t *e, const rlx_tensor_t *array, const rlx_arguments_t *arguments)
{
    rlx_py_t *shape = shape_argument(e, arguments);
    rlx_tensor_t result = *array;
    int64_t count = rlx_array_count(array), known = 1;
    int open = -1;

    if (shape == NULL || !rlx_py_as_dims(e, shape, true, &result.rank, result.dims))
        return NULL;
    for (int i = 0; i < result.rank; i++) {
        if (result.dims[i] == -1 && open < 0)
            open = i;
        else if (!rlx_size_mul(known, result.dims[i], &known)) /* a second -1, too */
            known = -1, i = result.rank;
    }
    if (open >= 0 && known > 0 && count % known == 0)
        result.dims[open] = count / known;
    else if (open >= 0 || known != count) {
        rlx_finding_hint(rlx_report(e->findings, RLX_E_SHAPE_TEXT, shape->span, "%lld elements of shape %s do not fit into this one",
                                    (long long)count, rlx_py_shape_text(e, array)),
                         "The product of the new extents is %lld; one of them may be -1.", (long long)count);
        return NULL;
    }
    return rlx_py_array(e, &result, arguments->span);
}

static rlx_py_t *array_astype(rlx_evaluator_t *e, const rlx_tensor_t *array, const rlx_arguments_t *arguments)
{
    rlx_taking_t taking;
    rlx_py_t *dtype;
    rlx_tensor_t result;
    rlx_array_error_t error;

    rlx_take_begin(&taking, e, arguments);
    dtype = rlx_take_needed(&taking, "dtype");
    if (!rlx_take_end(&taking, "dtype"))
        return NULL;
    if (rlx_py_as_dtype(dtype) == RLX_DTYPE_NONE) {
        rlx_finding_hint(rlx_finding_expected(rlx_report(e->findings, RLX_E_ARG_VALUE, dtype->span, "this is no element type"),
                                              "np.float32, np.float64, np.float16, np.int8 to np.int64, np.uint8 to np.uint64, bool"),
                         "Write .astype(np.float32).");
        return NULL;
    }
    error = rlx_array_cast(e->syntax, array, rlx_py_as_dtype(dtype), &result);
    return error == RLX_ARRAY_OK ? rlx_py_array(e, &result, arguments->span) : rlx_py_array_fail(e, error, arguments->span, array, NULL);
}

static rlx_py_t *array_transpose(rlx_evaluator_t *e, const rlx_tensor_t *array, const rlx_arguments_t *arguments)
{
    rlx_py_t *axes = arguments->n + arguments->n_fields > 0 ? shape_argument(e, arguments) : NULL;
    int perm[RLX_RANK_MAX];
    unsigned seen = 0;

    if (arguments->n + arguments->n_fields == 0)
        return transposed(e, array, NULL, arguments->span);
    if (axes == NULL)
        return NULL;
    for (int i = 0; axes->kind == RLX_SYNTAX_LIST && i < axes->n_items && i < array->rank; i++) {
        int64_t axis = -1;

        if (rlx_py_as_int(axes->items[i], &axis) && axis < 0)
            axis += array->rank;
        if (axis < 0 || axis >= array->rank || (seen >> axis & 1) != 0)
            break;
        perm[i] = (int)axis;
        seen |= 1u << axis;
    }
    if (axes->kind != RLX_SYNTAX_LIST || axes->n_items != array->rank || seen != (1u << array->rank) - 1) {
        rlx_finding_hint(
            rlx_report(e->findings, RLX_E_ARG_VALUE, axes->span, "this is no order of the axes of shape %s", rlx_py_shape_text(e, array)),
            "Name every axis from 0 to %d once.", array->rank - 1);
        return NULL;
    }
    return transposed(e, array, perm, arguments->span);
}

static rlx_py_t *array_method(rlx_evaluator_t *e, const rlx_py_t *object, const rlx_arguments_t *arguments)
{
    rlx_tensor_t array;
    int64_t count;

    if (!rlx_py_as_array(e, object, &array))
        return NULL;
    if (strcmp(arguments->name, "astype") == 0)
        return array_astype(e, &array, arguments);
    if (strcmp(arguments->name, "reshape") == 0)
        return array_reshape(e, &array, arguments);
    if (strcmp(arguments->name, "transpose") == 0)
        return array_transpose(e, &array, arguments);
    if (strcmp(arguments->name, "copy") == 0)
        return rlx_py_array(e, &array, arguments->span);
    if (strcmp(arguments->name, "flatten") == 0 || strcmp(arguments->name, "ravel") == 0) {
        count = rlx_array_count(&array);
        array.rank = 1;
        array.dims[0] = count;
        return rlx_py_array(e, &array, arguments->span);
    }
    rlx_finding_hint(
        rlx_finding_expected(rlx_report(e->findings, RLX_E_OP_UNKNOWN, arguments->name_span, "arrays have no method `%s`", arguments->name),
                             "astype, reshape, transpose, flatten, ravel, copy"),
        "What is not there can be computed before and read with np.load.");
    return NULL;
}

/* x.reshape(...), x.astype(...), x.transpose(...) of a tensor. */
static rlx_py_t *tensor_method(rlx_evaluator_t *e, rlx_py_t *object, const rlx_arguments_t *arguments, const rlx_want_t *want)
{
    static const char *const names[][3] = {{"reshape", "reshape", ""}, {"astype", "cast", "to"}, {"transpose", "transpose", "perm"}};
    rlx_syntax_statement_t *statement;
    const char *const *method = NULL;
    rlx_py_t *argument;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i][0], arguments->name) == 0)
            method = names[i];
    if (method == NULL) {
        const char *reduction = rlx_syntax_printf(e->syntax, "reduce_%s", arguments->name);
        rlx_finding_t *finding = rlx_report(e->findings, RLX_E_OP_UNKNOWN, arguments->name_span, "tensors have no method `%s`", arguments->name);

        if (rlx_py_is_operator(reduction) || rlx_py_is_operator(arguments->name))
            rlx_finding_hint(finding, "Operators are functions: rlx.%s(x, ...).", rlx_py_is_operator(reduction) ? reduction : arguments->name);
        else
            rlx_finding_hint(finding, "Operators are functions of rlx; docs/LANGUAGE.md lists them.");
        return NULL;
    }
    argument = shape_argument(e, arguments);
    statement = argument != NULL ? rlx_py_emit(e, "rlxc", method[1], arguments->name_span, arguments->span) : NULL;
    if (statement == NULL)
        return NULL;
    rlx_syntax_arg_add(e->syntax, statement, object);
    if (method[2][0] == '\0')
        rlx_syntax_arg_add(e->syntax, statement, argument);
    else
        rlx_syntax_field_add(e->syntax, &statement->keywords, &statement->n_keywords, method[2], argument->span, argument);
    return rlx_py_results(e, statement, want);
}

rlx_py_t *rlx_py_method(rlx_evaluator_t *e, rlx_py_t *object, const rlx_arguments_t *arguments, const rlx_want_t *want)
{
    rlx_finding_t *finding;

    if (is_array(object))
        return array_method(e, object, arguments);
    if (object->kind == RLX_SYNTAX_REF)
        return tensor_method(e, object, arguments, want);
    finding = rlx_report(e->findings, RLX_E_OP_UNKNOWN, arguments->name_span, "%s has no method `%s`", rlx_py_kind(object), arguments->name);
    if (object->kind == RLX_SYNTAX_LIST && strcmp(arguments->name, "append") == 0)
        rlx_finding_hint(finding, "A value never changes: items = items + [value].");
    else if (object->kind == RLX_SYNTAX_STRING)
        rlx_finding_hint(finding, "Strings are joined with +; numbers become strings by str(i).");
    else
        rlx_finding_hint(finding, "Arrays and tensors have methods; operators are functions of rlx.");
    return NULL;
}
