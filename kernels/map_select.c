/* Comparisons and choices on blocks of every class. Bools are class i32, 0 or 1. */
#include "kernels/map.h"

/* Runs `loop(type)` for the class's type. */
#define BY_CLASS(class_, loop)               \
    do {                                     \
        if ((class_) == RLX_MAP_F32)         \
            loop(float)                      \
        else if ((class_) == RLX_MAP_I32)    \
            loop(int32_t)                    \
        else if ((class_) == RLX_MAP_F64)    \
            loop(double)                     \
        else if ((class_) == RLX_MAP_I64)    \
            loop(int64_t)                    \
        else                                 \
            loop(uint64_t)                   \
    } while (0)

void rlx_map_compare(int64_t op, int64_t class_, int32_t *y, const void *x0, const void *x1, int64_t n)
{
#define LOOP(T, relation) { const T *v = x0, *w = x1; RLX_MAP_LOOP(n) y[i] = v[i] relation w[i]; }
#define EQUAL(T) LOOP(T, ==)
#define LESS(T) LOOP(T, <)
#define LESS_EQUAL(T) LOOP(T, <=)
    if (op == RLX_MAP_equal)
        BY_CLASS(class_, EQUAL);
    else if (op == RLX_MAP_less)
        BY_CLASS(class_, LESS);
    else
        BY_CLASS(class_, LESS_EQUAL);
#undef LOOP
}

void rlx_map_classify(int64_t op, int64_t class_, int32_t *y, const void *x, int64_t n, int64_t negative, int64_t positive)
{
    const double *d = x;
    const float *f = x;
    double below = negative ? -__builtin_inf() : __builtin_nan(""), above = positive ? __builtin_inf() : __builtin_nan("");

    if (op == RLX_MAP_not)
        RLX_MAP_LOOP(n) y[i] = ((const int32_t *)x)[i] == 0;
    else if (op == RLX_MAP_is_nan && class_ == RLX_MAP_F32)
        RLX_MAP_LOOP(n) y[i] = f[i] != f[i];
    else if (op == RLX_MAP_is_nan)
        RLX_MAP_LOOP(n) y[i] = d[i] != d[i];
    else if (class_ == RLX_MAP_F32)
        RLX_MAP_LOOP(n) y[i] = (f[i] == (float)below) | (f[i] == (float)above);
    else
        RLX_MAP_LOOP(n) y[i] = (d[i] == below) | (d[i] == above);
}

void rlx_map_where(int64_t class_, void *y, const int32_t *c, const void *x0, const void *x1, int64_t n)
{
    if (rlx_map_class_bytes(class_) == 4)
        RLX_MAP_LOOP(n) ((uint32_t *)y)[i] = c[i] ? ((const uint32_t *)x0)[i] : ((const uint32_t *)x1)[i];
    else
        RLX_MAP_LOOP(n) ((uint64_t *)y)[i] = c[i] ? ((const uint64_t *)x0)[i] : ((const uint64_t *)x1)[i];
}

void rlx_map_clip(int64_t class_, void *y, const void *x, const void *lo, const void *hi, int64_t n)
{
#define CLIP(T)                                  \
    {                                            \
        const T *v = x, *l = lo, *h = hi;        \
        T *r = y;                                \
        RLX_MAP_LOOP(n)                          \
        {                                        \
            T t = v[i] < l[i] ? l[i] : v[i];     \
            r[i] = t > h[i] ? h[i] : t;          \
        }                                        \
    }
    BY_CLASS(class_, CLIP);
}
