/* A worker: takes jobs; without one it helps the run that has the team, and without that it waits. It waits in the team, so one bell serves
 * for both: new jobs and new steps.
 *
 * Spinning: after a run that was alone and that the loop spun for on another CPU, and only while such runs follow each other quickly; and
 * between the steps of a run that it helps. Else a worker sleeps at once. */
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "daemon/pool/inside.h"
#include "daemon/pool/tracing.h"

#define NICE 5 /* more than the loop: it is woken before a kernel */

static bool job_waits(const rlx_pool_t *pool) { return atomic_load(&pool->ring_head) != atomic_load(&pool->ring_tail); }

static rlx_job_t *job_take(rlx_pool_t *pool)
{
    uint32_t head = atomic_load_explicit(&pool->ring_head, memory_order_relaxed);

    /* Acquire pairs with rlx_pool_submit: the job is visible. A place is not written again before `head` passed it. */
    while (head != atomic_load_explicit(&pool->ring_tail, memory_order_acquire)) {
        rlx_job_t *job = atomic_load_explicit(&pool->ring[head & pool->ring_mask], memory_order_relaxed);

        if (atomic_compare_exchange_weak(&pool->ring_head, &head, head + 1))
            return job;
    }
    return NULL;
}

/* Runs that are alone follow each other quickly, and the loop, which spins for them, does so on another CPU. */
static bool worth_spinning(rlx_pool_t *pool)
{
    return atomic_fetch_add_explicit(&pool->lone_runs, 1, memory_order_relaxed) > 0 &&
           atomic_load_explicit(&pool->gap_ns, memory_order_relaxed) < RLX_POOL_GAP_NS &&
           atomic_load_explicit(&pool->loop_cpu, memory_order_relaxed) != sched_getcpu();
}

static void job_return(rlx_pool_worker_t *worker, rlx_job_t *job)
{
    rlx_pool_t *pool = worker->pool;
    rlx_job_t *top = atomic_load_explicit(&pool->done, memory_order_relaxed);
    bool alone = job->alone; /* after the push the job is the loop's */
    int loop;

    do
        job->next = top;
    while (!atomic_compare_exchange_weak(&pool->done, &top, job));
    loop = atomic_load(&pool->loop); /* after the push: pairs with on_before_sleep */
    if (loop == RLX_POOL_LOOP_SLEEPS)
        uv_async_send(&pool->wake);
    worker->spin_next = alone && loop == RLX_POOL_LOOP_SPINS && worth_spinning(pool);
}

/* A worker that was woken and finds nothing, since another has done it, comes back too: what it was woken by has to be cleared. */
static bool helper_leave(void *context)
{
    rlx_pool_t *pool = ((rlx_pool_worker_t *)context)->pool;

    return job_waits(pool) || atomic_load(&pool->summoned) || atomic_load(&pool->stop);
}

static uint64_t helper_spin_ns(void *context)
{
    rlx_pool_worker_t *worker = context;

    if (atomic_load_explicit(&worker->pool->team_taken, memory_order_relaxed)) /* advice only */
        return RLX_POOL_HELP_SPIN_NS;
    if (!worker->spin_next)
        return 0;
    worker->spin_next = false;
    return RLX_POOL_WORKER_SPIN_NS;
}

void rlx_pool_job_do(rlx_pool_worker_t *worker, rlx_job_t *job)
{
    job->start_ns = rlx_clock_ns();
    atomic_store_explicit(&worker->step, UINT32_MAX, memory_order_relaxed);
    atomic_store_explicit(&worker->since_ns, job->start_ns, memory_order_relaxed);
    atomic_store(&worker->job, job);
    if (worker->trace != NULL)
        rlx_tracing_job_begin(worker->trace, job);
    rlx_pool_run(worker, job);
    atomic_store(&worker->job, NULL); /* before the job goes back: rlx_pool_look sees jobs that are out only */
    job->end_ns = rlx_clock_ns();
    if (worker->trace != NULL)
        rlx_tracing_job_end(worker->trace, job);
}

static void job_serve(rlx_pool_worker_t *worker, rlx_job_t *job)
{
    rlx_pool_t *pool = worker->pool;

    atomic_fetch_sub(&pool->idle, 1);
    rlx_pool_job_do(worker, job);
    atomic_fetch_add(&pool->idle, 1); /* before the next look at the ring: pairs with worker_comes */
    job_return(worker, job);
}

void *rlx_pool_worker_main(void *argument)
{
    rlx_pool_worker_t *worker = argument;
    rlx_pool_t *pool = worker->pool;
    char name[32];
    id_t tid;

    snprintf(name, sizeof name, "rlx-worker-%d", worker->index);
    pthread_setname_np(pthread_self(), name);
    tid = (id_t)syscall(SYS_gettid);
    setpriority(PRIO_PROCESS, tid, getpriority(PRIO_PROCESS, tid) + NICE); /* needs no right; the kernel stops at 19 */
    for (;;) {
        rlx_job_t *job;

        atomic_store(&pool->summoned, false); /* before the look at the ring: pairs with worker_comes */
        job = job_take(pool);

        if (job != NULL)
            job_serve(worker, job);
        else if (atomic_load(&pool->stop))
            return NULL;
        else
            rlx_team_help(pool->team, worker->index, helper_leave, helper_spin_ns, worker);
    }
}
