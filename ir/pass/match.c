/* Helpers that passes share to recognise and replace small patterns. */
#include <string.h>

#include "base/assert.h"
#include "ir/pass.h"

rlx_op_t *rlx_value_single_user(const rlx_graph_t *graph, const rlx_value_t *value)
{
    rlx_op_t *start = value->producer != NULL ? value->producer->next : graph->first;

    if (value->n_uses != 1 || value->is_output)
        return NULL;
    for (rlx_op_t *op = start; op != NULL; op = op->next)
        for (int i = 0; i < op->n_in; ++i)
            if (op->in[i] == value)
                return op;
    return NULL;
}

rlx_op_t *rlx_value_made_by(const rlx_value_t *value, rlx_op_kind_t kind)
{
    return value != NULL && value->producer != NULL && value->producer->kind == kind ? value->producer : NULL;
}

bool rlx_value_scalar(const rlx_graph_t *graph, const rlx_value_t *value, double *out_scalar)
{
    int64_t count;

    if (value == NULL || value->data == NULL || !rlx_expr_is_const(graph->exprs, rlx_value_count(graph, value), &count) || count != 1)
        return false;
    switch (value->dtype) {
    case RLX_F32: *out_scalar = *(const float *)value->data; return true;
    case RLX_F64: *out_scalar = *(const double *)value->data; return true;
    case RLX_I64: *out_scalar = (double)*(const int64_t *)value->data; return true;
    case RLX_I32: *out_scalar = *(const int32_t *)value->data; return true;
    default: return false;
    }
}

bool rlx_value_same_shape(const rlx_value_t *a, const rlx_value_t *b)
{
    if (a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; ++i)
        if (a->dims[i] != b->dims[i])
            return false;
    return true;
}

rlx_value_t *rlx_op_other(const rlx_op_t *op, const rlx_value_t *value) { return op->in[0] == value ? op->in[1] : op->in[0]; }

void rlx_op_replace(rlx_graph_t *graph, rlx_op_t *op, rlx_value_t *value)
{
    rlx_value_t *old = op->out[0];

    if (old->is_output && !value->is_input && !value->is_output) {
        const char *name = old->name;

        old->name = value->name;
        value->name = name;
    }
    rlx_value_replace_uses(graph, old, value);
    rlx_graph_remove(graph, op);
}

rlx_value_t *rlx_graph_insert(rlx_graph_t *graph, rlx_op_t *before, rlx_op_kind_t kind, const rlx_op_t *like, int n_in, rlx_value_t *const *in,
                              rlx_diag_t *diag)
{
    rlx_value_t *out = rlx_graph_value(graph, like->out[0] != NULL ? like->out[0]->name : like->name, in[0]->dtype);
    rlx_op_t *op = rlx_graph_op(graph, before, kind, like->name, n_in, in, 1, &out);

    op->source = like->source;
    return rlx_op_infer(graph, op, diag) == RLX_OK ? out : NULL;
}

rlx_schedule_t *rlx_op_schedule(rlx_graph_t *graph, rlx_op_t *op)
{
    if (op->sched == NULL) {
        rlx_schedule_t *sched = rlx_graph_alloc(graph, sizeof *sched);

        sched->n_operands = op->n_in;
        op->sched = sched;
    }
    return op->sched;
}
