/* The graph: SSA values and operators at the tensor level.
 *
 * Owner: the graph owns everything it hands out (one arena, freed together by rlx_graph_destroy). Pointers to values and ops stay valid
 * for the graph's life; a removed op is unlinked, not freed. One thread. Limits: RLX_GRAPH_OPS_MAX ops, rank RLX_RANK_MAX. */
#ifndef RLX_IR_GRAPH_H
#define RLX_IR_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/tensor.h"
#include "ir/expr/expr.h"

#define RLX_GRAPH_OPS_MAX 200000
#define RLX_ELEMENTS_MAX 256 /* largest integer tensor that is tracked symbolically */

enum { RLX_TRAIT_ELEMENTWISE = 1, RLX_TRAIT_VIEW = 2, RLX_TRAIT_LAYOUT = 4 };

typedef enum rlx_op_kind {
    RLX_OP_NONE,
#define RLX_OP(id, family, min_in, max_in, max_out, traits, attrs, doc) RLX_OP_##id,
#include "ir/op_list.h"
#undef RLX_OP
    RLX_OP_COUNT
} rlx_op_kind_t;

typedef struct rlx_op_info {
    const char *name, *family, *attrs, *doc;
    int min_in, max_in, max_out;
    unsigned traits;
} rlx_op_info_t;

typedef struct rlx_op rlx_op_t;
typedef struct rlx_value rlx_value_t;
typedef struct rlx_graph rlx_graph_t;

struct rlx_value {
    uint32_t id;               /* dense, in order of creation */
    const char *name;          /* unique in the graph, never NULL */
    rlx_dtype_t dtype;
    int rank;                  /* -1 until the shape rule ran */
    rlx_expr_t dims[RLX_RANK_MAX];
    rlx_layout_t layout;
    rlx_op_t *producer;        /* NULL for inputs and constants */
    int n_uses;                /* operand slots, graph outputs, symbols that hold it */
    bool is_input, is_output;
    bool observed;             /* symbols stand for its data or its extents: it must be computed before they are known */
    const void *data;          /* constants: row-major bytes (or `layout`'s), 64-byte aligned, owned by the graph or the mapped file */
    int64_t data_bytes;
    int n_elements;            /* integer values of at most RLX_ELEMENTS_MAX elements with known count: else -1 */
    rlx_expr_t *elements;      /* row-major; each may be RLX_EXPR_NONE; NULL when nothing is known */
    struct rlx_value_annotation *annotation; /* ir/annotation.h; NULL: none */
};

typedef enum rlx_attr_type { RLX_ATTR_INT, RLX_ATTR_FLOAT, RLX_ATTR_STRING, RLX_ATTR_INTS, RLX_ATTR_FLOATS,
                             RLX_ATTR_TENSOR } rlx_attr_type_t;

typedef struct rlx_attr {
    const char *name;
    rlx_attr_type_t type;
    int64_t i;
    float f;
    const char *s;
    const int64_t *is;
    const float *fs;
    int n;
    rlx_tensor_t tensor;
} rlx_attr_t;

struct rlx_op {
    rlx_op_kind_t kind;
    uint32_t id;
    const char *name;          /* source node name, or made up; never NULL */
    const char *source;        /* "node 'conv1' (Conv)", or "FILE:LINE:COLUMN" where the graph is a text's */
    int n_in, n_out;
    rlx_value_t **in;          /* NULL for an absent optional operand */
    rlx_value_t **out;         /* NULL for an output that nobody asked for */
    int n_attrs;
    rlx_attr_t *attrs;
    rlx_expr_t *pads;          /* conv and pools: 2 x spatial rank: begins, ends; else NULL */
    rlx_op_t *prev, *next;     /* topological order */
    bool open;                 /* conv: its map had an open extent before --shape bound it: what decides bits goes by the model's own extents */
    void *sched;               /* scheduled level: ir/schedule.h; NULL before */
    int n_bodies;              /* graphs that the op runs: ir/flow.h */
    rlx_graph_t **bodies;
    struct rlx_op_annotation *annotation; /* ir/annotation.h; NULL: none */
};

typedef struct rlx_symbol {
    const char *name;
    rlx_value_t *value;        /* the graph input it comes from, or a computed value: then it is known only when that is there */
    int axis;                  /* >= 0: extent of that axis; -1: element `element` of the value's data */
    int element;
    bool holds;                /* a use of the value */
    int64_t min, max;
    bool declared;             /* max given by --max */
    bool independent;          /* requests may be batched along it: ir/pass/batch.h */
} rlx_symbol_t;

/* A condition on symbols that the compiler could not prove: checked when a plan is made. */
typedef struct rlx_check {
    rlx_expr_t condition;
    const char *message;
    bool stated; /* by the model, not by the shape rule of an op: a text repeats it */
} rlx_check_t;

/* How far convolutions may be from the order of a direct one: ir/cost/conv_algorithm.c. */
typedef enum rlx_accuracy {
    RLX_ACCURACY_DEFAULT, /* F(4,3) and F(2,3) where their error is within the bounds */
    RLX_ACCURACY_CAREFUL, /* F(2,3) only, whose error is no larger than a direct convolution's */
    RLX_ACCURACY_DIRECT,  /* direct convolutions only */
} rlx_accuracy_t;

struct rlx_graph {
    const char *name;
    const char *text;          /* the name of the file whose lines `source` of ops names; NULL: made of something else */
    rlx_accuracy_t accuracy;
    const struct rlx_constraint *constraint; /* ir/constraint.h; NULL: none */
    struct rlx_explain *explain; /* ir/dump/explain.h; borrowed; NULL: nobody asked */
    rlx_exprs_t *exprs;
    rlx_op_t *first, *last;
    int n_ops;
    rlx_value_t **values;      /* by id */
    int n_values, cap_values;
    rlx_value_t **inputs;
    int n_inputs;
    rlx_value_t **outputs;     /* the same value may stand twice */
    int n_outputs;
    rlx_symbol_t *symbols;
    int n_symbols, cap_symbols;
    rlx_check_t *checks;
    int n_checks, cap_checks;
    rlx_graph_t *first_child, *next_child; /* graphs that live as long as this one: bodies */
    struct rlx_graph_kept *kept;           /* rlx_graph_keep */
    struct rlx_graph_memory *memory;
};

const rlx_op_info_t *rlx_op_info(rlx_op_kind_t kind);
/* What op_list.h declares of attribute `name`, from its type on ("i=1 ..."); NULL: not declared. */
const char *rlx_attr_declaration(rlx_op_kind_t kind, const char *name);

/* `source` names a line of the graph's own text: no part of the IR, since another text has other lines. */
bool rlx_source_is_text(const rlx_graph_t *graph, const char *source);

rlx_graph_t *rlx_graph_create(const char *name);
/* A graph with values, symbols and expressions of its own that is destroyed with `parent`. */
rlx_graph_t *rlx_graph_create_child(rlx_graph_t *parent, const char *name);
void rlx_graph_destroy(rlx_graph_t *graph);

/* `object` lives as long as the graph: For memory that constants borrow. */
void rlx_graph_keep(rlx_graph_t *graph, void *object, void (*destroy)(void *object));

/* Memory that lives as long as the graph; zeroed; 64-byte aligned from 64 bytes on. Aborts the process when memory is exhausted
 * (sizes are capped before they get here). */
void *rlx_graph_alloc(rlx_graph_t *graph, size_t bytes);
const char *rlx_graph_strdup(rlx_graph_t *graph, const char *text);
const char *rlx_graph_printf(rlx_graph_t *graph, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Values. A name already taken gets a suffix. dims may be NULL for rank -1. */
rlx_value_t *rlx_graph_value(rlx_graph_t *graph, const char *name, rlx_dtype_t dtype);
rlx_value_t *rlx_graph_input(rlx_graph_t *graph, const char *name, rlx_dtype_t dtype, int rank, const rlx_expr_t *dims);
/* A constant; `data` is copied unless `borrow`. Small integer constants get their `elements` filled. */
rlx_value_t *rlx_graph_const(rlx_graph_t *graph, const char *name, rlx_dtype_t dtype, int rank, const int64_t *dims,
                             const void *data, bool borrow);
/* Convenience: constant 1-D i64. */
rlx_value_t *rlx_graph_const_i64(rlx_graph_t *graph, const char *name, const int64_t *data, int count);
void rlx_graph_output(rlx_graph_t *graph, rlx_value_t *value);
/* The symbol named `name`, made if new (min 0 for axes, hard cap max). Returns its index. */
int rlx_graph_symbol(rlx_graph_t *graph, const char *name, rlx_value_t *value, int axis, int element, int64_t min, int64_t max);
/* The symbol of an extent (axis >= 0) or a datum of a value that an op computes. The value counts as used, and as `observed`. */
rlx_expr_t rlx_graph_symbol_computed(rlx_graph_t *graph, rlx_value_t *value, int axis, int element, int64_t min, int64_t max);
/* Gives the value another name (which the caller knows to be free; it must live as long as the graph), and so its computed symbols. */
void rlx_value_rename(rlx_graph_t *graph, rlx_value_t *value, const char *name);
/* A symbol of `expr` comes from a computed value. */
bool rlx_expr_is_computed(const rlx_graph_t *graph, rlx_expr_t expr);
/* Declares that `condition` must not be zero. Proven true: dropped. Proven false: an error. */
rlx_status_t rlx_graph_check(rlx_graph_t *graph, rlx_expr_t condition, const char *message, rlx_diag_t *diag);

/* Appends an op (before `before`, or at the end when NULL). Operands are counted as uses. `out` values get this producer. */
rlx_op_t *rlx_graph_op(rlx_graph_t *graph, rlx_op_t *before, rlx_op_kind_t kind, const char *name, int n_in,
                       rlx_value_t *const *in, int n_out, rlx_value_t *const *out);
void rlx_op_set_int(rlx_graph_t *graph, rlx_op_t *op, const char *name, int64_t value);
void rlx_op_set_float(rlx_graph_t *graph, rlx_op_t *op, const char *name, float value);
void rlx_op_set_string(rlx_graph_t *graph, rlx_op_t *op, const char *name, const char *value);
void rlx_op_set_ints(rlx_graph_t *graph, rlx_op_t *op, const char *name, const int64_t *values, int n);
void rlx_op_set_floats(rlx_graph_t *graph, rlx_op_t *op, const char *name, const float *values, int n);
void rlx_op_set_tensor(rlx_graph_t *graph, rlx_op_t *op, const char *name, const rlx_tensor_t *tensor);
/* NULL when not set. The getters below fall back to the default declared in op_list.h. */
const rlx_attr_t *rlx_op_attr(const rlx_op_t *op, const char *name);
int64_t rlx_op_int(const rlx_op_t *op, const char *name);
float rlx_op_float(const rlx_op_t *op, const char *name);
const char *rlx_op_string(const rlx_op_t *op, const char *name);
/* Element `index` of an int list, or `fallback` when the list is absent. */
int64_t rlx_op_ints_at(const rlx_op_t *op, const char *name, int index, int64_t fallback);

/* Edits. */
void rlx_op_set_input(rlx_op_t *op, int index, rlx_value_t *value);
/* Operands, graph outputs and symbols. */
void rlx_value_replace_uses(rlx_graph_t *graph, rlx_value_t *old_value, rlx_value_t *new_value);
void rlx_graph_remove(rlx_graph_t *graph, rlx_op_t *op); /* outputs must be unused */
/* Operand or NULL, safe past n_in. */
static inline rlx_value_t *rlx_op_in(const rlx_op_t *op, int index) { return index < op->n_in ? op->in[index] : 0; }

/* Helpers on shapes. */
/* Element `i` of integer or bool data; false when int64 cannot hold it or the type is another. */
bool rlx_element_load(rlx_dtype_t dtype, const void *data, int64_t i, int64_t *out);
bool rlx_value_is_const(const rlx_value_t *value);
bool rlx_value_dims_const(const rlx_graph_t *graph, const rlx_value_t *value, int64_t *out_dims);
rlx_expr_t rlx_value_count(const rlx_graph_t *graph, const rlx_value_t *value); /* product of extents */
/* All elements of an integer value as constants; false when any is symbolic or unknown. */
bool rlx_value_ints(const rlx_graph_t *graph, const rlx_value_t *value, int64_t *out, int cap, int *out_count);

/* Runs the shape rule of `op`: sets dtype, rank, dims and elements of its outputs, adds checks. ir/shape/shape.c. */
rlx_status_t rlx_op_infer(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag);
/* Every rule of the tensor level: SSA, order, counts, types, shapes. ir/verify.c. */
rlx_status_t rlx_graph_verify(const rlx_graph_t *graph, rlx_diag_t *diag);
/* Canonical text (docs/IR.md) and DOT. ir/dump/dump.c. */
void rlx_graph_dump(const rlx_graph_t *graph, FILE *out);
void rlx_graph_dump_dot(const rlx_graph_t *graph, FILE *out);

#endif
