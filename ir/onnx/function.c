/* Model-local functions: a call is expanded in place, in a scope of its own. Depth and the number of expanded nodes are bounded, so a
 * recursive or exploding set of functions ends with an error. */
#include "ir/onnx/import.h"

#include <string.h>

rlx_onnx_function_t *rlx_onnx_function_find(const rlx_onnx_import_t *import, const char *domain, const char *name)
{
    char key[2 * RLX_ONNX_NAME_MAX + 2];

    if (import->functions.count == 0)
        return NULL;
    snprintf(key, sizeof key, "%s:%s", domain, name);
    return rlx_onnx_names_get(&import->functions, key);
}

static void inputs_bind(rlx_onnx_call_t *call, const rlx_onnx_function_t *function, rlx_onnx_scope_t *scope)
{
    for (int i = 0; i < function->n_in && rlx_call_ok(call); i++) {
        rlx_value_t *value = rlx_call_in(call, i);

        if (!rlx_onnx_names_add(&scope->names, function->in[i], value != NULL ? value : &call->import->absent))
            rlx_call_fail(call, RLX_E_ONNX_GRAPH, "function '%s' has two inputs '%s'", function->name, function->in[i]);
    }
}

static void outputs_take(rlx_onnx_call_t *call, const rlx_onnx_function_t *function, const rlx_onnx_scope_t *scope)
{
    for (int i = 0; i < call->n_out && rlx_call_ok(call); i++) {
        rlx_value_t *value = rlx_onnx_names_get(&scope->names, function->out[i]);

        if (value == NULL)
            rlx_call_fail(call, RLX_E_ONNX_GRAPH, "function '%s' does not define its output '%s'", function->name, function->out[i]);
        rlx_call_out(call, i, value == &call->import->absent ? NULL : value);
    }
}

/* Attributes of the call must be among those the function declares. */
static void attrs_check(rlx_onnx_call_t *call, const rlx_onnx_function_t *function)
{
    for (int i = 0; i < call->node->n_attrs; i++) {
        const char *name = call->node->attrs[i].name;
        bool known = false;

        for (int k = 0; k < function->n_attr_names; k++)
            known = known || strcmp(function->attr_names[k], name) == 0;
        for (int k = 0; k < function->n_attrs; k++)
            known = known || strcmp(function->attrs[k].name, name) == 0;
        if (!known)
            rlx_call_fail(call, RLX_E_ONNX_NODE, "function '%s' has no attribute '%s'", function->name, name);
    }
}

void rlx_onnx_function_call(rlx_onnx_call_t *call, const rlx_onnx_function_t *function)
{
    rlx_onnx_scope_t scope = {.place = "",
                              .body = call->scope->body,
                              .call = call,
                              .function = function,
                              .opsets = function->opsets,
                              .n_opsets = function->n_opsets,
                              .depth = call->scope->depth + 1};

    if (scope.depth > RLX_ONNX_CALL_DEPTH_MAX) {
        rlx_call_fail(call, RLX_E_ONNX_LIMIT, "functions call each other more than %d deep", RLX_ONNX_CALL_DEPTH_MAX);
        return;
    }
    if (call->n_in > function->n_in || call->n_out > function->n_out) {
        rlx_call_fail(call, RLX_E_ONNX_NODE, "function '%s' has %d inputs and %d outputs; the call has %d and %d", function->name,
                      function->n_in, function->n_out, call->n_in, call->n_out);
        return;
    }
    attrs_check(call, function);
    rlx_onnx_names_init(&scope.names);
    inputs_bind(call, function, &scope);
    if (rlx_call_ok(call))
        call->status = rlx_onnx_nodes_convert(call->import, &scope, function->nodes, function->n_nodes);
    outputs_take(call, function, &scope);
    rlx_onnx_names_fini(&scope.names);
}
