/* Values that random ops take (tests/text/generator.h): found in the pool, or constants made for them. */
#include "generator.h"
#include "ir/shape/common.h"

rlx_value_t *any(generator_t *g) { return g->pool[pick(g, (uint64_t)g->n_pool)]; }

rlx_value_t *find(generator_t *g, bool (*fits)(rlx_dtype_t dtype), int rank_min, int rank_max)
{
    for (int i = 0; i < 60; i++) {
        rlx_value_t *value = any(g);

        if (fits(value->dtype) && value->rank >= rank_min && value->rank <= rank_max)
            return value;
    }
    return NULL;
}

bool is_f32(rlx_dtype_t dtype) { return dtype == RLX_F32; }
bool is_real(rlx_dtype_t dtype) { return dtype == RLX_F32 || dtype == RLX_F64 || dtype == RLX_F16; }
bool is_bool(rlx_dtype_t dtype) { return dtype == RLX_BOOL; }
bool is_whole(rlx_dtype_t dtype) { return rlx_dtype_is_integer(dtype) && dtype != RLX_BOOL; }
bool is_unsigned(rlx_dtype_t dtype) { return dtype == RLX_U8 || dtype == RLX_U16 || dtype == RLX_U32 || dtype == RLX_U64; }
bool is_byte(rlx_dtype_t dtype) { return dtype == RLX_U8 || dtype == RLX_I8; }
bool is_number(rlx_dtype_t dtype) { return dtype != RLX_BOOL; }
bool is_u8(rlx_dtype_t dtype) { return dtype == RLX_U8; }
bool is_any(rlx_dtype_t dtype) { return dtype != RLX_DTYPE_NONE; }

/* Extent `axis`, or 0 where it is open. */
int64_t extent(const generator_t *g, const rlx_value_t *value, int axis)
{
    int64_t number = 0;

    if (axis < value->rank)
        rlx_expr_is_const(g->graph->exprs, value->dims[axis], &number);
    return number;
}

bool extents(const generator_t *g, const rlx_value_t *value, int64_t *dims)
{
    return rlx_value_dims_const(g->graph, value, dims);
}

static void element_set(rlx_dtype_t dtype, void *data, int64_t i, double number)
{
    switch (dtype) {
    case RLX_F32: ((float *)data)[i] = (float)number; break;
    case RLX_F64: ((double *)data)[i] = number; break;
    case RLX_F16: ((_Float16 *)data)[i] = (_Float16)number; break;
    case RLX_I16: ((int16_t *)data)[i] = (int16_t)number; break;
    case RLX_I32: ((int32_t *)data)[i] = (int32_t)number; break;
    case RLX_I64: ((int64_t *)data)[i] = (int64_t)number; break;
    case RLX_I8: ((int8_t *)data)[i] = (int8_t)number; break;
    case RLX_U16: ((uint16_t *)data)[i] = (uint16_t)(int64_t)number; break;
    case RLX_U32: ((uint32_t *)data)[i] = (uint32_t)(int64_t)number; break;
    case RLX_U64: ((uint64_t *)data)[i] = (uint64_t)(int64_t)number; break;
    case RLX_BOOL: ((uint8_t *)data)[i] = (int64_t)number & 1; break;
    default: ((uint8_t *)data)[i] = (uint8_t)(int64_t)number; break;
    }
}

/* A constant of numbers from low to high; of floats between them, too. */
rlx_value_t *numbers(generator_t *g, rlx_dtype_t dtype, int rank, const int64_t *dims, int low, int high)
{
    int64_t count = 1;
    void *data;

    for (int i = 0; i < rank; i++)
        count *= dims[i];
    if (count > 65536)
        return NULL;
    data = rlx_graph_alloc(g->graph, (size_t)(count + 1) * rlx_dtype_size(dtype));
    for (int64_t i = 0; i < count; i++) {
        double number = low + (double)pick(g, (uint64_t)(high - low) + 1);

        element_set(dtype, data, i, rlx_dtype_is_float(dtype) ? number + (double)((int64_t)pick(g, 1025) - 512) / 1024 : number);
    }
    return rlx_graph_const(g->graph, rlx_dtype_is_float(dtype) ? "w" : "k", dtype, rank, dims, data, true);
}

rlx_value_t *floats(generator_t *g, rlx_dtype_t dtype, int rank, const int64_t *dims) { return numbers(g, dtype, rank, dims, -2, 2); }
rlx_value_t *ints(generator_t *g, int n, const int64_t *data) { return rlx_graph_const_i64(g->graph, "k", data, n); }

rlx_value_t *vector(generator_t *g, rlx_dtype_t dtype, int64_t n) { return floats(g, dtype, 1, &n); }

rlx_value_t *scalar(generator_t *g, rlx_dtype_t dtype, double number)
{
    void *data = rlx_graph_alloc(g->graph, 8);

    element_set(dtype, data, 0, number);
    return rlx_graph_const(g->graph, "c", dtype, 0, NULL, data, true);
}

/* A constant that is broadcast to x. */
rlx_value_t *beside(generator_t *g, const rlx_value_t *x, rlx_dtype_t dtype)
{
    int64_t dims[RLX_RANK_MAX];
    int rank = (int)pick(g, (uint64_t)x->rank + 1);

    for (int i = 0; i < rank; i++) {
        dims[i] = extent(g, x, x->rank - rank + i);
        if (dims[i] == 0 || pick(g, 3) == 0)
            dims[i] = 1;
    }
    return numbers(g, dtype, rank, dims, rlx_dtype_is_float(dtype) ? -2 : 0, 3);
}

