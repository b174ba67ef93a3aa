/* The loop's side of the pool: submitting, taking back, spinning, start and end.
 *
 * Telling the loop pairs two sequentially consistent accesses: a worker pushes to `done`, then reads `loop`; the loop writes `loop`, then
 * looks at `done`. So either the worker sees a sleeping loop and wakes it, or the loop sees the finished job before it sleeps. */
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/cpus.h"
#include "daemon/pool/inside.h"
#include "daemon/pool/tracing.h"

#define WORKERS_MAX 1000

/* Hands finished jobs to their owner, oldest first. Returns whether there were any. */
static bool done_take(rlx_pool_t *pool)
{
    rlx_job_t *job = atomic_exchange(&pool->done, NULL), *first = NULL;
    bool any = job != NULL;

    while (job != NULL) {
        rlx_job_t *next = job->next;

        job->next = first;
        first = job;
        job = next;
    }
    while (first != NULL) {
        rlx_job_t *next = first->next; /* the owner may submit the job again */

        first->next = NULL;
        pool->out--;
        pool->last_done_ns = first->end_ns;
        pool->options.completed(pool->options.context, first);
        first = next;
    }
    return any;
}

static void on_wake(uv_async_t *handle) { done_take(handle->data); }

static void on_before_sleep(uv_prepare_t *handle)
{
    rlx_pool_t *pool = handle->data;

    if (pool->spinning)
        return;
    atomic_store(&pool->loop, RLX_POOL_LOOP_SLEEPS);
    if (atomic_load(&pool->done) != NULL)
        uv_async_send(&pool->wake);
}

static void on_after_sleep(uv_check_t *handle)
{
    rlx_pool_t *pool = handle->data;

    if (!pool->spinning)
        atomic_store(&pool->loop, RLX_POOL_LOOP_AWAKE);
    if (pool->turn_jobs > 0)
        pool->turn_lone = pool->turn_jobs == 1 && pool->here_ns > 0;
    pool->turn_jobs = 0;
    pool->here_ns = 0;
    done_take(pool);
}

/* The time between runs that are alone, smoothed; a long one counts at most as much as brings the mean just above the bound. */
static void gap_note(rlx_pool_t *pool)
{
    uint64_t now = rlx_clock_ns(), gap = now > pool->last_done_ns ? now - pool->last_done_ns : 0;
    uint64_t mean = atomic_load_explicit(&pool->gap_ns, memory_order_relaxed);

    gap = gap < 4 * RLX_POOL_GAP_NS ? gap : 4 * RLX_POOL_GAP_NS;
    atomic_store_explicit(&pool->gap_ns, (3 * mean + gap) / 4, memory_order_relaxed); /* advice only */
}

/* A worker will look at the ring without being woken: one that runs a job looks when it is done, one that was woken looks first. Both
 * look after they have changed what is read here, so the job just put into the ring is seen. */
static bool worker_comes(const rlx_pool_t *pool)
{
    return atomic_load(&pool->idle) < pool->n_workers || atomic_load(&pool->summoned);
}

/* Runs a tiny job here and completes it. Only with its plan at hand: the loop builds none. Bytes of regions are moved by workers, since
 * their owner decides how long that takes. */
static bool run_here(rlx_pool_t *pool, rlx_job_t *job)
{
    const rlx_slot_t *slot = job->slots[0];

    if (!job->tiny || job->n_slots != 1 || slot->n_reads > 0 || slot->n_writes > 0 || pool->here_ns >= RLX_POOL_HERE_NS)
        return false;
    job->plan = rlx_plan_peek(job->model, slot->inputs);
    if (job->plan == NULL)
        return false;
    if (pool->out == 0)
        gap_note(pool);
    rlx_pool_job_do(&pool->workers[pool->n_workers], job);
    rlx_plan_release(job->plan);
    job->plan = NULL;
    pool->here_ns += job->end_ns - job->start_ns + 1;
    pool->last_done_ns = job->end_ns;
    pool->options.completed(pool->options.context, job);
    return true;
}

void rlx_pool_submit(rlx_pool_t *pool, rlx_job_t *job)
{
    uint32_t tail = atomic_load_explicit(&pool->ring_tail, memory_order_relaxed);

    pool->turn_jobs++;
    if (run_here(pool, job))
        return;
    RLX_ASSERT(pool->out < (uint32_t)(pool->n_workers + pool->options.ahead));
    RLX_ASSERT(job->n_slots >= 1);
    if (pool->out++ == 0)
        gap_note(pool);
    else
        atomic_store_explicit(&pool->lone_runs, 0, memory_order_relaxed); /* advice only */
    atomic_store_explicit(&pool->ring[tail & pool->ring_mask], job, memory_order_relaxed);
    atomic_store(&pool->ring_tail, tail + 1); /* releases the job to job_take; pairs with the sleepers of rlx_team_ring */
    if (job->brief && worker_comes(pool))
        return;
    atomic_store(&pool->summoned, true);
    rlx_team_ring(pool->team, 1);
}

void rlx_pool_spin(rlx_pool_t *pool, bool (*poll)(void *context), void *context)
{
    uint64_t until;
    int before;

    if (pool->out != 1)
        return;
    until = rlx_clock_ns() + RLX_POOL_LOOP_SPIN_NS;
    atomic_store_explicit(&pool->loop_cpu, sched_getcpu(), memory_order_relaxed); /* advice only */
    before = atomic_exchange(&pool->loop, RLX_POOL_LOOP_SPINS);
    pool->spinning = true;
    do {
        for (int i = 0; i < 64 && atomic_load_explicit(&pool->done, memory_order_relaxed) == NULL; i++)
            __builtin_ia32_pause();
        if (done_take(pool) || (poll != NULL && poll(context)))
            break;
    } while (rlx_clock_ns() < until);
    pool->spinning = false;
    atomic_store(&pool->loop, before);
    done_take(pool);
}

void rlx_pool_linger(rlx_pool_t *pool, bool (*poll)(void *context), void *context)
{
    while (pool->out == 0 && pool->turn_lone && atomic_load_explicit(&pool->gap_ns, memory_order_relaxed) < RLX_POOL_LINGER_NS &&
           rlx_clock_ns() < pool->last_done_ns + RLX_POOL_LINGER_NS && !poll(context))
        ;
}

int rlx_pool_workers(const rlx_pool_t *pool) { return pool->n_workers; }

void rlx_pool_look(const rlx_pool_t *pool, int index, rlx_pool_worker_view_t *out_view)
{
    const rlx_pool_worker_t *worker = &pool->workers[index];
    const rlx_job_t *job = atomic_load(&worker->job); /* the loop owns its memory: it cannot go while we look */
    const rlx_program_header_t *program, *body;
    const rlx_program_step_t *entry;
    uint32_t step;

    *out_view = (rlx_pool_worker_view_t){.step = "", .model = ""};
    if (job == NULL)
        return;
    program = rlx_model_program(job->model);
    step = atomic_load(&worker->step);
    out_view->since_ns = atomic_load(&worker->since_ns);
    out_view->model = job->name != NULL ? job->name : "";
    entry = rlx_program_step_find(program, step, &body);
    if (entry != NULL)
        out_view->step = RLX_PROGRAM_TABLE(char, body, strings) + entry->name;
}

static void workers_join(rlx_pool_t *pool, int n)
{
    atomic_store(&pool->stop, true);
    rlx_team_ring(pool->team, n);
    for (int i = 0; i < n; i++)
        pthread_join(pool->workers[i].thread, NULL);
}

static void pin(const rlx_pool_t *pool, int index)
{
    cpu_set_t allowed, one;
    int nth = index;

    if (!pool->options.pin || rlx_cpus_allowed() <= 2 || sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return;
    nth %= CPU_COUNT(&allowed);
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &allowed) && nth-- == 0)
            CPU_SET(cpu, &one);
    pthread_setaffinity_np(pool->workers[index].thread, sizeof one, &one); /* advice only */
}

static rlx_status_t workers_start(rlx_pool_t *pool, rlx_diag_t *diag)
{
    sigset_t all, before;
    int failed = 0, n = 0;

    sigfillset(&all); /* signals belong to the loop */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (; n < pool->n_workers && failed == 0; n += failed == 0) {
        pool->workers[n].pool = pool;
        pool->workers[n].index = n;
        failed = pthread_create(&pool->workers[n].thread, NULL, rlx_pool_worker_main, &pool->workers[n]);
        if (failed == 0)
            pin(pool, n);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed == 0)
        return RLX_OK;
    workers_join(pool, n);
    return rlx_fail(diag, RLX_E_NO_MEMORY, "cannot start worker thread %d of %d: %s", n + 1, pool->n_workers, strerror(failed));
}

static void pool_free(rlx_pool_t *pool)
{
    for (int i = 0; pool->workers != NULL && i <= pool->n_workers; i++) {
        free(pool->workers[i].io);
        free(pool->workers[i].rows);
    }
    rlx_team_destroy(pool->team);
    free(pool->workers);
    free(pool->ring);
    free(pool);
}

static rlx_status_t pool_alloc(const rlx_pool_options_t *options, rlx_pool_t **out_pool, rlx_diag_t *diag)
{
    int n_workers = options->workers > 0 ? options->workers : rlx_cpus_allowed();
    rlx_pool_t *pool;
    uint32_t places = 1;

    if (n_workers > WORKERS_MAX)
        return rlx_fail(diag, RLX_E_CONFIG_VALUE, "%d workers are configured, at most %d are possible", n_workers, WORKERS_MAX);
    while (places < (uint32_t)(n_workers + options->ahead))
        places *= 2;
    pool = aligned_alloc(64, (sizeof *pool + 63) / 64 * 64);
    if (pool == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for a pool of %d workers", n_workers);
    *pool = (rlx_pool_t){
        .options = *options, .n_workers = n_workers, .idle = n_workers, .ring_mask = places - 1, .gap_ns = 4 * RLX_POOL_GAP_NS};
    pool->ring = calloc(places, sizeof *pool->ring);
    pool->workers = calloc((size_t)n_workers + 1, sizeof *pool->workers);
    if (pool->ring == NULL || pool->workers == NULL || rlx_team_create_open(n_workers, &pool->team, diag) != RLX_OK) {
        pool_free(pool);
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for a pool of %d workers", n_workers);
    }
    pool->workers[n_workers] = (rlx_pool_worker_t){.pool = pool, .index = n_workers};
    for (int i = 0; options->tracing != NULL && i <= n_workers; i++) {
        pool->workers[i].trace = rlx_tracing_worker(options->tracing, i, n_workers, diag);
        if (pool->workers[i].trace == NULL) {
            pool_free(pool);
            return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for the trace of %d workers", n_workers);
        }
    }
    *out_pool = pool;
    return RLX_OK;
}

rlx_status_t rlx_pool_create(const rlx_pool_options_t *options, rlx_pool_t **out_pool, rlx_diag_t *diag)
{
    rlx_pool_t *pool;
    rlx_status_t status;

    RLX_TRY(pool_alloc(options, &pool, diag));
    status = workers_start(pool, diag);
    if (status != RLX_OK) {
        pool_free(pool);
        return status;
    }
    if (uv_async_init(options->loop, &pool->wake, on_wake) != 0) {
        workers_join(pool, pool->n_workers);
        pool_free(pool);
        return rlx_fail(diag, RLX_E_NO_MEMORY, "the event loop takes no more handles");
    }
    uv_prepare_init(options->loop, &pool->before_sleep);
    uv_check_init(options->loop, &pool->after_sleep);
    pool->wake.data = pool->before_sleep.data = pool->after_sleep.data = pool;
    uv_prepare_start(&pool->before_sleep, on_before_sleep);
    uv_check_start(&pool->after_sleep, on_after_sleep);
    uv_unref((uv_handle_t *)&pool->wake);
    uv_unref((uv_handle_t *)&pool->before_sleep);
    uv_unref((uv_handle_t *)&pool->after_sleep);
    *out_pool = pool;
    return RLX_OK;
}

static void on_closed(uv_handle_t *handle)
{
    rlx_pool_t *pool = handle->data;
    void (*done)(void *context) = pool->closed;
    void *context = pool->closed_context;

    if (--pool->handles_open > 0)
        return;
    pool_free(pool);
    done(context);
}

void rlx_pool_close(rlx_pool_t *pool, void (*done)(void *context), void *context)
{
    pool->closed = done;
    pool->closed_context = context;
    workers_join(pool, pool->n_workers);
    done_take(pool);
    RLX_ASSERT(pool->out == 0);
    pool->handles_open = 3;
    uv_close((uv_handle_t *)&pool->wake, on_closed);
    uv_close((uv_handle_t *)&pool->before_sleep, on_closed);
    uv_close((uv_handle_t *)&pool->after_sleep, on_closed);
}
