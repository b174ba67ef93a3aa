/* The tree of a text in the module form, as it was written: expressions and statements of Python. ir/module/evaluate.h turns it into the common
 * syntax tree of RLX-IR (ir/text/syntax.h), in whose arena all of this lives. A node that could not be read is NULL, and was reported. */
#ifndef RLX_IR_MODULE_TREE_H
#define RLX_IR_MODULE_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

typedef struct rlx_node rlx_node_t;

typedef enum rlx_node_kind {
    RLX_NODE_INT,
    RLX_NODE_FLOAT,
    RLX_NODE_STRING,
    RLX_NODE_BOOL,      /* i */
    RLX_NODE_NONE,
    RLX_NODE_NAME,      /* s */
    RLX_NODE_ATTRIBUTE, /* items[0].s */
    RLX_NODE_CALL,      /* items[0](items[1..], fields) */
    RLX_NODE_SUBSCRIPT, /* items[0][items[1]] */
    RLX_NODE_SLICE,     /* items[0]:items[1]:items[2], each may be NULL */
    RLX_NODE_LIST,
    RLX_NODE_TUPLE,
    RLX_NODE_DICT,      /* fields: keys are nodes */
    RLX_NODE_UNARY,     /* op items[0] */
    RLX_NODE_BINARY,    /* items[0] op items[1]: arithmetic, comparison, `and`, `or` */
    RLX_NODE_CHOICE,    /* items[0] if items[1] else items[2] */
} rlx_node_kind_t;

/* name=value of a call, key: value of a dict. */
typedef struct rlx_node_field {
    const char *name;
    rlx_span_t name_span;
    rlx_node_t *value;
} rlx_node_field_t;

struct rlx_node {
    rlx_node_kind_t kind;
    rlx_span_t span;
    rlx_span_t name_span; /* of ATTRIBUTE: the name; of UNARY and BINARY: the operator */
    int64_t i;
    double f;
    const char *s; /* or the operator: "+", "**", "<=" */
    int n_items, n_fields;
    rlx_node_t **items;
    rlx_node_field_t *fields;
};

typedef struct rlx_target {
    const char *name;
    rlx_span_t span;
} rlx_target_t;

typedef enum rlx_line_kind {
    RLX_LINE_ASSIGN,  /* targets = value; one target, or several of an unpacking */
    RLX_LINE_UPDATE,  /* targets[0] op= value */
    RLX_LINE_EXPR,    /* value */
    RLX_LINE_RETURN,  /* value, or NULL */
    RLX_LINE_FOR,     /* for targets in value: body */
    RLX_LINE_IF,      /* if value: body, else: other */
    RLX_LINE_BROKEN,  /* not understood, but it would have set the targets */
} rlx_line_kind_t;

typedef struct rlx_line {
    rlx_line_kind_t kind;
    rlx_span_t span;
    int n_targets;
    rlx_target_t *targets;
    const char *op; /* UPDATE: "+" */
    rlx_span_t op_span;
    rlx_node_t *value;
    int n_body, n_other;
    struct rlx_line **body, **other;
} rlx_line_t;

typedef struct rlx_parameter {
    const char *name;
    rlx_span_t span;
    rlx_node_t *value; /* default, or NULL */
} rlx_parameter_t;

typedef struct rlx_routine {
    const char *name;
    rlx_span_t span, name_span;
    int n_decorators;
    rlx_node_t **decorators; /* names, attributes, or calls of them */
    int n_parameters;
    rlx_parameter_t *parameters;
    int n_lines;
    rlx_line_t **lines;
    bool broken;  /* a line was not understood: nothing is concluded from what is not there */
    bool running; /* being inlined: a call of itself cannot end */
    bool used;
} rlx_routine_t;

typedef struct rlx_tree {
    int n_routines;
    rlx_routine_t **routines;
    int n_lines;
    rlx_line_t **lines; /* assignments of constants outside functions */
} rlx_tree_t;

#endif
