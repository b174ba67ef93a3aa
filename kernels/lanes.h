/* The lanes16 order: element i of a set goes to partial chain i mod 16, each from the identity; then the tree l[j] op l[j+8], +4, +2, +1.
 * One body, kernels/lanes_type.h, for each computation type. `kind` says how an element enters its chain and how chains join. */
#ifndef RLX_KERNELS_LANES_H
#define RLX_KERNELS_LANES_H

#include "kernels/math.h"
#include "kernels/number.h"

/* Chains. SQUARE is fma(x, x, chain); EXP adds exp(x - shift), FALL softmax's exp; SPREAD adds the square of (x - shift) by fma. */
enum { LANES_ADD, LANES_ABS, LANES_SQUARE, LANES_PROD, LANES_MAX, LANES_MIN, LANES_EXP, LANES_FALL, LANES_SPREAD };

#define LANES_INLINE static inline __attribute__((always_inline))

#define LANES_T float
#define LANES(name) lanes_##name##_f32
#define LANES_PLUS(a, b) ((a) + (b))
#define LANES_TIMES(a, b) ((a) * (b))
#define LANES_FMA(a, b, c) __builtin_fmaf(a, b, c)
#define LANES_ABSOLUTE(x) __builtin_fabsf(x)
#define LANES_NAN(x) ((x) != (x))
#define LANES_EXPONENTIAL(x) rlx_math_expf(x)
#define LANES_FALLING(x) rlx_math_exp_fallf(x)
#define LANES_LOWEST (-__builtin_inff())
#define LANES_HIGHEST __builtin_inff()
#include "kernels/lanes_type.h"

#define LANES_T double
#define LANES(name) lanes_##name##_f64
#define LANES_PLUS(a, b) ((a) + (b))
#define LANES_TIMES(a, b) ((a) * (b))
#define LANES_FMA(a, b, c) __builtin_fma(a, b, c)
#define LANES_ABSOLUTE(x) __builtin_fabs(x)
#define LANES_NAN(x) ((x) != (x))
#define LANES_EXPONENTIAL(x) rlx_math_exp(x)
#define LANES_FALLING(x) rlx_math_exp(x)
#define LANES_LOWEST (-__builtin_inf())
#define LANES_HIGHEST __builtin_inf()
#include "kernels/lanes_type.h"

#define LANES_T int64_t
#define LANES(name) lanes_##name##_i64
#define LANES_PLUS(a, b) ((int64_t)((uint64_t)(a) + (uint64_t)(b)))
#define LANES_TIMES(a, b) ((int64_t)((uint64_t)(a) * (uint64_t)(b)))
#define LANES_FMA(a, b, c) LANES_PLUS(LANES_TIMES(a, b), c)
#define LANES_ABSOLUTE(x) ((x) < 0 ? (int64_t)(0 - (uint64_t)(x)) : (x))
#define LANES_NAN(x) 0
#define LANES_EXPONENTIAL(x) (x)
#define LANES_FALLING(x) (x)
#define LANES_LOWEST INT64_MIN
#define LANES_HIGHEST INT64_MAX
#include "kernels/lanes_type.h"

#define LANES_T uint64_t
#define LANES(name) lanes_##name##_u64
#define LANES_PLUS(a, b) ((a) + (b))
#define LANES_TIMES(a, b) ((a) * (b))
#define LANES_FMA(a, b, c) ((a) * (b) + (c))
#define LANES_ABSOLUTE(x) (x)
#define LANES_NAN(x) 0
#define LANES_EXPONENTIAL(x) (x)
#define LANES_FALLING(x) (x)
#define LANES_LOWEST 0
#define LANES_HIGHEST UINT64_MAX
#include "kernels/lanes_type.h"

#endif
