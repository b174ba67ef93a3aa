/* Functions: their names, statements and outputs (ir/text/build.h). */
#include "ir/text/build.h"

#include <inttypes.h>
#include <string.h>

#include "base/closest.h"
#include "ir/graph_memory.h"
#include "ir/text/builder.h"

const char *rlx_text_source(rlx_text_builder_t *builder, const rlx_syntax_statement_t *statement)
{
    if (statement->where != NULL)
        return rlx_graph_strdup(builder->graph, statement->where);
    return rlx_graph_printf(builder->graph, "%s:%u:%u", builder->graph->text, statement->span.line, statement->span.column);
}

rlx_text_name_t *rlx_text_name_add(rlx_text_builder_t *builder, const char *name, rlx_span_t span, rlx_value_t *value)
{
    rlx_text_name_t *held = rlx_onnx_names_get(&builder->names, name), *made;

    if (held != NULL) {
        rlx_finding_note(rlx_report(builder->findings, RLX_E_NAME_TWICE, span, "'%s' is defined already", name), held->span, "defined here");
        return held;
    }
    made = rlx_graph_alloc(builder->graph, sizeof *made);
    *made = (rlx_text_name_t){.value = value, .span = span};
    rlx_onnx_names_add(&builder->names, rlx_graph_strdup(builder->graph, name), made);
    return made;
}

/* Names that are defined, so far or further down, near the one that is not. */
static void name_unknown(rlx_text_builder_t *builder, const char *name, rlx_span_t span)
{
    rlx_finding_t *finding = rlx_report(builder->findings, RLX_E_NAME_UNKNOWN, span, "'%s' is not defined", name);
    const rlx_syntax_function_t *function = builder->function;
    rlx_closest_t closest;

    rlx_closest_init(&closest, name, strlen(name));
    for (int i = 0; i < function->n_statements; i++)
        for (int k = 0; k < function->statements[i]->n_results; k++) {
            const rlx_syntax_result_t *result = &function->statements[i]->results[k];

            if (result->name == NULL || result->made_up)
                continue;
            if (strcmp(result->name, name) == 0)
                rlx_finding_note(finding, result->span, "it is defined here, after its use");
            else if (rlx_onnx_names_get(&builder->names, result->name) != NULL)
                rlx_closest_offer(&closest, result->name);
        }
    if (builder->around != NULL && rlx_onnx_names_get(&builder->around->names, name) != NULL)
        rlx_finding_hint(finding, "A body sees only its own inputs: pass the value as an operand, and declare it with tensor::alloc in the body.");
    else if (closest.best != NULL)
        rlx_finding_hint(finding, "Did you mean '%s'?", closest.best);
}

rlx_value_t *rlx_text_value_find(rlx_text_builder_t *builder, const char *name, rlx_span_t span)
{
    rlx_text_name_t *held = rlx_onnx_names_get(&builder->names, name);

    if (held == NULL) {
        name_unknown(builder, name, span);
        builder->broken = true;
        return NULL;
    }
    held->used = true;
    builder->broken |= held->value == NULL;
    return held->value;
}

/* Results of a statement that failed. */
static void results_break(rlx_text_builder_t *builder, const rlx_syntax_statement_t *statement)
{
    for (int i = 0; i < statement->n_results; i++) {
        const rlx_syntax_result_t *result = &statement->results[i];

        if (result->name != NULL && rlx_onnx_names_get(&builder->names, result->name) == NULL)
            rlx_text_name_add(builder, result->name, result->span, NULL)->used = true;
    }
}

static bool space_unknown(rlx_text_builder_t *builder, const rlx_syntax_statement_t *statement)
{
    rlx_finding_expected(rlx_report(builder->findings, RLX_E_OP_UNKNOWN, statement->callee_span, "there is no name space '%s'", statement->space),
                         "rlxc::OPERATOR, tensor::alloc, tensor::constant, symbol::range or symbol::check");
    return false;
}

static void statement_build(rlx_text_builder_t *builder, const rlx_syntax_statement_t *statement)
{
    bool done;

    builder->broken = false;
    if (statement->callee == NULL) {
        results_break(builder, statement);
        return;
    }
    if (builder->graph->n_ops >= RLX_GRAPH_OPS_MAX) {
        rlx_report(builder->findings, RLX_E_TEXT_LIMIT, statement->span, "the module has more than %d operators", RLX_GRAPH_OPS_MAX);
        done = false;
    } else if (strcmp(statement->space, "tensor") == 0) {
        done = rlx_text_tensor_build(builder, statement);
    } else if (strcmp(statement->space, "symbol") == 0) {
        done = rlx_text_symbol_build(builder, statement);
    } else if (strcmp(statement->space, "rlxc") == 0 || strcmp(statement->space, "rlx") == 0) {
        done = rlx_text_op_build(builder, statement);
    } else {
        done = space_unknown(builder, statement);
    }
    if (!done)
        results_break(builder, statement);
}

/* Another value has the name, apart from an input: an output may hand an input through under its name. */
static bool name_taken(const rlx_text_builder_t *builder, const rlx_value_t *value, const char *name)
{
    const rlx_text_name_t *held = rlx_onnx_names_get(&builder->names, name);

    return held != NULL && held->value != NULL && held->value != value && !held->value->is_input && strcmp(held->value->name, name) == 0;
}

/* `x = f(x)` and `return x, y`: the earlier x, which is no output, gives the name up. False: it is an output. */
static bool name_yield(rlx_text_builder_t *builder, const char *name)
{
    rlx_text_name_t *held = rlx_onnx_names_get(&builder->names, name);

    if (held->value->is_output)
        return false;
    rlx_value_rename(builder->graph, held->value, rlx_graph_memory_name(builder->graph->memory, name));
    return true;
}

/* A value under another name than its own, or one that is an output already, is copied. */
static void output_copy(rlx_text_builder_t *builder, rlx_value_t *value, const char *name)
{
    rlx_graph_t *graph = builder->graph;
    rlx_value_t *copy;
    rlx_op_t *op;
    rlx_diag_t diag = {0};

    if (value->data != NULL && strcmp(value->name, name) == 0) /* a constant gives its name to the output */
        rlx_value_rename(graph, value, rlx_graph_memory_name(graph->memory, name));
    copy = rlx_graph_value(graph, name, RLX_DTYPE_NONE);
    op = rlx_graph_op(graph, NULL, RLX_OP_identity, name, 1, &value, 1, &copy);
    op->source = rlx_graph_printf(graph, "graph output '%s'", name);
    copy->name = rlx_graph_strdup(graph, name);
    if (rlx_op_infer(graph, op, &diag) != RLX_OK)
        rlx_report_diag(builder->findings, &diag, builder->function->return_span);
    rlx_graph_output(graph, copy);
}

/* The name itself: one that was given up is still known to the graph's names. */
static const char *output_name(rlx_text_builder_t *builder, const char *name)
{
    const rlx_text_name_t *held = rlx_onnx_names_get(&builder->names, name);
    bool given_up = held != NULL && held->value != NULL && !held->value->is_input && strcmp(held->value->name, name) != 0;

    return given_up ? rlx_graph_strdup(builder->graph, name) : rlx_graph_memory_name(builder->graph->memory, name);
}

static void output_build(rlx_text_builder_t *builder, const rlx_syntax_output_t *output)
{
    const char *name = output->name;
    rlx_value_t *value;

    if (output->value->kind != RLX_SYNTAX_REF) {
        rlx_finding_expected(rlx_report(builder->findings, RLX_E_OUTPUTS, output->value->span, "an output is a value of the module"),
                             "the name of a value, %%name");
        return;
    }
    value = rlx_text_value_find(builder, output->value->s, output->value->span);
    if (value == NULL)
        return;
    if (name == NULL)
        name = value->name;
    if (name_taken(builder, value, name) && !name_yield(builder, name)) {
        rlx_report(builder->findings, RLX_E_NAME_TWICE, output->span, "the output's name '%s' is that of another value", name);
        return;
    }
    for (int i = 0; i < builder->graph->n_outputs && builder->around == NULL; i++)
        if (strcmp(builder->graph->outputs[i]->name, name) == 0) {
            rlx_report(builder->findings, RLX_E_NAME_TWICE, output->span, "output '%s' stands twice", name);
            return;
        }
    if (builder->around != NULL) {
        rlx_graph_output(builder->graph, value);
    } else if (value->producer != NULL && !value->is_output) {
        if (strcmp(value->name, name) != 0)
            rlx_value_rename(builder->graph, value, output_name(builder, name));
        rlx_graph_output(builder->graph, value);
    } else if (value->is_input && output->name == NULL) {
        rlx_graph_output(builder->graph, value);
    } else {
        output_copy(builder, value, name);
    }
}

/* Without a return: results that nobody uses. */
static void outputs_find(rlx_text_builder_t *builder)
{
    for (int i = 0; i < builder->function->n_statements; i++)
        for (int k = 0; k < builder->function->statements[i]->n_results; k++) {
            const char *name = builder->function->statements[i]->results[k].name;
            const rlx_text_name_t *held = name != NULL ? rlx_onnx_names_get(&builder->names, name) : NULL;

            if (held != NULL && held->value != NULL && held->result && !held->used)
                rlx_graph_output(builder->graph, held->value);
        }
}

static void outputs_build(rlx_text_builder_t *builder)
{
    const rlx_syntax_function_t *function = builder->function;

    for (int i = 0; i < function->n_outputs; i++)
        output_build(builder, &function->outputs[i]);
    if (!function->returns && builder->around == NULL)
        outputs_find(builder);
    if (builder->graph->n_outputs == 0 && builder->around == NULL && builder->findings->n_errors == 0)
        rlx_finding_expected(rlx_report(builder->findings, RLX_E_OUTPUTS, function->returns ? function->return_span : function->span,
                                        "the module has no outputs"), "a return, or a result that nothing uses");
}

static void unused_warn(rlx_text_builder_t *builder)
{
    const rlx_syntax_function_t *function = builder->function;

    for (int i = 0; function->returns && i < function->n_statements; i++)
        for (int k = 0; k < function->statements[i]->n_results; k++) {
            const rlx_syntax_result_t *result = &function->statements[i]->results[k];
            const rlx_text_name_t *held = result->name != NULL ? rlx_onnx_names_get(&builder->names, result->name) : NULL;

            if (held != NULL && held->result && !held->used && !result->made_up && result->span.length > 0 &&
                rlx_text_field(function->statements[i], "source") == NULL)
                rlx_report_warning(builder->findings, RLX_E_UNUSED, result->span, "'%s' is not used", result->name);
        }
}

bool rlx_text_function_build(rlx_text_builder_t *builder)
{
    int errors = builder->findings->n_errors;

    rlx_onnx_names_init(&builder->names);
    rlx_text_ranges_collect(builder);
    rlx_text_inputs_make(builder);
    for (int i = 0; i < builder->function->n_statements; i++)
        statement_build(builder, builder->function->statements[i]);
    outputs_build(builder);
    unused_warn(builder);
    rlx_onnx_names_fini(&builder->names);
    return builder->findings->n_errors == errors;
}

static bool accuracy_set(rlx_text_builder_t *builder, const rlx_syntax_field_t *field)
{
    static const char *const words[] = {[RLX_ACCURACY_DEFAULT] = "default", [RLX_ACCURACY_CAREFUL] = "careful", [RLX_ACCURACY_DIRECT] = "direct"};
    const char *word;

    if (!rlx_text_string(builder, field, &word))
        return false;
    for (int i = 0; i < 3; i++)
        if (strcmp(words[i], word) == 0) {
            builder->graph->accuracy = (rlx_accuracy_t)i;
            return true;
        }
    rlx_finding_expected(rlx_report(builder->findings, RLX_E_ARG_VALUE, field->value->span, "there is no accuracy '%s'", word),
                         "default, careful or direct");
    return false;
}

static bool strict_check(rlx_text_builder_t *builder, const rlx_syntax_field_t *field)
{
    const char *word;

    if (!rlx_text_string(builder, field, &word))
        return false;
    if (strcmp(word, "strict") == 0)
        return true;
    if (strcmp(word, "stable") == 0 || strcmp(word, "fast") == 0)
        rlx_report(builder->findings, RLX_E_NOT_YET, field->value->span, "this version computes strictly only: the same bits everywhere");
    else
        rlx_finding_expected(rlx_report(builder->findings, RLX_E_ARG_VALUE, field->value->span, "there is no %s '%s'", field->name, word),
                             "strict, stable or fast");
    return false;
}

static bool level_refuse(rlx_text_builder_t *builder, const rlx_syntax_field_t *field)
{
    rlx_finding_hint(rlx_report(builder->findings, RLX_E_NOT_YET, field->value->span,
                                "this text shows what passes made of a module; it is for reading, not for compiling"),
                     "`rlx dump MODEL` without --after, or after canonicalise or algorithm, writes a text that compiles.");
    return false;
}

static void module_attribute(rlx_text_builder_t *builder, const rlx_syntax_field_t *field)
{
    int64_t seed;

    if (strcmp(field->name, "accuracy") == 0)
        accuracy_set(builder, field);
    else if (strcmp(field->name, "determinism") == 0 || strcmp(field->name, "precision") == 0)
        strict_check(builder, field);
    else if (strcmp(field->name, "seed") == 0)
        rlx_text_int(builder, field, 0, UINT32_MAX, &seed); /* the reader has used it */
    else if (strcmp(field->name, "level") == 0)
        level_refuse(builder, field);
    else
        rlx_finding_expected(rlx_report(builder->findings, RLX_E_ARG_UNKNOWN, field->name_span, "a module has no attribute '%s'", field->name),
                             "accuracy, determinism, precision or seed");
}

static void module_attributes(rlx_text_builder_t *builder)
{
    for (int i = 0; i < builder->function->n_attributes; i++)
        module_attribute(builder, &builder->function->attributes[i]);
    for (int i = 0; i < builder->function->n_decorators; i++)
        if (strcmp(builder->function->decorators[i].name, "rlx.module") != 0)
            rlx_report(builder->findings, RLX_E_NOT_YET, builder->function->decorators[i].span, "@%s cannot be compiled by this version",
                       builder->function->decorators[i].name);
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

static void graph_verify(rlx_text_builder_t *builder)
{
    rlx_diag_t diag = {0};

    if (builder->findings->n_errors == 0 && rlx_graph_verify(builder->graph, &diag) != RLX_OK)
        rlx_report_diag(builder->findings, &diag, builder->function->span);
}

/* The file's name without its ending. */
static const char *stem(rlx_graph_t *graph, const char *path)
{
    const char *name = file_name(path), *dot = strrchr(name, '.');
    size_t bytes = dot != NULL && dot > name ? (size_t)(dot - name) : strlen(name);

    return bytes > 0 ? rlx_graph_printf(graph, "%.*s", (int)(bytes < 1000 ? bytes : 1000), name) : "module";
}

rlx_status_t rlx_syntax_build(const rlx_syntax_t *syntax, rlx_diag_list_t *findings, rlx_graph_t **out_graph)
{
    if (syntax->n_modules > 0)
        return rlx_text_module_build(syntax, syntax->modules[syntax->n_modules - 1], 0, findings, out_graph);
    if (findings->n_errors == 0)
        rlx_report(findings, RLX_E_SYNTAX, RLX_SPAN_NONE, "the text has no module");
    return rlx_diag_list_close(findings, NULL);
}

rlx_status_t rlx_text_module_build(const rlx_syntax_t *syntax, const rlx_syntax_function_t *module, int depth, rlx_diag_list_t *findings,
                                   rlx_graph_t **out_graph)
{
    rlx_text_builder_t builder = {.syntax = syntax, .function = module, .findings = findings, .depth = depth};

    builder.graph = rlx_graph_create(builder.function->name != NULL ? builder.function->name : "");
    if (builder.function->name == NULL)
        builder.graph->name = stem(builder.graph, syntax->path);
    builder.graph->text = rlx_graph_strdup(builder.graph, file_name(syntax->path));
    builder.files = rlx_text_files_create(syntax->path);
    module_attributes(&builder);
    rlx_text_function_build(&builder);
    rlx_text_files_destroy(builder.files);
    graph_verify(&builder);
    if (findings->n_errors > 0) {
        rlx_graph_destroy(builder.graph);
        return rlx_diag_list_close(findings, NULL);
    }
    *out_graph = builder.graph;
    return RLX_OK;
}
