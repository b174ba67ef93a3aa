/* Loops and branches by hand-made programs: how they end, what they may take, what they cost. */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "exec/model.h"
#include "exec/plan.h"
#include "tests/exec/program_builder.h"
#include "tests/exec/test_kernels.h"
#include "tests/unit/check.h"

enum { N = 4 };

static const rlx_ref_t dims[1] = {{.value = N, .slot = RLX_NO_INDEX}};
static pb_t inner, outer;
static char body[65536];

/* y = 2 x; with `appended` x is given out as well. */
static size_t body_make(bool appended)
{
    uint32_t c, x, y;
    size_t bytes;

    pb_init(&inner);
    pb_value(&inner, RLX_VALUE_INPUT, "i", RLX_I64, 0, NULL, pb_number(0), pb_number(8));
    c = pb_value(&inner, RLX_VALUE_INPUT, "c", RLX_BOOL, 0, NULL, pb_number(0), pb_number(1));
    x = pb_value(&inner, RLX_VALUE_INPUT, "x", RLX_F32, 1, dims, pb_number(0), pb_number(16));
    inner.outputs[inner.n_outputs++] = c;
    y = pb_value(&inner, RLX_VALUE_OUTPUT, "y", RLX_F32, 1, dims, pb_number(0), pb_number(16));
    if (appended)
        inner.outputs[inner.n_outputs++] = x;
    pb_step(&inner, TK_SCALE, 1, 1, (uint32_t[]){x, y}, pb_number(N));
    pb_param(&inner, pb_number(2));
    pb_finish(&inner, pb_number(0), &bytes);
    memcpy(body, inner.blob, bytes);
    return bytes;
}

static rlx_model_t *loop_model(bool appended)
{
    size_t bytes = body_make(appended), size;
    uint32_t trips, c, x, y, s = 0;
    rlx_kernel_table_t table;
    rlx_model_t *model;
    const void *program;

    pb_init(&outer);
    trips = pb_value(&outer, RLX_VALUE_INPUT, "trips", RLX_I64, 0, NULL, pb_number(0), pb_number(8));
    c = pb_value(&outer, RLX_VALUE_INPUT, "c", RLX_BOOL, 0, NULL, pb_number(0), pb_number(1));
    x = pb_value(&outer, RLX_VALUE_INPUT, "x", RLX_F32, 1, dims, pb_number(0), pb_number(16));
    y = pb_value(&outer, RLX_VALUE_OUTPUT, "y", RLX_F32, 1, dims, pb_number(0), pb_number(16));
    if (appended)
        s = outer.n_values; /* made in the next region, where its extents are known */
    pb_step(&outer, RLX_CALL_LOOP, 3, appended ? 2 : 1, (uint32_t[]){trips, c, x, y, s}, pb_number(1));
    pb_param(&outer, pb_number(pb_body(&outer, body, bytes)));
    pb_param(&outer, pb_number(1));
    if (appended) {
        rlx_ref_t rows[2] = {pb_slot(0), dims[0]};

        pb_region(&outer);
        pb_symbol(&outer, "rows", RLX_SYMBOL_VALUE_AXIS, s, 0, 0, 1000000);
        pb_value(&outer, RLX_VALUE_DYNAMIC, "s", RLX_F32, 2, rows, pb_number(0), pb_slot(pb_scale(&outer, 0, 16)));
        outer.outputs[outer.n_outputs++] = s;
    }
    program = pb_finish(&outer, pb_number(0), &size);
    assert_ok(rlx_program_check(program, size, 0, &diag));
    tk_table(&table);
    assert_ok(rlx_model_create(program, NULL, &table, &model, &diag));
    return model;
}

/* Leaves the outputs in `outputs`, allocated by the run. */
static rlx_status_t loop_run(rlx_model_t *model, int64_t trips, bool condition, const atomic_bool *cancel, rlx_io_t outputs[2], rlx_diag_t *diag)
{
    static float x[N] = {1, 2, 3, 4};
    uint8_t c = condition;
    const rlx_io_t inputs[3] = {{.tensor = {RLX_I64, 0, {0}, &trips}}, {.tensor = {RLX_BOOL, 0, {0}, &c}},
                                {.tensor = {RLX_F32, 1, {N}, x}}};
    rlx_plan_t *plan;
    rlx_status_t status;

    outputs[0] = outputs[1] = (rlx_io_t){0};
    RLX_TRY(rlx_plan_get(model, inputs, &plan, diag));
    status = rlx_run(plan, NULL, inputs, outputs, cancel, NULL, diag);
    rlx_plan_release(plan);
    return status;
}

static void outputs_free(rlx_io_t outputs[2])
{
    free(outputs[0].tensor.data);
    free(outputs[1].tensor.data);
}

static void a_loop_runs_as_often_as_count_and_condition_say(void **state)
{
    static const struct { int64_t trips; bool condition; float first; } cases[] = {
        {0, true, 1}, {-5, true, 1}, {5, false, 1}, {1, true, 2}, {2, true, 4}, {9, true, 512}};
    rlx_model_t *model = loop_model(false);
    rlx_io_t outputs[2];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_ok(loop_run(model, cases[i].trips, cases[i].condition, NULL, outputs, &diag));
        assert_true(((float *)outputs[0].tensor.data)[0] == cases[i].first);
        assert_true(((float *)outputs[0].tensor.data)[3] == 4 * cases[i].first);
        outputs_free(outputs);
    }
    rlx_model_release(model);
}

static void what_is_appended_stands_in_order(void **state)
{
    rlx_model_t *model = loop_model(true);
    rlx_io_t outputs[2];

    (void)state;
    for (int64_t trips = 0; trips < 20; trips++) {
        assert_ok(loop_run(model, trips, true, NULL, outputs, &diag));
        assert_int_equal(outputs[1].tensor.dims[0], trips);
        assert_int_equal(outputs[1].tensor.dims[1], N);
        for (int64_t i = 0; i < trips; i++)
            assert_true(((float *)outputs[1].tensor.data)[i * N + 1] == 2.0f * (float)(1 << i));
        outputs_free(outputs);
    }
    rlx_model_release(model);
}

static void *cancel_soon(void *cancel)
{
    usleep(20000);
    atomic_store((atomic_bool *)cancel, true);
    return NULL;
}

static void a_loop_without_end_is_cancelled(void **state)
{
    rlx_model_t *model = loop_model(false);
    atomic_bool cancel = false;
    rlx_io_t outputs[2];
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, cancel_soon, &cancel), 0);
    assert_refused(loop_run(model, INT64_MAX, true, &cancel, outputs, &diag), RLX_E_CANCELLED, "cancelled");
    assert_null(outputs[0].tensor.data);
    pthread_join(thread, NULL);
    rlx_model_release(model);
}

static void iterations_and_memory_are_bounded(void **state)
{
    rlx_model_t *model = loop_model(true);
    rlx_io_t outputs[2];

    (void)state;
    rlx_model_limit(model, (size_t)1 << 20, 1000);
    assert_refused(loop_run(model, INT64_MAX, true, NULL, outputs, &diag), RLX_E_LOOP_LIMIT, "iteration 1000");
    rlx_model_limit(model, 8000, 1000);
    assert_refused(loop_run(model, 900, true, NULL, outputs, &diag), RLX_E_ARENA_LIMIT, "the limit is 8000");
    assert_ok(loop_run(model, 100, true, NULL, outputs, &diag));
    outputs_free(outputs);
    rlx_model_release(model);
}

static void a_plan_with_a_loop_has_no_estimate(void **state)
{
    rlx_model_t *model = loop_model(false);
    float x[N] = {0};
    int64_t trips = 1;
    uint8_t c = 1;
    const rlx_io_t inputs[3] = {{.tensor = {RLX_I64, 0, {0}, &trips}}, {.tensor = {RLX_BOOL, 0, {0}, &c}},
                                {.tensor = {RLX_F32, 1, {N}, x}}};
    rlx_plan_t *plan;

    (void)state;
    assert_ok(rlx_plan_get(model, inputs, &plan, &diag));
    assert_true(rlx_plan_cost_ns(plan) == UINT64_MAX);
    rlx_plan_release(plan);
    rlx_model_release(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loop_runs_as_often_as_count_and_condition_say), cmocka_unit_test(what_is_appended_stands_in_order),
        cmocka_unit_test(a_loop_without_end_is_cancelled),                 cmocka_unit_test(iterations_and_memory_are_bounded),
        cmocka_unit_test(a_plan_with_a_loop_has_no_estimate),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
