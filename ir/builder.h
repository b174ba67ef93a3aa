/* The builder behind ir/lower/lower.h: collects steps, temporaries and packed constants of one graph. Internal to ir/. One thread.
 *
 * Storage: several values may share one storage (a reshape is a view). rlx_builder_root gives the value that stands for it. */
#ifndef RLX_IR_BUILDER_H
#define RLX_IR_BUILDER_H

#include "ir/lower/lower.h"
#include "ir/pass/regions.h"

#define RLX_STEP_OPERANDS_MAX RLX_OPERAND_MAX

struct rlx_step {
    rlx_builder_t *builder;
    const rlx_op_t *op;
    rlx_kernel_id_t kernel;
    int n_in, n_out, cap_operands; /* cap: of each of in and out */
    const rlx_value_t **in, **out;
    int n_params;
    rlx_expr_t *params; /* RLX_EXPR_NONE never: zero by default */
    rlx_expr_t tiles, scratch, flops;
    bool overflow;      /* too many operands or params: reported by rlx_step_end */
    bool live;
    int region;         /* ir/pass/regions.h; set by rlx_builder_lower_graph */
    int index;          /* among the steps of its op */
};

struct rlx_builder {
    rlx_graph_t *graph;
    int level;
    rlx_step_t **steps;
    int n_steps, cap_steps;
    const rlx_value_t **root; /* by value id; NULL: itself */
    int cap_root;
    bool *called;             /* by value id, n_called of them: an operand of a call of bodies; rlx_builder_lower_graph sets it */
    int n_called;
    rlx_value_t **made;       /* constants made while lowering: their data is owned here */
    int n_made, cap_made;
    rlx_builder_t **bodies;   /* of the graphs that calls run; owned */
    int n_bodies, cap_bodies;
    rlx_regions_t regions;
};

void rlx_builder_init(rlx_builder_t *builder, rlx_graph_t *graph, int level);
void rlx_builder_fini(rlx_builder_t *builder);
/* Lowers one op through its family; small integer values whose elements are known become store_elements. */
rlx_status_t rlx_builder_lower(rlx_builder_t *builder, rlx_op_t *op, rlx_diag_t *diag);
/* Lowers the graph in order, drops steps that nothing live reads, and sorts the others by region. */
rlx_status_t rlx_builder_lower_graph(rlx_builder_t *builder, rlx_diag_t *diag);
/* Lowers a body with a builder of its own; `out_index` is what a call's parameter says. */
rlx_status_t rlx_builder_body(rlx_builder_t *builder, rlx_graph_t *body, int *out_index, rlx_diag_t *diag);
const rlx_value_t *rlx_builder_root(const rlx_builder_t *builder, const rlx_value_t *value);
/* Gives back the bytes of a constant that was made while lowering: they were emitted. Others stay. */
void rlx_builder_const_release(rlx_builder_t *builder, const rlx_value_t *value);
/* Physical bytes of a value, padding of its layout included. */
rlx_expr_t rlx_value_bytes(const rlx_graph_t *graph, const rlx_value_t *value);

/* ir/evaluate.c: runs the steps of a constant op with the reference kernels; data of its outputs is allocated in the graph. */
rlx_status_t rlx_evaluate_op(rlx_graph_t *graph, rlx_op_t *op, void **out_data, rlx_diag_t *diag);

/* ir/emit/memory_plan.c: byte offset, in the arena of its region, of every arena value; the size of each region's arena. offsets[id] is
 * RLX_EXPR_NONE for values that are not in an arena. */
rlx_status_t rlx_memory_plan(const rlx_builder_t *builder, rlx_expr_t *out_offsets, rlx_expr_t *out_arena_bytes, rlx_diag_t *diag);

/* ir/pass/batch_storage.c: batch_symbol of every storage (bundle/program.h), by value id; malloc'd, owned by the caller. */
uint32_t *rlx_batch_storage(const rlx_builder_t *builder);

/* ir/emit/emit.c: the program blob and the constants. Both malloc'd, owned by the caller. Constants made while lowering are given back as they
 * are placed, so that large ones lie in memory twice one at a time. */
typedef struct rlx_emitted {
    void *program;
    size_t program_bytes;
    void *constants;
    size_t constants_bytes;
} rlx_emitted_t;
rlx_status_t rlx_emit_program(rlx_builder_t *builder, rlx_emitted_t *out_emitted, rlx_diag_t *diag);

#endif
