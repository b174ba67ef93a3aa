/* Dead code, and the rule that every graph output is a value of its own, written by an op. */
#include "ir/pass.h"
#include "ir/pass/regions.h"

static bool is_dead(const rlx_op_t *op)
{
    for (int i = 0; i < op->n_out; ++i)
        if (op->out[i] != NULL && op->out[i]->n_uses > 0)
            return false;
    return true;
}

void rlx_pass_dead_code(rlx_graph_t *graph)
{
    rlx_op_t *prev;

    for (rlx_op_t *op = graph->last; op != NULL; op = prev) {
        prev = op->prev;
        if (is_dead(op))
            rlx_graph_remove(graph, op);
    }
}

/* Whether output `index` needs a copy: it is an input, a constant, finds its own memory, or stands among the outputs before. */
static bool needs_copy(const rlx_graph_t *graph, int index)
{
    const rlx_value_t *value = graph->outputs[index];

    for (int i = 0; i < index; ++i)
        if (graph->outputs[i] == value)
            return true;
    return value->is_input || value->data != NULL || value->producer == NULL || rlx_value_is_dynamic(graph, value);
}

rlx_status_t rlx_pass_outputs(rlx_graph_t *graph, rlx_diag_t *diag)
{
    for (int i = 0; i < graph->n_outputs; ++i) {
        rlx_value_t *value = graph->outputs[i];
        rlx_value_t *copy;
        rlx_op_t *op;
        const char *name = value->name;
        bool still_output = value->is_input;

        if (!needs_copy(graph, i))
            continue;
        copy = rlx_graph_value(graph, name, value->dtype);
        op = rlx_graph_op(graph, NULL, RLX_OP_identity, name, 1, &value, 1, &copy);
        op->source = rlx_graph_printf(graph, "graph output '%s'", name);
        if (rlx_op_infer(graph, op, diag) != RLX_OK)
            return rlx_diag_at(diag, "%s", op->source);
        copy->n_elements = -1;
        copy->elements = NULL;
        copy->is_output = true;
        ++copy->n_uses;
        --value->n_uses;
        graph->outputs[i] = copy;
        for (int k = 0; k < graph->n_outputs; ++k)
            still_output |= graph->outputs[k] == value;
        if (!value->is_input) {
            value->is_output = still_output;
            if (!still_output) {
                value->name = copy->name;
                copy->name = name;
            }
        } else {
            value->is_output = false;
            copy->name = name;
        }
    }
    return RLX_OK;
}
