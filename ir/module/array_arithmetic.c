/* Types of results after numpy's tables, broadcasting, and the operations. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/module/array.h"

static bool is_signed(rlx_dtype_t dtype) { return dtype == RLX_I8 || dtype == RLX_I16 || dtype == RLX_I32 || dtype == RLX_I64; }

static rlx_dtype_t signed_of(size_t bytes)
{
    return bytes == 1 ? RLX_I8 : bytes == 2 ? RLX_I16 : bytes == 4 ? RLX_I32 : bytes == 8 ? RLX_I64 : RLX_F64;
}

/* The type that holds both; NONE: bf16 mixes with nothing else. */
static rlx_dtype_t promote(rlx_dtype_t a, rlx_dtype_t b)
{
    size_t size_a = rlx_dtype_size(a), size_b = rlx_dtype_size(b), needed;

    if (a == b || b == RLX_BOOL)
        return a;
    if (a == RLX_BOOL)
        return b;
    if (a == RLX_BF16 || b == RLX_BF16)
        return RLX_DTYPE_NONE;
    if (rlx_array_is_float(a) && rlx_array_is_float(b))
        return size_a > size_b ? a : b;
    if (rlx_array_is_float(a) || rlx_array_is_float(b)) {
        rlx_dtype_t real = rlx_array_is_float(a) ? a : b;

        needed = rlx_array_is_float(a) ? size_b : size_a; /* bytes of the integer: 1 fits into f16, 2 into f32, more into f64 */
        return needed >= 4 ? RLX_F64 : needed == 2 && real == RLX_F16 ? RLX_F32 : real;
    }
    if (is_signed(a) == is_signed(b))
        return size_a > size_b ? a : b;
    needed = is_signed(a) ? 2 * size_b : 2 * size_a;
    return signed_of(needed > (is_signed(a) ? size_a : size_b) ? needed : is_signed(a) ? size_a : size_b);
}

static rlx_dtype_t result_type(const char *op, const rlx_operand_t *a, const rlx_operand_t *b)
{
    rlx_dtype_t type = promote(a->array.dtype, b->array.dtype);

    if (a->weak != b->weak) { /* a number takes the array's type, unless it is of a higher kind */
        rlx_dtype_t strong = a->weak ? b->array.dtype : a->array.dtype, weak = a->weak ? a->array.dtype : b->array.dtype;

        if (rlx_array_is_float(strong) || (!rlx_array_is_float(weak) && (strong != RLX_BOOL || weak == RLX_BOOL)))
            type = strong;
        else
            type = rlx_array_is_float(weak) ? RLX_F64 : RLX_I64;
    }
    if (strcmp(op, "/") == 0 && type != RLX_DTYPE_NONE && !rlx_array_is_float(type))
        return RLX_F64;
    return type;
}

static bool broadcast(const rlx_tensor_t *a, const rlx_tensor_t *b, int *out_rank, int64_t *out_dims)
{
    int rank = a->rank > b->rank ? a->rank : b->rank;

    for (int i = 0; i < rank; i++) {
        int64_t x = i < rank - a->rank ? 1 : a->dims[i - (rank - a->rank)], y = i < rank - b->rank ? 1 : b->dims[i - (rank - b->rank)];

        if (x != y && x != 1 && y != 1)
            return false;
        out_dims[i] = x == 1 ? y : x;
    }
    *out_rank = rank;
    return true;
}

/* Steps of an operand's index per axis of the result; 0 where it is repeated. */
static void broadcast_strides(const rlx_tensor_t *a, int rank, int64_t *strides)
{
    int64_t stride = 1;

    for (int i = rank - 1; i >= 0; i--) {
        int axis = i - (rank - a->rank);

        strides[i] = axis < 0 || a->dims[axis] == 1 ? 0 : stride;
        stride *= axis < 0 ? 1 : a->dims[axis];
    }
}

static double real_op(const char *op, double x, double y)
{
    switch (op[0]) {
    case '+': return x + y;
    case '-': return x - y;
    case '*': return op[1] == '*' ? pow(x, y) : x * y;
    case '/': return op[1] == '/' ? floor(x / y) : x / y;
    case '%': return x - floor(x / y) * y;
    default: return isnan(x) || isnan(y) ? NAN : strcmp(op, "max") == 0 ? (x > y ? x : y) : (x < y ? x : y);
    }
}

static rlx_array_error_t int_power(int64_t x, int64_t n, int64_t *out)
{
    if (n < 0)
        return RLX_ARRAY_RANGE;
    for (*out = 1; n > 0; n >>= 1) {
        if ((n & 1) != 0 && __builtin_mul_overflow(*out, x, out))
            return RLX_ARRAY_RANGE;
        if (n > 1 && __builtin_mul_overflow(x, x, &x))
            return RLX_ARRAY_RANGE;
    }
    return RLX_ARRAY_OK;
}

static rlx_array_error_t int_op(const char *op, int64_t x, int64_t y, int64_t *out)
{
    int64_t remainder;

    switch (op[0]) {
    case '+': return __builtin_add_overflow(x, y, out) ? RLX_ARRAY_RANGE : RLX_ARRAY_OK;
    case '-': return __builtin_sub_overflow(x, y, out) ? RLX_ARRAY_RANGE : RLX_ARRAY_OK;
    case '*':
        if (op[1] == '*')
            return int_power(x, y, out);
        return __builtin_mul_overflow(x, y, out) ? RLX_ARRAY_RANGE : RLX_ARRAY_OK;
    case '/':
    case '%':
        if (y == 0 || (x == INT64_MIN && y == -1))
            return y == 0 ? RLX_ARRAY_ZERO : RLX_ARRAY_RANGE;
        remainder = x % y;
        if (remainder != 0 && (remainder < 0) != (y < 0))
            remainder += y;
        *out = op[0] == '%' ? remainder : (x - remainder) / y;
        return RLX_ARRAY_OK;
    default: *out = (strcmp(op, "max") == 0) == (x > y) ? x : y; return RLX_ARRAY_OK;
    }
}

static rlx_array_error_t element_op(const char *op, const rlx_tensor_t *a, int64_t at_a, const rlx_tensor_t *b, int64_t at_b, rlx_tensor_t *out,
                                    int64_t i)
{
    rlx_array_error_t error;
    int64_t value;

    if (rlx_array_is_float(out->dtype)) {
        rlx_array_put_real(out, i, real_op(op, rlx_array_real(a, at_a), rlx_array_real(b, at_b)));
        return RLX_ARRAY_OK;
    }
    error = int_op(op, rlx_array_int(a, at_a), rlx_array_int(b, at_b), &value);
    if (error != RLX_ARRAY_OK)
        return error;
    return rlx_array_put_int(out, i, value) ? RLX_ARRAY_OK : RLX_ARRAY_RANGE;
}

/* A number written in Python takes the result's type before anything is computed. */
static rlx_array_error_t number_cast(rlx_syntax_t *syntax, const rlx_operand_t *operand, const rlx_operand_t *other, rlx_dtype_t type,
                                     rlx_operand_t *out)
{
    *out = *operand;
    return operand->weak && !other->weak ? rlx_array_cast(syntax, &operand->array, type, &out->array) : RLX_ARRAY_OK;
}

static rlx_array_error_t elements_binary(rlx_syntax_t *syntax, const char *op, const rlx_operand_t *a, const rlx_operand_t *b, rlx_dtype_t type,
                                         rlx_tensor_t *out)
{
    int64_t dims[RLX_RANK_MAX], strides_a[RLX_RANK_MAX], strides_b[RLX_RANK_MAX], index[RLX_RANK_MAX] = {0}, count, at_a = 0, at_b = 0;
    rlx_array_error_t error = RLX_ARRAY_OK;
    int rank = 0;

    if (!broadcast(&a->array, &b->array, &rank, dims))
        return RLX_ARRAY_SHAPES;
    if (!rlx_array_make(syntax, type, rank, dims, out))
        return RLX_ARRAY_TOO_LARGE;
    broadcast_strides(&a->array, rank, strides_a);
    broadcast_strides(&b->array, rank, strides_b);
    count = rlx_array_count(out);
    for (int64_t i = 0; i < count && error == RLX_ARRAY_OK; i++) {
        error = element_op(op, &a->array, at_a, &b->array, at_b, out, i);
        for (int axis = rank - 1; axis >= 0; axis--) {
            at_a += strides_a[axis];
            at_b += strides_b[axis];
            if (++index[axis] < dims[axis])
                break;
            at_a -= strides_a[axis] * dims[axis];
            at_b -= strides_b[axis] * dims[axis];
            index[axis] = 0;
        }
    }
    return error;
}

rlx_array_error_t rlx_array_binary(rlx_syntax_t *syntax, const char *op, const rlx_operand_t *a, const rlx_operand_t *b, rlx_tensor_t *out)
{
    rlx_dtype_t type = result_type(op, a, b);
    rlx_operand_t x, y;
    rlx_array_error_t error;

    if (type == RLX_DTYPE_NONE || type == RLX_U64 || (type == RLX_BOOL && op[0] != 'm'))
        return RLX_ARRAY_TYPES;
    error = number_cast(syntax, a, b, type, &x);
    if (error == RLX_ARRAY_OK)
        error = number_cast(syntax, b, a, type, &y);
    return error == RLX_ARRAY_OK ? elements_binary(syntax, op, &x, &y, type, out) : error;
}

static double sign_of(double x) { return isnan(x) ? x : x > 0 ? 1 : x < 0 ? -1 : 0; }
static double square_of(double x) { return x * x; }
static double negative_of(double x) { return -x; }
static double reciprocal_of(double x) { return 1 / x; }

static const struct unary {
    const char *name;
    double (*function)(double);
    bool keeps_ints;
} unaries[] = {{"neg", negative_of, true}, {"abs", fabs, true},  {"sign", sign_of, true}, {"square", square_of, true}, {"sqrt", sqrt, false},
               {"exp", exp, false},        {"log", log, false},  {"log2", log2, false},   {"log10", log10, false},     {"sin", sin, false},
               {"cos", cos, false},        {"tan", tan, false},  {"tanh", tanh, false},   {"floor", floor, true},      {"ceil", ceil, true},
               {"rint", rint, true},       {"expm1", expm1, false}, {"log1p", log1p, false}, {"reciprocal", reciprocal_of, false}};

static const struct unary *unary_find(const char *op)
{
    for (size_t i = 0; i < sizeof unaries / sizeof *unaries; i++)
        if (strcmp(unaries[i].name, op) == 0)
            return &unaries[i];
    return NULL;
}

bool rlx_array_has_unary(const char *op) { return unary_find(op) != NULL; }

/* Integers whose values doubles hold; larger ones are refused. */
rlx_array_error_t rlx_array_unary(rlx_syntax_t *syntax, const char *op, const rlx_tensor_t *a, rlx_tensor_t *out)
{
    const struct unary *unary = unary_find(op);
    rlx_dtype_t type = rlx_array_is_float(a->dtype) || unary->keeps_ints ? a->dtype : RLX_F64;
    int64_t count = rlx_array_count(a);

    if (a->dtype == RLX_BOOL || a->dtype == RLX_U64)
        return RLX_ARRAY_TYPES;
    if (!rlx_array_make(syntax, type, a->rank, a->dims, out))
        return RLX_ARRAY_TOO_LARGE;
    for (int64_t i = 0; i < count; i++) {
        if (!rlx_array_is_float(a->dtype) && llabs(rlx_array_int(a, i)) > INT64_C(1) << 53)
            return RLX_ARRAY_RANGE;
        if (!rlx_array_put_real(out, i, unary->function(rlx_array_real(a, i))))
            return RLX_ARRAY_RANGE;
    }
    return RLX_ARRAY_OK;
}
