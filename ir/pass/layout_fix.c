/* Layouts that are fixed: by the text, and at the graph's outputs. See ir/pass/layout_demand.h. */
#include "ir/pass/layout_demand.h"

#include <string.h>

#include "ir/annotation.h"
#include "ir/schedule.h"

rlx_value_t *rlx_layout_reorder(rlx_graph_t *graph, rlx_value_t *value, rlx_layout_t layout, rlx_op_t *op, const char *source)
{
    rlx_value_t *made = rlx_graph_value(graph, value->name, value->dtype);
    rlx_op_t *reorder = rlx_graph_op(graph, op, RLX_OP_reorder, value->name, 1, &value, 1, &made);

    reorder->source = source;
    rlx_op_set_int(graph, reorder, "to", layout);
    made->rank = value->rank;
    memcpy(made->dims, value->dims, sizeof made->dims);
    made->layout = layout;
    return made;
}

/* Gives `value`, made by `op`, the layout that the text fixes: the op makes another value, from which a reorder makes this one. */
void rlx_layout_fix_output(rlx_graph_t *graph, rlx_op_t *op, int index)
{
    rlx_value_t *value = op->out[index], *raw;
    rlx_layout_t wanted = value->layout;
    rlx_op_t *reorder;

    if (!rlx_layout_demand(graph, value, &wanted) || wanted == value->layout)
        return;
    raw = rlx_graph_value(graph, value->name, value->dtype);
    raw->rank = value->rank;
    memcpy(raw->dims, value->dims, sizeof raw->dims);
    raw->layout = value->layout;
    op->out[index] = raw;
    raw->producer = op;
    value->producer = NULL; /* changes hands */
    if (raw->layout != RLX_LAYOUT_ROW_MAJOR && wanted != RLX_LAYOUT_ROW_MAJOR)
        raw = rlx_layout_reorder(graph, raw, RLX_LAYOUT_ROW_MAJOR, op->next, op->source);
    reorder = rlx_graph_op(graph, raw->producer->next, RLX_OP_reorder, value->name, 1, &raw, 1, &value);
    reorder->source = op->source;
    rlx_op_set_int(graph, reorder, "to", wanted);
    value->layout = wanted;
}

/* `op` reads `made` instead of `input`, in its epilogue as well. */
static void input_replace(rlx_op_t *op, const rlx_value_t *input, rlx_value_t *made)
{
    const rlx_schedule_t *sched = op->sched;

    for (int i = 0; i < op->n_in; ++i)
        if (op->in[i] == input)
            rlx_op_set_input(op, i, made);
    for (int i = 0; sched != NULL && sched->epilogue != NULL && i < sched->epilogue->n_steps; ++i)
        if (sched->epilogue->steps[i].tensor == input)
            sched->epilogue->steps[i].tensor = made;
}

/* Where the text fixes the layout. */
static const char *source_of(rlx_graph_t *graph, const rlx_value_t *value)
{
    rlx_span_t span = value->annotation->layout_span;

    return graph->text == NULL ? value->name : rlx_graph_printf(graph, "%s:%u:%u", graph->text, span.line, span.column);
}

/* An input comes row-major; where the text fixes another order, a reorder makes that buffer, which everyone reads. */
void rlx_layout_fix_inputs(rlx_graph_t *graph)
{
    for (int i = 0; i < graph->n_inputs; ++i) {
        rlx_value_t *input = graph->inputs[i], *made;
        rlx_layout_t wanted;

        if (!rlx_layout_demand(graph, input, &wanted) || wanted == RLX_LAYOUT_ROW_MAJOR || graph->first == NULL)
            continue;
        made = rlx_layout_reorder(graph, input, wanted, graph->first, source_of(graph, input));
        for (rlx_op_t *op = graph->first->next; op != NULL; op = op->next)
            input_replace(op, input, made);
    }
}

/* Graph outputs are row-major: what a client sees never depends on a layout. */
void rlx_layout_settle_outputs(rlx_graph_t *graph)
{
    for (int i = 0; i < graph->n_outputs; ++i) {
        rlx_value_t *value = graph->outputs[i];
        rlx_value_t *blocked;
        rlx_op_t *op = value->producer, *reorder;

        if (value->layout == RLX_LAYOUT_ROW_MAJOR || op == NULL)
            continue;
        blocked = rlx_graph_value(graph, value->name, value->dtype);
        blocked->rank = value->rank;
        memcpy(blocked->dims, value->dims, sizeof blocked->dims);
        blocked->layout = value->layout;
        rlx_value_replace_uses(graph, value, blocked);
        for (int k = 0; k < op->n_out; ++k)
            if (op->out[k] == value)
                op->out[k] = blocked;
        blocked->producer = op;
        value->layout = RLX_LAYOUT_ROW_MAJOR;
        value->producer = NULL; /* changes hands */
        reorder = rlx_graph_op(graph, op->next, RLX_OP_reorder, value->name, 1, &blocked, 1, &value);
        reorder->source = op->source;
        rlx_op_set_int(graph, reorder, "to", RLX_LAYOUT_ROW_MAJOR);
        /* replace_uses moved the graph output too: give it back. */
        for (int k = 0; k < graph->n_outputs; ++k)
            if (graph->outputs[k] == blocked) {
                graph->outputs[k] = value;
                ++value->n_uses;
                --blocked->n_uses;
            }
        blocked->is_output = false;
        value->is_output = true;
    }
}
