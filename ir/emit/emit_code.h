/* Inside of the emitter: growing byte tables, and the shape code with its slots. Owned by ir/emit/emit.c; one thread. */
#ifndef RLX_IR_EMIT_CODE_H
#define RLX_IR_EMIT_CODE_H

#include "bundle/program.h"
#include "ir/graph.h"

typedef struct rlx_bytes {
    char *data;
    size_t size, cap;
} rlx_bytes_t;

/* Aborts the process when memory is exhausted. */
void rlx_bytes_append(rlx_bytes_t *bytes, const void *data, size_t size);
void rlx_bytes_zero(rlx_bytes_t *bytes, size_t size);

/* Slots are written once, in topological order, so equal expressions are computed once per plan. Symbols have the first slots. */
typedef struct rlx_emit_code {
    const rlx_exprs_t *exprs;
    const uint32_t *symbol_slot; /* by symbol of the graph */
    uint32_t *slot_of;           /* by expression */
    int cap;
    uint32_t n_slots;
    rlx_bytes_t words;
} rlx_emit_code_t;

/* The other tables of a program (bundle/program.h). */
typedef struct rlx_emit_tables {
    rlx_bytes_t symbols, refs, values, inputs, outputs, steps, operands, params, patches, regions, fragments, costs, strings;
} rlx_emit_tables_t;

void rlx_emit_tables_fini(rlx_emit_tables_t *tables);
/* ir/emit/emit_blob.c: the program as one blob, its bodies' blobs inside. The caller owns the result. */
rlx_bytes_t rlx_emit_assemble(const rlx_emit_tables_t *tables, const rlx_emit_code_t *code, const rlx_bytes_t *bodies, int n_bodies);

void rlx_emit_word(rlx_emit_code_t *code, int64_t word);
/* An immediate, or the slot that code computes from now on. */
rlx_ref_t rlx_emit_ref(rlx_emit_code_t *code, rlx_expr_t expr);
/* Fails the plan with the string at `message` where `condition` is zero. */
void rlx_emit_check(rlx_emit_code_t *code, rlx_expr_t condition, uint32_t message);

#endif
