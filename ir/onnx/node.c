/* Converts the nodes of a body in order: operands by name, counts, the operator's converter, attributes that nobody read, results by name.
 * A name is defined once; a name that is used before it is defined is refused, which also refuses cycles. */
#include "ir/onnx/body.h"

#include <string.h>

#include "ir/graph_memory.h"

rlx_value_t *rlx_onnx_scope_get(const rlx_onnx_scope_t *scope, const char *name)
{
    struct rlx_onnx_body *body = scope->body;

    for (; scope != NULL && scope->body == body; scope = scope->parent) {
        rlx_value_t *value = rlx_onnx_names_get(&scope->names, name);

        if (value != NULL)
            return value;
    }
    return scope != NULL ? rlx_onnx_body_capture(body, scope, name) : NULL;
}

static bool scope_has(const rlx_onnx_scope_t *scope, const char *name)
{
    for (; scope != NULL; scope = scope->parent)
        if (rlx_onnx_names_get(&scope->names, name) != NULL)
            return true;
    return false;
}

bool rlx_onnx_scope_add(rlx_onnx_scope_t *scope, const char *name, rlx_value_t *value)
{
    return !scope_has(scope, name) && rlx_onnx_names_add(&scope->names, name, value);
}

static rlx_status_t opset_find(rlx_onnx_call_t *call)
{
    const rlx_onnx_scope_t *scope = call->scope;
    const rlx_onnx_model_t *model = call->import->model;

    for (int i = 0; i < scope->n_opsets; i++)
        if (strcmp(scope->opsets[i].domain, call->node->domain) == 0) {
            call->opset = scope->opsets[i].version;
            return RLX_OK;
        }
    for (int i = 0; i < model->n_opsets; i++)
        if (strcmp(model->opsets[i].domain, call->node->domain) == 0) {
            call->opset = model->opsets[i].version;
            return RLX_OK;
        }
    rlx_call_fail(call, RLX_E_ONNX_OPSET, "the model imports no opset of domain '%s'", call->node->domain);
    return call->status;
}

static void operands_find(rlx_onnx_call_t *call)
{
    call->in = rlx_graph_alloc(call->graph, (size_t)(call->n_in + 1) * sizeof *call->in);
    for (int i = 0; i < call->n_in; i++) {
        const char *name = call->node->in[i];
        rlx_value_t *value = name[0] != '\0' ? rlx_onnx_scope_get(call->scope, name) : NULL;

        if (name[0] != '\0' && value == NULL) {
            rlx_call_fail(call, RLX_E_ONNX_GRAPH,
                          "operand %d '%s' is not defined before this node: missing, or nodes are not in topological order", i, name);
            return;
        }
        call->in[i] = value == &call->import->absent ? NULL : value;
    }
    while (call->n_in > 0 && call->in[call->n_in - 1] == NULL)
        call->n_in--;
}

static void counts_check(rlx_onnx_call_t *call)
{
    const rlx_onnx_row_t *row = call->row;

    if (call->opset < row->since)
        rlx_call_fail(call, RLX_E_ONNX_NODE, "%s exists since opset %d; the model uses opset %lld", row->name, row->since,
                      (long long)call->opset);
    if (call->n_in > row->max_in || call->n_out > row->max_out)
        rlx_call_fail(call, RLX_E_ONNX_NODE, "%s has at most %d operands and %d results; the node has %d and %d", row->name, row->max_in,
                      row->max_out, call->n_in, call->n_out);
    for (int i = 0; i < row->min_in; i++)
        if (rlx_call_in(call, i) == NULL)
            rlx_call_fail(call, RLX_E_ONNX_NODE, "operand %d of %s is missing", i, row->name);
}

static void attrs_check(rlx_onnx_call_t *call)
{
    for (int i = 0; i < call->node->n_attrs; i++)
        if (!call->attr_used[i])
            rlx_call_fail(call, RLX_E_ONNX_OPERATOR, "attribute '%s' is unknown for %s at opset %lld, or not supported",
                          call->node->attrs[i].name, call->node->op_type, (long long)call->opset);
    if (!rlx_call_ok(call))
        rlx_diag_hint(call->diag, "Remove the attribute if its value changes nothing, or export the model with another opset.");
}

static void operator_convert(rlx_onnx_call_t *call)
{
    const char *reason = NULL;
    const rlx_onnx_function_t *function = rlx_onnx_function_find(call->import, call->node->domain, call->node->op_type);

    if (function != NULL) {
        operands_find(call);
        if (rlx_call_ok(call))
            rlx_onnx_function_call(call, function);
        return;
    }
    call->row = rlx_onnx_row_find(call->node->domain, call->node->op_type, &reason);
    if (call->row == NULL) {
        rlx_call_fail(call, RLX_E_ONNX_OPERATOR, "operator %s%s%s is not supported%s%s", call->node->domain,
                      call->node->domain[0] ? "." : "", call->node->op_type, reason != NULL ? ": " : "", reason != NULL ? reason : "");
        if (reason == NULL && call->node->domain[0] == '\0' && rlx_onnx_row_closest(call->node->op_type) != NULL)
            rlx_diag_hint(call->diag, "Did you mean '%s'?", rlx_onnx_row_closest(call->node->op_type));
        return;
    }
    if (opset_find(call) != RLX_OK)
        return;
    operands_find(call);
    if (rlx_call_ok(call))
        counts_check(call);
    if (rlx_call_ok(call))
        call->row->convert(call);
    if (rlx_call_ok(call))
        attrs_check(call);
}

/* Binds results to their names; at the top level values take them over, so that dumps and outputs speak the model's names. */
static void results_define(rlx_onnx_call_t *call, rlx_onnx_scope_t *scope)
{
    for (int i = 0; i < call->n_out && rlx_call_ok(call); i++) {
        const char *name = call->node->out[i];
        rlx_value_t *value = call->out[i];

        if (name[0] == '\0')
            continue;
        if (value == NULL) {
            rlx_call_fail(call, RLX_E_ONNX_OPERATOR, "result %d '%s' of %s is not supported", i, name, call->node->op_type);
        } else if (!rlx_onnx_scope_add(scope, name, value)) {
            rlx_call_fail(call, RLX_E_ONNX_GRAPH, "'%s' is defined twice%s", name,
                          scope->parent != NULL ? " (a branch may not redefine a name around it)" : "");
        } else if (scope->depth == 0 && value->name[0] == '~' && !value->is_input) {
            rlx_value_rename(call->graph, value, rlx_graph_memory_name(call->graph->memory, name));
        }
    }
}

/* What an op says it comes from. Without the node's number: in a text, a node more or less would change every line behind it. */
static const char *source_make(rlx_onnx_import_t *import, const rlx_onnx_scope_t *scope, const rlx_onnx_node_t *node)
{
    if (node->name[0] != '\0' || node->n_out == 0)
        return rlx_graph_printf(import->graph, "%snode '%s' (%s)", scope->place, node->name, node->op_type);
    return rlx_graph_printf(import->graph, "%snode of '%s' (%s)", scope->place, node->out[0], node->op_type);
}

/* The file, the node with its number, and the function or branch that it stands in. The first to say so stands inmost. */
static void failure_place(rlx_onnx_call_t *call, int index)
{
    rlx_onnx_import_t *import = call->import;
    const rlx_onnx_scope_t *scope = call->scope;
    const rlx_onnx_node_t *node = call->node;
    bool named = node->name[0] != '\0' || node->n_out == 0;
    const char *name = named ? node->name : node->out[0], *of = named ? "" : " of";

    if (import->placed || import->diag == NULL)
        return;
    import->placed = true;
    import->diag->where[0] = '\0';
    if (scope->call != NULL)
        rlx_diag_at(import->diag, "%s: function '%s', %snode %d%s '%s' (%s), called by %s", import->file, scope->function->name, scope->place,
                    index, of, name, node->op_type, call->source);
    else
        rlx_diag_at(import->diag, "%s: %snode %d%s '%s' (%s)", import->file, scope->place, index, of, name, node->op_type);
    if (call->in != NULL)
        rlx_onnx_path_set(call);
}

static rlx_status_t node_convert(rlx_onnx_import_t *import, rlx_onnx_scope_t *scope, const rlx_onnx_node_t *node, int index)
{
    rlx_onnx_call_t call = {.import = import,
                            .graph = import->graph,
                            .scope = scope,
                            .node = node,
                            .n_in = node->n_in,
                            .n_out = node->n_out,
                            .diag = import->diag};

    call.source = scope->call != NULL ? scope->call->source : source_make(import, scope, node);
    call.out = rlx_graph_alloc(import->graph, (size_t)(node->n_out + 1) * sizeof *call.out);
    call.attr_used = rlx_graph_alloc(import->graph, (size_t)node->n_attrs + 1);
    if (--import->node_budget < 0)
        rlx_call_fail(&call, RLX_E_ONNX_LIMIT, "functions expand to more than %d nodes", RLX_ONNX_NODES_MAX);
    else
        operator_convert(&call);
    results_define(&call, scope);
    if (call.status == RLX_OK)
        return RLX_OK;
    failure_place(&call, index);
    return call.status;
}

rlx_status_t rlx_onnx_nodes_convert(rlx_onnx_import_t *import, rlx_onnx_scope_t *scope, const rlx_onnx_node_t *nodes, int n)
{
    for (int i = 0; i < n; i++)
        RLX_TRY(node_convert(import, scope, &nodes[i], i));
    return RLX_OK;
}
