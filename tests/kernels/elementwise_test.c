/* The elementwise kernel: broadcasting over any shape and type against a scalar definition; every operation with the same bits in every
 * build; integer and conversion rules; epilogues with the bits of the kernel. */
#include "tests/kernels/kernel_under_test.h"

#include <math.h>

#include "kernels/epilogue.h"
#include "kernels/math.h"

static kernel_build_t builds[KERNEL_BUILDS_MAX];
static int n_builds;

static int find_builds(void **state)
{
    (void)state;
    n_builds = kernel_builds(builds);
    return 0;
}

/* A parameter block as the lowering would write it. */
typedef struct program {
    int64_t words[RLX_PARAM_MAX];
    rlx_elementwise_params_t *p;
    rlx_elementwise_input_t *in;
    int64_t *out;
    rlx_elementwise_code_t *code;
    int n_code;
} program_t;

static void program_init(program_t *g, int n_in, int n_out, int n_slots)
{
    memset(g, 0, sizeof *g);
    g->p = (rlx_elementwise_params_t *)g->words;
    g->in = (rlx_elementwise_input_t *)(g->p + 1);
    g->out = (int64_t *)(g->in + n_in);
    g->code = (rlx_elementwise_code_t *)(g->out + n_out);
    g->p->n_in = n_in;
    g->p->n_out = n_out;
    g->p->n_slots = n_slots;
    g->p->per_tile = 300;
    for (int i = 0; i < 8; i++)
        g->p->dims[i] = 1;
    g->p->count = 1;
}

static void program_add(program_t *g, int op, int class_, int dst, int x, int y, int z, int64_t a, int64_t b)
{
    g->code[g->n_code++] = (rlx_elementwise_code_t){.word = RLX_ELEMENTWISE_WORD(op, class_, dst, x, y, z), .a = a, .b = b};
    g->p->n_code = g->n_code;
}

static uint32_t program_run(const program_t *g, int build, void *const *in, void *const *out)
{
    rlx_operand_t ins[RLX_ELEMENTWISE_INPUTS] = {0}, outs[RLX_ELEMENTWISE_OUTPUTS] = {0};

    for (int k = 0; k < g->p->n_in; k++)
        ins[k].base = in[k];
    for (int k = 0; k < g->p->n_out; k++)
        outs[k].base = out[k];
    return kernel_run(&builds[build], RLX_K_elementwise, ins, outs, g->words, (g->p->count + g->p->per_tile - 1) / g->p->per_tile,
                      RLX_ELEMENTWISE_SCRATCH(g->p->n_slots));
}

/* ---- broadcasting ---- */

static const int64_t read_dtypes[] = {RLX_KD_F32, RLX_KD_F16, RLX_KD_BF16, RLX_KD_F64, RLX_KD_I8, RLX_KD_I16, RLX_KD_I32, RLX_KD_I64,
                                      RLX_KD_U8, RLX_KD_U16, RLX_KD_U32, RLX_KD_U64, RLX_KD_BOOL};

/* Small whole numbers, exact in every type. */
static void *numbers_make(int64_t dtype, int64_t n, float *values)
{
    char *data = aligned_alloc(64, (size_t)((n * 8 + 127) & ~63ll));

    for (int64_t i = 0; i < n; i++) {
        int64_t v = kernel_random(dtype == RLX_KD_BOOL ? 2 : 100);
        values[i] = (float)v;
        if (dtype == RLX_KD_F32 || dtype == RLX_KD_F16 || dtype == RLX_KD_BF16)
            rlx_number_store_f32(dtype, data, i, 1, 1, &values[i]);
        else if (dtype == RLX_KD_F64)
            ((double *)data)[i] = (double)v;
        else
            rlx_number_store_i64(dtype, data, i, 1, 1, &v);
    }
    return data;
}

/* Random extents; the count stays under 20000. */
static void space_make(program_t *g)
{
    static const int64_t extents[] = {1, 1, 2, 3, 7, 16, 33, 64, 130, 300, 520};
    int rank = (int)kernel_random(6);

    for (int i = 0; i < rank; i++) {
        int64_t extent = extents[kernel_random(11)];
        if (g->p->count * extent > 20000)
            extent = 1;
        g->p->dims[8 - rank + i] = extent;
        g->p->count *= extent;
    }
    if (kernel_random(40) == 0)
        g->p->dims[8 - 1] = g->p->count = 0;
}

/* An input that repeats along some axes. Returns its element count. */
static int64_t input_make(program_t *g, int k, int64_t dtype, int kind)
{
    int64_t dense = 1;

    g->in[k].dtype = dtype;
    for (int i = 7; i >= 0; i--) {
        int repeats = kind == 0 ? 0 : kind == 1 ? 1 : (int)kernel_random(2);
        g->in[k].stride[i] = repeats ? 0 : dense;
        dense *= repeats ? 1 : g->p->dims[i];
    }
    return dense > 0 ? dense : 1;
}

static int64_t input_offset(const program_t *g, int k, int64_t at)
{
    int64_t offset = 0;

    for (int i = 7; i >= 0; i--) {
        offset += at % g->p->dims[i] * g->in[k].stride[i];
        at /= g->p->dims[i];
    }
    return offset;
}

/* (a + b) * c for operands of any type, read as f32. */
static void broadcast_once(void)
{
    program_t g;
    float *values[3], *want, *got;
    void *in[3], *out[1];
    int slot = 4;

    program_init(&g, 3, 1, 12);
    space_make(&g);
    for (int k = 0; k < 3; k++) {
        int64_t dtype = read_dtypes[kernel_random(kernel_random(2) ? 13 : 1)], n = input_make(&g, k, dtype, (int)kernel_random(4));
        values[k] = malloc((size_t)n * 4);
        in[k] = numbers_make(dtype, n, values[k]);
    }
    g.out[0] = RLX_KD_F32;
    for (int k = 0; k < 3; k++)
        program_add(&g, RLX_MAP_convert, RLX_MAP_F32, slot + k, k, 0, 0, rlx_map_class_of(g.in[k].dtype), RLX_KD_F32);
    program_add(&g, RLX_MAP_add, RLX_MAP_F32, 7, 4, 5, 0, 0, 0);
    program_add(&g, RLX_MAP_mul, RLX_MAP_F32, 3, 7, 6, 0, 0, 0);
    want = malloc((size_t)g.p->count * 4 + 4);
    got = malloc((size_t)g.p->count * 4 + 4);
    out[0] = got;
    for (int64_t i = 0; i < g.p->count; i++)
        want[i] = (values[0][input_offset(&g, 0, i)] + values[1][input_offset(&g, 1, i)]) * values[2][input_offset(&g, 2, i)];
    for (int b = 0; b < n_builds; b++) {
        memset(got, 0xff, (size_t)g.p->count * 4);
        assert_int_equal(program_run(&g, b, in, out), 0);
        assert_memory_equal(got, want, (size_t)g.p->count * 4);
    }
    for (int k = 0; k < 3; k++) {
        free(values[k]);
        free(in[k]);
    }
    free(want);
    free(got);
}

static void operands_of_any_type_broadcast_over_any_shape(void **state)
{
    (void)state;
    for (int i = 0; i < 3000; i++)
        broadcast_once();
}

/* ---- same bits in every build ---- */

#define N 1000

static void fill_bits(void *data, int class_)
{
    static const double special[] = {0, -0.0, 1, -1, INFINITY, -INFINITY, NAN, 2, -2, 0.5, 1e30, -1e30, 1e-40, 3, 100, -100, 1e300, 5e-324};

    for (int i = 0; i < N; i++) {
        double real = i % 4 == 0 ? special[kernel_random(18)]
            : ((double)kernel_random(1 << 24) / (1 << 23) - 1) * (double)(1 << kernel_random(8));
        int64_t whole = i % 4 == 0 ? (int64_t)kernel_random(1 << 24) << kernel_random(40) : kernel_random(200) - 100;

        if (class_ == RLX_MAP_F32)
            ((float *)data)[i] = (float)real;
        else if (class_ == RLX_MAP_F64)
            ((double *)data)[i] = real;
        else if (class_ == RLX_MAP_I32)
            ((int32_t *)data)[i] = (int32_t)whole;
        else
            ((int64_t *)data)[i] = whole;
    }
}

/* NaNs are equal whatever their sign and payload. */
static void assert_same(const char *what, int op, int class_, const void *want, const void *got)
{
    for (int i = 0; i < N; i++) {
        bool same;
        if (class_ == RLX_MAP_F32)
            same = memcmp((const float *)want + i, (const float *)got + i, 4) == 0 ||
                   (isnan(((const float *)want)[i]) && isnan(((const float *)got)[i]));
        else if (class_ == RLX_MAP_F64)
            same = memcmp((const double *)want + i, (const double *)got + i, 8) == 0 ||
                   (isnan(((const double *)want)[i]) && isnan(((const double *)got)[i]));
        else
            same = memcmp((const char *)want + i * rlx_map_class_bytes(class_), (const char *)got + i * rlx_map_class_bytes(class_),
                          (size_t)rlx_map_class_bytes(class_)) == 0;
        if (!same)
            fail_msg("%s: operation %d, class %d, element %d differs", what, op, class_, i);
    }
}

static void assert_same_floats(const char *what, int op, int dtype, const void *want, const void *got)
{
    double wide_want[N], wide_got[N];

    rlx_map_load(dtype, wide_want, want, N);
    rlx_map_load(dtype, wide_got, got, N);
    assert_same(what, op, (int)rlx_map_class_of(dtype), wide_want, wide_got);
}

static void assert_operation_agrees(int op, int class_, float alpha)
{
    static const int64_t class_dtype[] = {RLX_KD_F32, RLX_KD_F64, RLX_KD_I32, RLX_KD_I64, RLX_KD_U64};
    int result = op > RLX_MAP_first_compare ? RLX_MAP_I32 : class_;
    double x[N], y[N], want[N], got[N];
    void *in[] = {x, y}, *out[] = {want};
    program_t g;

    program_init(&g, 2, 1, 3);
    g.p->dims[7] = g.p->count = N;
    for (int k = 0; k < 2; k++) {
        g.in[k].dtype = class_dtype[class_];
        g.in[k].stride[7] = 1;
    }
    g.out[0] = class_dtype[result];
    program_add(&g, op, class_, 2, 0, 1, 0, class_ == RLX_MAP_F64 ? (int64_t)rlx_math_bits((double)alpha) : rlx_math_bitsf(alpha),
                class_ == RLX_MAP_F64 ? (int64_t)rlx_math_bits(1.1) : rlx_math_bitsf(1.1f));
    fill_bits(x, class_);
    fill_bits(y, class_);
    memset(want, 0, sizeof want);
    program_run(&g, 0, in, out);
    for (int b = 1; b < n_builds; b++) {
        memset(got, 0, sizeof got);
        out[0] = got;
        program_run(&g, b, in, out);
        assert_same(builds[b].name, op, result, want, got);
    }
}

static void every_operation_has_the_same_bits_in_every_build(void **state)
{
    (void)state;
    for (int op = 1; op < RLX_MAP_not; op++)
        for (int class_ = 0; class_ < 5 && op != RLX_MAP_first_binary && op != RLX_MAP_first_compare; class_++) {
            assert_operation_agrees(op, class_, 0.7f);
            if (op < RLX_MAP_first_binary) {
                assert_operation_agrees(op, class_, 1);
                assert_operation_agrees(op, class_, -0.7f);
            }
        }
}

static void every_conversion_has_the_same_bits_in_every_build(void **state)
{
    double x[N], want[N], got[N];
    void *in[] = {x}, *out[1];

    (void)state;
    for (int from = 1; from <= 13; from++) {
        for (int to = 1; to <= 13; to++) {
            program_t g;

            program_init(&g, 1, 1, 2);
            g.p->dims[7] = g.p->count = N;
            g.in[0].dtype = from;
            g.in[0].stride[7] = 1;
            g.out[0] = to;
            program_add(&g, RLX_MAP_convert, (int)rlx_map_class_of(to), 1, 0, 0, 0, rlx_map_class_of(from), to);
            fill_bits(x, (int)rlx_map_class_of(from));
            for (int b = 0; b < n_builds; b++) {
                double *result = b == 0 ? want : got;
                memset(result, 0, sizeof want);
                out[0] = result;
                program_run(&g, b, in, out);
                if (to > RLX_KD_BF16 && b > 0)
                    assert_memory_equal(want, got, sizeof want);
                else if (b > 0)
                    assert_same_floats(builds[b].name, from, to, want, got);
            }
        }
    }
}

/* ---- rules ---- */

static uint32_t binary_i32(int op, const int32_t *x, const int32_t *y, int n, int32_t *out)
{
    uint32_t reference = rlx_map_binary_i32(op, out, x, y, n);

    return reference;
}

static void integer_arithmetic_wraps_and_reports_division_by_zero(void **state)
{
    const int32_t x[] = {7, -7, 7, -7, INT32_MIN, 5}, y[] = {2, 2, -2, -2, -1, 0};
    int32_t out[6];

    (void)state;
    assert_int_equal(binary_i32(RLX_MAP_div, x, y, 6, out), RLX_KERR_DIVIDE);
    assert_memory_equal(out, ((int32_t[]){3, -3, -3, 3, INT32_MIN, 0}), sizeof out);
    assert_int_equal(binary_i32(RLX_MAP_mod, x, y, 5, out), 0);
    assert_memory_equal(out, ((int32_t[]){1, 1, -1, -1, 0}), 20);
    binary_i32(RLX_MAP_fmod, x, y, 5, out);
    assert_memory_equal(out, ((int32_t[]){1, -1, 1, -1, 0}), 20);
    binary_i32(RLX_MAP_shift_left, (int32_t[]){1, 1, 1}, (int32_t[]){4, 32, 99}, 3, out);
    assert_memory_equal(out, ((int32_t[]){16, 0, 0}), 12);
    binary_i32(RLX_MAP_pow, (int32_t[]){3, -1, 2, 0}, (int32_t[]){4, -3, -1, 0}, 4, out);
    assert_memory_equal(out, ((int32_t[]){81, -1, 0, 1}), 16);
}

static void conversions_saturate_and_nan_is_zero(void **state)
{
    const float x[] = {1e10f, -1e10f, NAN, -3.9f, 255.9f, INFINITY};
    int32_t narrow[6];
    int64_t wide[6];

    (void)state;
    rlx_map_convert(RLX_MAP_F32, RLX_KD_I32, narrow, x, 6);
    assert_memory_equal(narrow, ((int32_t[]){INT32_MAX, INT32_MIN, 0, -3, 255, INT32_MAX}), sizeof narrow);
    rlx_map_convert(RLX_MAP_F32, RLX_KD_U8, narrow, x, 6);
    assert_memory_equal(narrow, ((int32_t[]){255, 0, 0, 0, 255, 255}), sizeof narrow);
    rlx_map_convert(RLX_MAP_F32, RLX_KD_I64, wide, (float[]){1e30f, -1e30f, NAN, 5, -5, 0}, 6);
    assert_memory_equal(wide, ((int64_t[]){INT64_MAX, INT64_MIN, 0, 5, -5, 0}), sizeof wide);
    rlx_map_convert(RLX_MAP_F32, RLX_KD_BOOL, narrow, (float[]){0, -0.0f, 0.1f, NAN, 1, 0}, 6);
    assert_memory_equal(narrow, ((int32_t[]){0, 0, 1, 1, 1, 0}), sizeof narrow);
    rlx_map_convert(RLX_MAP_I32, RLX_KD_I8, narrow, (int32_t[]){300, -129, 127, 128, 0, -1}, 6);
    assert_memory_equal(narrow, ((int32_t[]){44, 127, 127, -128, 0, -1}), sizeof narrow);
}

static void extremes_and_clip_follow_nan_rules(void **state)
{
    float out[4];

    (void)state;
    rlx_map_binary_f32(RLX_MAP_max, out, (float[]){NAN, 1, 2, -1}, (float[]){1, NAN, 1, 3}, 4);
    assert_true(isnan(out[0]) && isnan(out[1]) && out[2] == 2 && out[3] == 3);
    rlx_map_unary_f32(RLX_MAP_clip_imm, out, (float[]){NAN, 5, -5, 0}, 4, 2, 1);
    assert_true(isnan(out[0]) && out[1] == 1 && out[2] == 1 && out[3] == 1);
    rlx_map_unary_f32(RLX_MAP_round, out, (float[]){0.5f, 1.5f, -2.5f, 2.4f}, 4, 0, 0);
    assert_true(out[0] == 0 && out[1] == 2 && out[2] == -2 && out[3] == 2);
    rlx_map_binary_f32(RLX_MAP_fmod, out, (float[]){5.5f, -5.5f, 1e30f, 3}, (float[]){2, 2, 0.3f, INFINITY}, 4);
    assert_true(out[0] == 1.5f && out[1] == -1.5f && out[2] == fmodf(1e30f, 0.3f) && out[3] == 3);
}

static void an_epilogue_has_the_bits_of_the_operations(void **state)
{
    rlx_epilogue_params_t epilogue = {.n_steps = 3, .step = {{.kind = RLX_MAP_add, .operand = 0}, {.kind = RLX_MAP_gelu, .operand = -1},
        {.kind = RLX_MAP_sub, .operand = 0, .a = 1}}};
    float x[100], t[200], want[100];
    rlx_operand_t in = {.base = t};
    rlx_kernel_args_t args = {.in = &in};

    (void)state;
    for (int i = 0; i < 200; i++)
        t[i] = (float)i / 50 - 2;
    for (int i = 0; i < 100; i++) {
        x[i] = (float)i / 25 - 2;
        want[i] = t[i + 60] - rlx_math_geluf(x[i] + t[i + 60]);
    }
    rlx_epilogue_apply(&epilogue, &args, x, 100, 60);
    assert_memory_equal(x, want, sizeof x);
}

/* Products and sums with a number per channel: each rounded; absent operands change nothing, not even the sign of zero. */
static void channels_are_scaled_and_shifted_in_order(void **state)
{
    (void)state;
    for (int round = 0; round < 60; round++) {
        int64_t batch = 1 + kernel_random(3), blocks = 1 + kernel_random(3), space = 1 + kernel_random(600), n = batch * blocks * space * 16;
        rlx_affine_c16_params_t p = {.blocks = blocks, .space = space, .pairs = 1 + kernel_random(2), .relu = kernel_random(2)};
        float *x = kernel_floats(n), *y = kernel_floats(n + 16), *operand[4] = {NULL};
        rlx_operand_t in[5] = {{.base = x}}, out = {.base = y};

        x[0] = -0.0f;
        for (int k = 0; k < 2 * (int)p.pairs; k++) {
            p.stride[k] = kernel_random(2) ? blocks * 16 : 0;
            in[1 + k].base = operand[k] = kernel_random(3) ? kernel_floats(batch * blocks * 16) : NULL;
        }
        for (int b = 0; b < n_builds; b++) {
            memset(y, 0x77, (size_t)(n + 16) * 4);
            assert_int_equal(kernel_run(&builds[b], RLX_K_affine_c16, in, &out, &p,
                                        batch * blocks * ((space + RLX_AFFINE_CELLS - 1) / RLX_AFFINE_CELLS), 0), 0);
            for (int64_t i = 0; i < n; i++) {
                int64_t image = i / 16 / space / blocks, channel = i / 16 / space % blocks * 16 + i % 16;
                float v = x[i];

                for (int k = 0; k < 4; k++)
                    if (operand[k] != NULL)
                        v = k % 2 ? v + operand[k][image * p.stride[k] + channel] : v * operand[k][image * p.stride[k] + channel];
                v = p.relu && v < 0 ? 0 : v;
                assert_memory_equal(&y[i], &v, 4);
            }
            for (int k = 0; k < 64; k++)
                assert_int_equal(((unsigned char *)(y + n))[k], 0x77);
        }
        for (int k = 0; k < 4; k++)
            free(operand[k]);
        free(x);
        free(y);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(channels_are_scaled_and_shifted_in_order),
        cmocka_unit_test(operands_of_any_type_broadcast_over_any_shape),
        cmocka_unit_test(every_operation_has_the_same_bits_in_every_build),
        cmocka_unit_test(every_conversion_has_the_same_bits_in_every_build),
        cmocka_unit_test(integer_arithmetic_wraps_and_reports_division_by_zero),
        cmocka_unit_test(conversions_saturate_and_nan_is_zero),
        cmocka_unit_test(extremes_and_clip_follow_nan_rules),
        cmocka_unit_test(an_epilogue_has_the_bits_of_the_operations),
    };

    return cmocka_run_group_tests_name("elementwise", tests, find_builds, NULL);
}
