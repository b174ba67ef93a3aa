/* Between the files of numpy's functions. Internal to ir/module/. */
#ifndef RLX_IR_MODULE_NUMPY_H
#define RLX_IR_MODULE_NUMPY_H

#include "ir/module/evaluate.h"

/* NULL or None: the fallback. False after reporting. */
bool rlx_np_dtype(rlx_evaluator_t *e, const rlx_py_t *value, rlx_dtype_t fallback, rlx_dtype_t *out);
bool rlx_np_number(rlx_evaluator_t *e, const rlx_py_t *value, double fallback, double *out);
rlx_py_t *rlx_np_make(rlx_evaluator_t *e, const rlx_arguments_t *arguments, rlx_dtype_t dtype, int rank, const int64_t *dims);
/* A tensor of the graph where a constant is needed: reported, true. */
bool rlx_np_tensor_refuse(rlx_evaluator_t *e, const rlx_arguments_t *arguments, const rlx_py_t *value);
/* numpy_make.c */
rlx_py_t *rlx_np_fill(rlx_evaluator_t *e, const rlx_arguments_t *arguments); /* zeros, ones, full */
rlx_py_t *rlx_np_array_of(rlx_evaluator_t *e, const rlx_arguments_t *arguments);
rlx_py_t *rlx_np_arange(rlx_evaluator_t *e, const rlx_arguments_t *arguments);
rlx_py_t *rlx_np_linspace(rlx_evaluator_t *e, const rlx_arguments_t *arguments);
rlx_py_t *rlx_np_eye(rlx_evaluator_t *e, const rlx_arguments_t *arguments);
rlx_py_t *rlx_np_load(rlx_evaluator_t *e, const rlx_arguments_t *arguments);
/* numpy_random.c: all of np.random. */
rlx_py_t *rlx_np_random(rlx_evaluator_t *e, const rlx_arguments_t *arguments);

#endif
