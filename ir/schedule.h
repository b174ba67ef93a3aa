/* The scheduled level: what passes attach to an op (`op->sched`) for its lowering. Owned by the graph.
 *
 * Fusion never changes a bit: every fused op computes exactly what it would compute alone, on each element, in order. */
#ifndef RLX_IR_SCHEDULE_H
#define RLX_IR_SCHEDULE_H

#include "ir/graph.h"

#define RLX_CHAIN_MAX 32
#define RLX_EPILOGUE_MAX 8

/* A step of an element-wise chain. src[k] >= 0: operand of the fused op; src[k] < 0: result of step ~src[k]; absent: RLX_CHAIN_ABSENT. */
#define RLX_CHAIN_ABSENT INT32_MIN
typedef struct rlx_chain_step {
    const rlx_op_t *op; /* the original op (unlinked, alive): kind and attributes */
    rlx_dtype_t dtype;  /* of the result */
    int32_t src[3];
} rlx_chain_step_t;

/* `fused` ops: output k of the op is the result of step result[k]. All steps broadcast to the same output shape. */
typedef struct rlx_chain {
    int n_steps;
    rlx_chain_step_t steps[RLX_CHAIN_MAX];
    int n_results;
    int result[4];
} rlx_chain_t;

/* conv and matmul: element-wise ops applied to the f32 output before it is stored, in order. Each has the running value as one operand and at
 * most one other: a tensor of the output's shape and layout (residual), or a constant scalar. */
typedef struct rlx_epilogue_step {
    const rlx_op_t *op;    /* kind and attributes */
    rlx_value_t *tensor;   /* NULL, or the residual operand: appended to the op's operands as well */
    float scalar;          /* constant scalar operand, when tensor is NULL and the op is binary */
    float lo, hi;          /* clip */
    bool running_is_second; /* binary: scalar or tensor is the first operand (sub, div) */
} rlx_epilogue_step_t;

typedef struct rlx_epilogue {
    int n_steps;
    rlx_epilogue_step_t steps[RLX_EPILOGUE_MAX];
} rlx_epilogue_t;

/* attention: softmax(steps(Q K)) V. `scores` and `context` are the original products (unlinked, alive): they say how the operands are
 * read. A step's tensor broadcasts to the scores; tensors stand behind Q, K, V among the op's operands, in order. */
#define RLX_ATTENTION_STEPS_MAX 4
typedef struct rlx_attention {
    const rlx_op_t *scores, *context;
    int n_steps;
    rlx_epilogue_step_t steps[RLX_ATTENTION_STEPS_MAX];
} rlx_attention_t;

/* How an op cuts its work, where tuning said so: quantities of the analytical models (ir/cost/conv_blocking.c, ir/cost/winograd_blocking.c,
 * ir/lower/product.c). 0: as the model says. */
typedef struct rlx_cut {
    int64_t cache_kib; /* convolutions: kibibytes of input that a block may hold */
    int64_t pieces;    /* convolutions: pieces of an image that there should be for several threads */
    int64_t range;     /* convolutions: output-channel blocks of a piece */
    int64_t gather;    /* convolutions: 1 each piece gathers (or transforms) its own input, 2 a step of its own does it for all */
    int64_t rows;      /* products: rows of a block, at most */
    int64_t columns;   /* products: 16-column blocks of a tile */
} rlx_cut_t;
#define RLX_SCHEDULE_STEPS_MAX 8 /* of an op, that carry measured costs */

/* What the author of a text asked for, as quantities that lowerings obey (ir/pass/demand.c). 0: the compiler chooses. */
typedef enum rlx_lanes { RLX_LANES_CHOSEN, RLX_LANES_CHANNEL, RLX_LANES_WIDTH } rlx_lanes_t;
typedef struct rlx_demand {
    rlx_lanes_t lanes;       /* what the vector lanes hold */
    int64_t rows, columns;   /* output rows and columns of a tile; products: rows and 16-column blocks of theirs */
    int64_t outputs;         /* output channels of a work tile */
    int64_t block;           /* output channels of an inner block of weights */
    bool rows_together;      /* rows are not spread over threads */
    bool outputs_together;   /* output channels are not */
    bool outputs_apart;      /* output channels are spread over threads */
    bool outputs_outside;    /* loop order: output channels outside rows */
    int64_t unroll_width, unroll_outputs; /* vectors and outputs of a register tile */
} rlx_demand_t;

typedef struct rlx_schedule {
    rlx_chain_t *chain;         /* fused */
    rlx_epilogue_t *epilogue;   /* conv, conv_transpose, matmul */
    rlx_attention_t *attention; /* attention */
    int n_operands;           /* operands of the op proper, before residuals were appended */
    const char *key;          /* ir/cost/tuning.h; NULL without tuning */
    rlx_cut_t cut;
    rlx_demand_t demand;
    const char *sync;         /* "step_barrier": all workers meet before the op reads; "none": decided that none is needed; NULL: nothing was asked */
    uint64_t scale[RLX_SCHEDULE_STEPS_MAX]; /* of the op's steps: rlx_program_cost_t */
} rlx_schedule_t;

/* The op's schedule, made on first use. */
rlx_schedule_t *rlx_op_schedule(rlx_graph_t *graph, rlx_op_t *op);
/* What was asked of `op`; all 0 where nothing was. */
static inline const rlx_demand_t *rlx_op_demand(const rlx_op_t *op)
{
    static const rlx_demand_t none;
    const rlx_schedule_t *sched = op->sched;

    return sched != NULL ? &sched->demand : &none;
}

#endif
