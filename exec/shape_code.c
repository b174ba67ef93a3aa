/* The interpreter: one loop over words, arithmetic in a pure helper. The stack cannot over- or underflow: rlx_program_check walked it. */
#include "exec/shape_code.h"

#include <inttypes.h>
#include <stdbool.h>

#include "base/float_bits.h"
#include "bundle/program.h"

typedef enum arith { ARITH_OK, ARITH_OVERFLOW, ARITH_ZERO, ARITH_FLOAT } arith_t;

static arith_t divide(int64_t op, int64_t a, int64_t b, int64_t *out)
{
    int64_t quotient, rest;

    if (b == 0)
        return ARITH_ZERO;
    if (a == INT64_MIN && b == -1) {
        *out = 0;
        return op == RLX_CODE_MOD ? ARITH_OK : ARITH_OVERFLOW;
    }
    quotient = a / b;
    rest = a % b;
    switch (op) {
    case RLX_CODE_FLOORDIV: *out = quotient - (rest != 0 && (rest < 0) != (b < 0)); break;
    case RLX_CODE_CEILDIV: *out = quotient + (rest != 0 && (rest < 0) == (b < 0)); break;
    case RLX_CODE_MOD: *out = rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest; break;
    default: *out = quotient; break;
    }
    return ARITH_OK;
}

static arith_t binary(int64_t op, int64_t a, int64_t b, int64_t *out)
{
    bool overflow = false;

    switch (op) {
    case RLX_CODE_ADD: overflow = __builtin_add_overflow(a, b, out); break;
    case RLX_CODE_SUB: overflow = __builtin_sub_overflow(a, b, out); break;
    case RLX_CODE_MUL: overflow = __builtin_mul_overflow(a, b, out); break;
    case RLX_CODE_MIN: *out = a < b ? a : b; break;
    case RLX_CODE_MAX: *out = a > b ? a : b; break;
    case RLX_CODE_LT: *out = a < b; break;
    case RLX_CODE_EQ: *out = a == b; break;
    case RLX_CODE_FSCALE: return rlx_float_bits_scale(a, b, out) ? ARITH_OK : ARITH_FLOAT;
    case RLX_CODE_FCEILDIV: return rlx_float_bits_ceildiv(a, b, out) ? ARITH_OK : ARITH_FLOAT;
    case RLX_CODE_FSUB: return rlx_float_bits_sub(a, b, out) ? ARITH_OK : ARITH_FLOAT;
    default: return divide(op, a, b, out);
    }
    return overflow ? ARITH_OVERFLOW : ARITH_OK;
}

static rlx_status_t arith_fail(arith_t arith, int64_t a, int64_t b, rlx_diag_t *diag)
{
    if (arith == ARITH_ZERO)
        return rlx_fail(diag, RLX_E_INPUT_VALUE, "a shape of this request needs %" PRId64 " divided by zero", a);
    if (arith == ARITH_FLOAT)
        return rlx_fail(diag, RLX_E_INPUT_VALUE,
                        "a shape of this request follows from floats that are zero, too large or not finite: operands 0x%08" PRIx64
                        " and 0x%08" PRIx64,
                        (uint64_t)a, (uint64_t)b);
    return rlx_fail(diag, RLX_E_PLAN_OVERFLOW, "a shape of this request overflows 64 bits: operands %" PRId64 " and %" PRId64, a, b);
}

rlx_status_t rlx_shape_code_run(const int64_t *code, uint32_t n_words, const char *strings, int64_t *slots, rlx_diag_t *diag)
{
    int64_t stack[RLX_CODE_STACK_MAX + 1];
    int64_t *top = stack; /* one past the top element */
    const int64_t *end = code + n_words;

    while (code < end) {
        int64_t op = *code++;
        int64_t result;
        arith_t arith;

        switch (op) {
        case RLX_CODE_END: return RLX_OK;
        case RLX_CODE_CONST: *top++ = *code++; break;
        case RLX_CODE_SLOT: *top++ = slots[*code++]; break;
        case RLX_CODE_STORE: slots[*code++] = *--top; break;
        case RLX_CODE_CHECK:
            if (*--top == 0)
                return rlx_fail(diag, RLX_E_INPUT_SHAPE, "%s", strings + *code);
            code++;
            break;
        case RLX_CODE_SELECT:
            top -= 2;
            top[-1] = top[-1] != 0 ? top[0] : top[1];
            break;
        default:
            top--;
            arith = binary(op, top[-1], top[0], &result);
            if (arith != ARITH_OK)
                return arith_fail(arith, top[-1], top[0], diag);
            top[-1] = result;
            break;
        }
    }
    return RLX_OK;
}
