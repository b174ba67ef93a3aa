/* What the module form has of numpy. Every function is a row of the table at the end; each takes its arguments by place or name. */
#include <math.h>
#include <string.h>

#include "base/closest.h"
#include "ir/module/numpy.h"

bool rlx_np_dtype(rlx_evaluator_t *e, const rlx_py_t *value, rlx_dtype_t fallback, rlx_dtype_t *out)
{
    *out = fallback;
    if (value == NULL || value->kind == RLX_SYNTAX_NONE)
        return true;
    *out = rlx_py_as_dtype(value);
    if (*out != RLX_DTYPE_NONE)
        return true;
    rlx_finding_hint(rlx_finding_expected(rlx_report(e->findings, RLX_E_ARG_VALUE, value->span, "this is no element type"),
                                          "np.float32, np.float64, np.float16, np.int8 to np.int64, np.uint8 to np.uint64, bool"),
                     "Write dtype=np.float32.");
    return false;
}

bool rlx_np_number(rlx_evaluator_t *e, const rlx_py_t *value, double fallback, double *out)
{
    *out = fallback;
    if (value == NULL || rlx_py_as_real(value, out))
        return true;
    rlx_finding_hint(rlx_report(e->findings, RLX_E_ARG_TYPE, value->span, "a number is expected, and this is %s", rlx_py_kind(value)),
                     value->kind == RLX_SYNTAX_REF ? "np computes with constants; operators on tensors are those of rlx." : "Write a number.");
    return false;
}

rlx_py_t *rlx_np_make(rlx_evaluator_t *e, const rlx_arguments_t *arguments, rlx_dtype_t dtype, int rank, const int64_t *dims)
{
    rlx_tensor_t array;

    if (!rlx_array_make(e->syntax, dtype, rank, dims, &array))
        return rlx_py_array_fail(e, RLX_ARRAY_TOO_LARGE, arguments->span, NULL, NULL);
    return rlx_py_array(e, &array, arguments->span);
}

/* sqrt, exp, ...: of a number or an array. */
static rlx_py_t *unary(rlx_evaluator_t *e, const rlx_arguments_t *arguments)
{
    static const char *const renamed[][2] = {{"absolute", "abs"}, {"negative", "neg"}, {"round", "rint"}};
    const char *op = arguments->name + strlen("np.");
    rlx_taking_t taking;
    rlx_tensor_t array, result;
    rlx_array_error_t error;
    rlx_py_t *x;

    for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++)
        op = strcmp(renamed[i][0], op) == 0 ? renamed[i][1] : op;
    rlx_take_begin(&taking, e, arguments);
    x = rlx_take_needed(&taking, "x");
    if (!rlx_take_end(&taking, "x") || rlx_np_tensor_refuse(e, arguments, x) || !rlx_py_as_array(e, x, &array))
        return NULL;
    error = rlx_array_unary(e->syntax, op, &array, &result);
    return error == RLX_ARRAY_OK ? rlx_py_array(e, &result, arguments->span) : rlx_py_array_fail(e, error, arguments->span, &array, NULL);
}

static rlx_py_t *binary(rlx_evaluator_t *e, const rlx_arguments_t *arguments)
{
    static const char *const ops[][2] = {{"add", "+"}, {"subtract", "-"}, {"multiply", "*"}, {"divide", "/"}, {"power", "**"}, {"maximum", "max"},
                                         {"minimum", "min"}};
    const char *op = "+";
    rlx_taking_t taking;
    rlx_operand_t a, b;
    rlx_tensor_t result;
    rlx_array_error_t error;
    rlx_py_t *x, *y;

    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        op = strcmp(ops[i][0], arguments->name + strlen("np.")) == 0 ? ops[i][1] : op;
    rlx_take_begin(&taking, e, arguments);
    x = rlx_take_needed(&taking, "x1");
    y = rlx_take_needed(&taking, "x2");
    if (!rlx_take_end(&taking, "x1, x2") || rlx_np_tensor_refuse(e, arguments, x) || rlx_np_tensor_refuse(e, arguments, y) ||
        !rlx_py_as_array(e, x, &a.array) || !rlx_py_as_array(e, y, &b.array))
        return NULL;
    a.weak = x->kind == RLX_SYNTAX_INT || x->kind == RLX_SYNTAX_FLOAT || x->kind == RLX_SYNTAX_BOOL;
    b.weak = y->kind == RLX_SYNTAX_INT || y->kind == RLX_SYNTAX_FLOAT || y->kind == RLX_SYNTAX_BOOL;
    error = rlx_array_binary(e->syntax, op, &a, &b, &result);
    return error == RLX_ARRAY_OK ? rlx_py_array(e, &result, arguments->span) : rlx_py_array_fail(e, error, arguments->span, &a.array, &b.array);
}

/* np.reshape(x, shape), np.transpose(x, axes): the methods. */
static rlx_py_t *method(rlx_evaluator_t *e, const rlx_arguments_t *arguments)
{
    rlx_arguments_t rest = *arguments;

    rest.name = arguments->name + strlen("np.");
    if (arguments->n == 0 || rlx_np_tensor_refuse(e, arguments, arguments->values[0])) {
        if (arguments->n == 0)
            rlx_finding_hint(rlx_report(e->findings, RLX_E_ARG_MISSING, arguments->name_span, "%s needs an array", arguments->name),
                             "Write %s(x, ...).", arguments->name);
        return NULL;
    }
    rest.n--;
    rest.values++;
    return rlx_py_method(e, arguments->values[0], &rest, NULL);
}

static rlx_py_t *concatenate(rlx_evaluator_t *e, const rlx_arguments_t *arguments)
{
    rlx_taking_t taking;
    rlx_py_t *list, *axis_value;
    rlx_tensor_t *arrays, result;
    rlx_array_error_t error;
    int64_t axis = 0;

    rlx_take_begin(&taking, e, arguments);
    list = rlx_take_needed(&taking, "arrays");
    axis_value = rlx_take(&taking, "axis");
    if (!rlx_take_end(&taking, "arrays, axis=0"))
        return NULL;
    if (list->kind != RLX_SYNTAX_LIST || list->n_items == 0 || (axis_value != NULL && !rlx_py_as_int(axis_value, &axis))) {
        rlx_finding_hint(rlx_report(e->findings, RLX_E_ARG_TYPE, list->span, "np.concatenate takes a list of arrays, and an axis"),
                         "Write np.concatenate([a, b], axis=0).");
        return NULL;
    }
    if (rlx_np_tensor_refuse(e, arguments, list))
        return NULL;
    arrays = rlx_syntax_alloc(e->syntax, (size_t)list->n_items * sizeof *arrays);
    for (int i = 0; i < list->n_items; i++)
        if (!rlx_py_as_array(e, list->items[i], &arrays[i]))
            return NULL;
    axis += axis < 0 ? arrays[0].rank : 0;
    if (axis < 0 || axis >= arrays[0].rank) {
        rlx_finding_hint(rlx_report(e->findings, RLX_E_ARG_VALUE, axis_value != NULL ? axis_value->span : list->span, "shape %s has no axis %lld",
                                    rlx_py_shape_text(e, &arrays[0]), (long long)axis), "Axes of this shape are 0 to %d.", arrays[0].rank - 1);
        return NULL;
    }
    error = rlx_array_concat(e->syntax, arrays, list->n_items, (int)axis, &result);
    if (error == RLX_ARRAY_SHAPES) {
        rlx_finding_hint(rlx_report(e->findings, RLX_E_SHAPE_TEXT, list->span, "arrays of shapes %s and %s cannot be joined along axis %lld",
                                    rlx_py_shape_text(e, &arrays[0]), rlx_py_shape_text(e, &arrays[list->n_items - 1]), (long long)axis),
                         "All extents but that of the axis are equal: choose another axis, or reshape one of them.");
        return NULL;
    }
    return error == RLX_ARRAY_OK ? rlx_py_array(e, &result, arguments->span)
                                 : rlx_py_array_fail(e, error, list->span, &arrays[0], &arrays[list->n_items - 1]);
}

static rlx_py_t *product(rlx_evaluator_t *e, const rlx_arguments_t *arguments)
{
    rlx_taking_t taking;
    rlx_py_t *value;
    rlx_tensor_t array;
    int64_t whole = 1;
    double real = 1;

    rlx_take_begin(&taking, e, arguments);
    value = rlx_take_needed(&taking, "x");
    if (!rlx_take_end(&taking, "x") || rlx_np_tensor_refuse(e, arguments, value) || !rlx_py_as_array(e, value, &array))
        return NULL;
    for (int64_t i = 0, count = rlx_array_count(&array); i < count; i++) {
        real *= rlx_array_real(&array, i);
        if (!rlx_array_is_float(array.dtype) && __builtin_mul_overflow(whole, rlx_array_int(&array, i), &whole))
            return rlx_py_array_fail(e, RLX_ARRAY_RANGE, value->span, NULL, NULL);
    }
    return rlx_array_is_float(array.dtype) ? rlx_py_float(e, real, arguments->span) : rlx_py_int(e, whole, arguments->span);
}

bool rlx_np_tensor_refuse(rlx_evaluator_t *e, const rlx_arguments_t *arguments, const rlx_py_t *value)
{
    static const char *const names[][2] = {{"maximum", "max"},  {"minimum", "min"},  {"concatenate", "concat"},
                                           {"absolute", "abs"}, {"negative", "neg"}, {"subtract", "sub"},
                                           {"multiply", "mul"}, {"divide", "div"},   {"power", "pow"}};
    const char *name = strrchr(arguments->name, '.') + 1;

    if (!rlx_py_has_ref(value))
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        name = strcmp(names[i][0], name) == 0 ? names[i][1] : name;
    rlx_finding_hint(
        rlx_report(e->findings, RLX_E_NOT_LANGUAGE, arguments->name_span, "%s computes with constants, and this is a tensor", arguments->name),
        "Operators on tensors are those of rlx: rlx.%s(...).", name);
    return true;
}

static const struct function {
    const char *name;
    rlx_py_t *(*run)(rlx_evaluator_t *e, const rlx_arguments_t *arguments);
} functions[] = {{"np.zeros", rlx_np_fill},
                 {"np.ones", rlx_np_fill},
                 {"np.full", rlx_np_fill},
                 {"np.array", rlx_np_array_of},
                 {"np.asarray", rlx_np_array_of},
                 {"np.arange", rlx_np_arange},
                 {"np.linspace", rlx_np_linspace},
                 {"np.eye", rlx_np_eye},
                 {"np.identity", rlx_np_eye},
                 {"np.load", rlx_np_load},
                 {"np.sqrt", unary},
                 {"np.exp", unary},
                 {"np.log", unary},
                 {"np.log2", unary},
                 {"np.log10", unary},
                 {"np.log1p", unary},
                 {"np.expm1", unary},
                 {"np.sin", unary},
                 {"np.cos", unary},
                 {"np.tan", unary},
                 {"np.tanh", unary},
                 {"np.floor", unary},
                 {"np.ceil", unary},
                 {"np.round", unary},
                 {"np.rint", unary},
                 {"np.abs", unary},
                 {"np.absolute", unary},
                 {"np.sign", unary},
                 {"np.square", unary},
                 {"np.reciprocal", unary},
                 {"np.negative", unary},
                 {"np.add", binary},
                 {"np.subtract", binary},
                 {"np.multiply", binary},
                 {"np.divide", binary},
                 {"np.power", binary},
                 {"np.maximum", binary},
                 {"np.minimum", binary},
                 {"np.reshape", method},
                 {"np.transpose", method},
                 {"np.concatenate", concatenate},
                 {"np.prod", product},
                 {"np.random.randn", rlx_np_random},
                 {"np.random.standard_normal", rlx_np_random},
                 {"np.random.normal", rlx_np_random},
                 {"np.random.rand", rlx_np_random},
                 {"np.random.random", rlx_np_random},
                 {"np.random.random_sample", rlx_np_random},
                 {"np.random.uniform", rlx_np_random},
                 {"np.random.randint", rlx_np_random},
                 {"np.random.seed", rlx_np_random}};

static const struct { const char *name; double value; } constants[] = {
    {"np.pi", M_PI}, {"np.e", M_E}, {"np.inf", INFINITY}, {"np.nan", NAN}};

static const char *const types[] = {"np.float32", "np.float64", "np.float16", "np.int8",   "np.int16",  "np.int32", "np.int64",
                                    "np.uint8",   "np.uint16",  "np.uint32",  "np.uint64", "np.bool_"};

static void refuse(rlx_evaluator_t *e, const char *path, rlx_span_t span)
{
    rlx_finding_t *finding = rlx_report(e->findings, RLX_E_OP_UNKNOWN, span, "the module form has no `%s`", path);
    const char *name = strrchr(path, '.') + 1;
    rlx_closest_t closest;

    rlx_closest_init(&closest, path, strlen(path));
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        rlx_closest_offer(&closest, functions[i].name);
        if (strcmp(strrchr(functions[i].name, '.') + 1, name) == 0) { /* in another place: np.randn */
            closest.best = functions[i].name;
            closest.distance = 0;
        }
    }
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        rlx_closest_offer(&closest, types[i]);
    if (strcmp(path, "np.random.default_rng") == 0)
        rlx_finding_hint(finding, "Use the legacy functions, np.random.randn(...); @rlx.module(seed=...) seeds them.");
    else if (closest.best != NULL)
        rlx_finding_hint(finding, "Did you mean `%s`?", closest.best);
    else
        rlx_finding_hint(finding, "docs/LANGUAGE.md lists what there is. Compute the array before and read it with np.load(\"x.npy\").");
}

rlx_py_t *rlx_py_numpy(rlx_evaluator_t *e, const rlx_arguments_t *arguments)
{
    rlx_arguments_t copy = *arguments;

    if (strncmp(copy.name, "numpy.", 6) == 0)
        copy.name = rlx_syntax_printf(e->syntax, "np.%s", copy.name + 6);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(functions[i].name, copy.name) == 0)
            return functions[i].run(e, &copy);
    if (rlx_py_dtype_named(copy.name + 3) != RLX_DTYPE_NONE && copy.n == 1 && copy.n_fields == 0) { /* np.float32(0.5) */
        rlx_tensor_t array, cast;

        if (rlx_np_tensor_refuse(e, &copy, copy.values[0]) || !rlx_py_as_array(e, copy.values[0], &array))
            return NULL;
        return rlx_array_cast(e->syntax, &array, rlx_py_dtype_named(copy.name + 3), &cast) == RLX_ARRAY_OK
                   ? rlx_py_array(e, &cast, copy.span)
                   : rlx_py_array_fail(e, RLX_ARRAY_RANGE, copy.span, &array, NULL);
    }
    refuse(e, copy.name, copy.name_span);
    return NULL;
}

rlx_py_t *rlx_py_numpy_attribute(rlx_evaluator_t *e, const char *path, rlx_span_t span)
{
    rlx_py_t *value;

    if (rlx_py_dtype_named(path + 3) != RLX_DTYPE_NONE) {
        value = rlx_py_new(e, RLX_SYNTAX_DTYPE, span);
        value->dtype = rlx_py_dtype_named(path + 3);
        return value;
    }
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
        if (strcmp(constants[i].name, path) == 0)
            return rlx_py_float(e, constants[i].value, span);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(functions[i].name, path) == 0) {
            rlx_finding_hint(rlx_report(e->findings, RLX_E_ARG_TYPE, span, "`%s` alone is no value", path), "Call it: %s(...).", path);
            return NULL;
        }
    refuse(e, path, span);
    return NULL;
}
