/* Values and what they can be read as. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ir/module/evaluate.h"

rlx_py_t *rlx_py_new(rlx_evaluator_t *e, rlx_syntax_kind_t kind, rlx_span_t span) { return rlx_syntax_value(e->syntax, kind, span); }

rlx_py_t *rlx_py_int(rlx_evaluator_t *e, int64_t value, rlx_span_t span)
{
    rlx_py_t *made = rlx_py_new(e, RLX_SYNTAX_INT, span);

    made->i = value;
    return made;
}

rlx_py_t *rlx_py_float(rlx_evaluator_t *e, double value, rlx_span_t span)
{
    rlx_py_t *made = rlx_py_new(e, RLX_SYNTAX_FLOAT, span);

    made->f = value;
    return made;
}

rlx_py_t *rlx_py_bool(rlx_evaluator_t *e, bool value, rlx_span_t span)
{
    rlx_py_t *made = rlx_py_new(e, RLX_SYNTAX_BOOL, span);

    made->i = value;
    return made;
}

rlx_py_t *rlx_py_array(rlx_evaluator_t *e, const rlx_tensor_t *array, rlx_span_t span)
{
    rlx_py_t *made = rlx_py_new(e, RLX_SYNTAX_TENSOR, span);

    made->tensor = *array;
    return made;
}

rlx_py_t *rlx_py_at(rlx_evaluator_t *e, const rlx_py_t *value, rlx_span_t span)
{
    rlx_py_t *made;

    if (value == NULL)
        return NULL;
    made = rlx_py_new(e, value->kind, span);
    *made = *value;
    made->span = span;
    return made;
}

bool rlx_py_as_int(const rlx_py_t *value, int64_t *out)
{
    bool single = value->kind == RLX_SYNTAX_TENSOR && value->tensor.rank == 0 && !rlx_array_is_float(value->tensor.dtype);

    if (value->kind != RLX_SYNTAX_INT && value->kind != RLX_SYNTAX_BOOL && !single)
        return false;
    *out = single ? rlx_array_int(&value->tensor, 0) : value->i;
    return true;
}

bool rlx_py_as_real(const rlx_py_t *value, double *out)
{
    int64_t integer;

    if (value->kind == RLX_SYNTAX_FLOAT)
        *out = value->f;
    else if (value->kind == RLX_SYNTAX_TENSOR && value->tensor.rank == 0)
        *out = rlx_array_real(&value->tensor, 0);
    else if (rlx_py_as_int(value, &integer))
        *out = (double)integer;
    else
        return false;
    return true;
}

bool rlx_py_equal(const rlx_py_t *a, const rlx_py_t *b)
{
    double x, y;
    int64_t i, j;

    if (rlx_py_as_int(a, &i) && rlx_py_as_int(b, &j))
        return i == j;
    if (rlx_py_as_real(a, &x) && rlx_py_as_real(b, &y))
        return x == y;
    if (a->kind != b->kind)
        return false;
    if (a->kind == RLX_SYNTAX_STRING || a->kind == RLX_SYNTAX_NAME)
        return strcmp(a->s, b->s) == 0;
    if (a->kind == RLX_SYNTAX_DTYPE)
        return a->dtype == b->dtype;
    if (a->kind == RLX_SYNTAX_NONE)
        return true;
    if (a->kind != RLX_SYNTAX_LIST || a->n_items != b->n_items)
        return false;
    for (int k = 0; k < a->n_items; k++)
        if (!rlx_py_equal(a->items[k], b->items[k]))
            return false;
    return true;
}

rlx_dtype_t rlx_py_dtype_named(const char *name)
{
    static const struct { const char *name; rlx_dtype_t dtype; } names[] = {
        {"float32", RLX_F32}, {"float64", RLX_F64}, {"float16", RLX_F16}, {"bfloat16", RLX_BF16}, {"int8", RLX_I8}, {"int16", RLX_I16},
        {"int32", RLX_I32}, {"int64", RLX_I64}, {"uint8", RLX_U8}, {"uint16", RLX_U16}, {"uint32", RLX_U32}, {"uint64", RLX_U64},
        {"bool_", RLX_BOOL}, {"float", RLX_F64}, {"int", RLX_I64}, {"double", RLX_F64}, {"single", RLX_F32}, {"half", RLX_F16}};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i].name, name) == 0)
            return names[i].dtype;
    return rlx_dtype_parse(name);
}

rlx_dtype_t rlx_py_as_dtype(const rlx_py_t *value)
{
    if (value->kind == RLX_SYNTAX_DTYPE)
        return value->dtype;
    return value->kind == RLX_SYNTAX_STRING ? rlx_py_dtype_named(value->s) : RLX_DTYPE_NONE;
}

bool rlx_py_as_dims(rlx_evaluator_t *e, const rlx_py_t *value, bool open, int *out_rank, int64_t *out_dims)
{
    int n = value->kind == RLX_SYNTAX_LIST ? value->n_items : 1;

    *out_rank = 0;
    if (n > RLX_RANK_MAX) {
        rlx_finding_hint(rlx_report(e->findings, RLX_E_SHAPE_TEXT, value->span, "a shape of %d axes", n), "Arrays have up to %d axes.", RLX_RANK_MAX);
        return false;
    }
    for (int i = 0; i < n; i++) {
        const rlx_py_t *item = value->kind == RLX_SYNTAX_LIST ? value->items[i] : value;
        int64_t extent;

        if (!rlx_py_as_int(item, &extent)) {
            rlx_finding_hint(rlx_report(e->findings, RLX_E_ARG_TYPE, item->span, "an extent is %s", rlx_py_kind(item)),
                             "Extents of arrays are integers: (64, 3, 7, 7).");
            return false;
        }
        if (extent < (open ? -1 : 0)) {
            rlx_finding_hint(rlx_report(e->findings, RLX_E_SHAPE_TEXT, item->span, "an extent is %lld", (long long)extent),
                             open ? "Extents are 0 or more, or -1 once for what is left." : "Extents are 0 or more.");
            return false;
        }
        out_dims[(*out_rank)++] = extent;
    }
    return true;
}

const char *rlx_py_kind(const rlx_py_t *value)
{
    switch (value->kind) {
    case RLX_SYNTAX_REF: return "a tensor";
    case RLX_SYNTAX_TENSOR: return "an array";
    case RLX_SYNTAX_EXTERNAL: return "an array of a file";
    case RLX_SYNTAX_FLOAT: return "a float";
    case RLX_SYNTAX_BOOL: return value->i != 0 ? "True" : "False";
    case RLX_SYNTAX_NONE: return "None";
    case RLX_SYNTAX_NAME: return "a function";
    default: return rlx_syntax_kind_name(value->kind);
    }
}

bool rlx_py_has_ref(const rlx_py_t *value)
{
    if (value->kind == RLX_SYNTAX_LIST)
        for (int i = 0; i < value->n_items; i++)
            if (rlx_py_has_ref(value->items[i]))
                return true;
    return value->kind == RLX_SYNTAX_REF;
}

const char *rlx_py_shape_text(rlx_evaluator_t *e, const rlx_tensor_t *array)
{
    const char *text = "[";

    for (int i = 0; i < array->rank; i++)
        text = rlx_syntax_printf(e->syntax, i > 0 ? "%s, %lld" : "%s%lld", text, (long long)array->dims[i]);
    return rlx_syntax_printf(e->syntax, "%s]", text);
}

rlx_py_t *rlx_py_array_fail(rlx_evaluator_t *e, rlx_array_error_t error, rlx_span_t span, const rlx_tensor_t *a, const rlx_tensor_t *b)
{
    switch (error) {
    case RLX_ARRAY_SHAPES:
        rlx_finding_hint(rlx_report(e->findings, RLX_E_SHAPE_TEXT, span, "arrays of shapes %s and %s do not fit", rlx_py_shape_text(e, a),
                                    rlx_py_shape_text(e, b)),
                         "Counted from the right, two extents must be equal, or one of them 1: reshape one of the arrays.");
        break;
    case RLX_ARRAY_TYPES:
        rlx_finding_hint(rlx_report(e->findings, RLX_E_TYPE_MISMATCH, span, "there is no such operation on %s%s%s", rlx_dtype_name(a->dtype),
                                    b != NULL ? " and " : "", b != NULL ? rlx_dtype_name(b->dtype) : ""),
                         "Convert the array first: .astype(np.float32).");
        break;
    case RLX_ARRAY_TOO_LARGE:
        rlx_finding_hint(rlx_report(e->findings, RLX_E_TEXT_LIMIT, span, "the array is too large"),
                         "Arrays computed in a module have up to %lld MiB; keep larger ones in a .safetensors file and use rlx.load.",
                         (long long)(RLX_ARRAY_BYTES_MAX >> 20));
        break;
    case RLX_ARRAY_ZERO:
        rlx_finding_hint(rlx_report(e->findings, RLX_E_ARG_VALUE, span, "an integer is divided by zero"), "Correct the divisor.");
        break;
    default:
        rlx_finding_hint(rlx_report(e->findings, RLX_E_ARG_VALUE, span, "the result does not fit into its integer type"),
                         "Compute in float: write 2.0 for 2, or .astype(np.float64).");
        break;
    }
    return NULL;
}

/* Shape and whether floats occur, of nested lists. */
static bool lists_measure(rlx_evaluator_t *e, const rlx_py_t *value, int depth, rlx_tensor_t *out, bool *real)
{
    if (value->kind == RLX_SYNTAX_LIST) {
        if (depth == RLX_RANK_MAX || (out->rank > depth && out->dims[depth] != value->n_items) ||
            (out->rank == depth && out->dtype != RLX_DTYPE_NONE)) {
            rlx_finding_hint(rlx_report(e->findings, RLX_E_SHAPE_TEXT, value->span,
                                        depth == RLX_RANK_MAX ? "lists nest too deep for an array" : "the rows of the array have different lengths"),
                             "Every list of one level has equally many elements, and there are up to %d levels.", RLX_RANK_MAX);
            return false;
        }
        if (out->rank == depth)
            out->dims[out->rank++] = value->n_items;
        for (int i = 0; i < value->n_items; i++)
            if (!lists_measure(e, value->items[i], depth + 1, out, real))
                return false;
        return true;
    }
    if (value->kind != RLX_SYNTAX_INT && value->kind != RLX_SYNTAX_FLOAT && value->kind != RLX_SYNTAX_BOOL) {
        rlx_finding_hint(rlx_report(e->findings, RLX_E_ARG_TYPE, value->span, "an element of the array is %s", rlx_py_kind(value)),
                         value->kind == RLX_SYNTAX_REF ? "Tensors of the graph are joined by rlx.concat." : "Elements are numbers.");
        return false;
    }
    if (depth != out->rank) {
        rlx_finding_hint(rlx_report(e->findings, RLX_E_SHAPE_TEXT, value->span, "a number stands where a list must stand"),
                         "Every row of an array has the same shape.");
        return false;
    }
    *real = *real || value->kind == RLX_SYNTAX_FLOAT;
    out->dtype = value->kind == RLX_SYNTAX_BOOL && (out->dtype == RLX_DTYPE_NONE || out->dtype == RLX_BOOL) ? RLX_BOOL : RLX_I64;
    return true;
}

static void lists_fill(const rlx_py_t *value, rlx_tensor_t *out, int64_t *at)
{
    if (value->kind == RLX_SYNTAX_LIST)
        for (int i = 0; i < value->n_items; i++)
            lists_fill(value->items[i], out, at);
    else if (value->kind == RLX_SYNTAX_FLOAT)
        rlx_array_put_real(out, (*at)++, value->f);
    else
        rlx_array_put_int(out, (*at)++, value->i);
}

bool rlx_py_as_array(rlx_evaluator_t *e, const rlx_py_t *value, rlx_tensor_t *out)
{
    rlx_tensor_t shape = {0};
    bool real = false;
    int64_t at = 0;

    if (value->kind == RLX_SYNTAX_EXTERNAL && (value = rlx_py_load(e, value)) == NULL)
        return false;
    if (value->kind == RLX_SYNTAX_TENSOR) {
        *out = value->tensor;
        return true;
    }
    if (!lists_measure(e, value, 0, &shape, &real))
        return false;
    if (!rlx_array_make(e->syntax, real || shape.dtype == RLX_DTYPE_NONE ? RLX_F64 : shape.dtype, shape.rank, shape.dims, out)) {
        rlx_py_array_fail(e, RLX_ARRAY_TOO_LARGE, value->span, NULL, NULL);
        return false;
    }
    lists_fill(value, out, &at);
    return true;
}
