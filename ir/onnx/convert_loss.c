/* Losses, spelled out: gather the target's log-probability, weigh it, reduce. */
#include "ir/onnx/convert.h"

#include <string.h>

/* -weight[target] * x[n, target, ...] and the weights themselves (NULL: all one). */
typedef struct nll_terms {
    rlx_value_t *loss, *weights;
} nll_terms_t;

static rlx_value_t *gather(rlx_onnx_call_t *call, rlx_op_kind_t kind, rlx_value_t *x, rlx_value_t *indices, int axis)
{
    rlx_value_t *in[2] = {x, indices};
    rlx_op_t *op;

    if (x == NULL || indices == NULL)
        return NULL;
    op = rlx_call_begin(call, kind, 2, in, 1);
    rlx_call_set_int(call, op, "axis", axis);
    return rlx_call_end(call, op);
}

static nll_terms_t nll_terms(rlx_onnx_call_t *call, rlx_value_t *x, rlx_value_t *target, rlx_value_t *weight)
{
    bool ignoring = rlx_call_has(call, "ignore_index");
    int64_t ignored = rlx_call_int(call, "ignore_index", -1);
    rlx_value_t *skip = NULL, *picked, *weights = NULL;

    if (ignoring) {
        skip = rlx_call_op2(call, RLX_OP_equal, target, rlx_call_scalar(call, target->dtype, (double)ignored));
        target = rlx_call_op3(call, RLX_OP_where, skip, rlx_call_scalar(call, target->dtype, 0), target);
    }
    if (target == NULL)
        return (nll_terms_t){NULL, NULL};
    picked = rlx_call_squeeze(call, gather(call, RLX_OP_gather_elements, x, rlx_call_unsqueeze(call, target, 1), 1), 1);
    if (weight != NULL)
        weights = gather(call, RLX_OP_gather, weight, target, 0);
    if (ignoring)
        weights = rlx_call_op3(call, RLX_OP_where, skip, rlx_call_scalar(call, x->dtype, 0),
                               weights != NULL ? weights : rlx_call_scalar(call, x->dtype, 1));
    picked = rlx_call_op1(call, RLX_OP_neg, picked);
    return (nll_terms_t){weights != NULL ? rlx_call_op2(call, RLX_OP_mul, picked, weights) : picked, weights};
}

static rlx_value_t *loss_reduce(rlx_onnx_call_t *call, nll_terms_t terms)
{
    const char *reduction = rlx_call_string(call, "reduction", "mean");

    if (strcmp(reduction, "none") == 0)
        return terms.loss;
    if (strcmp(reduction, "sum") == 0)
        return rlx_call_reduce(call, RLX_OP_reduce_sum, terms.loss, NULL, 0, false);
    if (strcmp(reduction, "mean") != 0)
        return rlx_call_fail(call, RLX_E_ONNX_NODE, "reduction is '%s'; it is none, sum or mean", reduction);
    if (terms.weights == NULL)
        return rlx_call_reduce(call, RLX_OP_reduce_mean, terms.loss, NULL, 0, false);
    return rlx_call_op2(call, RLX_OP_div, rlx_call_reduce(call, RLX_OP_reduce_sum, terms.loss, NULL, 0, false),
                        rlx_call_reduce(call, RLX_OP_reduce_sum, terms.weights, NULL, 0, false));
}

static bool operands_check(rlx_onnx_call_t *call)
{
    if (call->in[0]->rank < 2 || call->in[1]->rank != call->in[0]->rank - 1)
        rlx_call_fail(call, RLX_E_ONNX_NODE, "the target must have the scores' shape without the class axis; ranks are %d and %d",
                      call->in[1]->rank, call->in[0]->rank);
    return rlx_call_ok(call);
}

void rlx_convert_nll_loss(rlx_onnx_call_t *call)
{
    if (operands_check(call))
        rlx_call_out(call, 0, loss_reduce(call, nll_terms(call, call->in[0], call->in[1], rlx_call_in(call, 2))));
}

void rlx_convert_cross_entropy(rlx_onnx_call_t *call)
{
    rlx_value_t *log_prob;

    if (!operands_check(call))
        return;
    log_prob = rlx_call_softmax(call, RLX_OP_log_softmax, call->in[0], 1);
    if (log_prob == NULL)
        return;
    rlx_call_out(call, 0, loss_reduce(call, nll_terms(call, log_prob, call->in[1], rlx_call_in(call, 2))));
    rlx_call_out(call, 1, log_prob);
}
