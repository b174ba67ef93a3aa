/* Body of kernels/winograd.h for one type. No include guard: included once per type, with WINOGRAD_T, WINOGRAD(name) and
 * WINOGRAD_FMA(constant, a, b) = constant * a + b in one rounding set; undefines them. */

/* Tap of F(4,3)'s input transform: a = d[4] - d[2], b = d[3] - d[1], and two more cells: winograd_cells. */
WINOGRAD_INLINE WINOGRAD_T WINOGRAD(input_tap)(int tap, WINOGRAD_T first, WINOGRAD_T second, WINOGRAD_T a, WINOGRAD_T b)
{
    switch (tap) {
    case 0: return WINOGRAD_FMA(1.5f, b, (first - second) + a);
    case 1: return WINOGRAD_FMA(1.5f, first + second, a + b);
    case 2: return WINOGRAD_FMA(1.5f, second - first, a - b);
    case 3: return WINOGRAD_FMA(2.0f, b, a);
    case 4: return WINOGRAD_FMA(-0.5f, b, a);
    default: return WINOGRAD_FMA(1.5f, a, (first - second) - b);
    }
}

/* d[0, m + 2) to t[0, m + 2). */
WINOGRAD_INLINE void WINOGRAD(input)(int m, const WINOGRAD_T *d, WINOGRAD_T *t)
{
    if (m == 2) {
        t[0] = d[0] - d[2];
        t[1] = d[1] + d[2];
        t[2] = d[2] - d[1];
        t[3] = d[3] - d[1];
        return;
    }
    VEC16_UNROLL for (int tap = 0; tap < 6; tap++)
        t[tap] = WINOGRAD(input_tap)(tap, d[winograd_cells[tap][0]], d[winograd_cells[tap][1]], d[4] - d[2], d[3] - d[1]);
}

/* Output of F(4,3): s = p[1] + p[2], d = p[1] - p[2], and p[0] for the first or p[5] for the last as `end`. */
WINOGRAD_INLINE WINOGRAD_T WINOGRAD(output_of)(int output, WINOGRAD_T end, WINOGRAD_T s, WINOGRAD_T d, WINOGRAD_T p3, WINOGRAD_T p4)
{
    switch (output) {
    case 0: return (end + s) + (p3 + p4);
    case 1: return WINOGRAD_FMA(0.5f, p3, WINOGRAD_FMA(-2.0f, p4, d));
    case 2: return WINOGRAD_FMA(0.25f, p3, WINOGRAD_FMA(4.0f, p4, s));
    default: return WINOGRAD_FMA(0.125f, p3, WINOGRAD_FMA(-8.0f, p4, d)) + end;
    }
}

/* p[0, m + 2) to y[0, m). */
WINOGRAD_INLINE void WINOGRAD(output)(int m, const WINOGRAD_T *p, WINOGRAD_T *y)
{
    if (m == 2) {
        y[0] = (p[0] + p[1]) + p[2];
        y[1] = (p[1] - p[2]) + p[3];
        return;
    }
    VEC16_UNROLL for (int i = 0; i < 4; i++)
        y[i] = WINOGRAD(output_of)(i, p[i == 3 ? 5 : 0], p[1] + p[2], p[1] - p[2], p[3], p[4]);
}

/* Stride 2: d[0, 5) to t[0, 5), and the three sums to y[0, 2). */
WINOGRAD_INLINE void WINOGRAD(input_strided)(const WINOGRAD_T *d, WINOGRAD_T *t)
{
    t[0] = d[0] - d[2];
    t[1] = d[1];
    t[2] = d[2];
    t[3] = d[4] - d[2];
    t[4] = d[3];
}

WINOGRAD_INLINE void WINOGRAD(output_strided)(const WINOGRAD_T *p, WINOGRAD_T *y)
{
    y[0] = p[0] + p[1];
    y[1] = p[1] + p[2];
}

#undef WINOGRAD_T
#undef WINOGRAD
#undef WINOGRAD_FMA
