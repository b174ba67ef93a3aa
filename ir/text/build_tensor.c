/* Inputs and constants (ir/text/builder.h). */
#include <inttypes.h>
#include <string.h>

#include "ir/flow.h"
#include "ir/graph_memory.h"
#include "ir/text/builder.h"

bool rlx_text_statement_is(const rlx_syntax_statement_t *statement, const char *space, const char *callee)
{
    return statement->callee != NULL && strcmp(statement->space, space) == 0 && strcmp(statement->callee, callee) == 0;
}

const rlx_syntax_field_t *rlx_text_field(const rlx_syntax_statement_t *statement, const char *name)
{
    const rlx_syntax_field_t *field = rlx_syntax_field(statement->keywords, statement->n_keywords, name);

    return field != NULL ? field : rlx_syntax_field(statement->attributes, statement->n_attributes, name);
}

/* The symbol called so, or a new one that is extent `axis` (or element `element`, axis -1) of `value`. */
static bool symbol_make(rlx_text_builder_t *builder, const rlx_syntax_value_t *written, rlx_value_t *value, int axis, int element, int64_t min,
                        int64_t max, rlx_expr_t *out)
{
    rlx_text_range_t *range = rlx_text_range_find(builder, written->s);
    int known = builder->graph->n_symbols, index;
    rlx_symbol_t *symbol;

    if (range != NULL) {
        if (range->min < min || range->max > max) {
            rlx_finding_expected(rlx_report(builder->findings, RLX_E_ARG_VALUE, range->span, "the range of '%s' is too wide", written->s),
                                 "within %" PRId64 " to %" PRId64, min, max);
            return false;
        }
        min = range->min;
        max = range->max;
        range->used = true;
    }
    index = rlx_graph_symbol(builder->graph, written->s, value, axis, element, min, max);
    symbol = &builder->graph->symbols[index];
    if (index < known && axis < 0) {
        rlx_report(builder->findings, RLX_E_NAME_TWICE, written->span, "the symbol '%s' stands for something else already", written->s);
        return false;
    }
    if (index == known && range != NULL) {
        symbol->declared = range->declared;
        symbol->independent = range->independent;
    }
    *out = rlx_expr_symbol(builder->graph->exprs, index, symbol->min, symbol->max);
    return true;
}

static bool is_symbol(const rlx_syntax_value_t *value) { return value->kind == RLX_SYNTAX_NAME || value->kind == RLX_SYNTAX_STRING; }

static bool extent_check(rlx_text_builder_t *builder, const rlx_syntax_value_t *written, rlx_expr_t extent)
{
    const rlx_expr_node_t *node;

    if (extent < 0)
        return rlx_text_wrong(builder, written, "an extent", "a number, a symbol, or arithmetic on symbols");
    node = rlx_expr_node(builder->graph->exprs, extent);
    if (node->max >= 0 && (node->op != RLX_EXPR_CONST || node->value <= RLX_EXTENT_MAX))
        return true;
    rlx_finding_expected(rlx_report(builder->findings, RLX_E_SHAPE_TEXT, written->span, "an extent is negative or too large"), "0 to %" PRId64,
                         RLX_EXTENT_MAX);
    return false;
}

/* Extents of one kind of an input: symbols in the first pass, the others in the second. */
static bool dims_make(rlx_text_builder_t *builder, const rlx_syntax_value_t *shape, rlx_value_t *value, bool symbols)
{
    for (int i = 0; i < value->rank; i++) {
        const rlx_syntax_value_t *dim = shape->items[i];

        if (is_symbol(dim) != symbols)
            continue;
        if (symbols) {
            if (!symbol_make(builder, dim, value, i, 0, 0, RLX_EXTENT_MAX, &value->dims[i]))
                return false;
            continue;
        }
        if (dim->kind == RLX_SYNTAX_EXPR && builder->around == NULL) {
            rlx_finding_expected(rlx_report(builder->findings, RLX_E_SHAPE_TEXT, dim->span, "an input's extent is arithmetic"),
                                 "a number or a symbol");
            return false;
        }
        if (!rlx_text_expr(builder, dim, &value->dims[i]) || !extent_check(builder, dim, value->dims[i]))
            return false;
    }
    return true;
}

static bool element_make(rlx_text_builder_t *builder, const rlx_syntax_value_t *written, rlx_value_t *value, int index)
{
    int64_t min = value->dtype == RLX_I32 ? INT32_MIN : INT64_MIN, max = value->dtype == RLX_I32 ? INT32_MAX : INT64_MAX;

    if (is_symbol(written) && rlx_text_symbol(builder, written->s) < 0)
        return symbol_make(builder, written, value, -1, index, min, max, &value->elements[index]);
    if (builder->around == NULL) {
        rlx_finding_expected(rlx_report(builder->findings, RLX_E_ARG_VALUE, written->span, "an element of an input is not a symbol of its own"),
                             "a new name");
        return false;
    }
    return rlx_text_expr(builder, written, &value->elements[index]);
}

static bool elements_make(rlx_text_builder_t *builder, const rlx_syntax_field_t *field, rlx_value_t *value)
{
    int64_t count = 1;
    bool integer = value->dtype == RLX_I32 || value->dtype == RLX_I64;

    if (field->value->kind != RLX_SYNTAX_LIST)
        return rlx_text_wrong(builder, field->value, "elements", "a list of symbols");
    if ((builder->around == NULL && !integer) || value->dtype < RLX_I8 || value->rank > 1 || field->value->n_items > RLX_ELEMENTS_MAX ||
        (value->rank == 1 && !rlx_expr_is_const(builder->graph->exprs, value->dims[0], &count)) || count != field->value->n_items) {
        rlx_finding_expected(rlx_report(builder->findings, RLX_E_ARG_VALUE, field->value->span, "elements do not fit the input"),
                             "one for each element of an i32 or i64 input of at most %d, rank 0 or 1", RLX_ELEMENTS_MAX);
        return false;
    }
    value->elements = rlx_graph_alloc(builder->graph, (size_t)(count + 1) * sizeof *value->elements);
    value->n_elements = (int)count;
    for (int i = 0; i < field->value->n_items; i++)
        if (!element_make(builder, field->value->items[i], value, i))
            return false;
    return true;
}

static rlx_value_t *input_of(const rlx_text_builder_t *builder, const rlx_syntax_statement_t *statement)
{
    for (int i = 0; statement->n_results == 1 && statement->results[0].name != NULL && i < builder->graph->n_inputs; i++)
        if (strcmp(builder->graph->inputs[i]->name, statement->results[0].name) == 0)
            return builder->graph->inputs[i];
    return NULL;
}

/* The input as an object; its extents follow. NULL after reporting. */
static rlx_value_t *input_begin(rlx_text_builder_t *builder, const rlx_syntax_statement_t *statement)
{
    const rlx_syntax_field_t *shape = rlx_text_field(statement, "shape"), *dtype = rlx_text_field(statement, "dtype");
    rlx_dtype_t type = RLX_F32;
    rlx_value_t *value;

    if (statement->n_results != 1 || statement->results[0].name == NULL || statement->n_args > 0) {
        rlx_finding_expected(rlx_report(builder->findings, RLX_E_ARG_TYPE, statement->callee_span,
                                        "tensor::alloc gives one value and takes names only"),
                             "%%x = tensor::alloc(shape=[1,3,224,224], dtype=f32);");
        return NULL;
    }
    if (shape == NULL) {
        rlx_finding_hint(rlx_finding_expected(rlx_report(builder->findings, RLX_E_ARG_MISSING, statement->callee_span, "the tensor has no shape"),
                                              "shape=[...], in logical order (N,C,H,W), whatever the layout"),
                         "Add it: shape=[1, 3, 224, 224]; an open extent is a name.");
        return NULL;
    }
    if (shape->value->kind != RLX_SYNTAX_LIST) {
        rlx_text_wrong(builder, shape->value, "shape", "a list of extents");
        return NULL;
    }
    if (shape->value->n_items > RLX_RANK_MAX) {
        rlx_report(builder->findings, RLX_E_SHAPE_TEXT, shape->value->span, "the shape has %d extents; at most %d are possible",
                   shape->value->n_items, RLX_RANK_MAX);
        return NULL;
    }
    if (dtype != NULL && !rlx_text_dtype(builder, dtype, &type))
        return NULL;
    if (input_of(builder, statement) != NULL) {
        rlx_report(builder->findings, RLX_E_NAME_TWICE, statement->results[0].span, "'%s' is an input already", statement->results[0].name);
        return NULL;
    }
    if (rlx_onnx_names_get(&builder->names, statement->results[0].name) != NULL)
        return NULL; /* reported when its turn comes */
    value = rlx_graph_input(builder->graph, statement->results[0].name, type, shape->value->n_items, NULL);
    value->rank = shape->value->n_items;
    return value;
}

/* One pass over the inputs. 0: make them; 1: symbols; 2: other extents; 3: elements. */
static bool inputs_pass(rlx_text_builder_t *builder, int pass)
{
    bool done = true;

    for (int i = 0; i < builder->function->n_statements; i++) {
        const rlx_syntax_statement_t *statement = builder->function->statements[i];
        const rlx_syntax_field_t *elements;
        rlx_value_t *value;

        if (!rlx_text_statement_is(statement, "tensor", "alloc"))
            continue;
        value = pass == 0 ? input_begin(builder, statement) : input_of(builder, statement);
        elements = rlx_text_field(statement, "elements");
        if (value == NULL)
            done = false;
        else if (pass == 1 || pass == 2)
            done = dims_make(builder, rlx_text_field(statement, "shape")->value, value, pass == 1) && done;
        else if (pass == 3 && elements != NULL)
            done = elements_make(builder, elements, value) && done;
    }
    return done;
}

bool rlx_text_inputs_make(rlx_text_builder_t *builder)
{
    bool done = true;

    for (int pass = 0; pass < 4 && done; pass++)
        done = inputs_pass(builder, pass);
    for (int i = 0; i < builder->n_ranges && done; i++)
        if (!builder->ranges[i].used)
            rlx_report_warning(builder->findings, RLX_E_UNUSED, builder->ranges[i].span, "no input has the symbol '%s'", builder->ranges[i].name);
    return done;
}

static bool notes_set(rlx_text_builder_t *builder, const rlx_syntax_statement_t *statement, rlx_value_t *value, const char *const *known)
{
    for (int i = 0; i < statement->n_keywords + statement->n_attributes; i++) {
        const rlx_syntax_field_t *field = rlx_text_field_at(statement, i);
        rlx_closest_t closest;
        rlx_finding_t *finding;
        int k = 0;

        while (known[k] != NULL && strcmp(known[k], field->name) != 0)
            k++;
        if (known[k] != NULL)
            continue;
        if (rlx_text_is_value_note(field->name)) {
            if (!rlx_text_value_note(builder, value, field))
                return false;
            continue;
        }
        finding = rlx_report(builder->findings, RLX_E_ARG_UNKNOWN, field->name_span, "tensor::%s has no '%s'", statement->callee, field->name);
        rlx_closest_init(&closest, field->name, strlen(field->name));
        for (k = 0; known[k] != NULL; k++)
            rlx_closest_offer(&closest, known[k]);
        rlx_text_notes_offer(&closest);
        if (closest.best != NULL)
            rlx_finding_hint(finding, "Did you mean '%s'?", closest.best);
        return false;
    }
    return true;
}

static bool alloc_build(rlx_text_builder_t *builder, const rlx_syntax_statement_t *statement)
{
    static const char *const known[] = {"shape", "dtype", "elements", NULL};
    rlx_value_t *value = input_of(builder, statement);

    if (value == NULL || (value->rank > 0 && value->dims[value->rank - 1] < 0))
        return false; /* reported when inputs were made */
    if (rlx_onnx_names_get(&builder->names, value->name) == NULL || statement->results[0].span.length > 0)
        rlx_text_name_add(builder, value->name, statement->results[0].span, value);
    return notes_set(builder, statement, value, known);
}

rlx_value_t *rlx_text_constant(rlx_text_builder_t *builder, const char *name, const rlx_syntax_value_t *value)
{
    rlx_tensor_t tensor;
    int64_t count;

    if (value->kind == RLX_SYNTAX_EXTERNAL) {
        if (!rlx_text_external_load(builder, value, &tensor))
            return NULL;
    } else if (value->kind == RLX_SYNTAX_TENSOR) {
        tensor = value->tensor;
    } else {
        rlx_text_wrong(builder, value, "a constant", "a tensor such as f32[2]{0.5, -1}, or f32[64,3]{file=\"weights.safetensors\", key=\"w\"}");
        return NULL;
    }
    if (!rlx_dims_count(tensor.dims, tensor.rank, &count)) {
        rlx_report(builder->findings, RLX_E_SHAPE_TEXT, value->span, "the constant's extents are negative or too large");
        return NULL;
    }
    return rlx_graph_const(builder->graph, name, tensor.dtype, tensor.rank, tensor.dims, tensor.data, true);
}

static bool constant_build(rlx_text_builder_t *builder, const rlx_syntax_statement_t *statement)
{
    static const char *const known[] = {"value", "node", "source", NULL};
    const rlx_syntax_field_t *field = rlx_text_field(statement, "value");
    const rlx_syntax_result_t *result = &statement->results[0];
    rlx_value_t *value;

    if (statement->n_results != 1 || result->name == NULL || statement->n_args + (field != NULL) != 1) {
        rlx_finding_expected(rlx_report(builder->findings, RLX_E_ARG_MISSING, statement->callee_span,
                                        "tensor::constant takes one tensor and gives one value"),
                             "%%w = tensor::constant(f32[2]{0.5, -1});");
        return false;
    }
    if (rlx_onnx_names_get(&builder->names, result->name) != NULL) {
        rlx_text_name_add(builder, result->name, result->span, NULL);
        return false;
    }
    value = rlx_text_constant(builder, result->name, field != NULL ? field->value : statement->args[0]);
    if (value == NULL)
        return false;
    rlx_text_name_add(builder, result->name, result->span, value);
    return notes_set(builder, statement, value, known);
}

bool rlx_text_tensor_build(rlx_text_builder_t *builder, const rlx_syntax_statement_t *statement)
{
    if (strcmp(statement->callee, "alloc") == 0)
        return alloc_build(builder, statement);
    if (strcmp(statement->callee, "constant") == 0)
        return constant_build(builder, statement);
    rlx_finding_expected(rlx_report(builder->findings, RLX_E_OP_UNKNOWN, statement->callee_span, "there is no tensor::%s", statement->callee),
                         "tensor::alloc or tensor::constant");
    return false;
}
