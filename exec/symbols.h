/* From a request's inputs to symbol values, and back: do the inputs have the extents that the plan computed? Every error names the input
 * and the axis. Reads index data of inputs, bounded; touches nothing else of them. Any thread, no state. */
#ifndef RLX_EXEC_SYMBOLS_H
#define RLX_EXEC_SYMBOLS_H

#include "exec/model.h"
#include "exec/plan.h"

#define RLX_SYMBOLS_FEW 64

/* Room for a model's symbols; on the stack for usual models. */
typedef struct rlx_symbols {
    int64_t *values;
    int64_t few[RLX_SYMBOLS_FEW];
} rlx_symbols_t;

rlx_status_t rlx_symbols_alloc(const rlx_model_t *model, rlx_symbols_t *symbols, rlx_diag_t *diag);
void rlx_symbols_free(rlx_symbols_t *symbols);

/* Are these inputs of the kind that `plan` (of region 0) was made for? Types, ranks, extents, symbols from data. */
rlx_status_t rlx_symbols_match_plan(const rlx_plan_t *plan, const rlx_io_t *inputs, rlx_diag_t *diag);
/* The plan (of region 0) of these inputs: `*plan` where it fits them, without a look-up; else `*plan` (may be NULL) is released and replaced.
 * On failure it may be NULL or stay. Unlike rlx_plan_get this does not retain the model. */
rlx_status_t rlx_symbols_plan(rlx_model_t *model, const rlx_io_t *inputs, rlx_plan_t **plan, rlx_diag_t *diag);
/* Is `number` a value that the symbol may have? */
rlx_status_t rlx_symbol_bounds(const rlx_model_t *model, uint32_t index, int64_t number, rlx_diag_t *diag);
/* Fills one symbol from element data of an integer, bool or f32 tensor, and checks its bounds. */
rlx_status_t rlx_symbol_from_data(const rlx_model_t *model, uint32_t symbol, const rlx_io_t *io, int64_t *out_value, rlx_diag_t *diag);

#endif
