/* Operations on blocks of f32. */
#include "kernels/map.h"
#include "kernels/math.h"
#include "kernels/swish.h"

#define MAP_T float
#define MAP(name) f32_##name
#define MAP_NAME(name) rlx_map_##name##_f32
#define MATH(name) rlx_math_##name##f
#define MAP_SWISH swish_run
#define MAP_FMA __builtin_fmaf
#define MAP_FABS __builtin_fabsf
#define MAP_CEIL __builtin_ceilf
#define MAP_FLOOR __builtin_floorf
#define MAP_RINT __builtin_rintf
#define MAP_SQRT __builtin_sqrtf
#include "kernels/map_float.h"
