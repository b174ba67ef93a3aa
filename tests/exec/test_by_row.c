/* Batches whose rows lie apart, and kernels that know nothing of row pointers. */
#include <string.h>

#include "tests/exec/program_builder.h"
#include "tests/exec/test_kernels.h"
#include "tests/unit/check.h"

#define WIDTH 3
#define ROWS 5

static pb_t pb;

/* w = 0, 1, 2; t = x + w; y = t + w, for n rows of x. `t_rows`: what the program says of the rows of t. */
static rlx_model_t *model_make(uint32_t t_rows)
{
    const rlx_ref_t dims[2] = {pb_slot(0), pb_number(WIDTH)}, three[1] = {pb_number(WIDTH)};
    rlx_kernel_table_t table;
    rlx_model_t *model;
    uint32_t count, bytes, x, y, t, w;
    size_t size;
    const void *program;

    pb_init(&pb);
    pb_symbol(&pb, "n", RLX_SYMBOL_INPUT_AXIS, 0, 0, 1, 100);
    count = pb_scale(&pb, 0, WIDTH);
    bytes = pb_scale(&pb, 0, WIDTH * 4);
    x = pb_value(&pb, RLX_VALUE_INPUT, "x", RLX_I32, 2, dims, pb_number(0), pb_slot(bytes));
    w = pb_value(&pb, RLX_VALUE_ARENA, "w", RLX_I32, 1, three, pb_number(0), pb_number(WIDTH * 4));
    t = pb_value(&pb, RLX_VALUE_ARENA, "t", RLX_I32, 2, dims, pb_number(64), pb_slot(bytes));
    y = pb_value(&pb, RLX_VALUE_OUTPUT, "y", RLX_I32, 2, dims, pb_number(0), pb_slot(bytes));
    pb.values[x].batch_symbol = pb.values[y].batch_symbol = 0;
    pb.values[t].batch_symbol = t_rows;
    pb.values[w].batch_symbol = RLX_BATCH_FREE;
    pb_step(&pb, TK_IOTA, 0, 1, (uint32_t[]){w}, pb_number(WIDTH));
    pb_step(&pb, TK_ADD_EACH, 2, 1, (uint32_t[]){x, w, t}, pb_slot(count));
    pb_param(&pb, pb_number(WIDTH));
    pb_step(&pb, TK_ADD_EACH, 2, 1, (uint32_t[]){t, w, y}, pb_slot(count));
    pb_param(&pb, pb_number(WIDTH));
    program = pb_finish(&pb, pb_number(64 + 100 * WIDTH * 4), &size);
    assert_ok(rlx_program_check(program, size, 0, &diag));
    tk_table(&table);
    assert_ok(rlx_model_create(program, NULL, &table, &model, &diag));
    return model;
}

/* Runs ROWS rows that lie anywhere; returns how many tensors were copied. */
static uint64_t run_apart(rlx_model_t *model, rlx_team_t *team)
{
    int32_t in[ROWS][WIDTH + 1], out[ROWS][WIDTH + 1];
    void *in_rows[ROWS], *out_rows[ROWS];
    rlx_io_t input = {{RLX_I32, 2, {ROWS, WIDTH}, NULL}, in_rows}, output = {{RLX_I32, 2, {ROWS, WIDTH}, NULL}, out_rows};
    rlx_run_stats_t stats = {0};
    rlx_plan_t *plan;

    memset(out, 0x55, sizeof out);
    for (int i = 0; i < ROWS; i++) {
        in_rows[i] = in[i * 2 % ROWS];
        out_rows[i] = out[ROWS - 1 - i];
        for (int k = 0; k < WIDTH; k++)
            ((int32_t *)in_rows[i])[k] = 100 * i + 10 * k;
    }
    assert_ok(rlx_plan_get(model, &input, &plan, &diag));
    assert_ok(rlx_run(plan, team, &input, &output, NULL, &stats, &diag));
    for (int i = 0; i < ROWS; i++) {
        for (int k = 0; k < WIDTH; k++)
            assert_int_equal(((int32_t *)out_rows[i])[k], 100 * i + 12 * k);
        assert_int_equal(((int32_t *)out_rows[i])[WIDTH], 0x55555555);
    }
    rlx_plan_release(plan);
    return stats.input_copies;
}

static void a_batch_apart_runs_row_by_row_without_a_copy(void **state)
{
    rlx_model_t *model = model_make(0);
    rlx_team_t *team;

    (void)state;
    assert_int_equal(run_apart(model, NULL), 0);
    for (int threads = 1; threads <= 4; threads++) {
        assert_ok(rlx_team_create(threads, &team, &diag));
        for (int i = 0; i < 50; i++)
            assert_int_equal(run_apart(model, team), 0);
        rlx_team_destroy(team);
    }
    rlx_model_release(model);
}

static void rows_that_no_step_can_follow_are_copied_and_counted(void **state)
{
    rlx_model_t *model = model_make(RLX_NO_INDEX); /* t may have its rows anywhere: both steps need x and y in one piece */

    (void)state;
    assert_int_equal(run_apart(model, NULL), 2);
    rlx_model_release(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_apart_runs_row_by_row_without_a_copy),
        cmocka_unit_test(rows_that_no_step_can_follow_are_copied_and_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
