/* What a text demands of an operator's schedule (`tile_layout`, `compute_schedule`, `memory_coalesce`), as quantities that the lowering obeys
 * (rlx_demand_t), or the rule that it conflicts with. Internal to ir/. */
#ifndef RLX_IR_DEMAND_H
#define RLX_IR_DEMAND_H

#include "ir/annotation.h"
#include "ir/operator/conv_operands.h"
#include "ir/schedule.h"

/* Why a demand is refused. */
typedef struct rlx_refusal {
    rlx_error_code_t code;
    rlx_span_t span;
    char message[256], expected[256], hint[320]; /* hint says the rule and what to do */
} rlx_refusal_t;

/* One operator's demand while it is read. */
typedef struct rlx_demand_read {
    rlx_graph_t *graph;
    const rlx_op_t *op;
    const rlx_op_annotation_t *note;
    rlx_demand_t demand; /* what was read so far */
    rlx_refusal_t why;
} rlx_demand_read_t;

/* Returns false, so that a check may end with it. `expected` may be NULL. */
bool rlx_demand_refuse(rlx_demand_read_t *read, rlx_error_code_t code, const char *expected, const char *hint, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* Whether the schedule names `dim` in the list. */
bool rlx_names_have(const rlx_names_t *names, const char *dim);
/* The demanded loop order must be part of `nest`, a list of loops from the outermost, closed by NULL. */
bool rlx_demand_order(rlx_demand_read_t *read, const char *const *nest, const char *kernel);
/* The demanded parallel dimensions: what `kernel` spreads over threads (`spread`, closed by NULL), of which it can keep those of `kept` together;
 * sets flags[i] for kept[i] where it must. A dimension of extent 1 is left out of account. */
bool rlx_demand_parallel(rlx_demand_read_t *read, const char *const *spread, const char *const *kept, bool *flags, const char *kernel);
/* Any unrolling or tiling is refused: `kernel` decides. */
bool rlx_demand_no_unroll(rlx_demand_read_t *read, const char *kernel);
bool rlx_demand_no_tiles(rlx_demand_read_t *read, const char *kernel);
/* memory_coalesce is `auto` or one of `words`, closed by NULL. */
bool rlx_demand_coalesce(rlx_demand_read_t *read, const char *const *words, const char *kernel);
/* The extent of an axis that a loop of the op runs along; -1: open, or no such loop. */
int64_t rlx_loop_extent(const rlx_graph_t *graph, const rlx_op_t *op, const char *dim);

/* By kind of operator. ir/pass/demand_conv.c, ir/pass/demand_width.c, ir/pass/demand_other.c */
bool rlx_demand_conv(rlx_demand_read_t *read);
bool rlx_demand_width(rlx_demand_read_t *read);
bool rlx_demand_matmul(rlx_demand_read_t *read);
bool rlx_demand_other(rlx_demand_read_t *read);

#endif
