/* A steady load: sizes that were seen before cost no allocation and no mapping; and what an event loop may ask of the executor. */
#include <stdatomic.h>

#include "exec/arena.h"
#include "exec/plan.h"
#include "tests/exec/program_builder.h"
#include "tests/exec/test_kernels.h"
#include "tests/unit/check.h"

/* The linker sends every call of these here (--wrap). */
static atomic_int allocations;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__real_aligned_alloc(size_t align, size_t bytes);
void *__real_mmap(void *at, size_t bytes, int access, int flags, int fd, long offset);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
void *__wrap_aligned_alloc(size_t align, size_t bytes);
void *__wrap_mmap(void *at, size_t bytes, int access, int flags, int fd, long offset);

void *__wrap_malloc(size_t bytes)
{
    allocations++;
    return __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    allocations++;
    return __real_calloc(count, bytes);
}

void *__wrap_realloc(void *old, size_t bytes)
{
    allocations++;
    return __real_realloc(old, bytes);
}

void *__wrap_aligned_alloc(size_t align, size_t bytes)
{
    allocations++;
    return __real_aligned_alloc(align, bytes);
}

void *__wrap_mmap(void *at, size_t bytes, int access, int flags, int fd, long offset)
{
    allocations++;
    return __real_mmap(at, bytes, access, flags, fd, offset);
}

enum { WIDTH = 16, ROWS_MAX = 64 };

static pb_t pb;

/* y[n, WIDTH] = (x * 3 + x), through an arena. */
static rlx_model_t *model_make(void)
{
    const rlx_ref_t dims[2] = {pb_slot(0), pb_number(WIDTH)};
    uint32_t bytes, count, x, t, y;
    rlx_kernel_table_t table;
    rlx_model_t *model;
    size_t size;
    const void *program;

    pb_init(&pb);
    pb_symbol(&pb, "n", RLX_SYMBOL_INPUT_AXIS, 0, 0, 1, ROWS_MAX);
    bytes = pb_scale(&pb, 0, WIDTH * 4);
    count = pb_scale(&pb, 0, WIDTH);
    x = pb_value(&pb, RLX_VALUE_INPUT, "x", RLX_F32, 2, dims, pb_number(0), pb_slot(bytes));
    t = pb_value(&pb, RLX_VALUE_ARENA, "t", RLX_F32, 2, dims, pb_number(0), pb_slot(bytes));
    y = pb_value(&pb, RLX_VALUE_OUTPUT, "y", RLX_F32, 2, dims, pb_number(0), pb_slot(bytes));
    pb_step(&pb, TK_SCALE, 1, 1, (uint32_t[]){x, t}, pb_slot(count));
    pb_param(&pb, pb_number(3));
    pb_step(&pb, TK_ADD, 2, 1, (uint32_t[]){x, t, y}, pb_slot(count));
    pb.costs[0].scale = 1000 * RLX_COST_SCALE;
    pb.costs[1].scale = 234 * RLX_COST_SCALE;
    program = pb_finish(&pb, pb_slot(bytes), &size);
    assert_ok(rlx_program_check(program, size, 0, &diag));
    tk_table(&table);
    assert_ok(rlx_model_create(program, NULL, &table, &model, &diag));
    return model;
}

static void run_rows(rlx_model_t *model, int64_t rows, bool as_rows)
{
    static float x[ROWS_MAX * WIDTH], y[ROWS_MAX * WIDTH];
    static void *in_rows[ROWS_MAX], *out_rows[ROWS_MAX];
    rlx_io_t input = {.tensor = {RLX_F32, 2, {rows, WIDTH}, x}}, output = {.tensor = {RLX_F32, 2, {rows, WIDTH}, y}};
    rlx_plan_t *plan;

    for (int64_t i = 0; i < rows; i++) {
        in_rows[i] = x + (rows - 1 - i) * WIDTH;
        out_rows[i] = y + i * WIDTH;
    }
    if (as_rows) {
        input = (rlx_io_t){.tensor = {RLX_F32, 2, {rows, WIDTH}, NULL}, .rows = in_rows};
        output = (rlx_io_t){.tensor = {RLX_F32, 2, {rows, WIDTH}, NULL}, .rows = out_rows};
    }
    assert_ok(rlx_plan_get(model, &input, &plan, &diag));
    assert_ok(rlx_run(plan, NULL, &input, &output, NULL, NULL, &diag));
    rlx_plan_release(plan);
}

static void sizes_seen_before_allocate_nothing(void **state)
{
    rlx_model_t *model = model_make();
    int before;

    (void)state;
    for (int round = 0; round < 2; round++)
        for (int64_t rows = ROWS_MAX; rows > ROWS_MAX - 30; rows--) /* as many as the cache holds, the largest first */
            run_rows(model, rows, round == 1);
    before = allocations;
    for (int i = 0; i < 3000; i++)
        run_rows(model, ROWS_MAX - i % 30, i % 2 == 1);
    assert_int_equal(allocations, before);
    rlx_model_release(model);
}

static void growing_sizes_keep_one_arena(void **state)
{
    rlx_arena_pool_t pool;
    rlx_arena_t arena;

    (void)state;
    rlx_arena_pool_init(&pool);
    for (size_t bytes = 1000; bytes < 100000000; bytes *= 2) {
        assert_ok(rlx_arena_get(&pool, bytes, &arena, &diag));
        rlx_arena_put(&pool, arena);
        assert_int_equal(pool.n_idle, 1);
    }
    rlx_arena_pool_fini(&pool);
}

static void a_loop_may_peek_without_building(void **state)
{
    rlx_model_t *model = model_make();
    rlx_io_t input = {.tensor = {RLX_F32, 2, {7, WIDTH}, NULL}};
    rlx_tensor_t shape;
    rlx_plan_t *plan;
    int before;

    (void)state;
    assert_null(rlx_plan_peek(model, &input));
    run_rows(model, 7, false);
    before = allocations;
    plan = rlx_plan_peek(model, &input); /* the memory of inputs may be missing */
    assert_non_null(plan);
    assert_int_equal(rlx_plan_cost_ns(plan), 1234);
    assert_true(rlx_plan_output(plan, 0, &shape));
    assert_int_equal(shape.dims[0], 7);
    rlx_plan_release(plan);
    input.tensor.dims[0] = 8;
    assert_null(rlx_plan_peek(model, &input));
    input.tensor.dims[0] = ROWS_MAX + 1;
    assert_null(rlx_plan_peek(model, &input));
    input.tensor.dtype = RLX_F64;
    assert_null(rlx_plan_peek(model, &input));
    assert_int_equal(allocations, before);
    rlx_model_release(model);
}

static void a_peeked_plan_outlives_the_model(void **state)
{
    rlx_model_t *model = model_make();
    rlx_io_t input = {.tensor = {RLX_F32, 2, {7, WIDTH}, NULL}};
    rlx_plan_t *plan;

    (void)state;
    run_rows(model, 7, false);
    plan = rlx_plan_peek(model, &input);
    rlx_model_release(model);
    assert_int_equal(rlx_plan_cost_ns(plan), 1234);
    rlx_plan_release(plan);
}

/* y = x * 2^trips by a loop; x[n]. */
static rlx_model_t *loop_make(void)
{
    static char body[65536];
    rlx_ref_t dims[1] = {pb_slot(0)};
    uint32_t bytes, trips, x, y;
    rlx_kernel_table_t table;
    rlx_model_t *model;
    const void *program;
    size_t size;

    for (int outer = 0; outer < 2; outer++) {
        pb_init(&pb);
        pb_symbol(&pb, "n", RLX_SYMBOL_INPUT_AXIS, 2, 0, 1, ROWS_MAX);
        bytes = pb_scale(&pb, 0, 4);
        trips = pb_value(&pb, RLX_VALUE_INPUT, "trips", RLX_I64, 0, NULL, pb_number(0), pb_number(8));
        pb_value(&pb, RLX_VALUE_INPUT, "c", RLX_BOOL, 0, NULL, pb_number(0), pb_number(1));
        x = pb_value(&pb, RLX_VALUE_INPUT, "x", RLX_F32, 1, dims, pb_number(0), pb_slot(bytes));
        if (outer == 0)
            pb.outputs[pb.n_outputs++] = trips + 1;
        y = pb_value(&pb, RLX_VALUE_OUTPUT, "y", RLX_F32, 1, dims, pb_number(0), pb_slot(bytes));
        if (outer == 0) {
            pb_step(&pb, TK_SCALE, 1, 1, (uint32_t[]){x, y}, pb_slot(0));
            pb_param(&pb, pb_number(2));
            pb_finish(&pb, pb_number(0), &size);
            memcpy(body, pb.blob, size);
        }
    }
    pb_step(&pb, RLX_CALL_LOOP, 3, 1, (uint32_t[]){trips, trips + 1, x, y}, pb_number(1));
    pb_param(&pb, pb_number(pb_body(&pb, body, size)));
    pb_param(&pb, pb_number(1));
    program = pb_finish(&pb, pb_number(0), &size);
    assert_ok(rlx_program_check(program, size, 0, &diag));
    tk_table(&table);
    assert_ok(rlx_model_create(program, NULL, &table, &model, &diag));
    return model;
}

static void iterations_of_seen_sizes_allocate_nothing(void **state)
{
    static float x[ROWS_MAX], y[ROWS_MAX];
    rlx_model_t *model = loop_make();
    int64_t trips = 0;
    uint8_t c = 1;
    int before = 0;

    (void)state;
    x[0] = 1;
    for (int run = 0; run < 200; run++) {
        int64_t n = ROWS_MAX - run % 20;
        rlx_io_t inputs[3] = {{.tensor = {RLX_I64, 0, {0}, &trips}}, {.tensor = {RLX_BOOL, 0, {0}, &c}}, {.tensor = {RLX_F32, 1, {n}, x}}};
        rlx_io_t output = {.tensor = {RLX_F32, 1, {n}, y}};
        rlx_plan_t *plan;

        trips = 1 + run % 7;
        if (run == 40)
            before = allocations;
        assert_ok(rlx_plan_get(model, inputs, &plan, &diag));
        assert_ok(rlx_run(plan, NULL, inputs, &output, NULL, NULL, &diag));
        assert_true(y[0] == (float)(1 << trips));
        rlx_plan_release(plan);
    }
    assert_int_equal(allocations, before);
    rlx_model_release(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_seen_before_allocate_nothing),
        cmocka_unit_test(growing_sizes_keep_one_arena),
        cmocka_unit_test(iterations_of_seen_sizes_allocate_nothing),
        cmocka_unit_test(a_loop_may_peek_without_building),
        cmocka_unit_test(a_peeked_plan_outlives_the_model),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
