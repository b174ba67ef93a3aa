/* numpy's functions that make arrays: of one number, of lists, of ranges, of files. */
#include <math.h>
#include <string.h>

#include "ir/module/numpy.h"

/* zeros, ones, full: all elements alike. */
rlx_py_t *rlx_np_fill(rlx_evaluator_t *e, const rlx_arguments_t *arguments)
{
    bool full = strcmp(arguments->name, "np.full") == 0;
    rlx_taking_t taking;
    rlx_py_t *shape, *value, *dtype, *array;
    rlx_dtype_t type;
    int64_t dims[RLX_RANK_MAX];
    double number;
    int rank;

    rlx_take_begin(&taking, e, arguments);
    shape = rlx_take_needed(&taking, "shape");
    value = full ? rlx_take_needed(&taking, "fill_value") : NULL;
    dtype = rlx_take(&taking, "dtype");
    if (!rlx_take_end(&taking, full ? "shape, fill_value, dtype" : "shape, dtype=np.float64"))
        return NULL;
    type = value != NULL && value->kind == RLX_SYNTAX_INT ? RLX_I64 : value != NULL && value->kind == RLX_SYNTAX_BOOL ? RLX_BOOL : RLX_F64;
    if (!rlx_np_dtype(e, dtype, type, &type) || !rlx_np_number(e, value, strcmp(arguments->name, "np.ones") == 0, &number) ||
        !rlx_py_as_dims(e, shape, false, &rank, dims) || (array = rlx_np_make(e, arguments, type, rank, dims)) == NULL)
        return NULL;
    for (int64_t i = 0, count = rlx_array_count(&array->tensor); i < count && number != 0; i++)
        if (!rlx_array_put_real(&array->tensor, i, number))
            return rlx_py_array_fail(e, RLX_ARRAY_RANGE, value->span, NULL, NULL);
    return array;
}

rlx_py_t *rlx_np_array_of(rlx_evaluator_t *e, const rlx_arguments_t *arguments)
{
    rlx_taking_t taking;
    rlx_py_t *object, *dtype;
    rlx_tensor_t array, cast;
    rlx_dtype_t type;
    rlx_array_error_t error;

    rlx_take_begin(&taking, e, arguments);
    object = rlx_take_needed(&taking, "object");
    dtype = rlx_take(&taking, "dtype");
    if (!rlx_take_end(&taking, "object, dtype") || !rlx_np_dtype(e, dtype, RLX_DTYPE_NONE, &type) || !rlx_py_as_array(e, object, &array))
        return NULL;
    error = rlx_array_cast(e->syntax, &array, type != RLX_DTYPE_NONE ? type : array.dtype, &cast);
    return error == RLX_ARRAY_OK ? rlx_py_array(e, &cast, arguments->span) : rlx_py_array_fail(e, error, object->span, &array, NULL);
}

rlx_py_t *rlx_np_arange(rlx_evaluator_t *e, const rlx_arguments_t *arguments)
{
    rlx_taking_t taking;
    rlx_py_t *start, *stop, *step, *dtype, *array;
    double bounds[3], count;
    bool ints;
    int64_t n;
    rlx_dtype_t type;

    rlx_take_begin(&taking, e, arguments);
    start = rlx_take_needed(&taking, "start");
    stop = rlx_take(&taking, "stop");
    step = rlx_take(&taking, "step");
    dtype = rlx_take_named(&taking, "dtype");
    if (!rlx_take_end(&taking, "start, stop, step=1, dtype"))
        return NULL;
    if (stop == NULL) {
        stop = start;
        start = NULL;
    }
    ints = stop->kind == RLX_SYNTAX_INT && (start == NULL || start->kind == RLX_SYNTAX_INT) && (step == NULL || step->kind == RLX_SYNTAX_INT);
    if (!rlx_np_number(e, start, 0, &bounds[0]) || !rlx_np_number(e, stop, 0, &bounds[1]) || !rlx_np_number(e, step, 1, &bounds[2]) ||
        !rlx_np_dtype(e, dtype, ints ? RLX_I64 : RLX_F64, &type))
        return NULL;
    count = ceil((bounds[1] - bounds[0]) / bounds[2]);
    if (bounds[2] == 0 || !(count < 1e9)) {
        rlx_finding_hint(rlx_report(e->findings, RLX_E_ARG_VALUE, arguments->span, "this range has no end"), "Correct the step.");
        return NULL;
    }
    n = count > 0 ? (int64_t)count : 0;
    if ((array = rlx_np_make(e, arguments, type, 1, &n)) == NULL)
        return NULL;
    for (int64_t i = 0; i < n; i++)
        if (!rlx_array_put_real(&array->tensor, i, bounds[0] + (double)i * (bounds[0] + bounds[2] - bounds[0])))
            return rlx_py_array_fail(e, RLX_ARRAY_RANGE, arguments->span, NULL, NULL);
    return array;
}

rlx_py_t *rlx_np_linspace(rlx_evaluator_t *e, const rlx_arguments_t *arguments)
{
    rlx_taking_t taking;
    rlx_py_t *start, *stop, *num, *dtype, *endpoint, *array;
    double first, last, step;
    int64_t n = 50, pieces;
    rlx_dtype_t type;

    rlx_take_begin(&taking, e, arguments);
    start = rlx_take_needed(&taking, "start");
    stop = rlx_take_needed(&taking, "stop");
    num = rlx_take(&taking, "num");
    endpoint = rlx_take(&taking, "endpoint");
    dtype = rlx_take_named(&taking, "dtype");
    if (!rlx_take_end(&taking, "start, stop, num=50, endpoint=True, dtype"))
        return NULL;
    if (!rlx_np_number(e, start, 0, &first) || !rlx_np_number(e, stop, 0, &last) || !rlx_np_dtype(e, dtype, RLX_F64, &type))
        return NULL;
    if (num != NULL && (!rlx_py_as_int(num, &n) || n < 0)) {
        rlx_finding_hint(rlx_report(e->findings, RLX_E_ARG_VALUE, num->span, "this is no number of elements"), "Write an integer, 0 or more.");
        return NULL;
    }
    pieces = endpoint != NULL && endpoint->kind == RLX_SYNTAX_BOOL && endpoint->i == 0 ? n : n - 1;
    if ((array = rlx_np_make(e, arguments, type, 1, &n)) == NULL)
        return NULL;
    step = pieces > 0 ? (last - first) / (double)pieces : 0;
    for (int64_t i = 0; i < n; i++)
        if (!rlx_array_put_real(&array->tensor, i,
                                i == n - 1 && i > 0 && pieces == n - 1 ? last
                                : step == 0 && pieces > 0              ? (double)i / (double)pieces * (last - first) + first
                                                                       : (double)i * step + first))
            return rlx_py_array_fail(e, RLX_ARRAY_RANGE, arguments->span, NULL, NULL);
    return array;
}

rlx_py_t *rlx_np_eye(rlx_evaluator_t *e, const rlx_arguments_t *arguments)
{
    rlx_taking_t taking;
    rlx_py_t *rows, *columns, *dtype, *array;
    int64_t dims[2] = {0, 0};
    rlx_dtype_t type;

    rlx_take_begin(&taking, e, arguments);
    rows = rlx_take_needed(&taking, "N");
    columns = rlx_take(&taking, "M");
    dtype = rlx_take_named(&taking, "dtype");
    if (!rlx_take_end(&taking, "N, M, dtype=np.float64") || !rlx_np_dtype(e, dtype, RLX_F64, &type))
        return NULL;
    if (!rlx_py_as_int(rows, &dims[0]) || !rlx_py_as_int(columns != NULL ? columns : rows, &dims[1]) || dims[0] < 0 || dims[1] < 0) {
        rlx_finding_hint(rlx_report(e->findings, RLX_E_ARG_VALUE, rows->span, "this is no number of rows"), "Write np.eye(4).");
        return NULL;
    }
    if ((array = rlx_np_make(e, arguments, type, 2, dims)) == NULL)
        return NULL;
    for (int64_t i = 0; i < dims[0] && i < dims[1]; i++)
        rlx_array_put_real(&array->tensor, i * dims[1] + i, 1);
    return array;
}

rlx_py_t *rlx_np_load(rlx_evaluator_t *e, const rlx_arguments_t *arguments)
{
    rlx_py_t *external = rlx_py_new(e, RLX_SYNTAX_EXTERNAL, arguments->span), *file;
    rlx_taking_t taking;

    rlx_take_begin(&taking, e, arguments);
    file = rlx_take_needed(&taking, "file");
    if (!rlx_take_end(&taking, "file"))
        return NULL;
    if (file->kind != RLX_SYNTAX_STRING) {
        rlx_finding_hint(rlx_report(e->findings, RLX_E_ARG_TYPE, file->span, "the file of np.load is %s", rlx_py_kind(file)),
                         "Write np.load(\"weights.npy\").");
        return NULL;
    }
    external->external = (rlx_syntax_external_t){.file = file->s};
    return external;
}
