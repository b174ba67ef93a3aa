/* Body of kernels/winograd.h for one type. No include guard: included once per type, with WINOGRAD_T, WINOGRAD(name) and
 * WINOGRAD_FMA(constant, a, b) = constant * a + b in one rounding set; undefines them. */

/* d[0, m + 2) to t[0, m + 2). */
WINOGRAD_INLINE void WINOGRAD(input)(int m, const WINOGRAD_T *d, WINOGRAD_T *t)
{
    WINOGRAD_T a, b;

    if (m == 2) {
        t[0] = d[0] - d[2];
        t[1] = d[1] + d[2];
        t[2] = d[2] - d[1];
        t[3] = d[3] - d[1];
        return;
    }
    a = d[4] - d[2];
    b = d[3] - d[1];
    t[0] = WINOGRAD_FMA(1.5f, b, (d[0] - d[2]) + a);
    t[1] = WINOGRAD_FMA(1.5f, d[2] + d[3], a + b);
    t[2] = WINOGRAD_FMA(1.5f, d[3] - d[2], a - b);
    t[3] = WINOGRAD_FMA(2.0f, b, a);
    t[4] = WINOGRAD_FMA(-0.5f, b, a);
    t[5] = WINOGRAD_FMA(1.5f, a, (d[5] - d[3]) - b);
}

/* p[0, m + 2) to y[0, m). */
WINOGRAD_INLINE void WINOGRAD(output)(int m, const WINOGRAD_T *p, WINOGRAD_T *y)
{
    WINOGRAD_T s, d;

    if (m == 2) {
        y[0] = (p[0] + p[1]) + p[2];
        y[1] = (p[1] - p[2]) + p[3];
        return;
    }
    s = p[1] + p[2];
    d = p[1] - p[2];
    y[0] = (p[0] + s) + (p[3] + p[4]);
    y[1] = WINOGRAD_FMA(0.5f, p[3], WINOGRAD_FMA(-2.0f, p[4], d));
    y[2] = WINOGRAD_FMA(0.25f, p[3], WINOGRAD_FMA(4.0f, p[4], s));
    y[3] = WINOGRAD_FMA(0.125f, p[3], WINOGRAD_FMA(-8.0f, p[4], d)) + p[5];
}

#undef WINOGRAD_T
#undef WINOGRAD
#undef WINOGRAD_FMA
