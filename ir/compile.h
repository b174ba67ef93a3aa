/* The compiler as a library: `rlx compile` and the tests call this. One thread. */
#ifndef RLX_IR_COMPILE_H
#define RLX_IR_COMPILE_H

#include <stdio.h>

#include "base/diag.h"
#include "ir/constraint.h"
#include "ir/custom.h"
#include "ir/graph.h"
#include "ir/cost/tuning.h"

#define RLX_COMPILE_BINDINGS_MAX 32

typedef struct rlx_compile_options {
    int opt_level;             /* 1..3 */
    rlx_accuracy_t accuracy;
    const rlx_constraint_t *constraint; /* of the target; NULL: none */
    struct { const char *input; int rank; int64_t dims[RLX_RANK_MAX]; } shapes[RLX_COMPILE_BINDINGS_MAX]; /* --shape; -1 leaves an axis open */
    int n_shapes;
    struct { const char *symbol; int64_t max; } maxima[RLX_COMPILE_BINDINGS_MAX]; /* --max */
    int n_maxima;
    const rlx_custom_set_t *custom; /* user code; NULL: none */
    const rlx_tuning_t *tuning; /* what tuning decided; may be empty; NULL: nothing, and no keys */
    const char *dump_after;    /* pass name ("import", "canonicalise", "algorithm", "fuse", "layout", "lower"), or NULL */
    FILE *dump_out;
    const char *dump_path;     /* a file for the text, with large constants beside it (ir/text/load.h), instead of dump_out; or NULL */
    void (*dump)(const rlx_graph_t *graph, FILE *out); /* how: NULL means rlx_graph_dump */
    struct rlx_explain *explain; /* ir/dump/explain.h: told every decision; NULL: nobody asked */
    void (*progress)(void *context, const char *phase); /* may be NULL */
    void *progress_context;
} rlx_compile_options_t;

/* With `tuning`: the op that a step belongs to, by its key, and the step's place among those of the op. */
typedef struct rlx_step_key {
    char *key;
    int index;
    rlx_op_kind_t kind;
} rlx_step_key_t;

/* What a compile yields: the program blob, the constants' bytes, and the canonical text of the IR. All owned by the result. */
typedef struct rlx_compiled {
    char *name;
    void *program;
    size_t program_bytes;
    void *constants; /* page-aligned content; every constant at a 64-byte aligned offset */
    size_t constants_bytes;
    char *ir_text;
    size_t ir_text_bytes;
    int64_t n_steps, n_reorders;
    rlx_step_key_t *step_keys; /* n_steps, or NULL without tuning */
    int64_t checkpoint_steps; /* rlx_custom_interval; 0: none asked for */
    char *independent; /* the symbol along which requests may be batched (ir/pass/batch.h), or NULL */
} rlx_compiled_t;

/* ir/onnx/import.c: reads a .onnx file (external data beside it) into a graph. */
rlx_status_t rlx_onnx_import_file(const char *path, rlx_graph_t **out_graph, rlx_diag_t *diag);
/* `base_dir` may be NULL: then external data is refused. `data` must outlive the graph. */
rlx_status_t rlx_onnx_import(const void *data, size_t bytes, const char *base_dir, rlx_graph_t **out_graph, rlx_diag_t *diag);

/* Any model, by its ending: RLX-IR text (.rlx, .rlxir; ir/text/load.h), else ONNX. What is wrong with a text goes to `diag->list` where there is one,
 * all of it; the first error to `diag`. */
rlx_status_t rlx_model_load_file(const char *path, rlx_graph_t **out_graph, rlx_diag_t *diag);

/* Runs the passes and lowers. `graph` is consumed (changed), not freed. */
rlx_status_t rlx_compile_graph(rlx_graph_t *graph, const rlx_compile_options_t *options, rlx_compiled_t *out_compiled, rlx_diag_t *diag);
void rlx_compiled_fini(rlx_compiled_t *compiled);

#endif
