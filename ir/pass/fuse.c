/* Fusion of element-wise ops: behind a convolution or product they become its epilogue; elsewhere, chains become one `fused` op.
 * Keeps every bit: each element goes through the same operations in the same order, only without trips to memory. */
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "ir/pass/affinity.h"
#include "ir/constraint.h"
#include "ir/dump/explain.h"
#include "ir/pass.h"
#include "kernels/params_elementwise.h"

#define FUSED_OPERANDS_MAX 20

static bool is_elementwise(const rlx_op_t *op) { return (rlx_op_info(op->kind)->traits & RLX_TRAIT_ELEMENTWISE) != 0; }

/* ---- epilogues ---- */

/* Unary f32 ops that kernels/epilogue.h applies; binary ones are add, sub, mul, div. */
static bool epilogue_unary(rlx_op_kind_t kind)
{
    switch (kind) {
    case RLX_OP_relu: case RLX_OP_leaky_relu: case RLX_OP_sigmoid: case RLX_OP_swish: case RLX_OP_hard_swish: case RLX_OP_hard_sigmoid:
    case RLX_OP_tanh: case RLX_OP_gelu: case RLX_OP_elu: case RLX_OP_softplus: case RLX_OP_mish: return true;
    default: return false;
    }
}

static bool epilogue_binary(rlx_op_kind_t kind) { return kind == RLX_OP_add || kind == RLX_OP_sub || kind == RLX_OP_mul || kind == RLX_OP_div; }

bool rlx_epilogue_step_of(const rlx_graph_t *graph, rlx_op_t *user, rlx_value_t *x, rlx_epilogue_step_t *out)
{
    double scalar, lo = 0, hi = 0;

    *out = (rlx_epilogue_step_t){.op = user};
    if (user->out[0]->dtype != RLX_F32 || !rlx_value_same_shape(user->out[0], x))
        return false;
    if (epilogue_unary(user->kind))
        return user->kind != RLX_OP_gelu || strcmp(rlx_op_string(user, "approximate"), "none") == 0;
    if (user->kind == RLX_OP_clip) {
        bool has_lo = rlx_op_in(user, 1) != NULL, has_hi = rlx_op_in(user, 2) != NULL;

        if (user->in[0] != x || (has_lo && !rlx_value_scalar(graph, user->in[1], &lo)) || (has_hi && !rlx_value_scalar(graph, user->in[2], &hi)))
            return false;
        out->lo = has_lo ? (float)lo : -__builtin_inff();
        out->hi = has_hi ? (float)hi : __builtin_inff();
        return true;
    }
    if (!epilogue_binary(user->kind) || user->in[0] == user->in[1])
        return false;
    out->running_is_second = user->in[1] == x;
    if (rlx_value_scalar(graph, rlx_op_other(user, x), &scalar)) {
        out->scalar = (float)scalar;
        return true;
    }
    out->tensor = rlx_op_other(user, x);
    return out->tensor->dtype == RLX_F32;
}

/* A tensor of a convolution or product is a residual: of the output's shape, not constant. */
static bool residual_step(const rlx_graph_t *graph, rlx_op_t *user, rlx_value_t *x, rlx_epilogue_step_t *out)
{
    if (!rlx_epilogue_step_of(graph, user, x, out))
        return false;
    return out->tensor == NULL || (rlx_value_same_shape(out->tensor, x) && out->tensor->data == NULL);
}

/* Whether `value` is defined before `op` (inputs and constants are). */
static bool defined_before(const rlx_value_t *value, const rlx_op_t *op)
{
    if (value->producer == NULL)
        return true;
    for (const rlx_op_t *at = op; at != NULL; at = at->prev)
        if (at == value->producer)
            return true;
    return false;
}

static void append_operand(rlx_graph_t *graph, rlx_op_t *op, rlx_value_t *value)
{
    rlx_value_t **in = rlx_graph_alloc(graph, (size_t)(op->n_in + 1) * sizeof *in);

    memcpy(in, op->in, (size_t)op->n_in * sizeof *in);
    op->in = in;
    ++op->n_in;
    rlx_op_set_input(op, op->n_in - 1, value);
}

static void unlink_op(rlx_graph_t *graph, rlx_op_t *op)
{
    *(op->prev != NULL ? &op->prev->next : &graph->first) = op->next;
    *(op->next != NULL ? &op->next->prev : &graph->last) = op->prev;
}

static void link_before(rlx_graph_t *graph, rlx_op_t *op, rlx_op_t *before)
{
    op->next = before;
    op->prev = before->prev;
    *(before->prev != NULL ? &before->prev->next : &graph->first) = op;
    before->prev = op;
}

/* Takes `user` into `op`'s epilogue: op then produces user's output. The residual must exist where the op runs, so the op moves down to the
 * user's place. */
static void absorb(rlx_graph_t *graph, rlx_op_t *op, rlx_op_t *user, const rlx_epilogue_step_t *step)
{
    rlx_schedule_t *sched = rlx_op_schedule(graph, op);

    if (sched->epilogue == NULL)
        sched->epilogue = rlx_graph_alloc(graph, sizeof *sched->epilogue);
    sched->epilogue->steps[sched->epilogue->n_steps++] = *step;
    rlx_explain(graph, user, "fusion", "element by element on a result that nobody else reads: no trip to memory", "another reader, a layout or a memory of its own",
                "fused into '%s': applied to its results in registers", op->name);
    if (step->tensor != NULL) {
        append_operand(graph, op, step->tensor);
        unlink_op(graph, op);
        link_before(graph, op, user);
    }
    for (int i = 0; i < user->n_in; ++i)
        if (user->in[i] != NULL)
            --user->in[i]->n_uses;
    op->out[0] = user->out[0];
    op->out[0]->producer = op;
    unlink_op(graph, user);
    --graph->n_ops;
}

/* Why `user`, the next op, cannot become part of `op`, or NULL. */
static const char *epilogue_obstacle(const rlx_graph_t *graph, const rlx_op_t *op, rlx_op_t *user, rlx_epilogue_step_t *out_step,
                                     char why[RLX_AFFINITY_WHY])
{
    if (!is_elementwise(user) || user->kind == RLX_OP_fused || !residual_step(graph, user, op->out[0], out_step))
        return "is no step of an epilogue";
    if (out_step->tensor != NULL && (!defined_before(out_step->tensor, user) || out_step->tensor == op->out[0]))
        return "reads a tensor that is not there yet";
    if (rlx_op_has_demand(user))
        return "has a schedule of its own";
    return rlx_affinity_keeps(op->out[0], user->out[0], why) ? why : NULL;
}

static void grow_epilogue(rlx_graph_t *graph, rlx_op_t *op)
{
    char why[RLX_AFFINITY_WHY];

    for (int steps = 0; steps < RLX_EPILOGUE_MAX; steps++) {
        rlx_op_t *user = rlx_value_single_user(graph, op->out[0]);
        const char *obstacle;
        rlx_epilogue_step_t step;

        if (user == NULL) {
            rlx_explain(graph, op, "fusion", "a result that others read, too, needs its buffer", "fewer readers",
                        op->out[0]->is_output ? "nothing more is fused: '%s' is an output" : "nothing more is fused: '%s' has several readers",
                        op->out[0]->name);
            return;
        }
        obstacle = epilogue_obstacle(graph, op, user, &step, why);
        if (obstacle != NULL) {
            rlx_explain(graph, op, "fusion", obstacle == why ? "operators with different memories are not fused" : "kernels/epilogue.h lists the steps",
                        obstacle == why ? "the same memory_affinity, or none on the tensor between" : "an element-wise operator there",
                        "not fused with '%s' (%s): %s", user->name, rlx_op_info(user->kind)->name, obstacle);
            return;
        }
        absorb(graph, op, user, &step);
    }
}

/* ---- chains ---- */

static rlx_chain_t *single_chain(rlx_graph_t *graph, const rlx_op_t *op)
{
    rlx_chain_t *chain = rlx_graph_alloc(graph, sizeof *chain);
    rlx_chain_step_t *step = &chain->steps[0];

    step->op = op;
    step->dtype = op->out[0]->dtype;
    for (int i = 0; i < 3; ++i)
        step->src[i] = i < op->n_in && op->in[i] != NULL ? i : RLX_CHAIN_ABSENT;
    chain->n_steps = 1;
    chain->n_results = 1;
    return chain;
}

static const rlx_chain_t *chain_of(rlx_graph_t *graph, const rlx_op_t *op)
{
    return op->kind == RLX_OP_fused ? ((const rlx_schedule_t *)op->sched)->chain : single_chain(graph, op);
}

typedef struct merge {
    rlx_chain_t chain;
    rlx_value_t *operands[FUSED_OPERANDS_MAX];
    int n_operands;
    bool full;
} merge_t;

static int merge_operand(merge_t *merge, rlx_value_t *value)
{
    for (int i = 0; i < merge->n_operands; ++i)
        if (merge->operands[i] == value)
            return i;
    if (merge->n_operands == FUSED_OPERANDS_MAX) {
        merge->full = true;
        return 0;
    }
    merge->operands[merge->n_operands] = value;
    return merge->n_operands++;
}

/* Appends `op`'s chain; references to `inner`'s output become its result step. */
static void merge_chain(rlx_graph_t *graph, merge_t *merge, const rlx_op_t *op, const rlx_value_t *inner, int inner_result)
{
    const rlx_chain_t *chain = chain_of(graph, op);
    int base = merge->chain.n_steps;

    if (base + chain->n_steps > RLX_CHAIN_MAX) {
        merge->full = true;
        return;
    }
    for (int i = 0; i < chain->n_steps; ++i) {
        rlx_chain_step_t step = chain->steps[i];

        for (int k = 0; k < 3; ++k) {
            if (step.src[k] == RLX_CHAIN_ABSENT)
                continue;
            if (step.src[k] < 0)
                step.src[k] = ~(~step.src[k] + base);
            else if (op->in[step.src[k]] == inner && inner != NULL)
                step.src[k] = ~inner_result;
            else
                step.src[k] = merge_operand(merge, op->in[step.src[k]]);
        }
        merge->chain.steps[merge->chain.n_steps++] = step;
    }
}

static int uses_by(const rlx_op_t *op, const rlx_value_t *value)
{
    int count = 0;

    for (int i = 0; i < op->n_in; ++i)
        count += op->in[i] == value;
    return count;
}

static bool can_inline(const rlx_op_t *op, const rlx_value_t *value)
{
    const rlx_op_t *producer = value != NULL ? value->producer : NULL;

    return producer != NULL && is_elementwise(producer) && !value->is_output && rlx_value_same_shape(value, op->out[0]) && value->n_uses == uses_by(op, value);
}

/* What the text says may forbid what could be. */
static bool may_inline(const rlx_graph_t *graph, const rlx_op_t *op, const rlx_value_t *value)
{
    const rlx_op_t *producer = value->producer;
    char why[RLX_AFFINITY_WHY];

    if (rlx_op_has_demand(op) || rlx_op_has_demand(producer))
        snprintf(why, sizeof why, "a schedule of its own");
    else if (!rlx_affinity_keeps(value, op->out[0], why))
        return true;
    rlx_explain(graph, producer, "fusion", "what the text says of a tensor or its operator is kept", "the same memory_affinity, or none, and no schedule",
                "not fused into '%s': %s", op->name, why);
    return false;
}

/* Whether the target's code may hold the merged chain: an upper bound of its scratch, a block for every operand, step and result. */
static bool chain_allowed(const rlx_graph_t *graph, const merge_t *merge, const rlx_op_t *op, const rlx_op_t *producer)
{
    const rlx_constraint_t *constraint = graph->constraint;
    int64_t bytes = RLX_ELEMENTWISE_SCRATCH((int64_t)merge->n_operands + merge->chain.n_steps + 1);

    if (constraint == NULL || bytes <= constraint->chain_scratch_max)
        return true;
    rlx_text_printf(constraint->report, "- %s: '%s' is not fused into '%s': the chain would need %lld bytes of scratch, at most %lld\n",
                    constraint->target, producer->name, op->name, (long long)bytes, (long long)constraint->chain_scratch_max);
    return false;
}

/* Merges the producer of operand `index` into `op`; returns the new op, or NULL when limits forbid it. */
static rlx_op_t *inline_producer(rlx_graph_t *graph, rlx_op_t *op, rlx_value_t *value)
{
    rlx_op_t *producer = value->producer;
    merge_t merge = {0};
    rlx_value_t *out = op->out[0];
    rlx_op_t *fused;
    rlx_chain_t *chain;

    merge_chain(graph, &merge, producer, NULL, 0);
    if (!merge.full)
        merge_chain(graph, &merge, op, value, merge.chain.n_steps - 1);
    if (merge.full || !chain_allowed(graph, &merge, op, producer))
        return NULL;
    rlx_explain(graph, producer, "fusion", "element by element on a result that nobody else reads: no trip to memory",
                "another reader, a layout or a memory of its own", "fused with '%s' (%s) into one pass over memory", op->name, rlx_op_info(op->kind)->name);
    out->producer = NULL; /* changes hands */
    fused = rlx_graph_op(graph, op, RLX_OP_fused, op->name, merge.n_operands, merge.operands, 1, &out);
    fused->source = op->source;
    chain = rlx_graph_alloc(graph, sizeof *chain);
    *chain = merge.chain;
    chain->n_results = 1;
    chain->result[0] = chain->n_steps - 1;
    rlx_op_schedule(graph, fused)->chain = chain;
    op->out[0] = NULL;
    rlx_graph_remove(graph, op);
    if (value->n_uses == 0)
        rlx_graph_remove(graph, producer);
    return fused;
}

static rlx_op_t *grow_chain(rlx_graph_t *graph, rlx_op_t *op)
{
    bool changed = true;

    while (changed) {
        changed = false;
        for (int i = 0; i < op->n_in && !changed; ++i) {
            rlx_op_t *fused;

            if (!can_inline(op, op->in[i]) || !may_inline(graph, op, op->in[i]))
                continue;
            fused = inline_producer(graph, op, op->in[i]);
            if (fused != NULL) {
                op = fused;
                changed = true;
            }
        }
    }
    return op;
}

rlx_status_t rlx_pass_fuse(rlx_graph_t *graph, rlx_diag_t *diag)
{
    (void)diag;
    for (rlx_op_t *op = graph->last, *prev; op != NULL; op = prev) {
        prev = op->prev;
        if ((op->kind == RLX_OP_conv || op->kind == RLX_OP_conv_transpose || op->kind == RLX_OP_matmul) && op->out[0]->dtype == RLX_F32)
            grow_epilogue(graph, op);
    }
    for (rlx_op_t *op = graph->first; op != NULL; op = op->next)
        if (is_elementwise(op) && op->n_out == 1)
            op = grow_chain(graph, op);
    return RLX_OK;
}
