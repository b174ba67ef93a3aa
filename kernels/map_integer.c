/* Operations on blocks of the integer classes. */
#include "kernels/map.h"

#define MAP_T int32_t
#define MAP_U uint32_t
#define MAP_WIDTH 32
#define MAP_NEGATIVE(x) ((x) < 0)
#define MAP_NAME(name) rlx_map_##name##_i32
#include "kernels/map_integer.h"

#define MAP_T int64_t
#define MAP_U uint64_t
#define MAP_WIDTH 64
#define MAP_NEGATIVE(x) ((x) < 0)
#define MAP_NAME(name) rlx_map_##name##_i64
#include "kernels/map_integer.h"

#define MAP_T uint64_t
#define MAP_U uint64_t
#define MAP_WIDTH 64
#define MAP_NEGATIVE(x) 0
#define MAP_NAME(name) rlx_map_##name##_u64
#include "kernels/map_integer.h"
