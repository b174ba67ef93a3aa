/* What shape rules and lowerings share: broadcasting, axes, elements of shape tensors, outputs.
 *
 * Every function that can fail reports through `diag` and names the op's source node, its operator and the operand. Rules never trust an
 * operand: they test rank, dtype and range first. Checks that cannot be proven become graph checks. One thread. */
#ifndef RLX_IR_SHAPE_COMMON_H
#define RLX_IR_SHAPE_COMMON_H

#include "ir/graph.h"

#define RLX_COUNT_MAX ((int64_t)1 << 40) /* elements of one tensor */

/* Fails with "OPERATOR: message" at the op's source node. */
rlx_status_t rlx_shape_fail(rlx_diag_t *diag, const rlx_op_t *op, rlx_error_code_t code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Requirements on the op. `rank` -1 means any. Operand `index` must be present. */
rlx_status_t rlx_shape_need_rank(const rlx_op_t *op, int index, int rank_min, int rank_max, rlx_diag_t *diag);
rlx_status_t rlx_shape_need_same_dtype(const rlx_op_t *op, int first, int second, rlx_diag_t *diag);
/* The operand's dtype is an integer (bool is not). */
rlx_status_t rlx_shape_need_integer(const rlx_op_t *op, int index, rlx_diag_t *diag);
bool rlx_dtype_is_integer(rlx_dtype_t dtype); /* i8..u64 */
bool rlx_dtype_is_float(rlx_dtype_t dtype);   /* f32, f64, f16, bf16 */

/* `axis` in [-rank, rank) to [0, rank). */
rlx_status_t rlx_shape_axis(const rlx_op_t *op, int64_t axis, int rank, int *out_axis, rlx_diag_t *diag);
/* Axes operand `index` (integer tensor of known constants), normalised; repeated axes are refused. Absent operand: count -1. */
rlx_status_t rlx_shape_axes(rlx_graph_t *graph, const rlx_op_t *op, int index, int rank, int out_axes[RLX_RANK_MAX], int *out_count,
                            rlx_diag_t *diag);

/* Declares `condition` for this op: proven true is dropped, proven false fails with RLX_E_SHAPE_MISMATCH, else a graph check.
 * The message is "OPERATOR at SOURCE: what". */
rlx_status_t rlx_shape_require(rlx_graph_t *graph, const rlx_op_t *op, rlx_expr_t condition, const char *what, rlx_diag_t *diag);
/* Two extents must agree; `what` names them ("input channels and weight"). */
rlx_status_t rlx_shape_require_equal(rlx_graph_t *graph, const rlx_op_t *op, rlx_expr_t a, rlx_expr_t b, const char *what,
                                     rlx_diag_t *diag);

/* Sets output `index` (ignored when nobody asked for it): dtype, rank, dims; clears elements. Refuses rank above RLX_RANK_MAX, extents that
 * are NONE (RLX_E_SHAPE_UNKNOWN), ERROR or proven negative, and counts proven above RLX_COUNT_MAX; an extent that may be negative gets a
 * check. */
rlx_status_t rlx_shape_set(rlx_graph_t *graph, rlx_op_t *op, int index, rlx_dtype_t dtype, int rank, const rlx_expr_t *dims,
                           rlx_diag_t *diag);
/* Output `index` is like operand `operand` but of type `dtype`. */
rlx_status_t rlx_shape_set_like(rlx_graph_t *graph, rlx_op_t *op, int index, rlx_dtype_t dtype, int operand, rlx_diag_t *diag);

/* Broadcasting (numpy). One extent pair; `out` is the common extent. Pairs that cannot be proven to fit get a check. */
rlx_status_t rlx_shape_broadcast_dim(rlx_graph_t *graph, const rlx_op_t *op, rlx_expr_t a, rlx_expr_t b, rlx_expr_t *out, rlx_diag_t *diag);
/* dims into acc (rank *acc_rank, right-aligned): acc becomes the common shape. */
rlx_status_t rlx_shape_broadcast_dims(rlx_graph_t *graph, const rlx_op_t *op, rlx_expr_t *acc, int *acc_rank, const rlx_expr_t *dims,
                                      int rank, rlx_diag_t *diag);
/* Common shape of all present operands [first, first+count). */
rlx_status_t rlx_shape_broadcast(rlx_graph_t *graph, const rlx_op_t *op, int first, int count, rlx_expr_t *out_dims, int *out_rank,
                                 rlx_diag_t *diag);

/* For lowering: product of dims[begin..end). */
rlx_expr_t rlx_shape_product(const rlx_graph_t *graph, const rlx_expr_t *dims, int begin, int end);
/* Row-major element stride of axis `axis` of `value`. */
rlx_expr_t rlx_shape_stride(const rlx_graph_t *graph, const rlx_value_t *value, int axis);
/* Element stride with which `value` is read along axis `axis` of an output of rank `out_rank` to which it broadcasts: 0 where the axis is
 * missing or its extent is 1, decided at run time where the extent is symbolic. */
rlx_expr_t rlx_shape_broadcast_stride(const rlx_graph_t *graph, const rlx_value_t *value, int out_rank, int axis);

#define RLX_FLOAT_SYMBOLS_MAX 8

/* Elements of integer (and bool) values.
 * Ints: all elements of operand `index` into `out`, each a known expression; RLX_E_SHAPE_UNKNOWN naming the operand otherwise. Elements
 * that come from graph inputs become symbols here, on demand, through the ops in between. */
rlx_status_t rlx_shape_ints(rlx_graph_t *graph, const rlx_op_t *op, int index, rlx_expr_t *out, int cap, int *out_count, rlx_diag_t *diag);
/* Same, exactly one element. */
rlx_status_t rlx_shape_int(rlx_graph_t *graph, const rlx_op_t *op, int index, rlx_expr_t *out, rlx_diag_t *diag);
/* Same, and it must be a constant. */
rlx_status_t rlx_shape_int_const(rlx_graph_t *graph, const rlx_op_t *op, int index, int64_t *out, rlx_diag_t *diag);
/* The bits, zero-extended, of element `i` of an f32 value: a constant, or a symbol when the value is a graph input of constant extents
 * and at most RLX_FLOAT_SYMBOLS_MAX elements; else NONE. */
rlx_expr_t rlx_shape_float_bits(rlx_graph_t *graph, rlx_value_t *value, int i);
/* Starts tracking the elements of output value `value` (dims set): an array of value->n_elements expressions, all NONE, or NULL when the
 * value is no integer or bool, its count is unknown or above RLX_ELEMENTS_MAX. */
rlx_expr_t *rlx_shape_track(rlx_graph_t *graph, rlx_value_t *value);
/* Element `i` of a value, or NONE. */
rlx_expr_t rlx_shape_element(const rlx_value_t *value, int i);
/* Constant results outside the dtype wrap at run time: such an element is dropped to NONE. */
rlx_expr_t rlx_shape_wrap(const rlx_graph_t *graph, rlx_dtype_t dtype, rlx_expr_t element);
/* True when dims and dtype allow tracking; then the count. */
bool rlx_shape_trackable(const rlx_graph_t *graph, const rlx_value_t *value, int *out_count);
/* True when a symbol of `expr` is data of an input (not an extent), or when that is too costly to tell. Data may hold the special values of
 * an operator (0 and -1 of reshape); arithmetic on extents is taken as extents. */
bool rlx_shape_depends_on_data(const rlx_graph_t *graph, rlx_expr_t expr);

/* Slice, resolved for all axes of x: first index, step and extent of the result; runtime starts, ends, axes and steps become selects.
 * Shape rule and lowering both call it. */
rlx_status_t rlx_shape_slice(rlx_graph_t *graph, const rlx_op_t *op, rlx_expr_t *out_starts, rlx_expr_t *out_steps, rlx_expr_t *out_dims,
                             rlx_diag_t *diag);
/* Pad, resolved for all axes of x: elements added (or, negative, removed) before and behind. */
rlx_status_t rlx_shape_pad(rlx_graph_t *graph, const rlx_op_t *op, rlx_expr_t *out_begins, rlx_expr_t *out_ends, rlx_diag_t *diag);

/* Multi-index of flat index `flat` for constant dims; and back. */
void rlx_shape_unravel(int64_t flat, int rank, const int64_t *dims, int64_t *out_index);
int64_t rlx_shape_ravel(int rank, const int64_t *dims, const int64_t *index);

#endif
