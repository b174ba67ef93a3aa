/* Runs a module that was read: constants are computed, calls of `rlx` become statements of the common syntax tree (ir/text/syntax.h).
 *
 * A value is what the syntax tree calls one: numbers, strings, lists, dictionaries, arrays, references to results. NULL stands for one that could
 * not be computed; that was reported where it happened, and whatever depends on it stays silent. One thread. */
#ifndef RLX_IR_MODULE_EVALUATE_H
#define RLX_IR_MODULE_EVALUATE_H

#include "base/diag_list.h"
#include "ir/module/array.h"
#include "ir/module/random.h"
#include "ir/module/scope.h"
#include "ir/module/tree.h"

/* Every @rlx.module of the tree becomes a module of `syntax`. Files beside the text are read below the folder `dir_fd`; -1: there is none. */
void rlx_module_evaluate(rlx_syntax_t *syntax, rlx_tree_t *tree, int dir_fd, rlx_diag_list_t *findings);

/* Internal to ir/module/. */
#define RLX_MODULE_INLINE_MAX 32
#define RLX_MODULE_STEPS_MAX 4000000

typedef rlx_syntax_value_t rlx_py_t;

/* The names that an assignment gives to the results of its right side; none: they are made up. */
typedef struct rlx_want {
    const rlx_target_t *targets;
    int n;
} rlx_want_t;

typedef struct rlx_arguments {
    int n;
    rlx_py_t **values;
    int n_fields;
    rlx_syntax_field_t *fields;
    rlx_span_t span, name_span; /* of the call, of its name */
    const char *name;           /* as written, for messages: "np.zeros" */
} rlx_arguments_t;

typedef struct rlx_hoisted {
    const rlx_py_t *value;
    const char *name;
} rlx_hoisted_t;

typedef struct rlx_evaluator {
    rlx_syntax_t *syntax;
    rlx_diag_list_t *findings;
    rlx_tree_t *tree;
    int dir_fd;
    rlx_syntax_function_t *function; /* that statements go to; NULL outside functions */
    rlx_routine_t *routine;          /* that runs */
    rlx_scope_t *file, *scope;
    rlx_scope_t *names; /* of results of `function` */
    rlx_hoisted_t *hoisted;
    int n_hoisted;
    rlx_random_t random;
    int depth, steps;
    bool returned, stopped;
    rlx_py_t *result;
    const rlx_node_t *result_node;
} rlx_evaluator_t;

/* evaluate_expr.c */
rlx_py_t *rlx_py_evaluate(rlx_evaluator_t *e, const rlx_node_t *node, const rlx_want_t *want);
/* "np.random.randn" for a chain of names that begins with `rlx`, `np` or `numpy` and is no variable's; else NULL. `out_root`: "rlx" or "np". */
const char *rlx_py_path(rlx_evaluator_t *e, const rlx_node_t *node, const char **out_root);

/* An operator of the graph is called so. */
bool rlx_py_is_operator(const char *name);

/* evaluate_line.c */
void rlx_py_lines(rlx_evaluator_t *e, rlx_line_t *const *lines, int n);
/* A condition must be a constant. False: it is none, which was reported. */
bool rlx_py_truth(rlx_evaluator_t *e, const rlx_py_t *value, rlx_span_t span, bool *out_truth);
/* evaluate_routine.c: inlines a call of a function of the file. */
rlx_py_t *rlx_py_inline(rlx_evaluator_t *e, rlx_routine_t *routine, const rlx_arguments_t *arguments);
rlx_routine_t *rlx_py_routine(const rlx_evaluator_t *e, const char *name);

/* evaluate_call.c */
rlx_py_t *rlx_py_call(rlx_evaluator_t *e, const rlx_node_t *node, const rlx_want_t *want);
/* evaluate_operator.c */
rlx_py_t *rlx_py_binary(rlx_evaluator_t *e, const rlx_node_t *node, const char *op, rlx_py_t *a, rlx_py_t *b, const rlx_want_t *want);
rlx_py_t *rlx_py_unary(rlx_evaluator_t *e, const rlx_node_t *node, rlx_py_t *a, const rlx_want_t *want);
/* evaluate_index.c */
rlx_py_t *rlx_py_index(rlx_evaluator_t *e, const rlx_node_t *node, rlx_py_t *object, const rlx_want_t *want);
/* evaluate_method.c: object.name and object.name(arguments). */
rlx_py_t *rlx_py_attribute(rlx_evaluator_t *e, const rlx_node_t *node, rlx_py_t *object, const rlx_want_t *want);
rlx_py_t *rlx_py_method(rlx_evaluator_t *e, rlx_py_t *object, const rlx_arguments_t *arguments, const rlx_want_t *want);
/* builtin.c: len, range, ... */
bool rlx_py_is_builtin(const char *name);
rlx_py_t *rlx_py_builtin(rlx_evaluator_t *e, const rlx_arguments_t *arguments);
/* numpy.c */
rlx_py_t *rlx_py_numpy(rlx_evaluator_t *e, const rlx_arguments_t *arguments);
rlx_py_t *rlx_py_numpy_attribute(rlx_evaluator_t *e, const char *path, rlx_span_t span);
/* external.c: data of a file beside the text; NULL after reporting. */
rlx_py_t *rlx_py_load(rlx_evaluator_t *e, const rlx_py_t *external);

/* emit.c: statements. */
rlx_py_t *rlx_py_rlx(rlx_evaluator_t *e, const rlx_arguments_t *arguments, const rlx_want_t *want);
rlx_syntax_statement_t *rlx_py_emit(rlx_evaluator_t *e, const char *space, const char *callee, rlx_span_t callee_span, rlx_span_t span);
/* The results of a statement: a reference, or a list of them where several are wanted. */
rlx_py_t *rlx_py_results(rlx_evaluator_t *e, rlx_syntax_statement_t *statement, const rlx_want_t *want);
/* What an operator takes: arrays become constants of the graph, named after `name` where there is one. */
rlx_py_t *rlx_py_operand(rlx_evaluator_t *e, rlx_py_t *value, const char *name);
/* A name for a result that no other has. `numbered`: it ends in a number in any case, since nobody wrote it. */
const char *rlx_py_result_name(rlx_evaluator_t *e, const char *name, bool numbered);

/* value.c */
rlx_py_t *rlx_py_new(rlx_evaluator_t *e, rlx_syntax_kind_t kind, rlx_span_t span);
rlx_py_t *rlx_py_int(rlx_evaluator_t *e, int64_t value, rlx_span_t span);
rlx_py_t *rlx_py_float(rlx_evaluator_t *e, double value, rlx_span_t span);
rlx_py_t *rlx_py_bool(rlx_evaluator_t *e, bool value, rlx_span_t span);
rlx_py_t *rlx_py_array(rlx_evaluator_t *e, const rlx_tensor_t *array, rlx_span_t span);
/* The same value at another place. */
rlx_py_t *rlx_py_at(rlx_evaluator_t *e, const rlx_py_t *value, rlx_span_t span);
/* Integers, booleans, and arrays of no axes that hold one. */
bool rlx_py_as_int(const rlx_py_t *value, int64_t *out);
bool rlx_py_as_real(const rlx_py_t *value, double *out);
bool rlx_py_equal(const rlx_py_t *a, const rlx_py_t *b);
/* f32, "float32" ...; NONE: none of these. */
rlx_dtype_t rlx_py_as_dtype(const rlx_py_t *value);
rlx_dtype_t rlx_py_dtype_named(const char *name);
/* Extents: an integer or a list of integers, none negative (-1 where `open` allows it). False after reporting. */
bool rlx_py_as_dims(rlx_evaluator_t *e, const rlx_py_t *value, bool open, int *out_rank, int64_t *out_dims);
/* An array of nested lists and numbers, or the array that it is; false after reporting. */
bool rlx_py_as_array(rlx_evaluator_t *e, const rlx_py_t *value, rlx_tensor_t *out);
/* "a list", "an array", "a tensor" ... */
const char *rlx_py_kind(const rlx_py_t *value);
/* Does a tensor of the graph stand in it? */
bool rlx_py_has_ref(const rlx_py_t *value);
/* Reports an error of ir/module/array.h. NULL, always. */
rlx_py_t *rlx_py_array_fail(rlx_evaluator_t *e, rlx_array_error_t error, rlx_span_t span, const rlx_tensor_t *a, const rlx_tensor_t *b);
/* Shapes as text: "[64, 3, 7, 7]". */
const char *rlx_py_shape_text(rlx_evaluator_t *e, const rlx_tensor_t *array);

/* arguments.c: values by position or name; each takes its argument out of the list. NULL: it is absent (or wrong, see `failed`). */
typedef struct rlx_taking {
    rlx_evaluator_t *e;
    const rlx_arguments_t *arguments;
    int position;
    uint64_t taken; /* bits of fields */
    bool failed;    /* reported */
} rlx_taking_t;

void rlx_take_begin(rlx_taking_t *taking, rlx_evaluator_t *e, const rlx_arguments_t *arguments);
rlx_py_t *rlx_take(rlx_taking_t *taking, const char *name);
rlx_py_t *rlx_take_needed(rlx_taking_t *taking, const char *name);
/* By name only. */
rlx_py_t *rlx_take_named(rlx_taking_t *taking, const char *name);
/* Reports what nobody took, with the names that would be right; false where anything was wrong. */
bool rlx_take_end(rlx_taking_t *taking, const char *signature);

#endif
