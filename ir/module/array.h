/* Constant arrays while a module is read: numpy's arithmetic on what becomes weights. Row-major data in the arena of the syntax tree.
 *
 * Element types of results are numpy's (version 2): a Python number takes the array's type where it can. Arithmetic of f32 and f16 is rounded
 * after every operation, as numpy does. One thread. */
#ifndef RLX_IR_MODULE_ARRAY_H
#define RLX_IR_MODULE_ARRAY_H

#include "ir/text/syntax.h"

#define RLX_ARRAY_BYTES_MAX ((int64_t)512 << 20) /* of one array */

/* Zeroed; false when it is too large. */
bool rlx_array_make(rlx_syntax_t *syntax, rlx_dtype_t dtype, int rank, const int64_t *dims, rlx_tensor_t *out);
int64_t rlx_array_count(const rlx_tensor_t *array);
bool rlx_array_is_float(rlx_dtype_t dtype);

double rlx_array_real(const rlx_tensor_t *array, int64_t i);
int64_t rlx_array_int(const rlx_tensor_t *array, int64_t i); /* of an integer or bool array */
/* Rounds to the element type. False: an integer type that cannot hold it. */
bool rlx_array_put_real(rlx_tensor_t *array, int64_t i, double value);
bool rlx_array_put_int(rlx_tensor_t *array, int64_t i, int64_t value);

/* What stands beside an operator: an array, or a number written in Python (`weak`: its type gives way). */
typedef struct rlx_operand {
    rlx_tensor_t array;
    bool weak;
} rlx_operand_t;

typedef enum rlx_array_error {
    RLX_ARRAY_OK,
    RLX_ARRAY_SHAPES,   /* they do not broadcast */
    RLX_ARRAY_TYPES,    /* no such operation between these types */
    RLX_ARRAY_TOO_LARGE,
    RLX_ARRAY_ZERO,     /* integer division by zero */
    RLX_ARRAY_RANGE,    /* an integer does not fit into its type, or a negative power of an integer */
} rlx_array_error_t;

/* op: + - * / // % ** and the words max, min. */
rlx_array_error_t rlx_array_binary(rlx_syntax_t *syntax, const char *op, const rlx_operand_t *a, const rlx_operand_t *b, rlx_tensor_t *out);
/* op: a function of one number: neg, abs, sqrt, exp, log ... Integers become f64 but for neg, abs, sign, square. */
rlx_array_error_t rlx_array_unary(rlx_syntax_t *syntax, const char *op, const rlx_tensor_t *a, rlx_tensor_t *out);
bool rlx_array_has_unary(const char *op);
rlx_array_error_t rlx_array_cast(rlx_syntax_t *syntax, const rlx_tensor_t *a, rlx_dtype_t dtype, rlx_tensor_t *out);
/* perm NULL: axes reversed. */
rlx_array_error_t rlx_array_transpose(rlx_syntax_t *syntax, const rlx_tensor_t *a, const int *perm, rlx_tensor_t *out);
rlx_array_error_t rlx_array_concat(rlx_syntax_t *syntax, const rlx_tensor_t *arrays, int n, int axis, rlx_tensor_t *out);
/* Elements first, first + stride ... along one axis: a slice of it, or (`drop`) one index without the axis. */
rlx_array_error_t rlx_array_pick(rlx_syntax_t *syntax, const rlx_tensor_t *a, int axis, int64_t first, int64_t stride, int64_t count, bool drop,
                                 rlx_tensor_t *out);

#endif
