/* Words that stand for several operators, or whose defaults depend on shapes: batch_norm without statistics, resize to a size, normalize,
 * postprocess, custom_op, remote_call (ir/text/builder.h). Each is rewritten to statements of plain operators, which the builder takes as if
 * they had been written; spans stay those of the word. */
#include <string.h>

#include "base/closest.h"
#include "ir/text/builder.h"
#include "ir/text/names.h"

/* A copy of the statement that can be changed: results, args and fields are its own. The tree is const, the copy lives with the graph. */
static rlx_syntax_statement_t *copy_of(rlx_text_builder_t *builder, const rlx_syntax_statement_t *statement)
{
    int n = statement->n_keywords + statement->n_attributes, extra = 8;
    rlx_syntax_statement_t *copy = rlx_graph_alloc(builder->graph, sizeof *copy);

    *copy = *statement;
    copy->args = rlx_graph_alloc(builder->graph, (size_t)(statement->n_args + extra) * sizeof *copy->args);
    if (statement->n_args > 0)
        memcpy(copy->args, statement->args, (size_t)statement->n_args * sizeof *copy->args);
    copy->attributes = rlx_graph_alloc(builder->graph, (size_t)(n + extra) * sizeof *copy->attributes);
    for (int i = 0; i < n; i++)
        copy->attributes[i] = i < statement->n_keywords ? statement->keywords[i] : statement->attributes[i - statement->n_keywords];
    copy->n_attributes = n;
    copy->keywords = NULL;
    copy->n_keywords = 0;
    return copy;
}

/* Takes the field out of the copy; NULL: it was not given. */
static rlx_syntax_value_t *field_take(rlx_syntax_statement_t *copy, const char *name)
{
    for (int i = 0; i < copy->n_attributes; i++)
        if (strcmp(copy->attributes[i].name, name) == 0) {
            rlx_syntax_value_t *value = copy->attributes[i].value;

            memmove(&copy->attributes[i], &copy->attributes[i + 1], (size_t)(copy->n_attributes - i - 1) * sizeof *copy->attributes);
            copy->n_attributes--;
            return value;
        }
    return NULL;
}

static void field_put(rlx_syntax_statement_t *copy, const char *name, rlx_syntax_value_t *value)
{
    copy->attributes[copy->n_attributes++] = (rlx_syntax_field_t){name, copy->callee_span, value};
}

static rlx_syntax_value_t *value_make(rlx_text_builder_t *builder, rlx_syntax_kind_t kind, rlx_span_t span)
{
    rlx_syntax_value_t *value = rlx_graph_alloc(builder->graph, sizeof *value);

    value->kind = kind;
    value->span = span;
    return value;
}

static rlx_syntax_value_t *ints_make(rlx_text_builder_t *builder, rlx_span_t span, int n, int64_t first, int64_t step)
{
    rlx_syntax_value_t *list = value_make(builder, RLX_SYNTAX_LIST, span);

    list->items = rlx_graph_alloc(builder->graph, (size_t)(n + 1) * sizeof *list->items);
    for (int i = 0; i < n; i++) {
        list->items[i] = value_make(builder, RLX_SYNTAX_INT, span);
        list->items[i]->i = first + i * step;
    }
    list->n_items = n;
    return list;
}

/* The value of the first operand, by place or as `input` or `x`; NULL after reporting. */
static rlx_value_t *input_of(rlx_text_builder_t *builder, const rlx_syntax_statement_t *statement, const rlx_syntax_value_t **out_ref)
{
    const rlx_syntax_field_t *field = rlx_text_field(statement, "input");
    const rlx_syntax_value_t *ref = statement->n_args > 0 ? statement->args[0] : NULL;

    if (ref == NULL && field == NULL)
        field = rlx_text_field(statement, "x");
    if (ref == NULL && field != NULL)
        ref = field->value;
    if (ref == NULL || ref->kind != RLX_SYNTAX_REF) {
        rlx_finding_expected(rlx_report(builder->findings, RLX_E_ARG_MISSING, statement->callee_span, "%s has no input", statement->callee),
                             "a value as its first operand");
        return NULL;
    }
    *out_ref = ref;
    return rlx_text_value_find(builder, ref->s, ref->span);
}

static rlx_syntax_value_t *tensor_fill(rlx_text_builder_t *builder, rlx_span_t span, int64_t n, float number)
{
    rlx_syntax_value_t *value = value_make(builder, RLX_SYNTAX_TENSOR, span);
    float *data = rlx_graph_alloc(builder->graph, (size_t)(n + 1) * sizeof *data);

    for (int64_t i = 0; i < n; i++)
        data[i] = number;
    value->tensor = (rlx_tensor_t){.dtype = RLX_F32, .rank = 1, .dims = {n}, .data = data};
    return value;
}

static const char *const statistics[] = {"input", "scale", "bias", "mean", "variance"};

/* Scale 1, bias 0, mean 0, variance 1 where they are not given. */
static bool batch_norm(rlx_text_builder_t *builder, const rlx_syntax_statement_t *statement)
{
    rlx_syntax_statement_t *copy = copy_of(builder, statement);
    const rlx_syntax_value_t *ref;
    rlx_value_t *input = input_of(builder, statement, &ref);
    int64_t channels;

    if (input == NULL)
        return false;
    if (input->rank < 2 || !rlx_expr_is_const(builder->graph->exprs, input->dims[1], &channels) || channels > 1 << 24) {
        rlx_finding_expected(rlx_report(builder->findings, RLX_E_SHAPE_TEXT, ref->span,
                                        "batch_norm without scale and statistics has an input without a known count of channels"),
                             "an input of rank 2 or more with a fixed second extent");
        return false;
    }
    for (int i = 1; i < 5; i++) {
        bool given = i < statement->n_args || rlx_text_field(statement, statistics[i]) != NULL;

        if (!given)
            field_put(copy, statistics[i], tensor_fill(builder, statement->callee_span, channels, i == 1 || i == 4 ? 1 : 0));
    }
    return rlx_text_op_build(builder, copy);
}

/* size=[h, w]: the last axes; the others stay. */
static bool resize(rlx_text_builder_t *builder, const rlx_syntax_statement_t *statement)
{
    rlx_syntax_statement_t *copy = copy_of(builder, statement);
    rlx_syntax_value_t *size = field_take(copy, "size");
    const rlx_syntax_value_t *ref;
    rlx_value_t *input = input_of(builder, statement, &ref);

    if (input == NULL)
        return false;
    if (size->kind != RLX_SYNTAX_LIST || size->n_items < 1 || size->n_items > input->rank) {
        rlx_finding_expected(rlx_report(builder->findings, RLX_E_ARG_VALUE, size->span, "size does not fit an input of rank %d", input->rank),
                             "a list of extents of the last axes");
        return false;
    }
    field_put(copy, "sizes", size);
    if (rlx_text_field(copy, "axes") == NULL)
        field_put(copy, "axes", ints_make(builder, size->span, size->n_items, input->rank - size->n_items, 1));
    return rlx_text_op_build(builder, copy);
}

/* Numbers for each channel as a tensor [n, 1, 1]; one number as it is. */
static rlx_syntax_value_t *channelwise(rlx_text_builder_t *builder, const rlx_syntax_value_t *list, int rank)
{
    rlx_syntax_value_t *value;

    if (list->kind != RLX_SYNTAX_LIST)
        return (rlx_syntax_value_t *)(uintptr_t)list;
    value = tensor_fill(builder, list->span, list->n_items, 0);
    for (int i = 0; i < list->n_items; i++) {
        const rlx_syntax_value_t *item = list->items[i];

        if (item->kind != RLX_SYNTAX_INT && item->kind != RLX_SYNTAX_FLOAT) {
            rlx_text_wrong(builder, item, "a channel's number", "a number");
            return NULL;
        }
        ((float *)value->tensor.data)[i] = item->kind == RLX_SYNTAX_INT ? (float)item->i : (float)item->f;
    }
    value->tensor.rank = rank - 1;
    for (int i = 1; i < rank - 1; i++)
        value->tensor.dims[i] = 1;
    return value;
}

/* One step of normalize: `callee`(first, number) as `result`. */
static bool binary_step(rlx_text_builder_t *builder, const rlx_syntax_statement_t *statement, const char *callee, const rlx_syntax_value_t *first,
                        rlx_syntax_value_t *second, rlx_syntax_result_t *result)
{
    rlx_syntax_statement_t *step = copy_of(builder, statement);

    step->n_attributes = 0;
    step->callee = callee;
    step->n_args = 2;
    step->args[0] = (rlx_syntax_value_t *)(uintptr_t)first;
    step->args[1] = second;
    step->n_results = 1;
    step->results = result;
    return second != NULL && rlx_text_op_build(builder, step);
}

static bool normalize(rlx_text_builder_t *builder, const rlx_syntax_statement_t *statement)
{
    rlx_syntax_statement_t *copy = copy_of(builder, statement);
    rlx_syntax_value_t *mean = field_take(copy, "mean"), *std = field_take(copy, "std"), *middle;
    const rlx_syntax_value_t *ref;
    rlx_value_t *input = input_of(builder, statement, &ref);
    rlx_syntax_result_t *result;

    if (mean == NULL && statement->n_args > 1)
        mean = statement->args[1];
    if (std == NULL && statement->n_args > 2)
        std = statement->args[2];
    if (input == NULL || statement->n_results != 1 || statement->results[0].name == NULL)
        return false;
    if (mean == NULL || input->rank < 2) {
        rlx_finding_expected(rlx_report(builder->findings, RLX_E_ARG_MISSING, statement->callee_span,
                                        "normalize lacks its mean, or an input with channels"),
                             "normalize(x, mean=[...], std=[...]) with a number for each channel");
        return false;
    }
    if (std == NULL)
        return binary_step(builder, statement, "sub", ref, channelwise(builder, mean, input->rank), statement->results);
    result = rlx_graph_alloc(builder->graph, sizeof *result);
    *result = (rlx_syntax_result_t){.name = rlx_graph_printf(builder->graph, "%s.centred", statement->results[0].name),
                                    .span = statement->results[0].span, .made_up = true};
    if (!binary_step(builder, statement, "sub", ref, channelwise(builder, mean, input->rank), result))
        return false;
    middle = value_make(builder, RLX_SYNTAX_REF, statement->span);
    middle->s = result->name;
    return binary_step(builder, statement, "div", middle, channelwise(builder, std, input->rank), statement->results);
}

/* softmax, argmax or topk over axis 1. */
static bool postprocess(rlx_text_builder_t *builder, const rlx_syntax_statement_t *statement)
{
    rlx_syntax_statement_t *copy = copy_of(builder, statement);
    rlx_syntax_value_t *kind = field_take(copy, "kind"), *one;
    const char *word = kind != NULL && (kind->kind == RLX_SYNTAX_STRING || kind->kind == RLX_SYNTAX_NAME) ? kind->s : kind == NULL ? "softmax" : "";

    copy->callee = strcmp(word, "softmax") == 0  ? "softmax"
                   : strcmp(word, "argmax") == 0 ? "arg_max"
                   : strcmp(word, "topk") == 0   ? "top_k"
                                                 : NULL;
    if (copy->callee == NULL) {
        rlx_finding_expected(rlx_report(builder->findings, RLX_E_ARG_VALUE, kind->span, "there is no such kind of postprocessing"),
                             "softmax, argmax or topk");
        return false;
    }
    if (rlx_text_field(copy, "axis") == NULL) {
        one = value_make(builder, RLX_SYNTAX_INT, statement->callee_span);
        one->i = 1;
        field_put(copy, "axis", one);
    }
    return rlx_text_op_build(builder, copy);
}

/* name= is the function's; inputs=[...] are the operands. */
static bool custom_op(rlx_text_builder_t *builder, const rlx_syntax_statement_t *statement)
{
    rlx_syntax_statement_t *copy = copy_of(builder, statement);
    rlx_syntax_value_t *name = field_take(copy, "name"), *inputs = field_take(copy, "inputs");

    if (name != NULL)
        field_put(copy, "function", name);
    if (inputs != NULL)
        copy->args[copy->n_args++] = inputs;
    return rlx_text_op_build(builder, copy);
}

/* args={"input": x}: operands and their names. */
static bool remote_call(rlx_text_builder_t *builder, const rlx_syntax_statement_t *statement)
{
    rlx_syntax_statement_t *copy = copy_of(builder, statement);
    rlx_syntax_value_t *args = field_take(copy, "args"), *names;

    if (args->kind != RLX_SYNTAX_DICT)
        return rlx_text_wrong(builder, args, "args", "a dictionary of names and values");
    copy->args = rlx_graph_alloc(builder->graph, (size_t)(args->n_fields + 1) * sizeof *copy->args);
    copy->n_args = 0;
    names = value_make(builder, RLX_SYNTAX_STRING, args->span);
    names->s = "";
    for (int i = 0; i < args->n_fields; i++) {
        copy->args[copy->n_args++] = args->fields[i].value;
        names->s = rlx_graph_printf(builder->graph, "%s%s%s", names->s, i > 0 ? "," : "", args->fields[i].name);
    }
    field_put(copy, "inputs", names);
    return rlx_text_op_build(builder, copy);
}

static const struct {
    const char *word, *needs; /* the field that makes it sugar; NULL: always */
    rlx_text_sugar_fn_t *build;
} sugars[] = {
    {"batch_norm", NULL, batch_norm}, {"resize", "size", resize},         {"normalize", NULL, normalize},
    {"postprocess", NULL, postprocess}, {"custom_op", "name", custom_op}, {"custom_op", "inputs", custom_op}, {"remote_call", "args", remote_call},
};

/* A batch_norm with all its operands needs no help. */
static bool is_plain(const rlx_syntax_statement_t *statement)
{
    if (strcmp(statement->callee, "batch_norm") != 0)
        return false;
    for (int i = 1; i < 5; i++)
        if (i >= statement->n_args && rlx_text_field(statement, statistics[i]) == NULL)
            return false;
    return true;
}

rlx_text_sugar_fn_t *rlx_text_sugar_find(const rlx_syntax_statement_t *statement)
{
    for (size_t i = 0; i < sizeof sugars / sizeof sugars[0]; i++)
        if (strcmp(sugars[i].word, statement->callee) == 0 && !is_plain(statement) &&
            (sugars[i].needs == NULL || rlx_text_field(statement, sugars[i].needs) != NULL))
            return sugars[i].build;
    return NULL;
}

void rlx_text_sugar_offer(rlx_closest_t *closest)
{
    for (size_t i = 0; i < sizeof sugars / sizeof sugars[0]; i++)
        rlx_closest_offer(closest, sugars[i].word);
}
