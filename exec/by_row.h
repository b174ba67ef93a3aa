/* A step run row by row: how kernels that know nothing of row pointers serve a batch whose rows lie apart.
 *
 * The batch is independent, so row i of a step's results follows from row i of its operands: the step is called once per row, with the
 * numbers of a batch of one (rlx_plan_step_t.row) and operands that begin at that row. The bits are those of a request that runs alone.
 * All rows are one job of the team: tile t belongs to row t / tiles of a row. */
#ifndef RLX_EXEC_BY_ROW_H
#define RLX_EXEC_BY_ROW_H

#include "exec/model.h"
#include "exec/plan.h"

/* Finds out, per step and per graph input or output, how a batch whose rows lie apart gets to the kernels: model->by_row, rows_ok and
 * batch_symbol. */
void rlx_by_row_mark(rlx_model_t *model);

/* What the job's kernel function finds in args->param. Lives on the stack of the thread that runs. */
typedef struct rlx_by_row {
    const rlx_plan_step_t *step; /* of one row */
    int n_in, n_out;
} rlx_by_row_t;

/* Does one of the operands of a step that may run by row have its rows apart? */
bool rlx_by_row_wanted(const rlx_operand_t *operands, int count);
/* The kernel function of the job. Operands whose row_bytes are 0 are the same for every row. */
void rlx_by_row_run(const rlx_kernel_args_t *args, int64_t tile_begin, int64_t tile_end);

#endif
