/* Captures and the conversion of bodies (ir/onnx/body.h). */
#include "ir/onnx/body.h"

#include <string.h>

#include "ir/flow.h"
#include "ir/graph_memory.h"

#define TRANSLATE_DEPTH_MAX 32

void rlx_onnx_body_begin(rlx_onnx_call_t *call, rlx_onnx_body_t *body, const char *place)
{
    const rlx_onnx_scope_t *around = call->scope;
    int depth = around->body != NULL ? around->body->depth + 1 : 1;

    *body = (rlx_onnx_body_t){.import = call->import, .outer = call->graph, .depth = depth};
    body->graph = rlx_graph_create_child(call->graph, place);
    body->scope = (rlx_onnx_scope_t){.parent = around, .body = body, .call = around->call, .function = around->function,
                                     .opsets = around->opsets, .n_opsets = around->n_opsets, .depth = around->depth + 1};
    body->scope.place = rlx_graph_printf(body->graph, "%s, %s: ", call->source, place);
    rlx_onnx_names_init(&body->scope.names);
    call->import->graph = body->graph;
    if (depth > RLX_ONNX_BODY_DEPTH_MAX || around->depth >= RLX_ONNX_CALL_DEPTH_MAX)
        rlx_call_fail(call, RLX_E_ONNX_LIMIT, "branches, loops and functions nest more than %d deep", RLX_ONNX_BODY_DEPTH_MAX);
}

void rlx_onnx_body_end(rlx_onnx_call_t *call, rlx_onnx_body_t *body)
{
    call->import->graph = body->outer;
    rlx_onnx_names_fini(&body->scope.names);
}

static rlx_expr_t known_find(const rlx_onnx_body_t *body, rlx_expr_t outer)
{
    for (int i = 0; i < body->n_known; i++)
        if (body->known[i].outer == outer)
            return body->known[i].inner;
    return RLX_EXPR_NONE;
}

static void known_add(rlx_onnx_body_t *body, rlx_expr_t outer, rlx_expr_t inner)
{
    body->known = rlx_graph_array_grow(body->graph, body->known, body->n_known, &body->cap_known, sizeof *body->known);
    body->known[body->n_known++] = (rlx_onnx_known_t){outer, inner};
}

/* An outer expression inside, as far as its symbols are known there. */
static rlx_expr_t translate(const rlx_onnx_body_t *body, rlx_expr_t outer, int depth)
{
    const rlx_expr_node_t *node;
    rlx_expr_t inner, a, b, c;

    if (outer < 0 || depth == 0)
        return RLX_EXPR_NONE;
    node = rlx_expr_node(body->outer->exprs, outer);
    if (node->op == RLX_EXPR_CONST)
        return rlx_expr_const(body->graph->exprs, node->value);
    inner = known_find(body, outer);
    if (inner >= 0 || node->op == RLX_EXPR_SYMBOL)
        return inner;
    a = translate(body, node->a, depth - 1);
    b = a >= 0 ? translate(body, node->b, depth - 1) : RLX_EXPR_NONE;
    if (node->op != RLX_EXPR_SELECT)
        return b >= 0 ? rlx_expr_binary(body->graph->exprs, node->op, a, b) : RLX_EXPR_NONE;
    c = b >= 0 ? translate(body, node->c, depth - 1) : RLX_EXPR_NONE;
    return c >= 0 ? rlx_expr_select(body->graph->exprs, a, b, c) : RLX_EXPR_NONE;
}

/* A new symbol for an extent of an input; named as outside where it is a symbol there. */
static rlx_expr_t extent_symbol(rlx_onnx_body_t *body, rlx_value_t *input, int axis, rlx_expr_t outer)
{
    rlx_graph_t *graph = body->graph;
    const rlx_expr_node_t *node = outer >= 0 ? rlx_expr_node(body->outer->exprs, outer) : NULL;
    const char *name = node != NULL && node->op == RLX_EXPR_SYMBOL ? body->outer->symbols[node->value].name
                                                                   : rlx_graph_printf(graph, "%s_d%d", input->name, axis);
    int64_t min = node != NULL && node->min > 0 ? node->min : 0;
    int64_t max = node != NULL && node->max < RLX_EXTENT_MAX ? node->max : RLX_EXTENT_MAX;
    int known = graph->n_symbols, symbol = rlx_graph_symbol(graph, name, input, axis, 0, min, max);

    while (symbol < known) { /* the name is taken */
        name = rlx_graph_printf(graph, "%s_", name);
        symbol = rlx_graph_symbol(graph, name, input, axis, 0, min, max);
    }
    return rlx_expr_symbol(graph->exprs, symbol, graph->symbols[symbol].min, graph->symbols[symbol].max);
}

/* Plain symbols first, so that what is made of them can be said with them. */
static void dims_make(rlx_onnx_body_t *body, rlx_value_t *input, const rlx_value_t *outer, const bool *varies)
{
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < outer->rank; i++) {
            bool plain = rlx_expr_node(body->outer->exprs, outer->dims[i])->op == RLX_EXPR_SYMBOL;

            if (plain != (pass == 0))
                continue;
            input->dims[i] = RLX_EXPR_NONE;
            if (varies != NULL && varies[i]) {
                input->dims[i] = extent_symbol(body, input, i, RLX_EXPR_NONE);
                continue;
            }
            input->dims[i] = translate(body, outer->dims[i], TRANSLATE_DEPTH_MAX);
            if (input->dims[i] >= 0)
                continue;
            input->dims[i] = extent_symbol(body, input, i, outer->dims[i]);
            known_add(body, outer->dims[i], input->dims[i]);
        }
}

static void elements_make(rlx_onnx_body_t *body, rlx_value_t *input, const rlx_value_t *outer)
{
    if (outer->elements == NULL || outer->n_elements < 0)
        return;
    input->n_elements = outer->n_elements;
    input->elements = rlx_graph_alloc(body->graph, (size_t)(outer->n_elements + 1) * sizeof *input->elements);
    for (int i = 0; i < outer->n_elements; i++)
        input->elements[i] = translate(body, outer->elements[i], TRANSLATE_DEPTH_MAX);
}

rlx_value_t *rlx_onnx_body_input(rlx_onnx_body_t *body, const char *name, const rlx_value_t *outer, bool carried, const bool *varies)
{
    rlx_value_t *input = rlx_graph_input(body->graph, name, outer->dtype, outer->rank, NULL);

    input->rank = outer->rank;
    dims_make(body, input, outer, varies);
    if (!carried)
        elements_make(body, input, outer);
    return input;
}

rlx_value_t *rlx_onnx_body_take(rlx_onnx_body_t *body, const char *name, rlx_value_t *outer)
{
    int64_t dims[RLX_RANK_MAX];

    if (outer->data != NULL && rlx_value_dims_const(body->outer, outer, dims))
        return rlx_graph_const(body->graph, name, outer->dtype, outer->rank, dims, outer->data, true);
    for (int i = 0; i < body->n_captured; i++) /* under another name */
        if (body->captured[i] == outer)
            return body->graph->inputs[body->graph->n_inputs - body->n_captured + i];
    body->captured = rlx_graph_array_grow(body->graph, body->captured, body->n_captured, &body->cap_captured, sizeof *body->captured);
    body->captured[body->n_captured++] = outer;
    return rlx_onnx_body_input(body, name, outer, false, NULL);
}

rlx_value_t *rlx_onnx_body_capture(rlx_onnx_body_t *body, const rlx_onnx_scope_t *scope, const char *name)
{
    rlx_value_t *outer = rlx_onnx_scope_get(scope, name), *inner;

    if (outer == NULL || outer == &body->import->absent)
        return outer;
    inner = rlx_onnx_body_take(body, name, outer);
    rlx_onnx_names_add(&body->scope.names, name, inner);
    return inner;
}

void rlx_onnx_body_convert(rlx_onnx_call_t *call, rlx_onnx_body_t *body, const rlx_onnx_model_t *graph)
{
    if (rlx_call_ok(call))
        call->status = rlx_onnx_inits_make(call->import, &body->scope, graph);
    if (rlx_call_ok(call))
        call->status = rlx_onnx_nodes_convert(call->import, &body->scope, graph->nodes, graph->n_nodes);
}

void rlx_onnx_body_output(rlx_onnx_call_t *call, rlx_onnx_body_t *body, rlx_value_t *value)
{
    rlx_value_t *copy = value;
    rlx_op_t *op;

    if (!rlx_call_ok(call) || value == NULL)
        return;
    if (value->is_input || value->data != NULL || value->is_output) {
        copy = rlx_graph_value(body->graph, value->name, RLX_DTYPE_NONE);
        op = rlx_graph_op(body->graph, NULL, RLX_OP_identity, value->name, 1, &value, 1, &copy);
        op->source = call->source;
        call->status = rlx_op_infer(body->graph, op, call->diag);
    }
    if (rlx_call_ok(call))
        rlx_graph_output(body->graph, copy);
}

void rlx_onnx_body_outputs(rlx_onnx_call_t *call, rlx_onnx_body_t *body, const rlx_onnx_model_t *graph, int first)
{
    for (int i = first; i < graph->n_outputs && rlx_call_ok(call); i++) {
        rlx_value_t *value = rlx_onnx_scope_get(&body->scope, graph->outputs[i].name);

        if (value == NULL || value == &call->import->absent)
            rlx_call_fail(call, RLX_E_ONNX_GRAPH, "%sits output '%s' is not defined", body->scope.place, graph->outputs[i].name);
        rlx_onnx_body_output(call, body, value);
    }
}

bool rlx_onnx_body_parse(rlx_onnx_call_t *call, const char *name, rlx_onnx_model_t *out_graph)
{
    const rlx_onnx_attr_t *attr = rlx_call_attr(call, name);
    int64_t node_budget = RLX_ONNX_NODES_MAX;

    memset(out_graph, 0, sizeof *out_graph);
    if (rlx_call_ok(call) && (attr == NULL || attr->type != RLX_ONNX_ATTR_GRAPH))
        rlx_call_fail(call, RLX_E_ONNX_NODE, "%s needs the graph '%s'", call->node->op_type, name);
    if (rlx_call_ok(call))
        call->status = rlx_onnx_graph_parse(call->graph, attr->graph, &node_budget, out_graph, call->diag);
    if (rlx_call_ok(call) && out_graph->has_sparse)
        rlx_call_fail(call, RLX_E_ONNX_OPERATOR, "%s: sparse initializers are not supported", name);
    return rlx_call_ok(call);
}
