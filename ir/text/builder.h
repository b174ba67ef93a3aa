/* The inside of the builder (ir/text/build.h). Internal to ir/text/build*.c and sugar.c.
 *
 * Functions that can fail report to the findings and return false, or NULL. */
#ifndef RLX_IR_TEXT_BUILDER_H
#define RLX_IR_TEXT_BUILDER_H

#include "base/closest.h"
#include "base/diag_list.h"
#include "ir/graph.h"
#include "ir/onnx/names.h"
#include "ir/text/external.h"
#include "ir/text/syntax.h"

#define RLX_TEXT_OPERANDS_MAX 65535

/* A name of a function: of a value, or of a statement that failed. */
typedef struct rlx_text_name {
    rlx_value_t *value; /* NULL: broken */
    rlx_span_t span;
    bool used;
    bool result; /* of an operator */
} rlx_text_name_t;

/* Bounds that a symbol::range statement gives. */
typedef struct rlx_text_range {
    const char *name;
    rlx_span_t span;
    int64_t min, max;
    bool declared, independent, used;
} rlx_text_range_t;

typedef struct rlx_text_builder {
    const rlx_syntax_t *syntax;
    const rlx_syntax_function_t *function;
    rlx_diag_list_t *findings;
    rlx_graph_t *graph;
    rlx_text_files_t *files;
    const struct rlx_text_builder *around; /* of a body: the builder of the function around it */
    rlx_onnx_names_t names;                /* rlx_text_name_t */
    rlx_text_range_t *ranges;
    int n_ranges, cap_ranges;
    int depth;                             /* of remote calls that led here */
    bool broken;                           /* a value that failed before was used: the statement is passed over */
} rlx_text_builder_t;

/* An operator while its statement is read. */
typedef struct rlx_text_call {
    rlx_text_builder_t *builder;
    const rlx_syntax_statement_t *statement;
    rlx_op_kind_t kind;
    int spatial;             /* that the word demands, or 0 */
    int n_in, cap_in;
    rlx_value_t **in;
    const rlx_syntax_field_t *padding, *elements; /* NULL: not given */
    const char *node, *source;                    /* labels; NULL: not given */
    int n_fields;                                 /* attributes of the operator, in the order written */
    const rlx_syntax_field_t **fields;
    int n_notes;                                  /* annotations */
    const rlx_syntax_field_t **notes;
} rlx_text_call_t;

/* build.c */
bool rlx_text_function_build(rlx_text_builder_t *builder);
rlx_text_name_t *rlx_text_name_add(rlx_text_builder_t *builder, const char *name, rlx_span_t span, rlx_value_t *value);
/* The value called so; NULL after reporting, or silently (builder->broken) where its own statement failed. */
rlx_value_t *rlx_text_value_find(rlx_text_builder_t *builder, const char *name, rlx_span_t span);
/* The text's line and column, for messages of later passes; or what the tree says. */
const char *rlx_text_source(rlx_text_builder_t *builder, const rlx_syntax_statement_t *statement);

/* build_value.c: values of the tree. */
bool rlx_text_int(rlx_text_builder_t *builder, const rlx_syntax_field_t *field, int64_t min, int64_t max, int64_t *out);
bool rlx_text_double(rlx_text_builder_t *builder, const rlx_syntax_field_t *field, double *out);
/* A string, or a bare word. */
bool rlx_text_string(rlx_text_builder_t *builder, const rlx_syntax_field_t *field, const char **out);
bool rlx_text_bool(rlx_text_builder_t *builder, const rlx_syntax_field_t *field, bool *out);
/* f32, "f32", "float32" ... */
bool rlx_text_dtype(rlx_text_builder_t *builder, const rlx_syntax_field_t *field, rlx_dtype_t *out);
rlx_dtype_t rlx_text_dtype_parse(const char *word);
/* A symbolic number; `_` is RLX_EXPR_NONE. Symbols must exist. */
bool rlx_text_expr(rlx_text_builder_t *builder, const rlx_syntax_value_t *value, rlx_expr_t *out);
/* The index of the symbol called so, or -1. */
int rlx_text_symbol(const rlx_text_builder_t *builder, const char *name);
/* Reports that `value` is of the wrong kind. False, always. */
bool rlx_text_wrong(rlx_text_builder_t *builder, const rlx_syntax_value_t *value, const char *what, const char *expected);

/* build_symbol.c: symbol::range and symbol::check. */
bool rlx_text_ranges_collect(rlx_text_builder_t *builder);
rlx_text_range_t *rlx_text_range_find(rlx_text_builder_t *builder, const char *name);
bool rlx_text_symbol_build(rlx_text_builder_t *builder, const rlx_syntax_statement_t *statement);
/* Keywords, then attributes. */
const rlx_syntax_field_t *rlx_text_field_at(const rlx_syntax_statement_t *statement, int index);

/* build_tensor.c: tensor::alloc and tensor::constant. */
/* Inputs are made before anything else, plain symbols first, so that extents can be said with symbols of later inputs. */
bool rlx_text_inputs_make(rlx_text_builder_t *builder);
bool rlx_text_tensor_build(rlx_text_builder_t *builder, const rlx_syntax_statement_t *statement);
/* A constant of the graph from a tensor of the tree or of a file. */
rlx_value_t *rlx_text_constant(rlx_text_builder_t *builder, const char *name, const rlx_syntax_value_t *value);
bool rlx_text_statement_is(const rlx_syntax_statement_t *statement, const char *space, const char *callee);
/* The field, among keywords and attributes; NULL: not given. */
const rlx_syntax_field_t *rlx_text_field(const rlx_syntax_statement_t *statement, const char *name);

/* build_op.c */
bool rlx_text_op_build(rlx_text_builder_t *builder, const rlx_syntax_statement_t *statement);
bool rlx_text_operand_set(rlx_text_call_t *call, int index, rlx_value_t *value);
/* rule.c: what the operator's shape rule found, at the place that it speaks of. `diag` is changed. */
void rlx_text_rule_report(rlx_text_call_t *call, rlx_diag_t *diag);
/* build_operand.c: an argument as an operand: a value, or a constant made of a number or list. */
bool rlx_text_operand(rlx_text_call_t *call, int index, const rlx_syntax_value_t *argument, rlx_value_t **out);
/* build_attr.c: sets what call->fields and call->padding say. */
bool rlx_text_attrs_set(rlx_text_call_t *call, rlx_op_t *op);
/* build_flow.c: bodies of `if` and `loop`: made and attached, before the shape rule runs; and checked against the operands after it. */
bool rlx_text_bodies_build(rlx_text_call_t *call, rlx_op_t *op);
bool rlx_text_bodies_check(rlx_text_call_t *call, rlx_op_t *op);
/* build_annotation.c, build_annotation_op.c: whether a word is an annotation's; reading what call->notes say. */
bool rlx_text_is_value_note(const char *word);
bool rlx_text_is_op_note(const char *word);
void rlx_text_notes_offer(rlx_closest_t *closest);
bool rlx_text_value_note(rlx_text_builder_t *builder, rlx_value_t *value, const rlx_syntax_field_t *field);
bool rlx_text_op_note(rlx_text_builder_t *builder, rlx_op_t *op, const rlx_syntax_field_t *field);
/* What the annotations of one op must fulfil together: sync_mode where it crosses devices. */
bool rlx_text_op_notes_check(rlx_text_builder_t *builder, const rlx_op_t *op, const rlx_syntax_statement_t *statement);

/* sugar.c: words for several operators or with defaults that depend on shapes. */
typedef bool rlx_text_sugar_fn_t(rlx_text_builder_t *builder, const rlx_syntax_statement_t *statement);
rlx_text_sugar_fn_t *rlx_text_sugar_find(const rlx_syntax_statement_t *statement);
void rlx_text_sugar_offer(rlx_closest_t *closest);

/* callee.c: the types of the results of a function that is called by name: a module of the text, or of NAME.rlx or NAME.rlxir beside it. Silent
 * where there is none. */
bool rlx_text_callee_types(rlx_text_builder_t *builder, const char *name, int n, rlx_value_t *const *results);
rlx_status_t rlx_text_module_build(const rlx_syntax_t *syntax, const rlx_syntax_function_t *module, int depth, rlx_diag_list_t *findings,
                                   rlx_graph_t **out_graph);

/* external.c: reads a tensor of a file beside the text into memory of the graph. */
bool rlx_text_external_load(rlx_text_builder_t *builder, const rlx_syntax_value_t *value, rlx_tensor_t *out);

#endif
