/* np.random: numbers of numpy's legacy generator, in numpy's order. */
#include <math.h>
#include <string.h>

#include "ir/module/numpy.h"

typedef enum draw { DRAW_GAUSS, DRAW_UNIFORM, DRAW_INT } draw_t;

typedef struct drawing {
    draw_t kind;
    double offset, scale; /* of reals */
    int64_t low;
    uint64_t range;       /* of integers */
    rlx_dtype_t dtype;
    bool single;          /* no shape was given: one number */
    int rank;
    int64_t dims[RLX_RANK_MAX];
} drawing_t;

/* randn(2, 3), rand(2, 3): extents are the arguments. */
static bool shape_spread(rlx_evaluator_t *e, const rlx_arguments_t *arguments, drawing_t *out)
{
    rlx_py_t *list = rlx_py_new(e, RLX_SYNTAX_LIST, arguments->span);

    if (arguments->n_fields > 0) {
        rlx_finding_hint(rlx_report(e->findings, RLX_E_ARG_UNKNOWN, arguments->fields[0].name_span, "%s has no argument `%s`", arguments->name,
                                    arguments->fields[0].name),
                         "It takes extents only: %s(64, 3, 7, 7); the type follows: .astype(np.float32).", arguments->name);
        return false;
    }
    if (arguments->n == 1 && arguments->values[0]->kind == RLX_SYNTAX_LIST) {
        rlx_finding_hint(
            rlx_report(e->findings, RLX_E_ARG_TYPE, arguments->values[0]->span, "%s takes extents one by one, not a list", arguments->name),
            "Write %s(64, 3, 7, 7); np.random.standard_normal takes a list.", arguments->name);
        return false;
    }
    for (int i = 0; i < arguments->n; i++)
        rlx_syntax_value_add(e->syntax, list, arguments->values[i]);
    out->single = arguments->n == 0;
    return rlx_py_as_dims(e, list, false, &out->rank, out->dims);
}

static bool size_read(rlx_evaluator_t *e, const rlx_py_t *size, drawing_t *out)
{
    out->single = size == NULL || size->kind == RLX_SYNTAX_NONE;
    return out->single || rlx_py_as_dims(e, size, false, &out->rank, out->dims);
}

/* normal(loc, scale, size), uniform(low, high, size) */
static bool reals_read(rlx_evaluator_t *e, const rlx_arguments_t *arguments, drawing_t *out)
{
    bool normal = out->kind == DRAW_GAUSS;
    rlx_taking_t taking;
    rlx_py_t *first, *second, *size;

    rlx_take_begin(&taking, e, arguments);
    first = rlx_take(&taking, normal ? "loc" : "low");
    second = rlx_take(&taking, normal ? "scale" : "high");
    size = rlx_take(&taking, "size");
    if (!rlx_take_end(&taking, normal ? "loc=0, scale=1, size" : "low=0, high=1, size") || !rlx_np_number(e, first, 0, &out->offset) ||
        !rlx_np_number(e, second, 1, &out->scale) || !size_read(e, size, out))
        return false;
    if (normal && !(out->scale >= 0)) {
        rlx_finding_hint(rlx_report(e->findings, RLX_E_ARG_VALUE, second->span, "a deviation is not negative"),
                         "Write scale=... with a number from 0 on.");
        return false;
    }
    if (!normal)
        out->scale -= out->offset;
    return true;
}

static bool ints_read(rlx_evaluator_t *e, const rlx_arguments_t *arguments, drawing_t *out)
{
    rlx_taking_t taking;
    rlx_py_t *low, *high, *size, *dtype;
    int64_t last;

    rlx_take_begin(&taking, e, arguments);
    low = rlx_take_needed(&taking, "low");
    high = rlx_take(&taking, "high");
    size = rlx_take(&taking, "size");
    dtype = rlx_take(&taking, "dtype");
    if (!rlx_take_end(&taking, "low, high, size") || !rlx_np_dtype(e, dtype, RLX_I64, &out->dtype) || !size_read(e, size, out))
        return false;
    if (high == NULL || high->kind == RLX_SYNTAX_NONE) {
        high = low;
        out->low = 0;
    } else if (!rlx_py_as_int(low, &out->low))
        high = low;
    if (!rlx_py_as_int(high, &last) || out->low >= last || out->dtype != RLX_I64) {
        rlx_finding_hint(rlx_report(e->findings, RLX_E_ARG_VALUE, out->dtype != RLX_I64 ? dtype->span : high->span, "randint cannot draw from this"),
                         out->dtype != RLX_I64 ? "It draws int64; convert with .astype(...)."
                                               : "Write np.random.randint(low, high, size) with integers, low below high.");
        return false;
    }
    out->range = (uint64_t)last - 1 - (uint64_t)out->low;
    return true;
}

/* random(size), standard_normal(size) */
static bool sized_read(rlx_evaluator_t *e, const rlx_arguments_t *arguments, drawing_t *out)
{
    rlx_taking_t taking;
    rlx_py_t *size;

    rlx_take_begin(&taking, e, arguments);
    size = rlx_take(&taking, "size");
    return rlx_take_end(&taking, "size") && size_read(e, size, out);
}

static rlx_py_t *seed(rlx_evaluator_t *e, const rlx_arguments_t *arguments)
{
    rlx_taking_t taking;
    rlx_py_t *value;
    int64_t number;

    rlx_take_begin(&taking, e, arguments);
    value = rlx_take_needed(&taking, "seed");
    if (!rlx_take_end(&taking, "seed"))
        return NULL;
    if (!rlx_py_as_int(value, &number) || number < 0 || number > (int64_t)UINT32_MAX) {
        rlx_finding_hint(rlx_report(e->findings, RLX_E_ARG_VALUE, value->span, "this is no seed"), "Write an integer from 0 to 4294967295.");
        return NULL;
    }
    rlx_random_seed(&e->random, (uint32_t)number);
    return rlx_py_new(e, RLX_SYNTAX_NONE, arguments->span);
}

static rlx_py_t *draw(rlx_evaluator_t *e, const rlx_arguments_t *arguments, const drawing_t *drawing)
{
    rlx_py_t *array = rlx_np_make(e, arguments, drawing->dtype, drawing->rank, drawing->dims);
    int64_t count = array != NULL ? rlx_array_count(&array->tensor) : 0;

    for (int64_t i = 0; i < count; i++) {
        if (drawing->kind == DRAW_INT)
            ((int64_t *)array->tensor.data)[i] = rlx_random_int(&e->random, drawing->low, drawing->range);
        else
            ((double *)array->tensor.data)[i] =
                drawing->offset + drawing->scale * (drawing->kind == DRAW_GAUSS ? rlx_random_gauss(&e->random) : rlx_random_double(&e->random));
    }
    if (array == NULL || !drawing->single)
        return array;
    return drawing->kind == DRAW_INT ? rlx_py_int(e, rlx_array_int(&array->tensor, 0), arguments->span)
                                     : rlx_py_float(e, rlx_array_real(&array->tensor, 0), arguments->span);
}

rlx_py_t *rlx_np_random(rlx_evaluator_t *e, const rlx_arguments_t *arguments)
{
    const char *name = arguments->name + strlen("np.random.");
    drawing_t drawing = {
        .kind = strstr(name, "norm") != NULL || strcmp(name, "randn") == 0 ? DRAW_GAUSS : DRAW_UNIFORM, .scale = 1, .dtype = RLX_F64};
    bool good;

    if (strcmp(name, "seed") == 0)
        return seed(e, arguments);
    if (strcmp(name, "randint") == 0) {
        drawing.kind = DRAW_INT;
        good = ints_read(e, arguments, &drawing);
    } else if (strcmp(name, "randn") == 0 || strcmp(name, "rand") == 0)
        good = shape_spread(e, arguments, &drawing);
    else if (strcmp(name, "normal") == 0 || strcmp(name, "uniform") == 0)
        good = reals_read(e, arguments, &drawing);
    else
        good = sized_read(e, arguments, &drawing);
    return good ? draw(e, arguments, &drawing) : NULL;
}
