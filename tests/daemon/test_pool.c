/* The pool: every job comes back once with the right bits, whoever ran or helped it; one request's failure is its own. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "daemon/memory/regions.h"
#include "daemon/pool/inside.h"
#include "exec/model.h"
#include "tests/exec/program_builder.h"
#include "tests/exec/test_kernels.h"
#include "tests/unit/check.h"

enum { WIDTH = 512, JOBS_MAX = 8 };

static pb_t pb;

/* y[n, WIDTH] = (x * 3 + x) * 2; with `bad_at` >= 0 a last step refuses runs of more than `bad_at` rows. */
static rlx_model_t *model_make(int64_t bad_at, uint64_t step_ns)
{
    const rlx_ref_t dims[2] = {pb_slot(0), pb_number(WIDTH)};
    uint32_t bytes, count, x, t, u, y;
    rlx_kernel_table_t table;
    rlx_model_t *model;
    size_t size;
    const void *program;

    pb_init(&pb);
    pb_symbol(&pb, "n", RLX_SYMBOL_INPUT_AXIS, 0, 0, 0, 64);
    bytes = pb_scale(&pb, 0, WIDTH * 4);
    count = pb_scale(&pb, 0, WIDTH);
    x = pb_value(&pb, RLX_VALUE_INPUT, "x", RLX_F32, 2, dims, pb_number(0), pb_slot(bytes));
    t = pb_value(&pb, RLX_VALUE_ARENA, "t", RLX_F32, 2, dims, pb_number(0), pb_slot(bytes));
    u = pb_value(&pb, RLX_VALUE_ARENA, "u", RLX_F32, 2, dims, pb_slot(bytes), pb_slot(bytes));
    y = pb_value(&pb, RLX_VALUE_OUTPUT, "y", RLX_F32, 2, dims, pb_number(0), pb_slot(bytes));
    pb_step(&pb, TK_SCALE, 1, 1, (uint32_t[]){x, t}, pb_slot(count));
    pb_param(&pb, pb_number(3));
    pb_step(&pb, TK_ADD, 2, 1, (uint32_t[]){x, t, u}, pb_slot(count));
    pb_step(&pb, TK_SCALE, 1, 1, (uint32_t[]){u, y}, pb_slot(count));
    pb_param(&pb, pb_number(2));
    if (bad_at >= 0) {
        pb_step(&pb, TK_BAD, 0, 0, (uint32_t[]){0}, pb_slot(0));
        pb_param(&pb, pb_number(bad_at));
    }
    for (uint32_t i = 0; i < pb.n_steps; i++)
        pb.costs[i].scale = step_ns * RLX_COST_SCALE;
    program = pb_finish(&pb, pb_slot(pb_scale(&pb, bytes, 2)), &size);
    assert_ok(rlx_program_check(program, size, 0, &diag));
    tk_table(&table);
    assert_ok(rlx_model_create(program, NULL, &table, &model, &diag));
    return model;
}

typedef struct bench {
    uv_loop_t loop;
    rlx_pool_t *pool;
    rlx_slots_t *slots;
    rlx_model_t *model;
    rlx_job_t jobs[JOBS_MAX];
    int completed, to_submit, out;
    unsigned seed;
    bool closed;
    void (*on_completed)(struct bench *bench, rlx_job_t *job);
} bench_t;

static void input_fill(rlx_slot_t *slot, int64_t rows, unsigned seed)
{
    float *data = (float *)slot->memory;

    slot->inputs[0] = (rlx_io_t){.tensor = {RLX_F32, 2, {rows, WIDTH}, data}};
    slot->inputs_end = (size_t)rows * WIDTH * 4;
    slot->outputs[0] = (rlx_io_t){0};
    slot->room[0] = 0;
    for (int64_t i = 0; i < rows * WIDTH; i++)
        data[i] = (float)((seed + (unsigned)i * 7) % 1001) * 0.25f;
}

static void output_check(const rlx_slot_t *slot, int64_t rows)
{
    const float *x = slot->inputs[0].tensor.data, *y = slot->outputs[0].tensor.data;

    assert_int_equal(slot->status, RLX_OK);
    assert_int_equal(slot->outputs[0].tensor.dims[0], rows);
    assert_int_equal(slot->outputs[0].tensor.dims[1], WIDTH);
    for (int64_t i = 0; i < rows * WIDTH; i++)
        assert_true(y[i] == (x[i] + x[i] * 3.0f) * 2.0f);
}

static void completed(void *context, rlx_job_t *job)
{
    bench_t *bench = context;

    bench->completed++;
    bench->out--;
    bench->on_completed(bench, job);
}

static void bench_open(bench_t *bench, rlx_model_t *model, int workers)
{
    rlx_pool_options_t options = {.loop = &bench->loop, .workers = workers, .ahead = 2, .completed = completed, .context = bench};

    memset(bench, 0, sizeof *bench);
    assert_int_equal(uv_loop_init(&bench->loop), 0);
    bench->model = model;
    bench->slots = rlx_slots_create(1, 1);
    assert_non_null(bench->slots);
    assert_ok(rlx_pool_create(&options, &bench->pool, &diag));
    assert_int_equal(rlx_pool_workers(bench->pool), workers);
}

static void on_pool_closed(void *context) { ((bench_t *)context)->closed = true; }

static void bench_close(bench_t *bench)
{
    rlx_pool_close(bench->pool, on_pool_closed, bench);
    while (uv_run(&bench->loop, UV_RUN_DEFAULT) != 0)
        ;
    assert_true(bench->closed);
    assert_int_equal(bench->out, 0);
    rlx_slots_destroy(bench->slots);
    assert_int_equal(uv_loop_close(&bench->loop), 0);
    rlx_model_release(bench->model);
}

static rlx_slot_t *slot_make(bench_t *bench, int64_t rows)
{
    rlx_slot_t *slot = rlx_slots_get(bench->slots, (size_t)rows * WIDTH * 4);

    assert_non_null(slot);
    input_fill(slot, rows, bench->seed++);
    return slot;
}

static void job_send(bench_t *bench, rlx_job_t *job, int n_slots, const int64_t *rows, bool alone)
{
    job->run = (uint32_t)(job - bench->jobs);
    job->model = bench->model;
    job->name = "test";
    job->n_slots = n_slots;
    job->alone = alone;
    atomic_store(&job->cancel, false);
    for (int i = 0; i < n_slots; i++) {
        job->rows[i] = rows[i];
        job->slots[i] = slot_make(bench, rows[i]);
    }
    bench->out++;
    rlx_pool_submit(bench->pool, job);
}

static void job_drop(bench_t *bench, rlx_job_t *job)
{
    for (int i = 0; i < job->n_slots; i++)
        rlx_slots_put(bench->slots, job->slots[i]);
}

static bool no_poll(void *context)
{
    (void)context;
    return false;
}

/* Runs the loop until `n` jobs came back. */
static void bench_wait(bench_t *bench, int n)
{
    uv_timer_t alive; /* the pool's handles alone do not keep a loop */

    uv_timer_init(&bench->loop, &alive);
    uv_timer_start(&alive, (uv_timer_cb)(void (*)(void))no_poll, 10000, 10000);
    while (bench->completed < n)
        uv_run(&bench->loop, UV_RUN_ONCE);
    uv_close((uv_handle_t *)&alive, NULL);
    uv_run(&bench->loop, UV_RUN_NOWAIT);
}

/* Checks the job and sends another in its place. */
static void check_and_go_on(bench_t *bench, rlx_job_t *job)
{
    int64_t rows[3] = {1 + bench->seed % 3, bench->seed % 2, 2};

    for (int i = 0; i < job->n_slots; i++)
        output_check(job->slots[i], job->rows[i]);
    assert_true(job->end_ns >= job->start_ns);
    assert_true(job->kernel_ns <= job->end_ns - job->start_ns);
    job_drop(bench, job);
    if (bench->to_submit > 0) {
        bench->to_submit--;
        job_send(bench, job, 1 + (int)(bench->seed % 3), rows, bench->out == 0);
    }
}

static void every_job_comes_back_once_with_its_bits(void **state)
{
    (void)state;
    for (int workers = 1; workers <= 4; workers++)
        for (int jobs = 1; jobs <= workers; jobs += workers > 1 ? workers - 1 : 1)
            for (int cost = 0; cost < 2; cost++) {
                static bench_t bench;

                bench_open(&bench, model_make(-1, cost ? 1000000 : 100), workers);
                bench.on_completed = check_and_go_on;
                bench.to_submit = 400;
                for (int i = 0; i < jobs; i++)
                    job_send(&bench, &bench.jobs[i], 1, (int64_t[]){2}, jobs == 1);
                bench_wait(&bench, 400 + jobs);
                bench_close(&bench);
            }
}

static void a_loop_that_spins_gets_its_run_back(void **state)
{
    static bench_t bench;

    (void)state;
    bench_open(&bench, model_make(-1, 100), 2);
    bench.on_completed = check_and_go_on;
    for (int i = 0; i < 300; i++) {
        job_send(&bench, &bench.jobs[0], 1, (int64_t[]){1}, true);
        while (bench.out > 0)
            rlx_pool_spin(bench.pool, no_poll, NULL);
        if (i % 50 == 49)
            usleep(1000); /* the workers go to sleep between */
    }
    assert_int_equal(bench.completed, 300);
    bench_close(&bench);
}

static void keep(bench_t *bench, rlx_job_t *job)
{
    (void)bench;
    (void)job;
}

/* Between putting a job into the ring and ringing, the loop may lose its CPU for so long that the job is done and its worker asleep. */
static void a_worker_that_is_rung_for_nothing_hears_of_the_next_brief_job(void **state)
{
    static bench_t bench;

    (void)state;
    bench_open(&bench, model_make(-1, 100), 2);
    bench.on_completed = keep;
    for (int i = 0; i < 20; i++) {
        usleep(2000); /* both workers sleep */
        atomic_store(&bench.pool->summoned, true);
        rlx_team_ring(bench.pool->team, 1);
        usleep(2000);
        bench.jobs[0].brief = true;
        job_send(&bench, &bench.jobs[0], 1, (int64_t[]){1}, false);
        bench_wait(&bench, i + 1);
        job_drop(&bench, &bench.jobs[0]);
    }
    bench_close(&bench);
}

/* Sends a tiny job of `rows` rows; returns whether it was completed before the call returned. */
static bool tiny_is_run_here(bench_t *bench, int64_t rows)
{
    rlx_job_t *job = &bench->jobs[0];
    int before = bench->completed;
    bool here;

    job->tiny = true;
    job->run = 0;
    job->model = bench->model;
    job->n_slots = 1;
    job->rows[0] = rows;
    job->slots[0] = slot_make(bench, rows);
    bench->out++;
    rlx_pool_submit(bench->pool, job);
    here = bench->completed == before + 1;
    bench_wait(bench, before + 1);
    output_check(job->slots[0], rows);
    job_drop(bench, job);
    return here;
}

static void a_tiny_job_is_run_by_the_loop_once_its_plan_is_there(void **state)
{
    static bench_t bench;

    (void)state;
    bench_open(&bench, model_make(-1, 100), 2);
    bench.on_completed = keep;
    assert_false(tiny_is_run_here(&bench, 3)); /* a worker builds the plan */
    assert_true(tiny_is_run_here(&bench, 3));
    assert_true(tiny_is_run_here(&bench, 3));
    assert_false(tiny_is_run_here(&bench, 4));
    assert_true(tiny_is_run_here(&bench, 4));
    bench_close(&bench);
}

static void a_batch_gives_the_bits_of_its_parts(void **state)
{
    static bench_t bench;
    static float parts[6][4 * WIDTH];
    const int64_t rows[6] = {1, 4, 2, 1, 3, 1};

    (void)state;
    bench_open(&bench, model_make(-1, 1000), 2);
    bench.on_completed = keep;
    for (int i = 0; i < 6; i++) {
        bench.seed = (unsigned)i;
        job_send(&bench, &bench.jobs[0], 1, &rows[i], false);
        bench_wait(&bench, i + 1);
        output_check(bench.jobs[0].slots[0], rows[i]);
        memcpy(parts[i], bench.jobs[0].slots[0]->outputs[0].tensor.data, (size_t)rows[i] * WIDTH * 4);
        job_drop(&bench, &bench.jobs[0]);
    }
    bench.seed = 0;
    job_send(&bench, &bench.jobs[0], 6, rows, false);
    bench_wait(&bench, 7);
    assert_int_equal(bench.jobs[0].input_copies, 2); /* the test's kernels take no rows: both sides were staged */
    for (int i = 0; i < 6; i++) {
        output_check(bench.jobs[0].slots[i], rows[i]);
        assert_memory_equal(bench.jobs[0].slots[i]->outputs[0].tensor.data, parts[i], (size_t)rows[i] * WIDTH * 4);
    }
    job_drop(&bench, &bench.jobs[0]);
    bench_close(&bench);
}

static void a_bad_request_of_a_batch_hurts_itself_only(void **state)
{
    static bench_t bench;
    const int64_t rows[3] = {2, 4, 3}; /* the model refuses 4 rows, so also 9 */
    rlx_job_t *job = &bench.jobs[0];

    (void)state;
    bench_open(&bench, model_make(3, 1000), 1);
    bench.on_completed = keep;
    job_send(&bench, job, 3, rows, false);
    bench_wait(&bench, 1);
    output_check(job->slots[0], 2);
    assert_int_equal(job->slots[1]->status, RLX_INVALID_ARGUMENT);
    assert_int_equal(job->slots[1]->diag.code, RLX_E_INPUT_VALUE);
    output_check(job->slots[2], 3);
    job_drop(&bench, job);
    job_send(&bench, job, 1, rows, false); /* a slot that failed is as good as new */
    bench_wait(&bench, 2);
    output_check(job->slots[0], 2);
    job_drop(&bench, job);
    bench_close(&bench);
}

static void a_cancelled_run_says_so(void **state)
{
    static bench_t bench;
    rlx_job_t *job = &bench.jobs[0];

    (void)state;
    bench_open(&bench, model_make(-1, 1000), 1);
    bench.on_completed = keep;
    job->model = bench.model;
    job->n_slots = 1;
    job->rows[0] = 1;
    job->slots[0] = slot_make(&bench, 1);
    atomic_store(&job->cancel, true);
    bench.out++;
    rlx_pool_submit(bench.pool, job);
    bench_wait(&bench, 1);
    assert_int_equal(job->slots[0]->status, RLX_CANCELLED);
    job_drop(&bench, job);
    bench_close(&bench);
}

static void slot_memory_grows_once_for_a_size(void **state)
{
    static bench_t bench;
    rlx_job_t *job = &bench.jobs[0];
    rlx_slot_t *first = NULL;

    (void)state;
    bench_open(&bench, model_make(-1, 1000), 1);
    bench.on_completed = keep;
    for (int i = 0; i < 5; i++) {
        job_send(&bench, job, 1, (int64_t[]){3}, false);
        first = first != NULL ? first : job->slots[0];
        assert_ptr_equal(job->slots[0], first);
        bench_wait(&bench, i + 1);
        output_check(first, 3);
        assert_int_equal((uintptr_t)first->memory % 64, 0);
        assert_int_equal(first->growths, 2); /* the inputs, then the outputs behind them */
        job_drop(&bench, job);
    }
    bench_close(&bench);
}

static void outputs_go_to_the_room_they_are_given(void **state)
{
    static bench_t bench;
    static float room[2 * WIDTH];
    rlx_job_t *job = &bench.jobs[0];

    (void)state;
    bench_open(&bench, model_make(-1, 1000), 1);
    bench.on_completed = keep;
    for (int small = 0; small < 2; small++) {
        job->model = bench.model;
        job->n_slots = 1;
        job->rows[0] = 2;
        job->slots[0] = slot_make(&bench, 2);
        job->slots[0]->outputs[0].tensor.data = room;
        job->slots[0]->room[0] = small ? sizeof room - 1 : sizeof room;
        bench.out++;
        rlx_pool_submit(bench.pool, job);
        bench_wait(&bench, small + 1);
        if (small) {
            assert_int_equal(job->slots[0]->status, RLX_INVALID_ARGUMENT);
            assert_int_equal(job->slots[0]->diag.code, RLX_E_REGION_RANGE);
            assert_non_null(strstr(job->slots[0]->diag.message, "'y' has 4096 bytes, the request gives it 4095"));
        } else {
            assert_ptr_equal(job->slots[0]->outputs[0].tensor.data, room);
            output_check(job->slots[0], 2);
        }
        job_drop(&bench, job);
    }
    bench_close(&bench);
}

static void system_memory_is_read_and_written_by_the_worker(void **state)
{
    static bench_t bench;
    const size_t bytes = 2 * WIDTH * 4;
    rlx_regions_t *regions = rlx_regions_create();
    rlx_job_t *job = &bench.jobs[0];
    rlx_region_t *region;
    char key[64];
    float *shared;
    int fd;

    (void)state;
    snprintf(key, sizeof key, "/rlx-test-pool-%d", (int)getpid());
    fd = shm_open(key, O_RDWR | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)(2 * bytes)), 0);
    shared = mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ok(rlx_regions_add_system(regions, "r", key, 0, 2 * bytes, &diag));
    assert_ok(rlx_regions_use(regions, "r", 0, 2 * bytes, &region, &diag));
    bench_open(&bench, model_make(-1, 1000), 1);
    bench.on_completed = keep;
    for (int i = 0; i < 2 * WIDTH; i++)
        shared[i] = (float)i;
    for (int cut = 0; cut < 2; cut++) {
        rlx_slot_t *slot = job->slots[0] = slot_make(&bench, 2);

        job->model = bench.model;
        job->n_slots = 1;
        job->rows[0] = 2;
        slot->reads[slot->n_reads++] = (rlx_slot_move_t){region, 0, bytes, 0};
        slot->writes[slot->n_writes++] = (rlx_slot_move_t){region, bytes, bytes, 0};
        if (cut)
            assert_int_equal(ftruncate(fd, (off_t)(bytes / 2)), 0);
        bench.out++;
        job->tiny = true; /* and yet a worker moves the bytes */
        rlx_pool_submit(bench.pool, job);
        assert_int_equal(bench.completed, cut);
        bench_wait(&bench, cut + 1);
        if (cut) { /* the client cut its object: its own answer suffers, nobody else */
            assert_int_equal(slot->status, RLX_INVALID_ARGUMENT);
            assert_int_equal(slot->diag.code, RLX_E_REGION_FILE);
        } else {
            output_check(slot, 2);
            for (int i = 0; i < 2 * WIDTH; i++)
                assert_true(shared[2 * WIDTH + i] == (float)i * 8.0f);
        }
        job_drop(&bench, job);
    }
    bench_close(&bench);
    rlx_region_drop(region);
    rlx_regions_destroy(regions);
    munmap(shared, 2 * bytes);
    close(fd);
    shm_unlink(key);
}

static void what_was_submitted_completes_before_the_end(void **state)
{
    (void)state;
    for (int i = 0; i < 50; i++) {
        static bench_t bench;

        bench_open(&bench, model_make(-1, 1000), 3);
        bench.on_completed = keep;
        for (int k = 0; k < 3; k++)
            job_send(&bench, &bench.jobs[k], 1, (int64_t[]){4}, false);
        rlx_pool_close(bench.pool, on_pool_closed, &bench);
        assert_int_equal(bench.completed, 3);
        for (int k = 0; k < 3; k++) {
            output_check(bench.jobs[k].slots[0], 4);
            job_drop(&bench, &bench.jobs[k]);
        }
        uv_run(&bench.loop, UV_RUN_DEFAULT);
        assert_true(bench.closed);
        rlx_slots_destroy(bench.slots);
        assert_int_equal(uv_loop_close(&bench.loop), 0);
        rlx_model_release(bench.model);
    }
}

static void onlookers_see_what_a_worker_does(void **state)
{
    static bench_t bench;
    rlx_pool_worker_view_t view;
    uint64_t until = rlx_clock_ns() + 60000000000u; /* a look falls between two steps often where the cores are busy */
    bool seen = false;

    (void)state;
    bench_open(&bench, model_make(-1, 1000), 1);
    bench.on_completed = keep;
    rlx_pool_look(bench.pool, 0, &view);
    assert_string_equal(view.model, "");
    assert_int_equal(view.since_ns, 0);
    for (int i = 1; !seen && rlx_clock_ns() < until; i++) {
        job_send(&bench, &bench.jobs[0], 1, (int64_t[]){64}, false);
        for (int k = 0; k < 100000 && !seen; k++) {
            rlx_pool_look(bench.pool, 0, &view);
            seen = strcmp(view.model, "test") == 0 && strcmp(view.step, "step") == 0 && view.since_ns > 0;
        }
        bench_wait(&bench, i);
        job_drop(&bench, &bench.jobs[0]);
    }
    assert_true(seen);
    bench_close(&bench);
}

/* A field of /proc/self/task/TID/status, as a number in `base`. */
static unsigned long long task_status(const char *tid, const char *field, int base)
{
    char path[300], line[256];
    unsigned long long number = 0;
    FILE *file;

    snprintf(path, sizeof path, "/proc/self/task/%s/status", tid);
    file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, field, strlen(field)) == 0)
            number = strtoull(line + strlen(field) + 1, NULL, base);
    if (file != NULL)
        fclose(file);
    return number;
}

static void workers_are_named_nicer_and_deaf_to_signals(void **state)
{
    static bench_t bench;
    int own = getpriority(PRIO_PROCESS, 0), found = 0;
    uint64_t until = rlx_clock_ns() + 60000000000u; /* a look falls between two steps often where the cores are busy */

    (void)state;
    bench_open(&bench, model_make(-1, 1000), 3);
    while (found < 3 && rlx_clock_ns() < until) { /* a worker names itself when it first runs */
        DIR *tasks = opendir("/proc/self/task");
        const struct dirent *entry;

        found = 0;
        while ((entry = readdir(tasks)) != NULL) {
            char path[300], name[32] = "";
            FILE *file;

            snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
            file = fopen(path, "r");
            if (file == NULL)
                continue;
            if (fgets(name, sizeof name, file) != NULL && strncmp(name, "rlx-worker-", 11) == 0 &&
                getpriority(PRIO_PROCESS, (id_t)atoi(entry->d_name)) == (own + 5 < 19 ? own + 5 : 19)) {
                assert_true(task_status(entry->d_name, "SigBlk", 16) & (1u << (SIGTERM - 1)));
                assert_true(task_status(entry->d_name, "SigBlk", 16) & (1u << (SIGHUP - 1)));
                found++;
            }
            fclose(file);
        }
        closedir(tasks);
    }
    assert_int_equal(found, 3);
    bench_close(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers_are_named_nicer_and_deaf_to_signals),
        cmocka_unit_test(every_job_comes_back_once_with_its_bits),
        cmocka_unit_test(a_loop_that_spins_gets_its_run_back),
        cmocka_unit_test(a_worker_that_is_rung_for_nothing_hears_of_the_next_brief_job),
        cmocka_unit_test(a_tiny_job_is_run_by_the_loop_once_its_plan_is_there),
        cmocka_unit_test(a_batch_gives_the_bits_of_its_parts),
        cmocka_unit_test(a_bad_request_of_a_batch_hurts_itself_only),
        cmocka_unit_test(a_cancelled_run_says_so),
        cmocka_unit_test(slot_memory_grows_once_for_a_size),
        cmocka_unit_test(outputs_go_to_the_room_they_are_given),
        cmocka_unit_test(system_memory_is_read_and_written_by_the_worker),
        cmocka_unit_test(what_was_submitted_completes_before_the_end),
        cmocka_unit_test(onlookers_see_what_a_worker_does),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
