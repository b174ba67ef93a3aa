/* Inside of the generator of random modules: its state, its dice, and what operators are given. tests/text/generate.c only uses it. */
#ifndef RLX_TESTS_TEXT_GENERATOR_H
#define RLX_TESTS_TEXT_GENERATOR_H

#include "ir/graph.h"

#define OPERANDS_MAX 10
#define POOL_MAX 64

typedef struct generator {
    uint64_t state;
    rlx_graph_t *graph;
    rlx_value_t *pool[POOL_MAX]; /* what operators may take */
    int n_pool;
} generator_t;

/* 0 to n - 1. */
uint64_t pick(generator_t *g, uint64_t n);
void pool_add(generator_t *g, rlx_value_t *value);
/* An op that its rule takes, its results in the pool; NULL: none, and nothing is left of it. `name` is that of its first result. */
rlx_op_t *op_add(generator_t *g, rlx_op_kind_t kind, const char *name, int n_in, rlx_value_t *const *in, int n_out);

/* tests/text/values.c. A value of the pool; NULL: none of that type and rank was met. */
rlx_value_t *any(generator_t *g);
rlx_value_t *find(generator_t *g, bool (*fits)(rlx_dtype_t dtype), int rank_min, int rank_max);
bool is_f32(rlx_dtype_t dtype);
bool is_real(rlx_dtype_t dtype);
bool is_bool(rlx_dtype_t dtype);
bool is_whole(rlx_dtype_t dtype);
bool is_unsigned(rlx_dtype_t dtype);
bool is_byte(rlx_dtype_t dtype);
bool is_number(rlx_dtype_t dtype);
bool is_u8(rlx_dtype_t dtype);
bool is_any(rlx_dtype_t dtype);
/* Extent `axis`, or 0 where it is open; all of them, or false. */
int64_t extent(const generator_t *g, const rlx_value_t *value, int axis);
bool extents(const generator_t *g, const rlx_value_t *value, int64_t *dims);
/* Constants: numbers from low to high (of floats between them, too; NULL: too many), small floats, the very numbers, one that is broadcast to x. */
rlx_value_t *numbers(generator_t *g, rlx_dtype_t dtype, int rank, const int64_t *dims, int low, int high);
rlx_value_t *floats(generator_t *g, rlx_dtype_t dtype, int rank, const int64_t *dims);
rlx_value_t *vector(generator_t *g, rlx_dtype_t dtype, int64_t n);
rlx_value_t *ints(generator_t *g, int n, const int64_t *data);
rlx_value_t *scalar(generator_t *g, rlx_dtype_t dtype, double number);
rlx_value_t *beside(generator_t *g, const rlx_value_t *x, rlx_dtype_t dtype);

/* Operands that are likely to fit; the count, or -1 where nothing in the pool does. tests/text/operands.c; operands_heavy.c those of convolutions,
 * products, samplers and quantised ops. */
int operands_make(generator_t *g, rlx_op_kind_t kind, rlx_value_t **in);
int convolved(generator_t *g, rlx_op_kind_t kind, rlx_value_t **in);
int deformed(generator_t *g, rlx_value_t **in);
int multiplied(generator_t *g, rlx_op_kind_t kind, rlx_value_t **in);
int recurrent(generator_t *g, rlx_op_kind_t kind, rlx_value_t **in);
int sampled(generator_t *g, rlx_op_kind_t kind, rlx_value_t **in);
int quantised(generator_t *g, rlx_op_kind_t kind, rlx_value_t **in);
/* tests/text/attributes.c. Random ones by their declaration, then those that the operands ask for. */
void attributes_make(generator_t *g, rlx_op_t *op);
/* tests/text/bodies.c. An `if` or a `loop`. */
bool flow_add(generator_t *g);

#endif
