/* Python's own functions, as far as constants need them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/module/evaluate.h"

#define RANGE_MAX 1000000

static rlx_py_t *range_make(rlx_evaluator_t *e, const rlx_arguments_t *arguments)
{
    int64_t bounds[3] = {0, 0, 1}, count;
    rlx_py_t *list;

    for (int i = 0; i < arguments->n && i < 3; i++)
        if (!rlx_py_as_int(arguments->values[i], &bounds[arguments->n == 1 ? 1 : i])) {
            rlx_finding_hint(
                rlx_report(e->findings, RLX_E_ARG_TYPE, arguments->values[i]->span, "a bound of range is %s", rlx_py_kind(arguments->values[i])),
                "Bounds are integers known while the module is read: range(4).");
            return NULL;
        }
    if (arguments->n < 1 || arguments->n > 3 || arguments->n_fields > 0 || bounds[2] == 0) {
        rlx_finding_hint(rlx_report(e->findings, RLX_E_ARG_VALUE, arguments->span, "range cannot be made of this"),
                         "Write range(end), range(begin, end) or range(begin, end, step).");
        return NULL;
    }
    count = bounds[2] > 0 ? (bounds[1] > bounds[0] ? (int64_t)(((uint64_t)bounds[1] - (uint64_t)bounds[0] - 1) / (uint64_t)bounds[2] + 1) : 0)
                          : (bounds[0] > bounds[1] ? (int64_t)(((uint64_t)bounds[0] - (uint64_t)bounds[1] - 1) / (0 - (uint64_t)bounds[2]) + 1) : 0);
    if (count < 0 || count > RANGE_MAX) {
        rlx_finding_hint(rlx_report(e->findings, RLX_E_TEXT_LIMIT, arguments->span, "a range of %lld steps", (long long)count),
                         "Loops are unrolled while the module is read: up to %d steps.", RANGE_MAX);
        return NULL;
    }
    list = rlx_py_new(e, RLX_SYNTAX_LIST, arguments->span);
    for (int64_t i = 0; i < count; i++)
        rlx_syntax_value_add(e->syntax, list, rlx_py_int(e, bounds[0] + i * bounds[2], arguments->span));
    return list;
}

static rlx_py_t *argument_refuse(rlx_evaluator_t *e, const rlx_arguments_t *arguments, const rlx_py_t *value)
{
    static const char *const tensors[][2] = {{"abs", "rlx.abs(x)"},
                                             {"min", "rlx.reduce_min(x), or rlx.min(a, b)"},
                                             {"max", "rlx.reduce_max(x), or rlx.max(a, b)"},
                                             {"sum", "rlx.reduce_sum(x)"},
                                             {"int", "rlx.cast(x, to=\"int64\")"},
                                             {"float", "rlx.cast(x, to=\"float32\")"},
                                             {"round", "rlx.round(x)"},
                                             {"len", "rlx.shape(x)"}};
    const char *instead = NULL;

    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++)
        if (value->kind == RLX_SYNTAX_REF && strcmp(tensors[i][0], arguments->name) == 0)
            instead = tensors[i][1];
    if (instead != NULL)
        rlx_finding_hint(
            rlx_report(e->findings, RLX_E_NOT_LANGUAGE, arguments->name_span, "`%s` works on constants, and this is a tensor", arguments->name),
            "Write %s.", instead);
    else
        rlx_finding_hint(rlx_report(e->findings, RLX_E_ARG_TYPE, value->span, "`%s` cannot take %s", arguments->name, rlx_py_kind(value)),
                         "Give it numbers.");
    return NULL;
}

static rlx_py_t *length(rlx_evaluator_t *e, const rlx_arguments_t *arguments)
{
    const rlx_py_t *value = arguments->values[0];

    if (value->kind == RLX_SYNTAX_LIST)
        return rlx_py_int(e, value->n_items, arguments->span);
    if (value->kind == RLX_SYNTAX_DICT)
        return rlx_py_int(e, value->n_fields, arguments->span);
    if (value->kind == RLX_SYNTAX_STRING)
        return rlx_py_int(e, (int64_t)strlen(value->s), arguments->span);
    if (value->kind == RLX_SYNTAX_TENSOR && value->tensor.rank > 0)
        return rlx_py_int(e, value->tensor.dims[0], arguments->span);
    return argument_refuse(e, arguments, value);
}

/* min, max, sum of a list or of the arguments. */
static rlx_py_t *gather(rlx_evaluator_t *e, const rlx_arguments_t *arguments)
{
    bool list = arguments->n == 1 && arguments->values[0]->kind == RLX_SYNTAX_LIST, is_sum = arguments->name[0] == 's';
    int n = list ? arguments->values[0]->n_items : arguments->n;
    rlx_py_t *const *items = list ? arguments->values[0]->items : arguments->values, *best = NULL;
    double total = 0, number, best_number = 0;
    int64_t whole = 0, integer;
    bool ints = true;

    for (int i = 0; i < n; i++) {
        if (!rlx_py_as_real(items[i], &number))
            return argument_refuse(e, arguments, items[i]);
        ints = ints && rlx_py_as_int(items[i], &integer) && !__builtin_add_overflow(whole, integer, &whole);
        total += number;
        if (best == NULL || (arguments->name[1] == 'a' ? number > best_number : number < best_number)) {
            best = items[i];
            best_number = number;
        }
    }
    if (is_sum)
        return ints ? rlx_py_int(e, whole, arguments->span) : rlx_py_float(e, total, arguments->span);
    if (best != NULL)
        return rlx_py_at(e, best, arguments->span);
    rlx_finding_hint(rlx_report(e->findings, RLX_E_ARG_VALUE, arguments->span, "`%s` of nothing", arguments->name), "Give it a number at least.");
    return NULL;
}

static rlx_py_t *to_number(rlx_evaluator_t *e, const rlx_arguments_t *arguments)
{
    const rlx_py_t *value = arguments->values[0];
    double number;
    int64_t integer;

    if (arguments->name[0] == 'i' && rlx_py_as_int(value, &integer))
        return rlx_py_int(e, integer, arguments->span);
    if (!rlx_py_as_real(value, &number))
        return argument_refuse(e, arguments, value);
    if (arguments->name[0] == 'f')
        return rlx_py_float(e, number, arguments->span);
    if (arguments->name[0] == 'a')
        return rlx_py_as_int(value, &integer) && integer != INT64_MIN ? rlx_py_int(e, llabs(integer), arguments->span)
                                                                      : rlx_py_float(e, fabs(number), arguments->span);
    number = arguments->name[0] == 'r' ? rint(number) : trunc(number);
    if (!(fabs(number) < 0x1p63))
        return argument_refuse(e, arguments, value);
    return rlx_py_int(e, (int64_t)number, arguments->span);
}

static rlx_py_t *to_string(rlx_evaluator_t *e, const rlx_arguments_t *arguments)
{
    const rlx_py_t *value = arguments->values[0];
    rlx_py_t *made = rlx_py_new(e, RLX_SYNTAX_STRING, arguments->span);

    if (value->kind == RLX_SYNTAX_INT)
        made->s = rlx_syntax_printf(e->syntax, "%lld", (long long)value->i);
    else if (value->kind == RLX_SYNTAX_STRING)
        made->s = value->s;
    else {
        rlx_finding_hint(rlx_report(e->findings, RLX_E_ARG_TYPE, value->span, "`str` cannot take %s", rlx_py_kind(value)), "Give it an integer.");
        return NULL;
    }
    return made;
}

static rlx_py_t *to_list(rlx_evaluator_t *e, const rlx_arguments_t *arguments)
{
    if (arguments->values[0]->kind == RLX_SYNTAX_LIST)
        return rlx_py_at(e, arguments->values[0], arguments->span);
    return argument_refuse(e, arguments, arguments->values[0]);
}

/* [(0, a), (1, b), ...] */
static rlx_py_t *enumerate(rlx_evaluator_t *e, const rlx_arguments_t *arguments)
{
    rlx_py_t *list = rlx_py_new(e, RLX_SYNTAX_LIST, arguments->span);

    if (arguments->values[0]->kind != RLX_SYNTAX_LIST)
        return argument_refuse(e, arguments, arguments->values[0]);
    for (int i = 0; i < arguments->values[0]->n_items; i++) {
        rlx_py_t *pair = rlx_py_new(e, RLX_SYNTAX_LIST, arguments->span);

        rlx_syntax_value_add(e->syntax, pair, rlx_py_int(e, i, arguments->span));
        rlx_syntax_value_add(e->syntax, pair, arguments->values[0]->items[i]);
        rlx_syntax_value_add(e->syntax, list, pair);
    }
    return list;
}

static rlx_py_t *zip(rlx_evaluator_t *e, const rlx_arguments_t *arguments)
{
    rlx_py_t *list = rlx_py_new(e, RLX_SYNTAX_LIST, arguments->span);
    int n = INT32_MAX;

    for (int i = 0; i < arguments->n; i++) {
        if (arguments->values[i]->kind != RLX_SYNTAX_LIST)
            return argument_refuse(e, arguments, arguments->values[i]);
        n = arguments->values[i]->n_items < n ? arguments->values[i]->n_items : n;
    }
    for (int k = 0; k < n; k++) {
        rlx_py_t *row = rlx_py_new(e, RLX_SYNTAX_LIST, arguments->span);

        for (int i = 0; i < arguments->n; i++)
            rlx_syntax_value_add(e->syntax, row, arguments->values[i]->items[k]);
        rlx_syntax_value_add(e->syntax, list, row);
    }
    return list;
}

static const struct builtin {
    const char *name;
    rlx_py_t *(*run)(rlx_evaluator_t *e, const rlx_arguments_t *arguments);
    int least, most;
} builtins[] = {{"range", range_make, 0, 3},    {"len", length, 1, 1},    {"min", gather, 1, 1000},   {"max", gather, 1, 1000},
                {"sum", gather, 1, 1},          {"int", to_number, 1, 1}, {"float", to_number, 1, 1}, {"abs", to_number, 1, 1},
                {"round", to_number, 1, 1},     {"str", to_string, 1, 1}, {"list", to_list, 1, 1},    {"tuple", to_list, 1, 1},
                {"enumerate", enumerate, 1, 1}, {"zip", zip, 1, 8}};

static const struct builtin *builtin_find(const char *name)
{
    for (size_t i = 0; i < sizeof builtins / sizeof *builtins; i++)
        if (strcmp(builtins[i].name, name) == 0)
            return &builtins[i];
    return NULL;
}

bool rlx_py_is_builtin(const char *name) { return builtin_find(name) != NULL; }

rlx_py_t *rlx_py_builtin(rlx_evaluator_t *e, const rlx_arguments_t *arguments)
{
    const struct builtin *builtin = builtin_find(arguments->name);

    if (arguments->n_fields == 0 && arguments->n >= builtin->least && arguments->n <= builtin->most)
        return builtin->run(e, arguments);
    rlx_finding_hint(rlx_report(e->findings, arguments->n < builtin->least ? RLX_E_ARG_MISSING : RLX_E_ARG_UNKNOWN,
                                arguments->n_fields > 0 ? arguments->fields[0].name_span : arguments->name_span, "`%s` takes %s%s", arguments->name,
                                builtin->most == 1 ? "one argument" : "arguments", arguments->n_fields > 0 ? " without names" : ""),
                     "Write %s(...).", arguments->name);
    return NULL;
}
