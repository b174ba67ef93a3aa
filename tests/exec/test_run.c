/* Runs: in place, any number of threads, errors, cancel, rows, regions, memory that the run allocates. */
#include <math.h>
#include <pthread.h>

#include "exec/model.h"
#include "exec/plan.h"
#include "tests/exec/program_builder.h"
#include "tests/exec/test_kernels.h"
#include "tests/unit/check.h"

static pb_t pb;

static rlx_model_t *model_of(rlx_ref_t arena_bytes)
{
    rlx_kernel_table_t table;
    rlx_model_t *model;
    size_t bytes;
    const void *program = pb_finish(&pb, arena_bytes, &bytes);

    assert_ok(rlx_program_check(program, bytes, 0, &diag));
    tk_table(&table);
    assert_ok(rlx_model_create(program, NULL, &table, &model, &diag));
    return model;
}

/* y = (x * 3 + x) * 2 over n floats, temporaries in the arena. */
static rlx_model_t *chain_model(void)
{
    const rlx_ref_t dims[1] = {pb_slot(0)};
    uint32_t bytes, padded, arena, x, t, u, y;

    pb_init(&pb);
    pb_symbol(&pb, "n", RLX_SYMBOL_INPUT_AXIS, 0, 0, 0, 1 << 20);
    bytes = pb_scale(&pb, 0, 4);
    pb_code(&pb, 8, (int64_t[]){RLX_CODE_SLOT, bytes, RLX_CODE_CONST, 64, RLX_CODE_CEILDIV, RLX_CODE_CONST, 64, RLX_CODE_MUL});
    padded = pb_store(&pb);
    arena = pb_scale(&pb, padded, 2);
    x = pb_value(&pb, RLX_VALUE_INPUT, "x", RLX_F32, 1, dims, pb_number(0), pb_slot(bytes));
    t = pb_value(&pb, RLX_VALUE_ARENA, "t", RLX_F32, 1, dims, pb_number(0), pb_slot(bytes));
    u = pb_value(&pb, RLX_VALUE_ARENA, "u", RLX_F32, 1, dims, pb_slot(padded), pb_slot(bytes));
    y = pb_value(&pb, RLX_VALUE_OUTPUT, "y", RLX_F32, 1, dims, pb_number(0), pb_slot(bytes));
    pb_step(&pb, TK_SCALE, 1, 1, (uint32_t[]){x, t}, pb_slot(0));
    pb_param(&pb, pb_number(3));
    pb_step(&pb, TK_ADD, 2, 1, (uint32_t[]){x, t, u}, pb_slot(0));
    pb_step(&pb, TK_SCALE, 1, 1, (uint32_t[]){u, y}, pb_slot(0));
    pb_param(&pb, pb_number(2));
    return model_of(pb_slot(arena));
}

static rlx_io_t vector(void *data, rlx_dtype_t dtype, int64_t n) { return (rlx_io_t){.tensor = {dtype, 1, {n}, data}}; }

static void run_one(rlx_model_t *model, rlx_team_t *team, const rlx_io_t *inputs, rlx_io_t *outputs)
{
    rlx_plan_t *plan;

    assert_ok(rlx_plan_get(model, inputs, &plan, &diag));
    assert_ok(rlx_run(plan, team, inputs, outputs, NULL, NULL, &diag));
    rlx_plan_release(plan);
}

static void any_thread_count_gives_the_same_bits(void **state)
{
    enum { N = 5003 };
    static float x[N], y[N];
    rlx_model_t *model = chain_model();

    (void)state;
    for (int i = 0; i < N; i++)
        x[i] = (float)i * 0.37f;
    for (int threads = 1; threads <= 9; threads += 2) {
        rlx_team_t *team;

        assert_ok(rlx_team_create(threads, &team, &diag));
        for (int64_t n = 0; n <= N; n = n * 2 + 1) {
            rlx_io_t input = vector(x, RLX_F32, n), output = vector(y, RLX_F32, n);

            memset(y, 0, sizeof y);
            run_one(model, team, &input, &output);
            for (int64_t i = 0; i < n; i++)
                assert_true(y[i] == (x[i] + x[i] * 3.0f) * 2.0f);
        }
        rlx_team_destroy(team);
    }
    rlx_model_release(model);
}

static void open_outputs_are_allocated(void **state)
{
    rlx_model_t *model = chain_model();
    float x[4] = {1, 2, 3, 4};
    rlx_io_t input = vector(x, RLX_F32, 4), output = {0};

    (void)state;
    run_one(model, NULL, &input, &output);
    assert_int_equal(output.tensor.rank, 1);
    assert_int_equal(output.tensor.dims[0], 4);
    assert_true(((float *)output.tensor.data)[3] == 32.0f);
    free(output.tensor.data);
    rlx_model_release(model);
}

static void unaligned_tensors_are_copied_and_counted(void **state)
{
    rlx_model_t *model = chain_model();
    char x[17] = {0}, y[17];
    rlx_io_t input = vector(x + 1, RLX_F32, 4), output = vector(y + 1, RLX_F32, 4);
    rlx_run_stats_t stats = {0};
    rlx_plan_t *plan;
    float last = 4.0f;

    (void)state;
    memcpy(x + 13, &last, 4);
    assert_ok(rlx_plan_get(model, &input, &plan, &diag));
    assert_ok(rlx_run(plan, NULL, &input, &output, NULL, &stats, &diag));
    memcpy(&last, y + 13, 4);
    assert_true(last == 32.0f);
    assert_int_equal(stats.input_copies, 2);
    rlx_plan_release(plan);
    rlx_model_release(model);
}

static void outputs_of_another_shape_are_refused(void **state)
{
    rlx_model_t *model = chain_model();
    float x[4] = {0}, y[5];
    rlx_io_t input = vector(x, RLX_F32, 4), output = vector(y, RLX_F32, 5);
    rlx_plan_t *plan;

    (void)state;
    assert_ok(rlx_plan_get(model, &input, &plan, &diag));
    assert_refused(rlx_run(plan, NULL, &input, &output, NULL, NULL, &diag), RLX_E_INPUT_SHAPE, "output 'y' axis 0 was given extent 5");
    input.tensor.dims[0] = 3;
    assert_refused(rlx_run(plan, NULL, &input, &output, NULL, NULL, &diag), RLX_E_INPUT_SHAPE,
                   "other extents than those the plan was made for");
    rlx_plan_release(plan);
    rlx_model_release(model);
}

/* out[n] of `kernel`, one step. */
static rlx_model_t *one_step_model(uint32_t kernel, rlx_dtype_t dtype, int64_t n, int64_t param, int64_t scratch)
{
    const rlx_ref_t dims[1] = {pb_number(n)};
    uint32_t x, y;

    pb_init(&pb);
    x = pb_value(&pb, RLX_VALUE_INPUT, "x", dtype, 1, dims, pb_number(0), pb_number(n * 4));
    y = pb_value(&pb, RLX_VALUE_OUTPUT, "y", dtype, 1, dims, pb_number(0), pb_number(n * 4));
    pb_step(&pb, kernel, 1, 1, (uint32_t[]){x, y}, pb_number(n))->scratch = pb_number(scratch);
    pb_param(&pb, pb_number(param));
    return model_of(pb_number(0));
}

static void every_tile_runs_once(void **state)
{
    enum { N = 1000 };
    static int32_t x[N], y[N];
    rlx_model_t *model = one_step_model(TK_COUNT, RLX_I32, N, 0, 0);
    rlx_io_t input = vector(x, RLX_I32, N), output = vector(y, RLX_I32, N);
    rlx_team_t *team;

    (void)state;
    for (int threads = 2; threads <= 4; threads += 2) {
        assert_ok(rlx_team_create(threads, &team, &diag));
        memset(y, 0, sizeof y);
        for (int run = 1; run <= 300; run++) {
            run_one(model, team, &input, &output);
            for (int i = 0; i < N; i++)
                assert_int_equal(y[i], run);
        }
        rlx_team_destroy(team);
    }
    rlx_model_release(model);
}

static void scratch_belongs_to_one_worker(void **state)
{
    enum { N = 2000 };
    static int32_t x[N], y[N];
    rlx_model_t *model = one_step_model(TK_SCRATCH, RLX_I32, N, 0, 256);
    rlx_io_t input = vector(x, RLX_I32, N), output = vector(y, RLX_I32, N);
    rlx_team_t *team;

    (void)state;
    assert_ok(rlx_team_create(4, &team, &diag));
    run_one(model, team, &input, &output);
    for (int i = 0; i < N; i++)
        assert_int_equal(y[i], 1);
    rlx_team_destroy(team);
    rlx_model_release(model);
}

static void a_kernel_error_names_the_node(void **state)
{
    int32_t x[8] = {0}, y[8];
    rlx_model_t *model = one_step_model(TK_BAD, RLX_I32, 8, 5, 0);
    rlx_io_t input = vector(x, RLX_I32, 8), output = {0};
    rlx_diag_t diag = {0};
    rlx_plan_t *plan;

    (void)state;
    (void)y;
    assert_int_equal(rlx_plan_get(model, &input, &plan, NULL), RLX_OK);
    assert_int_equal(rlx_run(plan, NULL, &input, &output, NULL, NULL, &diag), RLX_INVALID_ARGUMENT);
    assert_int_equal(diag.code, RLX_E_INPUT_VALUE);
    assert_non_null(strstr(diag.message, "an index lies outside its axis"));
    assert_string_equal(diag.where, "node 0 'test'");
    assert_null(output.tensor.data);
    rlx_plan_release(plan);
    rlx_model_release(model);
}

static void cancel_stops_between_steps(void **state)
{
    rlx_model_t *model = chain_model();
    float x[4] = {0}, y[4] = {7, 7, 7, 7};
    rlx_io_t input = vector(x, RLX_F32, 4), output = vector(y, RLX_F32, 4);
    atomic_bool cancel = true;
    rlx_plan_t *plan;

    (void)state;
    assert_ok(rlx_plan_get(model, &input, &plan, &diag));
    assert_int_equal(rlx_run(plan, NULL, &input, &output, &cancel, NULL, NULL), RLX_CANCELLED);
    assert_true(y[0] == 7.0f);
    rlx_plan_release(plan);
    rlx_model_release(model);
}

static void denormals_are_kept_on_every_thread(void **state)
{
    enum { N = 4096 };
    static float x[N], y[N];
    rlx_model_t *model = one_step_model(TK_DENORMAL, RLX_F32, N, 0, 0);
    rlx_io_t input = vector(x, RLX_F32, N), output = vector(y, RLX_F32, N);
    unsigned before = __builtin_ia32_stmxcsr();
    rlx_team_t *team;

    (void)state;
    for (int i = 0; i < N; i++)
        x[i] = ldexpf(1.0f, -126);
    __builtin_ia32_ldmxcsr(before | 0x8040); /* a caller with flush-to-zero and denormals-are-zero */
    assert_ok(rlx_team_create(3, &team, &diag));
    run_one(model, team, &input, &output);
    assert_int_equal(__builtin_ia32_stmxcsr() & 0x8040, 0x8040);
    __builtin_ia32_ldmxcsr(before);
    for (int i = 0; i < N; i++)
        assert_true(y[i] == ldexpf(1.0f, -127));
    rlx_team_destroy(team);
    rlx_model_release(model);
}

/* y[n,3] = x[n,3] + 1 by rows. */
static rlx_model_t *rows_model(bool kernel_takes_rows)
{
    const rlx_ref_t dims[2] = {pb_slot(0), pb_number(3)};
    rlx_model_t *model;
    uint32_t bytes, x, y;

    pb_init(&pb);
    pb_symbol(&pb, "n", RLX_SYMBOL_INPUT_AXIS, 0, 0, 0, 100);
    bytes = pb_scale(&pb, 0, 12);
    x = pb_value(&pb, RLX_VALUE_INPUT, "x", RLX_F32, 2, dims, pb_number(0), pb_slot(bytes));
    y = pb_value(&pb, RLX_VALUE_OUTPUT, "y", RLX_F32, 2, dims, pb_number(0), pb_slot(bytes));
    pb_step(&pb, TK_ROW_ADD, 1, 1, (uint32_t[]){x, y}, pb_slot(0));
    pb_param(&pb, pb_number(3));
    model = model_of(pb_number(0));
    model->rows_ok[x] = model->rows_ok[y] = kernel_takes_rows;
    return model;
}

static void row_pointers_are_passed_or_copied(void **state)
{
    float in[4][5], out[4][5];
    void *in_rows[4], *out_rows[4];
    rlx_run_stats_t stats = {0};
    rlx_plan_t *plan;

    (void)state;
    for (int i = 0; i < 4; i++) {
        in_rows[i] = in[i];
        out_rows[3 - i] = out[i];
        for (int k = 0; k < 5; k++)
            in[i][k] = (float)(10 * i + k);
    }
    for (int direct = 0; direct < 2; direct++) {
        rlx_model_t *model = rows_model(direct);
        rlx_io_t input = {{RLX_F32, 2, {4, 3}, NULL}, in_rows}, output = {{RLX_F32, 2, {4, 3}, NULL}, out_rows};

        memset(out, 0, sizeof out);
        assert_ok(rlx_plan_get(model, &input, &plan, &diag));
        assert_ok(rlx_run(plan, NULL, &input, &output, NULL, &stats, &diag));
        assert_int_equal(stats.input_copies, direct ? 0 : 2);
        for (int i = 0; i < 4; i++) {
            assert_true(out[3 - i][2] == in[i][2] + 1.0f);
            assert_true(out[i][3] == 0.0f); /* nothing past the row */
        }
        out_rows[1] = NULL;
        assert_refused(rlx_run(plan, NULL, &input, &output, NULL, &stats, &diag), RLX_E_INPUT_NAME, "a row without");
        out_rows[1] = out[2];
        rlx_plan_release(plan);
        rlx_model_release(model);
    }
}

/* k = number of non-zeros of x[4]; region 1: y[k] = iota. */
static rlx_model_t *region_model(void)
{
    const rlx_ref_t four[1] = {pb_number(4)}, one[1] = {pb_number(1)};
    uint32_t x, k, y, symbol, bytes;
    rlx_ref_t dims[1];

    pb_init(&pb);
    x = pb_value(&pb, RLX_VALUE_INPUT, "x", RLX_I32, 1, four, pb_number(0), pb_number(16));
    k = pb_value(&pb, RLX_VALUE_ARENA, "k", RLX_I64, 1, one, pb_number(0), pb_number(8));
    pb_step(&pb, TK_LENGTH, 1, 1, (uint32_t[]){x, k}, pb_number(1));
    pb_param(&pb, pb_number(4));
    pb_region(&pb);
    symbol = pb_symbol(&pb, "nonzeros", RLX_SYMBOL_VALUE_DATA, k, 0, 0, 3);
    bytes = pb_scale(&pb, symbol, 4);
    dims[0] = pb_slot(symbol);
    y = pb_value(&pb, RLX_VALUE_OUTPUT, "y", RLX_I32, 1, dims, pb_number(0), pb_slot(bytes));
    pb_step(&pb, TK_IOTA, 0, 1, (uint32_t[]){y}, pb_slot(symbol));
    return model_of(pb_number(64));
}

static void a_region_is_planned_from_computed_data(void **state)
{
    rlx_model_t *model = region_model();
    int32_t x[4] = {5, 0, 7, 0};
    rlx_io_t input = vector(x, RLX_I32, 4), output = {0};
    rlx_tensor_t shape;
    rlx_plan_t *plan;

    (void)state;
    assert_ok(rlx_plan_get(model, &input, &plan, &diag));
    assert_false(rlx_plan_output(plan, 0, &shape));
    assert_ok(rlx_run(plan, NULL, &input, &output, NULL, NULL, &diag));
    assert_int_equal(output.tensor.dims[0], 2);
    assert_int_equal(((int32_t *)output.tensor.data)[1], 1);
    free(output.tensor.data);
    output = (rlx_io_t){0};
    x[1] = x[3] = 1;
    assert_refused(rlx_run(plan, NULL, &input, &output, NULL, NULL, &diag), RLX_E_INPUT_MAXIMUM, "value 'k' element 0 is 4 ('nonzeros')");
    rlx_plan_release(plan);
    rlx_model_release(model);
}

static void an_output_may_stand_twice_or_be_an_input(void **state)
{
    const rlx_ref_t dims[1] = {pb_number(3)};
    float x[3] = {1, 2, 3}, y[3][3];
    rlx_io_t input = vector(x, RLX_F32, 3), outputs[3];
    rlx_model_t *model;
    uint32_t in, out;

    (void)state;
    pb_init(&pb);
    in = pb_value(&pb, RLX_VALUE_INPUT, "x", RLX_F32, 1, dims, pb_number(0), pb_number(12));
    out = pb_value(&pb, RLX_VALUE_OUTPUT, "y", RLX_F32, 1, dims, pb_number(0), pb_number(12));
    pb.outputs[pb.n_outputs++] = out;
    pb.outputs[pb.n_outputs++] = in;
    pb_step(&pb, TK_SCALE, 1, 1, (uint32_t[]){in, out}, pb_number(3));
    pb_param(&pb, pb_number(2));
    model = model_of(pb_number(0));
    for (int i = 0; i < 3; i++)
        outputs[i] = vector(y[i], RLX_F32, 3);
    run_one(model, NULL, &input, outputs);
    assert_true(y[0][2] == 6.0f);
    assert_true(y[1][2] == 6.0f);
    assert_true(y[2][2] == 3.0f);
    rlx_model_release(model);
}

typedef struct waiter {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int done, failed;
} waiter_t;

static void on_done(void *context, rlx_status_t status, const rlx_diag_t *diag)
{
    waiter_t *waiter = context;

    (void)diag;
    pthread_mutex_lock(&waiter->lock);
    waiter->done++;
    waiter->failed += status != RLX_OK;
    pthread_cond_signal(&waiter->changed);
    pthread_mutex_unlock(&waiter->lock);
}

static void the_queue_completes_each_run_once(void **state)
{
    enum { N = 64, RUNS = 100 };
    static float x[N], y[RUNS][N];
    rlx_model_t *model = chain_model();
    rlx_io_t input = vector(x, RLX_F32, N);
    static rlx_io_t outputs[RUNS];
    waiter_t waiter = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};
    rlx_queue_t *queue;
    rlx_team_t *team;
    rlx_plan_t *plan;
    int accepted = 0;

    (void)state;
    x[N - 1] = 1.0f;
    assert_ok(rlx_team_create(2, &team, &diag));
    assert_ok(rlx_queue_create(team, 16, &queue, &diag));
    assert_ok(rlx_plan_get(model, &input, &plan, &diag));
    rlx_model_release(model);
    for (int i = 0; i < RUNS; i++) {
        rlx_status_t status;

        outputs[i] = vector(y[i], RLX_F32, N);
        while ((status = rlx_submit(queue, plan, &input, &outputs[i], NULL, on_done, &waiter)) == RLX_RESOURCE_EXHAUSTED)
            usleep(100);
        accepted += status == RLX_OK;
    }
    rlx_plan_release(plan);
    rlx_queue_destroy(queue);
    assert_int_equal(accepted, RUNS);
    assert_int_equal(waiter.done, RUNS);
    assert_int_equal(waiter.failed, 0);
    for (int i = 0; i < RUNS; i++)
        assert_true(y[i][N - 1] == 8.0f);
    rlx_team_destroy(team);
}

static void *run_many(void *argument)
{
    rlx_model_t *model = ((void **)argument)[0];
    rlx_team_t *team = ((void **)argument)[1];
    float x[200], y[200];

    for (int i = 0; i < 200; i++)
        x[i] = (float)i;
    for (int i = 1; i < 100; i++) {
        rlx_io_t input = vector(x, RLX_F32, 2 * i), output = vector(y, RLX_F32, 2 * i);

        run_one(model, team, &input, &output);
        assert_true(y[2 * i - 1] == 8.0f * x[2 * i - 1]);
    }
    return NULL;
}

static void many_callers_share_model_and_team(void **state)
{
    rlx_model_t *model = chain_model();
    pthread_t threads[4];
    rlx_team_t *team;

    (void)state;
    assert_ok(rlx_team_create(3, &team, &diag));
    void *shared[2] = {model, team};
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, run_many, shared);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    rlx_team_destroy(team);
    rlx_model_release(model);
}

typedef struct guest {
    rlx_team_t *team;
    int index;
    atomic_bool leave;
    atomic_int rounds;
} guest_t;

static bool guest_leaves(void *context) { return atomic_load(&((guest_t *)context)->leave); }
static uint64_t guest_spins(void *context) { return ((guest_t *)context)->index == 0 ? 20000 : 0; }

/* Comes and goes all the time, as a server's worker does. */
static void *guest_main(void *argument)
{
    guest_t *guest = argument;

    while (!atomic_load(&guest->leave)) {
        rlx_team_help(guest->team, guest->index, guest_leaves, guest_spins, guest);
        atomic_fetch_add(&guest->rounds, 1);
    }
    return NULL;
}

static void helpers_of_an_open_team_change_no_bit(void **state)
{
    enum { N = 5003, GUESTS = 3 };
    static float x[N], y[N];
    rlx_model_t *model = chain_model();
    guest_t guests[GUESTS] = {0};
    pthread_t threads[GUESTS];
    rlx_team_t *team;

    (void)state;
    for (int i = 0; i < N; i++)
        x[i] = (float)i * 0.37f;
    assert_ok(rlx_team_create_open(GUESTS, &team, &diag));
    for (int run = 0; run < 600; run++) {
        rlx_io_t input = vector(x, RLX_F32, N), output = vector(y, RLX_F32, N);

        if (run == 100) /* a run needs nobody */
            for (int g = 0; g < GUESTS; g++) {
                guests[g] = (guest_t){.team = team, .index = g};
                assert_int_equal(pthread_create(&threads[g], NULL, guest_main, &guests[g]), 0);
            }
        memset(y, 0, sizeof y);
        run_one(model, team, &input, &output);
        for (int64_t i = 0; i < N; i++)
            assert_true(y[i] == (x[i] + x[i] * 3.0f) * 2.0f);
    }
    for (int g = 0; g < GUESTS; g++)
        atomic_store(&guests[g].leave, true);
    rlx_team_ring(team, GUESTS);
    for (int g = 0; g < GUESTS; g++)
        pthread_join(threads[g], NULL);
    rlx_team_destroy(team);
    rlx_model_release(model);
}

static void a_ring_makes_a_sleeping_helper_leave(void **state)
{
    rlx_team_t *team;

    (void)state;
    assert_ok(rlx_team_create_open(1, &team, &diag));
    for (int i = 0; i < 200; i++) {
        guest_t guest = {.team = team, .index = 0};
        pthread_t thread;

        assert_int_equal(pthread_create(&thread, NULL, guest_main, &guest), 0);
        atomic_store(&guest.leave, true);
        rlx_team_ring(team, 1);
        pthread_join(thread, NULL);
    }
    rlx_team_destroy(team);
}

static void a_request_above_the_arena_limit_is_refused(void **state)
{
    static float x[4096];
    rlx_model_t *model = chain_model();
    rlx_io_t input = vector(x, RLX_F32, 4096), output = {0};
    rlx_plan_t *plan;

    (void)state;
    model->arenas.bytes_max = 1024;
    assert_ok(rlx_plan_get(model, &input, &plan, &diag));
    assert_refused(rlx_run(plan, NULL, &input, &output, NULL, NULL, &diag), RLX_E_ARENA_LIMIT, "the limit is 1024");
    assert_null(output.tensor.data);
    rlx_plan_release(plan);
    rlx_model_release(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_thread_count_gives_the_same_bits),
        cmocka_unit_test(open_outputs_are_allocated),
        cmocka_unit_test(unaligned_tensors_are_copied_and_counted),
        cmocka_unit_test(outputs_of_another_shape_are_refused),
        cmocka_unit_test(every_tile_runs_once),
        cmocka_unit_test(scratch_belongs_to_one_worker),
        cmocka_unit_test(a_kernel_error_names_the_node),
        cmocka_unit_test(cancel_stops_between_steps),
        cmocka_unit_test(denormals_are_kept_on_every_thread),
        cmocka_unit_test(row_pointers_are_passed_or_copied),
        cmocka_unit_test(a_region_is_planned_from_computed_data),
        cmocka_unit_test(an_output_may_stand_twice_or_be_an_input),
        cmocka_unit_test(the_queue_completes_each_run_once),
        cmocka_unit_test(many_callers_share_model_and_team),
        cmocka_unit_test(helpers_of_an_open_team_change_no_bit),
        cmocka_unit_test(a_ring_makes_a_sleeping_helper_leave),
        cmocka_unit_test(a_request_above_the_arena_limit_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
