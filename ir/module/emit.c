/* Statements of the syntax tree: calls of `rlx`, operators on tensors, and the constants that they take. */
#include <string.h>

#include "base/closest.h"
#include "ir/graph.h"
#include "ir/module/evaluate.h"

rlx_syntax_statement_t *rlx_py_emit(rlx_evaluator_t *e, const char *space, const char *callee, rlx_span_t callee_span, rlx_span_t span)
{
    rlx_syntax_statement_t *statement;

    if (e->function == NULL) {
        rlx_finding_hint(rlx_report(e->findings, RLX_E_NOT_LANGUAGE, span, "operators stand inside functions"),
                         "Move it into the function below @rlx.module; outside functions stand constants only.");
        return NULL;
    }
    if (e->function->n_statements == RLX_GRAPH_OPS_MAX) {
        rlx_finding_hint(rlx_report(e->findings, RLX_E_TEXT_LIMIT, span, "the module has more than %d operators", RLX_GRAPH_OPS_MAX), "Split it.");
        e->stopped = true;
        return NULL;
    }
    statement = rlx_syntax_statement_add(e->syntax, e->function, span);
    statement->space = space;
    statement->callee = callee;
    statement->callee_span = callee_span;
    return statement;
}

const char *rlx_py_result_name(rlx_evaluator_t *e, const char *name, bool numbered)
{
    bool inlined = e->depth > 0 && e->routine != NULL;
    const char *base = inlined ? rlx_syntax_printf(e->syntax, "%s.%s", e->routine->name, name) : name;
    rlx_binding_t *binding = rlx_scope_get(e->names, base);
    const char *made = base;

    if (!numbered && binding->count == 0)
        binding->count = 1;
    else
        do
            made = rlx_syntax_printf(e->syntax, "%s.%d", base, numbered ? ++binding->count : binding->count++);
        while (rlx_scope_find(e->names, made) != NULL && rlx_scope_find(e->names, made)->count > 0);
    if (made != base)
        rlx_scope_get(e->names, made)->count = 1;
    return made;
}

static rlx_py_t *result_add(rlx_evaluator_t *e, rlx_syntax_statement_t *statement, const rlx_target_t *target)
{
    bool nobody = target != NULL && strcmp(target->name, "_") == 0;
    const char *name = nobody ? NULL : rlx_py_result_name(e, target != NULL ? target->name : statement->callee, target == NULL);
    rlx_syntax_result_t *result = rlx_syntax_result_add(e->syntax, statement, name, target != NULL ? target->span : RLX_SPAN_NONE);
    rlx_py_t *reference = rlx_py_new(e, name != NULL ? RLX_SYNTAX_REF : RLX_SYNTAX_NONE, statement->span);

    result->made_up = target == NULL;
    reference->s = name;
    return reference;
}

rlx_py_t *rlx_py_results(rlx_evaluator_t *e, rlx_syntax_statement_t *statement, const rlx_want_t *want)
{
    rlx_py_t *list;

    if (want == NULL || want->n <= 1)
        return result_add(e, statement, want != NULL && want->n == 1 ? want->targets : NULL);
    list = rlx_py_new(e, RLX_SYNTAX_LIST, statement->span);
    for (int i = 0; i < want->n; i++)
        rlx_syntax_value_add(e->syntax, list, result_add(e, statement, &want->targets[i]));
    return list;
}

static bool text_equal(const char *a, const char *b) { return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0); }

/* Equal arrays are one constant, wherever they stand; so are those of one place in a file. */
static bool hoisted_equal(const rlx_py_t *a, const rlx_py_t *b)
{
    if (a->kind != b->kind)
        return false;
    if (a->kind == RLX_SYNTAX_EXTERNAL)
        return text_equal(a->external.file, b->external.file) && text_equal(a->external.key, b->external.key);
    return a->tensor.dtype == b->tensor.dtype && a->tensor.rank == b->tensor.rank &&
           memcmp(a->tensor.dims, b->tensor.dims, (size_t)a->tensor.rank * sizeof *a->tensor.dims) == 0 &&
           (a->tensor.data == b->tensor.data ||
            memcmp(a->tensor.data, b->tensor.data, (size_t)rlx_array_count(&a->tensor) * rlx_dtype_size(a->tensor.dtype)) == 0);
}

static const char *hoisted_find(const rlx_evaluator_t *e, const rlx_py_t *value)
{
    for (int i = 0; i < e->n_hoisted; i++)
        if (hoisted_equal(e->hoisted[i].value, value))
            return e->hoisted[i].name;
    return NULL;
}

rlx_py_t *rlx_py_operand(rlx_evaluator_t *e, rlx_py_t *value, const char *name)
{
    rlx_syntax_statement_t *statement;
    rlx_py_t *reference;
    rlx_target_t target = {name != NULL ? name : "constant", value->span};
    rlx_want_t want = {&target, 1};

    if (value->kind == RLX_SYNTAX_LIST || value->kind == RLX_SYNTAX_INT || value->kind == RLX_SYNTAX_FLOAT || value->kind == RLX_SYNTAX_BOOL) {
        rlx_tensor_t array; /* of an output */

        return rlx_py_as_array(e, value, &array) ? rlx_py_operand(e, rlx_py_array(e, &array, value->span), name) : NULL;
    }
    if (value->kind != RLX_SYNTAX_TENSOR && value->kind != RLX_SYNTAX_EXTERNAL)
        return value;
    if (hoisted_find(e, value) != NULL) {
        reference = rlx_py_new(e, RLX_SYNTAX_REF, value->span);
        reference->s = hoisted_find(e, value);
        return reference;
    }
    statement = rlx_py_emit(e, "tensor", "constant", value->span, value->span);
    if (statement == NULL)
        return NULL;
    rlx_syntax_field_add(e->syntax, &statement->keywords, &statement->n_keywords, "value", value->span, value);
    reference = rlx_py_results(e, statement, name != NULL ? &want : NULL);
    statement->results[0].made_up = true;
    e->hoisted = rlx_syntax_grow(e->syntax, e->hoisted, e->n_hoisted, sizeof *e->hoisted);
    e->hoisted[e->n_hoisted++] = (rlx_hoisted_t){value, reference->s};
    return reference;
}

/* Arrays among the operands, within lists and dictionaries too. False: an error was reported. */
static bool operands_hoist(rlx_evaluator_t *e, rlx_py_t **place)
{
    rlx_py_t *value = *place;
    bool good = true;

    if (value->kind == RLX_SYNTAX_TENSOR || value->kind == RLX_SYNTAX_EXTERNAL) {
        *place = rlx_py_operand(e, value, NULL);
        return *place != NULL;
    }
    if (value->kind == RLX_SYNTAX_LIST) {
        rlx_py_t *copy = rlx_py_new(e, RLX_SYNTAX_LIST, value->span);

        for (int i = 0; i < value->n_items; i++) {
            rlx_py_t *item = value->items[i];

            good = operands_hoist(e, &item) && good;
            rlx_syntax_value_add(e->syntax, copy, item);
        }
        *place = copy; /* the list may be a variable's, and other calls take it as it is */
    }
    if (value->kind == RLX_SYNTAX_DICT) {
        rlx_py_t *copy = rlx_py_new(e, RLX_SYNTAX_DICT, value->span);

        for (int i = 0; i < value->n_fields; i++) {
            rlx_py_t *item = value->fields[i].value;

            good = operands_hoist(e, &item) && good;
            rlx_syntax_field_add(e->syntax, &copy->fields, &copy->n_fields, value->fields[i].name, value->fields[i].name_span, item);
        }
        *place = copy;
    }
    return good;
}

static bool dtype_refuse(rlx_evaluator_t *e, const rlx_py_t *value)
{
    rlx_finding_hint(rlx_finding_expected(rlx_report(e->findings, RLX_E_ARG_VALUE, value->span, "this is no element type"),
                                          "\"float32\", np.float32, \"f32\" and the like"),
                     "Write dtype=\"float32\", or leave it out.");
    return false;
}

/* The array has the type by now. */
static void dtype_drop(rlx_syntax_statement_t *statement, const rlx_syntax_field_t *dtype)
{
    size_t at = (size_t)(dtype - statement->keywords);

    memmove(&statement->keywords[at], &statement->keywords[at + 1], ((size_t)statement->n_keywords - at - 1) * sizeof *statement->keywords);
    statement->n_keywords--;
}

/* rlx.constant(value): lists become arrays; of floats f32 unless it says otherwise. */
static bool constant_value(rlx_evaluator_t *e, rlx_syntax_statement_t *statement)
{
    const rlx_syntax_field_t *dtype = rlx_syntax_field(statement->keywords, statement->n_keywords, "dtype");
    rlx_py_t **place = statement->n_args > 0 ? &statement->args[0] : NULL;
    rlx_dtype_t wanted = dtype != NULL ? rlx_py_as_dtype(dtype->value) : RLX_DTYPE_NONE;
    rlx_tensor_t array, cast;
    bool loose;

    for (int i = 0; i < statement->n_keywords && place == NULL; i++)
        if (strcmp(statement->keywords[i].name, "value") == 0)
            place = &statement->keywords[i].value;
    if (place == NULL) {
        rlx_finding_hint(rlx_report(e->findings, RLX_E_ARG_MISSING, statement->callee_span, "rlx.constant needs `value`"),
                         "Write rlx.constant(value=np.zeros((64, 3, 7, 7), np.float32)); what comes from outside is rlx.tensor(shape=[...]).");
        return false;
    }
    if ((*place)->kind == RLX_SYNTAX_EXTERNAL && wanted == RLX_DTYPE_NONE)
        return dtype == NULL || dtype_refuse(e, dtype->value);
    if ((*place)->kind == RLX_SYNTAX_REF || (*place)->kind == RLX_SYNTAX_STRING || (*place)->kind == RLX_SYNTAX_DICT ||
        (*place)->kind == RLX_SYNTAX_NONE || (*place)->kind == RLX_SYNTAX_NAME || (*place)->kind == RLX_SYNTAX_DTYPE) {
        rlx_finding_hint(rlx_report(e->findings, RLX_E_ARG_TYPE, (*place)->span, "the value of a constant is %s", rlx_py_kind(*place)),
                         (*place)->kind == RLX_SYNTAX_REF
                             ? "A tensor of the graph is used as it is; constants are numbers, lists and arrays."
                             : "Write an array (np.random.randn(64, 3, 7, 7)), a list or a number; rlx.load reads files.");
        return false;
    }
    if (dtype != NULL && wanted == RLX_DTYPE_NONE)
        return dtype_refuse(e, dtype->value);
    loose = (*place)->kind != RLX_SYNTAX_TENSOR && (*place)->kind != RLX_SYNTAX_EXTERNAL;
    if (!rlx_py_as_array(e, *place, &array))
        return false;
    if (wanted == RLX_DTYPE_NONE && loose && array.dtype == RLX_F64)
        wanted = RLX_F32;
    if (wanted != RLX_DTYPE_NONE && wanted != array.dtype) {
        rlx_array_error_t error = rlx_array_cast(e->syntax, &array, wanted, &cast);

        if (error != RLX_ARRAY_OK)
            return rlx_py_array_fail(e, error, (*place)->span, &array, NULL) != NULL;
        array = cast;
    }
    *place = rlx_py_array(e, &array, (*place)->span);
    if (dtype != NULL)
        dtype_drop(statement, dtype);
    return true;
}

/* rlx.load("w.safetensors", "key"), rlx.load("x.npy") */
static rlx_py_t *load(rlx_evaluator_t *e, const rlx_arguments_t *arguments)
{
    rlx_py_t *value = rlx_py_new(e, RLX_SYNTAX_EXTERNAL, arguments->span), *file, *key;
    rlx_taking_t taking;

    rlx_take_begin(&taking, e, arguments);
    file = rlx_take_needed(&taking, "file");
    key = rlx_take(&taking, "key");
    if (!rlx_take_end(&taking, "file, key"))
        return NULL;
    if (file->kind != RLX_SYNTAX_STRING || (key != NULL && key->kind != RLX_SYNTAX_STRING)) {
        const rlx_py_t *wrong = file->kind != RLX_SYNTAX_STRING ? file : key;

        rlx_finding_hint(
            rlx_report(e->findings, RLX_E_ARG_TYPE, wrong->span, "%s of rlx.load is %s", wrong == file ? "the file" : "the key", rlx_py_kind(wrong)),
            "Write rlx.load(\"weights.safetensors\", \"layer1.weight\").");
        return NULL;
    }
    value->external = (rlx_syntax_external_t){.file = file->s, .key = key != NULL ? key->s : NULL};
    return value;
}

static void arguments_copy(rlx_evaluator_t *e, rlx_syntax_statement_t *statement, const rlx_arguments_t *arguments)
{
    for (int i = 0; i < arguments->n; i++)
        rlx_syntax_arg_add(e->syntax, statement, arguments->values[i]);
    for (int i = 0; i < arguments->n_fields; i++)
        rlx_syntax_field_add(e->syntax, &statement->keywords, &statement->n_keywords, arguments->fields[i].name, arguments->fields[i].name_span,
                             arguments->fields[i].value);
}

/* Names that are words of Python, and those of inputs and constants. */
static const char *space_of(const char **name)
{
    static const char *const renamed[][3] = {{"tensor", "tensor", "alloc"}, {"scalar", "tensor", "alloc"}, {"constant", "tensor", "constant"},
                                             {"logical_and", "rlxc", "and"}, {"logical_or", "rlxc", "or"}, {"logical_not", "rlxc", "not"},
                                             {"logical_xor", "rlxc", "xor"}};

    for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++)
        if (strcmp(renamed[i][0], *name) == 0) {
            *name = renamed[i][2];
            return renamed[i][1];
        }
    return "rlxc";
}

rlx_py_t *rlx_py_rlx(rlx_evaluator_t *e, const rlx_arguments_t *arguments, const rlx_want_t *want)
{
    const char *name = arguments->name + strlen("rlx."), *space, *callee = name;
    rlx_arguments_t copy = *arguments;
    rlx_syntax_statement_t *statement;
    bool constant = strcmp(name, "constant") == 0, good = true;

    if (strcmp(name, "load") == 0)
        return load(e, arguments);
    copy.values = rlx_syntax_alloc(e->syntax, ((size_t)copy.n + 1) * sizeof(rlx_py_t *));
    copy.fields = rlx_syntax_alloc(e->syntax, ((size_t)copy.n_fields + 1) * sizeof *copy.fields);
    for (int i = 0; i < copy.n; i++) {
        copy.values[i] = arguments->values[i];
        good = (constant || operands_hoist(e, &copy.values[i])) && good;
    }
    for (int i = 0; i < copy.n_fields; i++) {
        copy.fields[i] = arguments->fields[i];
        good = (constant || operands_hoist(e, &copy.fields[i].value)) && good;
    }
    space = space_of(&callee);
    statement = good ? rlx_py_emit(e, space, callee, arguments->name_span, arguments->span) : NULL;
    if (statement == NULL)
        return NULL;
    arguments_copy(e, statement, &copy);
    if (constant && !constant_value(e, statement))
        return NULL;
    if (strcmp(name, "scalar") == 0)
        rlx_syntax_field_add(e->syntax, &statement->keywords, &statement->n_keywords, "shape", arguments->name_span,
                             rlx_py_new(e, RLX_SYNTAX_LIST, arguments->name_span));
    return rlx_py_results(e, statement, want);
}
