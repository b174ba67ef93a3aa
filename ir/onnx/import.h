/* The importer's inside: one import, its scopes, and the node being converted.
 *
 * A converter reads operands, attributes and shapes of a call, appends ops to the graph and sets call->out. Its helpers keep the first
 * failure in call->status and pass NULL on, so that a converter reads as straight-line arithmetic; it checks before it looks inside a
 * value. */
#ifndef RLX_IR_ONNX_IMPORT_H
#define RLX_IR_ONNX_IMPORT_H

#include "ir/onnx/model.h"
#include "ir/onnx/names.h"

#define RLX_ONNX_CALL_DEPTH_MAX 64
#define RLX_ONNX_CHOICES_MAX 4

/* Names of one graph, function body or branch. */
typedef struct rlx_onnx_scope {
    const struct rlx_onnx_scope *parent; /* a branch of If sees its surroundings; NULL at the top and in functions */
    const char *place;                /* "" or the branch, for messages */
    struct rlx_onnx_body *body;       /* the graph of its own that it is in (ir/onnx/body.h); NULL in the model's graph */
    rlx_onnx_names_t names;           /* rlx_value_t, or the import's `absent` for an optional function input that was not given */
    const struct rlx_onnx_call *call; /* the function call whose body this is in; NULL outside functions */
    const rlx_onnx_function_t *function;
    const rlx_onnx_opset_t *opsets;
    int n_opsets, depth;
} rlx_onnx_scope_t;

typedef struct rlx_onnx_import {
    rlx_graph_t *graph;
    const rlx_onnx_model_t *model;
    rlx_diag_t *diag;
    const char *file;
    int dir_fd;
    int64_t const_budget;
    int64_t node_budget;
    rlx_onnx_names_t functions; /* "domain:name" -> rlx_onnx_function_t */
    rlx_value_t absent;
    unsigned choices;           /* bit i: branch of the i-th If that is decided at import (convert_if.c) */
    int n_choices;
    const char *choice_source[RLX_ONNX_CHOICES_MAX];
    bool placed;                /* the diagnosis names file and node: of the innermost that was refused */
} rlx_onnx_import_t;

typedef struct rlx_onnx_call {
    rlx_onnx_import_t *import;
    rlx_graph_t *graph;
    const rlx_onnx_scope_t *scope;
    const rlx_onnx_node_t *node;
    const struct rlx_onnx_row *row;
    const char *source;
    int64_t opset;
    int n_in, n_out;
    rlx_value_t **in;   /* NULL: absent */
    rlx_value_t **out;  /* set by the converter; NULL where node->out is "" */
    bool *attr_used;    /* per attribute of the node: one that nobody reads is refused */
    rlx_status_t status;
    rlx_diag_t *diag;
} rlx_onnx_call_t;

typedef void rlx_onnx_convert_fn_t(rlx_onnx_call_t *call);

/* One ONNX operator. `op` is the op kind that generic converters make. */
typedef struct rlx_onnx_row {
    const char *name;
    int since;          /* first opset of its domain that has it */
    int min_in, max_in, max_out;
    rlx_onnx_convert_fn_t *convert;
    rlx_op_kind_t op;
} rlx_onnx_row_t;

/* ir/onnx/table.c. NULL when unknown; `out_reason` then says why if the operator is known to be unsupported, else NULL. */
const rlx_onnx_row_t *rlx_onnx_row_find(const char *domain, const char *op_type, const char **out_reason);
/* The operator that a misspelt one is nearest to, or NULL. */
const char *rlx_onnx_row_closest(const char *op_type);

/* ir/onnx/node.c: a name in a scope or those around it; NULL when not defined. A body captures what it finds around itself. Defining fails
 * (false) on a name that is visible already. */
rlx_value_t *rlx_onnx_scope_get(const rlx_onnx_scope_t *scope, const char *name);
bool rlx_onnx_scope_add(rlx_onnx_scope_t *scope, const char *name, rlx_value_t *value);
/* ir/onnx/path.c: tells the diagnosis of a call that was refused where its operands come from. */
void rlx_onnx_path_set(rlx_onnx_call_t *call);
/* Converts a body's nodes in order. */
rlx_status_t rlx_onnx_nodes_convert(rlx_onnx_import_t *import, rlx_onnx_scope_t *scope, const rlx_onnx_node_t *nodes, int n);
/* ir/onnx/function.c: a call of a model-local function. NULL when the node names none. */
rlx_onnx_function_t *rlx_onnx_function_find(const rlx_onnx_import_t *import, const char *domain, const char *name);
void rlx_onnx_function_call(rlx_onnx_call_t *call, const rlx_onnx_function_t *function);
/* ir/onnx/shape_use.c: names of graph inputs whose data decide shapes. Keys of `out_names`. */
void rlx_onnx_shape_use(rlx_onnx_import_t *import, rlx_onnx_names_t *out_names);
/* ir/onnx/inputs.c. */
rlx_status_t rlx_onnx_inits_make(rlx_onnx_import_t *import, rlx_onnx_scope_t *scope, const rlx_onnx_model_t *model);
rlx_status_t rlx_onnx_inputs_make(rlx_onnx_import_t *import, rlx_onnx_scope_t *scope);

/* ir/onnx/call.c. Failing sets the status once and returns NULL, so `return rlx_call_fail(...)` suits helpers that return a value. */
void *rlx_call_fail(rlx_onnx_call_t *call, rlx_error_code_t code, const char *format, ...) __attribute__((format(printf, 3, 4)));
static inline bool rlx_call_ok(const rlx_onnx_call_t *call) { return call->status == RLX_OK; }
rlx_value_t *rlx_call_in(const rlx_onnx_call_t *call, int index);
void rlx_call_out(rlx_onnx_call_t *call, int index, rlx_value_t *value);
/* A name for a value that the model has none for: "~" and the node's first result; the graph makes it unique. */
const char *rlx_call_made_name(const rlx_onnx_call_t *call);
bool rlx_call_wants(const rlx_onnx_call_t *call, int index);

/* Attributes (attr.c). The text, list or tensor that is handed out lives as long as the graph. A wrong type fails the call. */
const rlx_onnx_attr_t *rlx_call_attr(rlx_onnx_call_t *call, const char *name);
bool rlx_call_has(rlx_onnx_call_t *call, const char *name);
int64_t rlx_call_int(rlx_onnx_call_t *call, const char *name, int64_t fallback);
float rlx_call_float(rlx_onnx_call_t *call, const char *name, float fallback);
const char *rlx_call_string(rlx_onnx_call_t *call, const char *name, const char *fallback);
/* NULL and 0 when absent. */
const int64_t *rlx_call_ints(rlx_onnx_call_t *call, const char *name, int *out_n);
const float *rlx_call_floats(rlx_onnx_call_t *call, const char *name, int *out_n);
/* Decoded; false when absent or failed. */
bool rlx_call_tensor(rlx_onnx_call_t *call, const char *name, rlx_tensor_t *out_tensor);
/* An attribute that names an element type; RLX_DTYPE_NONE when absent or failed. */
rlx_dtype_t rlx_call_dtype(rlx_onnx_call_t *call, const char *name, rlx_dtype_t fallback);
/* Marks an attribute as read. */
void rlx_call_ignore(rlx_onnx_call_t *call, const char *name);

/* Ops. begin appends it (attributes follow), end infers shapes and returns its first output. */
rlx_op_t *rlx_call_begin(rlx_onnx_call_t *call, rlx_op_kind_t kind, int n_in, rlx_value_t *const *in, int n_out);
rlx_value_t *rlx_call_end(rlx_onnx_call_t *call, rlx_op_t *op);
/* The same for the node's own results: those past the first that nobody names are NULL; end binds them. */
rlx_op_t *rlx_call_begin_results(rlx_onnx_call_t *call, rlx_op_kind_t kind, int n_in, rlx_value_t *const *in, int n_out);
void rlx_call_end_results(rlx_onnx_call_t *call, rlx_op_t *op);
rlx_value_t *rlx_call_op1(rlx_onnx_call_t *call, rlx_op_kind_t kind, rlx_value_t *a);
rlx_value_t *rlx_call_op2(rlx_onnx_call_t *call, rlx_op_kind_t kind, rlx_value_t *a, rlx_value_t *b);
rlx_value_t *rlx_call_op3(rlx_onnx_call_t *call, rlx_op_kind_t kind, rlx_value_t *a, rlx_value_t *b, rlx_value_t *c);
void rlx_call_set_int(rlx_onnx_call_t *call, rlx_op_t *op, const char *name, int64_t value);
void rlx_call_set_float(rlx_onnx_call_t *call, rlx_op_t *op, const char *name, float value);
void rlx_call_set_string(rlx_onnx_call_t *call, rlx_op_t *op, const char *name, const char *value);
void rlx_call_set_ints(rlx_onnx_call_t *call, rlx_op_t *op, const char *name, const int64_t *values, int n);
void rlx_call_set_floats(rlx_onnx_call_t *call, rlx_op_t *op, const char *name, const float *values, int n);

/* Frequent pieces (pieces.c). All pass NULL on. */
rlx_value_t *rlx_call_scalar(rlx_onnx_call_t *call, rlx_dtype_t dtype, double value);
rlx_value_t *rlx_call_const_tensor(rlx_onnx_call_t *call, const rlx_tensor_t *tensor);
rlx_value_t *rlx_call_ints_value(rlx_onnx_call_t *call, const int64_t *values, int n);
/* A 1-D i64 operand from expressions: a constant where all are, else store_elements. */
rlx_value_t *rlx_call_exprs_value(rlx_onnx_call_t *call, const rlx_expr_t *exprs, int n);
rlx_value_t *rlx_call_cast(rlx_onnx_call_t *call, rlx_value_t *x, rlx_dtype_t to);
rlx_value_t *rlx_call_reshape(rlx_onnx_call_t *call, rlx_value_t *x, const rlx_expr_t *dims, int rank);
rlx_value_t *rlx_call_unsqueeze(rlx_onnx_call_t *call, rlx_value_t *x, int axis);
rlx_value_t *rlx_call_squeeze(rlx_onnx_call_t *call, rlx_value_t *x, int axis);
rlx_value_t *rlx_call_transpose(rlx_onnx_call_t *call, rlx_value_t *x, const int64_t *perm, int n);
rlx_value_t *rlx_call_concat(rlx_onnx_call_t *call, rlx_value_t *a, rlx_value_t *b, int axis);
rlx_value_t *rlx_call_expand(rlx_onnx_call_t *call, rlx_value_t *x, const rlx_expr_t *dims, int rank);
/* x[..., start:end:step, ...] on one axis. */
rlx_value_t *rlx_call_slice(rlx_onnx_call_t *call, rlx_value_t *x, int axis, rlx_expr_t start, rlx_expr_t end, int64_t step);
rlx_value_t *rlx_call_reduce(rlx_onnx_call_t *call, rlx_op_kind_t kind, rlx_value_t *x, const int64_t *axes, int n, bool keepdims);
rlx_value_t *rlx_call_softmax(rlx_onnx_call_t *call, rlx_op_kind_t kind, rlx_value_t *x, int axis);
rlx_value_t *rlx_call_range(rlx_onnx_call_t *call, rlx_dtype_t dtype, rlx_expr_t count);
/* A convolution with the node's own window (convert_conv.c); begun only, `kind` may be qconv. */
rlx_op_t *rlx_call_conv_begin(rlx_onnx_call_t *call, rlx_op_kind_t kind, rlx_value_t *const *in, int n_in);
rlx_value_t *rlx_call_conv(rlx_onnx_call_t *call, rlx_value_t *const *in, int n_in);
/* The value itself, or its constant where it is arithmetic on constants only (resolve.c); NULL passes. */
rlx_value_t *rlx_call_const_resolve(rlx_onnx_call_t *call, rlx_value_t *value);

/* Shapes. -1, negative or too large axes fail the call. */
bool rlx_call_axis(rlx_onnx_call_t *call, int64_t axis, int rank, int *out_axis);
rlx_expr_t rlx_call_dim(rlx_onnx_call_t *call, const rlx_value_t *x, int axis);
rlx_expr_t rlx_call_product(rlx_onnx_call_t *call, const rlx_value_t *x, int from, int to);
rlx_expr_t rlx_call_expr(rlx_onnx_call_t *call, int64_t value);
/* All elements of operand `index` as numbers known now; else fails naming the operand. -1 on failure. */
int rlx_call_known(rlx_onnx_call_t *call, int index, const char *what, int64_t *out, int cap);
/* Elements of operand `index` as expressions, or NULL after failing. */
const rlx_expr_t *rlx_call_elements(rlx_onnx_call_t *call, int index, const char *what, int *out_n);
void rlx_call_check(rlx_onnx_call_t *call, rlx_expr_t condition, const char *message);

#endif
