/* From inputs to plans: symbols, their bounds and agreement, shape code, the plan cache. */
#include <pthread.h>

#include "exec/model.h"
#include "exec/plan.h"
#include "exec/shape_code.h"
#include "tests/exec/program_builder.h"
#include "tests/exec/test_kernels.h"
#include "tests/unit/check.h"

static pb_t pb;

/* c[n,3] = a[n,3] + b[n,3]; n declared at most 8. */
static rlx_model_t *add_model(void)
{
    const rlx_ref_t dims[2] = {pb_slot(0), pb_number(3)};
    rlx_kernel_table_t table;
    rlx_model_t *model;
    uint32_t a, b, c, count;
    size_t bytes;

    pb_init(&pb);
    pb_symbol(&pb, "n", RLX_SYMBOL_INPUT_AXIS, 0, 0, 1, 8);
    pb.symbols[0].declared = 1;
    count = pb_scale(&pb, 0, 3);
    pb_scale(&pb, count, 4);
    a = pb_value(&pb, RLX_VALUE_INPUT, "a", RLX_F32, 2, dims, pb_number(0), pb_slot(count + 1));
    b = pb_value(&pb, RLX_VALUE_INPUT, "b", RLX_F32, 2, dims, pb_number(0), pb_slot(count + 1));
    c = pb_value(&pb, RLX_VALUE_OUTPUT, "c", RLX_F32, 2, dims, pb_number(0), pb_slot(count + 1));
    pb_step(&pb, TK_ADD, 2, 1, (uint32_t[]){a, b, c}, pb_slot(count));
    const void *program = pb_finish(&pb, pb_number(0), &bytes);
    assert_ok(rlx_program_check(program, bytes, 0, &diag));
    tk_table(&table);
    assert_ok(rlx_model_create(program, NULL, &table, &model, &diag));
    return model;
}

static rlx_io_t matrix(float *data, int64_t rows) { return (rlx_io_t){.tensor = {RLX_F32, 2, {rows, 3}, data}}; }

static void plan_knows_output_shape(void **state)
{
    rlx_model_t *model = add_model();
    float data[24] = {0};
    rlx_io_t inputs[2] = {matrix(data, 5), matrix(data, 5)};
    rlx_tensor_t shape;
    rlx_plan_t *plan;

    (void)state;
    assert_ok(rlx_plan_get(model, inputs, &plan, &diag));
    assert_true(rlx_plan_output(plan, 0, &shape));
    assert_int_equal(shape.dims[0], 5);
    assert_int_equal(shape.dims[1], 3);
    assert_int_equal(shape.dtype, RLX_F32);
    rlx_plan_release(plan);
    rlx_model_release(model);
}

static void errors_name_input_and_axis(void **state)
{
    rlx_model_t *model = add_model();
    float data[64] = {0};
    rlx_io_t inputs[2] = {matrix(data, 5), matrix(data, 4)};
    rlx_plan_t *plan;

    (void)state;
    assert_refused(rlx_plan_get(model, inputs, &plan, &diag), RLX_E_INPUT_SHAPE, "input 'b' axis 0 has extent 4, but 'n' is 5");
    inputs[0] = inputs[1] = matrix(data, 9);
    assert_refused(rlx_plan_get(model, inputs, &plan, &diag), RLX_E_INPUT_MAXIMUM, "is 9 ('n'), the declared maximum is 8");
    inputs[0] = inputs[1] = matrix(data, 0);
    assert_refused(rlx_plan_get(model, inputs, &plan, &diag), RLX_E_INPUT_SHAPE, "the minimum is 1");
    inputs[0] = inputs[1] = matrix(data, 2);
    inputs[1].tensor.dims[1] = 4;
    assert_refused(rlx_plan_get(model, inputs, &plan, &diag), RLX_E_INPUT_SHAPE, "input 'b' axis 1 has extent 4, the model takes 3");
    inputs[1] = matrix(data, 2);
    inputs[1].tensor.rank = 1;
    assert_refused(rlx_plan_get(model, inputs, &plan, &diag), RLX_E_INPUT_SHAPE, "has 1 dimensions, the model takes 2");
    inputs[1] = matrix(data, 2);
    inputs[1].tensor.dtype = RLX_F64;
    assert_refused(rlx_plan_get(model, inputs, &plan, &diag), RLX_E_INPUT_DTYPE, "has type f64, the model takes f32");
    inputs[1] = matrix(NULL, 2);
    assert_refused(rlx_plan_get(model, inputs, &plan, &diag), RLX_E_INPUT_NAME, "input 'b' is missing");
    inputs[1] = matrix(data, -1);
    assert_refused(rlx_plan_get(model, inputs, &plan, &diag), RLX_E_INPUT_SHAPE, "axis 0 has extent -1");
    rlx_model_release(model);
}

static void equal_symbols_share_a_plan(void **state)
{
    rlx_model_t *model = add_model();
    float data[64] = {0};
    rlx_plan_t *first, *second;

    (void)state;
    for (int64_t n = 1; n <= 8; n++) {
        rlx_io_t inputs[2] = {matrix(data, n), matrix(data, n)};

        assert_ok(rlx_plan_get(model, inputs, &first, &diag));
        assert_ok(rlx_plan_get(model, inputs, &second, &diag));
        assert_ptr_equal(first, second);
        rlx_plan_release(first);
        rlx_plan_release(second);
    }
    assert_int_equal(model->cache.builds, 8);
    rlx_model_release(model);
}

static void a_plan_outlives_its_eviction_and_the_model(void **state)
{
    static float data[3 * 256];
    rlx_model_t *model = add_model();
    rlx_plan_t *kept, *plan;

    (void)state;
    ((rlx_program_symbol_t *)(uintptr_t)model->symbols)[0].max = 200;
    rlx_io_t kept_inputs[2] = {matrix(data, 7), matrix(data, 7)}, output = matrix(NULL, 7);
    assert_ok(rlx_plan_get(model, kept_inputs, &kept, &diag));
    for (int64_t n = 10; n < 10 + 2 * RLX_PLAN_SLOTS; n++) {
        rlx_io_t inputs[2] = {matrix(data, n), matrix(data, n)};

        assert_ok(rlx_plan_get(model, inputs, &plan, &diag));
        rlx_plan_release(plan);
    }
    rlx_model_release(model);
    assert_ok(rlx_run(kept, NULL, kept_inputs, &output, NULL, NULL, &diag));
    free(output.tensor.data);
    rlx_plan_release(kept);
}

static void *plan_many(void *argument)
{
    rlx_model_t *model = argument;
    static float data[64];

    for (int i = 0; i < 200; i++) {
        rlx_io_t inputs[2] = {matrix(data, 1 + i % 8), matrix(data, 1 + i % 8)};
        rlx_plan_t *plan;

        assert_int_equal(rlx_plan_get(model, inputs, &plan, NULL), RLX_OK);
        assert_int_equal(plan->slots[0], 1 + i % 8);
        rlx_plan_release(plan);
    }
    return NULL;
}

static void many_threads_build_each_plan_once(void **state)
{
    rlx_model_t *model = add_model();
    pthread_t threads[4];

    (void)state;
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, plan_many, model);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(model->cache.builds, 8);
    rlx_model_release(model);
}

static void missing_kernel_is_named(void **state)
{
    rlx_kernel_table_t table;
    rlx_model_t *model = add_model(), *other;

    (void)state;
    tk_table(&table);
    table.entry[TK_ADD] = NULL;
    assert_refused(rlx_model_create(pb.blob, NULL, &table, &other, &diag), RLX_E_BUNDLE_TARGET, "needs kernel 240");
    rlx_model_release(model);
}

static int64_t code_result(int64_t op, int64_t a, int64_t b)
{
    const int64_t code[] = {RLX_CODE_CONST, a, RLX_CODE_CONST, b, op, RLX_CODE_STORE, 0};
    int64_t slot = 0;

    assert_int_equal(rlx_shape_code_run(code, 7, "", &slot, NULL), RLX_OK);
    return slot;
}

static void shape_code_divides_like_its_definition(void **state)
{
    (void)state;
    assert_int_equal(code_result(RLX_CODE_FLOORDIV, 7, 2), 3);
    assert_int_equal(code_result(RLX_CODE_FLOORDIV, -7, 2), -4);
    assert_int_equal(code_result(RLX_CODE_FLOORDIV, 7, -2), -4);
    assert_int_equal(code_result(RLX_CODE_CEILDIV, 7, 2), 4);
    assert_int_equal(code_result(RLX_CODE_CEILDIV, -7, 2), -3);
    assert_int_equal(code_result(RLX_CODE_CEILDIV, 6, 2), 3);
    assert_int_equal(code_result(RLX_CODE_TRUNCDIV, -7, 2), -3);
    assert_int_equal(code_result(RLX_CODE_MOD, -7, 3), 2);
    assert_int_equal(code_result(RLX_CODE_MOD, 7, -3), -2);
    assert_int_equal(code_result(RLX_CODE_MOD, INT64_MIN, -1), 0);
    assert_int_equal(code_result(RLX_CODE_MIN, -7, 3), -7);
    assert_int_equal(code_result(RLX_CODE_MAX, -7, 3), 3);
    assert_int_equal(code_result(RLX_CODE_LT, -7, 3), 1);
    assert_int_equal(code_result(RLX_CODE_EQ, 3, 3), 1);
    assert_int_equal(code_result(RLX_CODE_FSCALE, 10, 0x3f333333), 7);     /* 0.7f, as in f32 */
    assert_int_equal(code_result(RLX_CODE_FSCALE, 1, 0xc0200000), -3);     /* -2.5 */
    assert_int_equal(code_result(RLX_CODE_FSCALE, 16777217, 0x3f800000), 16777217);
    assert_int_equal(code_result(RLX_CODE_FCEILDIV, 0x40000000, 0x3f19999a), 4);    /* 0.6f */
    assert_int_equal(code_result(RLX_CODE_FCEILDIV, 0xbf800000, 0x3f000000), -2);
    assert_int_equal(code_result(RLX_CODE_FSUB, 0x3f800000, 0x3f000000), 0x3f000000);
}

static void shape_code_refuses_overflow_and_zero(void **state)
{
    const int64_t mul[] = {RLX_CODE_CONST, INT64_MAX, RLX_CODE_CONST, 2, RLX_CODE_MUL, RLX_CODE_STORE, 0};
    const int64_t div[] = {RLX_CODE_CONST, 5, RLX_CODE_CONST, 0, RLX_CODE_FLOORDIV, RLX_CODE_STORE, 0};
    const int64_t edge[] = {RLX_CODE_CONST, INT64_MIN, RLX_CODE_CONST, -1, RLX_CODE_TRUNCDIV, RLX_CODE_STORE, 0};
    const int64_t nan[] = {RLX_CODE_CONST, 5, RLX_CODE_CONST, 0x7fc00000, RLX_CODE_FSCALE, RLX_CODE_STORE, 0};
    const int64_t wide[] = {RLX_CODE_CONST, 5, RLX_CODE_CONST, 0x7f000000, RLX_CODE_FSCALE, RLX_CODE_STORE, 0};
    const int64_t by_zero[] = {RLX_CODE_CONST, 0x3f800000, RLX_CODE_CONST, 0, RLX_CODE_FCEILDIV, RLX_CODE_STORE, 0};
    const int64_t check[] = {RLX_CODE_CONST, 0, RLX_CODE_CHECK, 1};
    int64_t slot = 0;

    (void)state;
    assert_refused(rlx_shape_code_run(mul, 7, "", &slot, &diag), RLX_E_PLAN_OVERFLOW, "overflows");
    assert_refused(rlx_shape_code_run(div, 7, "", &slot, &diag), RLX_E_INPUT_VALUE, "5 divided by zero");
    assert_refused(rlx_shape_code_run(edge, 7, "", &slot, &diag), RLX_E_PLAN_OVERFLOW, "overflows");
    assert_refused(rlx_shape_code_run(nan, 7, "", &slot, &diag), RLX_E_INPUT_VALUE, "not finite: operands 0x00000005 and 0x7fc00000");
    assert_refused(rlx_shape_code_run(wide, 7, "", &slot, &diag), RLX_E_INPUT_VALUE, "too large");
    assert_refused(rlx_shape_code_run(by_zero, 7, "", &slot, &diag), RLX_E_INPUT_VALUE, "floats that are zero");
    assert_refused(rlx_shape_code_run(check, 4, "\0conv1: kernel is larger than the image", &slot, &diag), RLX_E_INPUT_SHAPE,
                   "conv1: kernel");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plan_knows_output_shape),
        cmocka_unit_test(errors_name_input_and_axis),
        cmocka_unit_test(equal_symbols_share_a_plan),
        cmocka_unit_test(a_plan_outlives_its_eviction_and_the_model),
        cmocka_unit_test(many_threads_build_each_plan_once),
        cmocka_unit_test(missing_kernel_is_named),
        cmocka_unit_test(shape_code_divides_like_its_definition),
        cmocka_unit_test(shape_code_refuses_overflow_and_zero),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
