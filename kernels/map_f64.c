/* Operations on blocks of f64. */
#include "kernels/map.h"
#include "kernels/math.h"

static void swish_run(double *y, const double *x, int64_t n, double alpha)
{
    RLX_MAP_LOOP(n)
        y[i] = rlx_math_swish(x[i], alpha);
}

#define MAP_T double
#define MAP(name) f64_##name
#define MAP_NAME(name) rlx_map_##name##_f64
#define MATH(name) rlx_math_##name
#define MAP_SWISH swish_run
#define MAP_FMA __builtin_fma
#define MAP_FABS __builtin_fabs
#define MAP_CEIL __builtin_ceil
#define MAP_FLOOR __builtin_floor
#define MAP_RINT __builtin_rint
#define MAP_SQRT __builtin_sqrt
#include "kernels/map_float.h"
