/* Functions: modules, whose statements make a graph, and others, which are inlined where they are called. */
#include <string.h>

#include "base/closest.h"
#include "ir/module/evaluate.h"

rlx_routine_t *rlx_py_routine(const rlx_evaluator_t *e, const char *name)
{
    for (int i = 0; i < e->tree->n_routines; i++)
        if (strcmp(e->tree->routines[i]->name, name) == 0)
            return e->tree->routines[i];
    return NULL;
}

static const char *signature_of(rlx_evaluator_t *e, const rlx_routine_t *routine)
{
    const char *text = "";

    for (int i = 0; i < routine->n_parameters; i++)
        text = rlx_syntax_printf(e->syntax, "%s%s%s%s", text, i > 0 ? ", " : "", routine->parameters[i].name,
                                 routine->parameters[i].value != NULL ? "=..." : "");
    return text;
}

/* Arguments into a scope of their own; defaults are computed in the file's. */
static bool parameters_bind(rlx_evaluator_t *e, rlx_routine_t *routine, const rlx_arguments_t *arguments, rlx_scope_t *scope)
{
    rlx_taking_t taking;
    bool good = true;

    rlx_take_begin(&taking, e, arguments);
    for (int i = 0; i < routine->n_parameters; i++) {
        const rlx_parameter_t *parameter = &routine->parameters[i];
        rlx_py_t *value = parameter->value != NULL ? rlx_take(&taking, parameter->name) : rlx_take_needed(&taking, parameter->name);
        rlx_binding_t *binding = rlx_scope_get(scope, parameter->name);

        if (value == NULL && parameter->value != NULL && !taking.failed) {
            rlx_scope_t *own = e->scope;

            e->scope = e->file;
            value = rlx_py_evaluate(e, parameter->value, NULL);
            e->scope = own;
        }
        binding->value = value;
        binding->span = parameter->span;
        binding->used = true;
        good = good && value != NULL;
    }
    return rlx_take_end(&taking, signature_of(e, routine)) && good;
}

rlx_py_t *rlx_py_inline(rlx_evaluator_t *e, rlx_routine_t *routine, const rlx_arguments_t *arguments)
{
    rlx_scope_t *scope = rlx_scope_create(e->syntax), *own = e->scope;
    rlx_routine_t *caller = e->routine;
    rlx_py_t *result;

    if (routine->running || e->depth == RLX_MODULE_INLINE_MAX) {
        rlx_finding_t *finding = rlx_report(e->findings, RLX_E_NOT_LANGUAGE, arguments->span,
                                            routine->running ? "`%s` calls itself" : "calls of `%s` nest too deep", routine->name);

        rlx_finding_hint(finding, "Functions are written into their callers when the module is compiled: repeat with `for i in range(n):`.");
        return NULL;
    }
    if (routine->broken || !parameters_bind(e, routine, arguments, scope))
        return NULL;
    routine->running = true;
    e->depth++;
    e->scope = scope;
    e->routine = routine;
    rlx_py_lines(e, routine->lines, routine->n_lines);
    result = e->result;
    if (!e->returned && !e->stopped && result == NULL) {
        result = rlx_py_new(e, RLX_SYNTAX_NONE, arguments->span);
    }
    e->returned = false;
    e->result = NULL;
    e->scope = own;
    e->routine = caller;
    e->depth--;
    routine->running = false;
    return rlx_py_at(e, result, arguments->span);
}

/* The decorator's name, "rlx.module", and its arguments. */
static const char *decorator_read(rlx_evaluator_t *e, const rlx_node_t *node, rlx_syntax_decorator_t *out)
{
    const rlx_node_t *named = node->kind == RLX_NODE_CALL ? node->items[0] : node;
    const char *root;

    out->span = node->span;
    out->name = named->kind == RLX_NODE_NAME ? named->s : rlx_py_path(e, named, &root);
    if (out->name == NULL || node->kind != RLX_NODE_CALL)
        return out->name;
    for (int i = 1; i < node->n_items; i++) {
        rlx_py_t *value = rlx_py_evaluate(e, node->items[i], NULL);

        out->args = rlx_syntax_grow(e->syntax, out->args, out->n_args, sizeof(rlx_py_t *));
        if (value != NULL)
            out->args[out->n_args++] = value;
    }
    for (int i = 0; i < node->n_fields; i++) {
        rlx_py_t *value = rlx_py_evaluate(e, node->fields[i].value, NULL);

        if (value != NULL)
            rlx_syntax_field_add(e->syntax, &out->keywords, &out->n_keywords, node->fields[i].name, node->fields[i].name_span, value);
    }
    return out->name;
}

static void decorator_refuse(rlx_evaluator_t *e, const char *name, rlx_span_t span)
{
    static const char *const known[] = {"rlx.module", "parallelize", "distributed_pipeline"};
    rlx_finding_t *finding =
        rlx_report(e->findings, RLX_E_OP_UNKNOWN, span, name != NULL ? "there is no decorator @%s" : "this is no decorator", name);
    rlx_closest_t closest;

    rlx_finding_expected(finding, "@rlx.module, @parallelize(...) or @distributed_pipeline");
    if (name != NULL && (strcmp(name, "rlx.jit") == 0 || strcmp(name, "jit") == 0)) {
        rlx_finding_hint(finding, "@rlx.jit traces Python programs and needs Python; a module that RLX reads itself has @rlx.module.");
        return;
    }
    rlx_closest_init(&closest, name != NULL ? name : "", name != NULL ? strlen(name) : 0);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        rlx_closest_offer(&closest, known[i]);
    if (name != NULL && strcmp(name, "module") == 0)
        rlx_finding_hint(finding, "Did you mean @rlx.module?");
    else if (closest.best != NULL)
        rlx_finding_hint(finding, "Did you mean @%s?", closest.best);
    else
        rlx_finding_hint(finding, "Remove it.");
}

static bool is_pipeline(const char *name)
{
    const char *plain = name != NULL && strncmp(name, "rlx.", 4) == 0 ? name + 4 : name;

    return name != NULL && (strcmp(plain, "parallelize") == 0 || strcmp(plain, "distributed_pipeline") == 0);
}

/* seed and version are read here, others are the builder's. */
static void module_attribute(rlx_evaluator_t *e, const rlx_syntax_field_t *field)
{
    int64_t number;
    bool is_seed = strcmp(field->name, "seed") == 0;

    if (!is_seed && strcmp(field->name, "version") != 0) {
        rlx_syntax_field_add(e->syntax, &e->function->attributes, &e->function->n_attributes, field->name, field->name_span, field->value);
        return;
    }
    if (!rlx_py_as_int(field->value, &number) || number < 0 || number > (is_seed ? (int64_t)UINT32_MAX : INT32_MAX)) {
        rlx_finding_t *finding = rlx_report(e->findings, RLX_E_ARG_VALUE, field->value->span, "this cannot be the %s", field->name);

        rlx_finding_hint(rlx_finding_expected(finding, is_seed ? "an integer from 0 to 4294967295" : "a schema version, an integer"),
                         is_seed ? "Write @rlx.module(seed=0), or another number of that range: it seeds np.random of this module." : "The version of this program is %d.", RLX_SCHEMA_VERSION);
    } else if (is_seed) {
        rlx_random_seed(&e->random, (uint32_t)number);
    } else {
        e->syntax->version = (int)number;
        e->syntax->version_span = field->value->span;
    }
}

static void module_decorate(rlx_evaluator_t *e, const rlx_routine_t *routine)
{
    rlx_syntax_function_t *function = e->function;

    for (int i = 0; i < routine->n_decorators; i++) {
        rlx_syntax_decorator_t decorator = {0};
        const char *name = decorator_read(e, routine->decorators[i], &decorator);

        if (name != NULL && strcmp(name, "rlx.module") == 0) {
            for (int k = 0; k < decorator.n_keywords; k++)
                module_attribute(e, &decorator.keywords[k]);
            if (decorator.n_args > 0)
                rlx_finding_hint(rlx_report(e->findings, RLX_E_ARG_UNKNOWN, decorator.args[0]->span, "@rlx.module takes named arguments only"),
                                 "Write @rlx.module(seed=...).");
            continue;
        }
        if (!is_pipeline(name)) {
            decorator_refuse(e, name, routine->decorators[i]->span);
            continue;
        }
        if (strncmp(name, "rlx.", 4) == 0)
            decorator.name += 4;
        function->decorators = rlx_syntax_grow(e->syntax, function->decorators, function->n_decorators, sizeof *function->decorators);
        function->decorators[function->n_decorators++] = decorator;
    }
}

static bool is_module(rlx_evaluator_t *e, const rlx_routine_t *routine)
{
    for (int i = 0; i < routine->n_decorators; i++) {
        const rlx_node_t *node = routine->decorators[i], *named = node->kind == RLX_NODE_CALL ? node->items[0] : node;
        const char *root, *path = rlx_py_path(e, named, &root);

        if (path != NULL && strcmp(path, "rlx.module") == 0)
            return true;
    }
    return false;
}

static void output_add(rlx_evaluator_t *e, const char *name, rlx_py_t *value, rlx_span_t span)
{
    rlx_syntax_function_t *function = e->function;

    if (value == NULL)
        return;
    if (value->kind == RLX_SYNTAX_STRING || value->kind == RLX_SYNTAX_NONE || value->kind == RLX_SYNTAX_DICT || value->kind == RLX_SYNTAX_NAME ||
        value->kind == RLX_SYNTAX_DTYPE || rlx_py_has_ref(value) != (value->kind == RLX_SYNTAX_REF)) {
        rlx_finding_hint(rlx_report(e->findings, RLX_E_OUTPUTS, span, "an output is %s", rlx_py_kind(value)),
                         "Return a tensor, several (`return a, b`), or a dictionary of names and tensors.");
        return;
    }
    for (int i = 0; i < function->n_outputs; i++)
        if (name != NULL && strcmp(function->outputs[i].name, name) == 0)
            name = rlx_syntax_printf(e->syntax, "output_%d", function->n_outputs);
    value = rlx_py_operand(e, value, name);
    if (value != NULL)
        rlx_syntax_output_add(e->syntax, function, name, span, value);
}

/* `return x` names the output `output`, a dictionary names them, and several values have the names of their variables. */
static void outputs_add(rlx_evaluator_t *e, rlx_py_t *result, const rlx_node_t *node)
{
    if (result->kind == RLX_SYNTAX_DICT) {
        for (int i = 0; i < result->n_fields; i++)
            output_add(e, result->fields[i].name, result->fields[i].value, result->fields[i].value->span);
        return;
    }
    if (result->kind != RLX_SYNTAX_LIST) {
        output_add(e, "output", result, result->span);
        return;
    }
    for (int i = 0; i < result->n_items; i++) {
        bool named = node != NULL && node->kind == RLX_NODE_TUPLE && i < node->n_items && node->items[i]->kind == RLX_NODE_NAME;

        output_add(e, named ? node->items[i]->s : rlx_syntax_printf(e->syntax, "output_%d", i), result->items[i], result->items[i]->span);
    }
}

static void unused_warn(rlx_evaluator_t *e, const rlx_scope_t *scope)
{
    for (int i = 0; i < scope->n_bindings; i++) {
        const rlx_binding_t *binding = scope->bindings[i];

        if (!binding->used && binding->checked && binding->name[0] != '_' && binding->value != NULL && rlx_py_has_ref(binding->value))
            rlx_finding_hint(rlx_report_warning(e->findings, RLX_E_UNUSED, binding->span, "`%s` is not used", binding->name),
                             "Return it, use it, or remove it.");
    }
}

static void return_refuse(rlx_evaluator_t *e, const rlx_routine_t *routine)
{
    rlx_finding_hint(rlx_report(e->findings, RLX_E_OUTPUTS, routine->name_span, "the module `%s` returns nothing", routine->name),
                     "End it with `return x`, or `return {\"name\": x}` to name the output.");
}

static void module_evaluate(rlx_evaluator_t *e, rlx_routine_t *routine)
{
    int errors = e->findings->n_errors;

    e->function = rlx_syntax_module_add(e->syntax, routine->name_span);
    e->function->name = routine->name;
    e->routine = routine;
    e->scope = rlx_scope_create(e->syntax);
    e->names = rlx_scope_create(e->syntax);
    e->n_hoisted = 0;
    e->steps = 0;
    rlx_random_seed(&e->random, 0);
    module_decorate(e, routine);
    if (routine->n_parameters > 0)
        rlx_finding_hint(rlx_report(e->findings, RLX_E_NOT_LANGUAGE, routine->parameters[0].span, "a module has no parameters"),
                         "Make its inputs in the body: %s = rlx.tensor(shape=[...], dtype=\"float32\").", routine->parameters[0].name);
    for (int i = 0; i < routine->n_parameters; i++)
        rlx_scope_get(e->scope, routine->parameters[i].name);
    routine->running = true;
    rlx_py_lines(e, routine->lines, routine->n_lines);
    routine->running = false;
    e->function->returns = e->returned;
    if (e->returned && e->result_node == NULL)
        return_refuse(e, routine);
    else if (e->returned && e->result != NULL) {
        e->function->return_span = e->result_node->span;
        outputs_add(e, e->result, e->result_node);
    } else if (!e->returned && !routine->broken && e->findings->n_errors == errors && !e->stopped)
        return_refuse(e, routine);
    if (!routine->broken && e->findings->n_errors == errors)
        unused_warn(e, e->scope);
    e->returned = false;
    e->result = NULL;
    e->function = NULL;
}

/* A decorator that no module has: the one that was meant. */
static bool decorator_suspect(rlx_evaluator_t *e)
{
    for (int i = 0; i < e->tree->n_routines; i++)
        for (int k = 0; k < e->tree->routines[i]->n_decorators; k++) {
            rlx_syntax_decorator_t decorator = {0};
            const char *name = decorator_read(e, e->tree->routines[i]->decorators[k], &decorator);

            if (!is_pipeline(name)) {
                decorator_refuse(e, name, e->tree->routines[i]->decorators[k]->span);
                return true;
            }
        }
    return false;
}

static void module_missing(rlx_evaluator_t *e)
{
    rlx_span_t span = e->tree->n_routines > 0 ? e->tree->routines[e->tree->n_routines - 1]->name_span : RLX_SPAN_NONE;
    rlx_finding_t *finding = rlx_report(e->findings, RLX_E_SYNTAX, span, "the file has no module");

    if (e->tree->n_routines > 0)
        rlx_finding_hint(finding, "Write @rlx.module on the line above `def %s` if this is the one to be compiled.",
                         e->tree->routines[e->tree->n_routines - 1]->name);
    else
        rlx_finding_hint(finding, "Write a function: `@rlx.module`, below it `def name():`, and its body indented.");
}

void rlx_module_evaluate(rlx_syntax_t *syntax, rlx_tree_t *tree, int dir_fd, rlx_diag_list_t *findings)
{
    rlx_evaluator_t e = {.syntax = syntax, .findings = findings, .tree = tree, .dir_fd = dir_fd};
    int errors = findings->n_errors, n = 0;

    e.file = e.scope = rlx_scope_create(syntax);
    rlx_random_seed(&e.random, 0);
    rlx_py_lines(&e, tree->lines, tree->n_lines);
    for (int i = 0; i < tree->n_routines && !e.stopped; i++)
        if (is_module(&e, tree->routines[i])) {
            module_evaluate(&e, tree->routines[i]);
            n++;
        }
    if (n == 0 && errors == 0 && !decorator_suspect(&e))
        module_missing(&e);
    for (int i = 0; i < tree->n_routines && findings->n_errors == 0; i++)
        if (!tree->routines[i]->used && !is_module(&e, tree->routines[i]))
            rlx_finding_hint(
                rlx_report_warning(findings, RLX_E_UNUSED, tree->routines[i]->name_span, "`%s` is never called", tree->routines[i]->name),
                "Call it, remove it, or put @rlx.module above it if it is a module of its own.");
}
