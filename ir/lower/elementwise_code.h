/* Code of the elementwise kernel while it is made: values in single assignment, slots assigned at the end. Internal to the lowering of the
 * elementwise family. One thread; plain memory on the caller's stack. */
#ifndef RLX_IR_ELEMENTWISE_CODE_H
#define RLX_IR_ELEMENTWISE_CODE_H

#include "ir/lower/lower.h"
#include "ir/schedule.h"

#define RLX_EW_CODE_MAX 160
#define RLX_EW_NONE (-1)

/* A value: an input (its dense number) or RLX_EW_CODE_FIRST + the index of the instruction that makes it. */
#define RLX_EW_CODE_FIRST 64

typedef struct rlx_ew_instruction {
    rlx_map_op_t op;
    rlx_map_class_t class_;
    int src[3]; /* values, or RLX_EW_NONE */
    int64_t a, b;
    int slot; /* of the result, set by rlx_ew_assign */
} rlx_ew_instruction_t;

typedef struct rlx_ew_code {
    const rlx_graph_t *graph;
    const rlx_op_t *op; /* the op being lowered: owner of the operands */
    const rlx_chain_t *chain;
    int n_inputs;
    int operand[RLX_ELEMENTWISE_INPUTS]; /* operand index of each input */
    rlx_ew_instruction_t code[RLX_EW_CODE_MAX];
    int n_code;
    int result[RLX_CHAIN_MAX];     /* value of each chain step */
    bool consumed[RLX_CHAIN_MAX];  /* whether a later step reads it */
    int output[RLX_ELEMENTWISE_OUTPUTS]; /* value of each output */
    int n_outputs, n_slots;
    bool full;
} rlx_ew_code_t;

/* Appends an instruction and returns its value. */
int rlx_ew_emit(rlx_ew_code_t *code, rlx_map_op_t op, rlx_map_class_t class_, int x, int y, int z, int64_t a, int64_t b);
/* The value of a chain source; type and constant of a source. */
int rlx_ew_source(rlx_ew_code_t *code, int32_t src);
rlx_dtype_t rlx_ew_source_dtype(const rlx_ew_code_t *code, int32_t src);
/* True and the number when the source is a constant of one float element. */
bool rlx_ew_source_scalar(const rlx_ew_code_t *code, int32_t src, double *out_scalar);
/* Gives every result a slot: outputs their own, others registers that are free again after the last reader. */
void rlx_ew_assign(rlx_ew_code_t *code);

/* ir/lower/elementwise_step.c: the instructions of one chain step. Returns its value; fails for an op or type without a form. */
rlx_status_t rlx_ew_step(rlx_ew_code_t *code, int index, int *out_value, rlx_diag_t *diag);

#endif
