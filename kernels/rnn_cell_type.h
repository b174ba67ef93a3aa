/* Body of kernels/rnn_cell.h for one computation type. No include guard: included once per type, with RNN_T, RNN(name), RNN_FMA,
 * RNN_MATH(name) and RNN_ABS set; undefines them. */

/* One batch item in one direction: `pre` holds the gates' preactivations, `pitch` elements apart. */
typedef struct RNN(unit) {
    const rlx_rnn_cell_t *cell;
    int64_t direction, pitch;
    RNN_T *pre, *h, *c, *extra; /* extra: gru only: r * h, or h R + Rb */
    const RNN_T *peephole;      /* i, o, f; or NULL */
} RNN(unit_t);

#define RNN_EACH(expr)                      \
    do {                                    \
        for (int64_t i = 0; i < n; i++) {   \
            RNN_T v = x[i];                 \
            x[i] = (expr);                  \
        }                                   \
    } while (0)

static inline void RNN(clip)(const rlx_rnn_cell_t *cell, RNN_T *x, int64_t n)
{
    RNN_T limit = (RNN_T)rlx_param_f32(cell->clip);

    if (limit > 0)
        RNN_EACH(v > limit ? limit : v < -limit ? -limit : v);
}

/* Activation `which` (f, g, h) of the direction, in place. */
static inline void RNN(function)(const RNN(unit_t) *unit, int which, RNN_T *x)
{
    const rlx_rnn_cell_t *cell = unit->cell;
    RNN_T alpha = (RNN_T)rlx_param_f32(cell->alpha[unit->direction][which]),
          beta = (RNN_T)rlx_param_f32(cell->beta[unit->direction][which]);
    int64_t n = cell->hidden, kind = cell->activation[unit->direction][which];

    if (kind == RLX_RNN_SIGMOID)
        RNN_EACH(RNN_MATH(sigmoid)(v));
    else if (kind == RLX_RNN_TANH)
        RNN_EACH(RNN_MATH(tanh)(v));
    else if (kind == RLX_RNN_RELU)
        RNN_EACH(v < 0 ? 0 : v);
    else if (kind == RLX_RNN_AFFINE)
        RNN_EACH(RNN_FMA(alpha, v, beta));
    else if (kind == RLX_RNN_LEAKY_RELU)
        RNN_EACH(v < 0 ? alpha * v : v);
    else if (kind == RLX_RNN_THRESHOLDED_RELU)
        RNN_EACH(v <= alpha ? 0 : v);
    else if (kind == RLX_RNN_SCALED_TANH)
        RNN_EACH(alpha * RNN_MATH(tanh)(beta * v));
    else if (kind == RLX_RNN_HARD_SIGMOID)
        RNN_EACH(RNN_FMA(alpha, v, beta) < 0 ? 0 : RNN_FMA(alpha, v, beta) > 1 ? 1 : RNN_FMA(alpha, v, beta));
    else if (kind == RLX_RNN_ELU)
        RNN_EACH(v < 0 ? alpha * RNN_MATH(expm1)(v) : v);
    else if (kind == RLX_RNN_SOFTSIGN)
        RNN_EACH(v / (1 + RNN_ABS(v)));
    else
        RNN_EACH(RNN_MATH(softplus)(v));
}

/* Clip, then activation: what every gate goes through. */
static inline void RNN(activate)(const RNN(unit_t) *unit, int which, RNN_T *x)
{
    RNN(clip)(unit->cell, x, unit->cell->hidden);
    RNN(function)(unit, which, x);
}

static inline void RNN(peep)(const RNN(unit_t) *unit, int64_t gate, int64_t weight)
{
    RNN_T *x = unit->pre + gate * unit->pitch;
    int64_t n = unit->cell->hidden;

    if (unit->peephole)
        for (int64_t i = 0; i < n; i++)
            x[i] = RNN_FMA(unit->peephole[weight * n + i], unit->c[i], x[i]);
}

/* From preactivations to the new c and h. */
static inline void RNN(lstm_finish)(const RNN(unit_t) *unit)
{
    RNN_T *in = unit->pre, *out = in + unit->pitch, *forget = out + unit->pitch, *fresh = forget + unit->pitch;
    RNN_T *c = unit->c, *h = unit->h;
    int64_t n = unit->cell->hidden;

    RNN(peep)(unit, 0, 0);
    RNN(activate)(unit, 0, in);
    if (unit->cell->input_forget) {
        for (int64_t i = 0; i < n; i++)
            forget[i] = 1 - in[i];
    } else {
        RNN(peep)(unit, 2, 2);
        RNN(activate)(unit, 0, forget);
    }
    RNN(activate)(unit, 1, fresh);
    for (int64_t i = 0; i < n; i++)
        c[i] = RNN_FMA(forget[i], c[i], in[i] * fresh[i]);
    RNN(peep)(unit, 1, 1);
    RNN(activate)(unit, 0, out);
    for (int64_t i = 0; i < n; i++)
        h[i] = c[i];
    RNN(function)(unit, 2, h);
    for (int64_t i = 0; i < n; i++)
        h[i] *= out[i];
}

static inline void RNN(plain_finish)(const RNN(unit_t) *unit)
{
    RNN(activate)(unit, 0, unit->pre);
    for (int64_t i = 0; i < unit->cell->hidden; i++)
        unit->h[i] = unit->pre[i];
}

/* Gates z and r from their preactivations, and extra = r * h unless the linear map comes before the reset. */
static inline void RNN(gru_open)(const RNN(unit_t) *unit)
{
    RNN_T *r = unit->pre + unit->pitch;

    RNN(activate)(unit, 0, unit->pre);
    RNN(activate)(unit, 0, r);
    if (!unit->cell->linear_before_reset)
        for (int64_t i = 0; i < unit->cell->hidden; i++)
            unit->extra[i] = r[i] * unit->h[i];
}

static inline void RNN(gru_finish)(const RNN(unit_t) *unit)
{
    RNN_T *z = unit->pre, *r = z + unit->pitch, *fresh = r + unit->pitch, *h = unit->h;
    int64_t n = unit->cell->hidden;

    if (unit->cell->linear_before_reset)
        for (int64_t i = 0; i < n; i++)
            fresh[i] = RNN_FMA(r[i], unit->extra[i], fresh[i]);
    RNN(activate)(unit, 1, fresh);
    for (int64_t i = 0; i < n; i++)
        h[i] = RNN_FMA(z[i], h[i], (1 - z[i]) * fresh[i]);
}

#undef RNN_EACH
#undef RNN_T
#undef RNN
#undef RNN_FMA
#undef RNN_MATH
#undef RNN_ABS
