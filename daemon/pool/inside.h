/* Inside of the pool: rings between loop and workers, and what a worker is. pool.c is the loop's side, worker.c the
 * worker's, run.c what a worker does with a job.
 *
 * Jobs go through a ring of at least as many places as jobs may be out (one producer, the loop; any worker takes), so it is never full.
 * Finished jobs come back on a list that workers push and the loop takes whole. */
#ifndef RLX_DAEMON_POOL_INSIDE_H
#define RLX_DAEMON_POOL_INSIDE_H

#include <pthread.h>

#include "daemon/pool/pool.h"

/* How long the loop spins for a run that is alone, and a worker for the next one after such a run. */
#define RLX_POOL_LOOP_SPIN_NS 50000
#define RLX_POOL_WORKER_SPIN_NS 150000
/* A worker spins only while requests that are alone follow each other within this time. */
#define RLX_POOL_GAP_NS 250000
/* The loop runs tiny jobs itself for so long in one turn; more go to the workers. */
#define RLX_POOL_HERE_NS 20000
/* After a turn with one tiny job the loop looks at its sockets for so long before it sleeps, while such jobs follow each other faster. */
#define RLX_POOL_LINGER_NS 100000
/* Helpers of a run under way spin this long between its steps. */
#define RLX_POOL_HELP_SPIN_NS 50000
/* A run whose steps cost less in all is not worth helping. */
#define RLX_POOL_HELP_COST_NS 40000

/* Who must be told of a completion, and how. */
typedef enum rlx_pool_loop {
    RLX_POOL_LOOP_AWAKE,  /* nobody: the loop looks before it sleeps */
    RLX_POOL_LOOP_SPINS,  /* nobody: it is looking */
    RLX_POOL_LOOP_SLEEPS, /* uv_async_send */
} rlx_pool_loop_t;

typedef struct rlx_pool_worker {
    rlx_pool_t *pool;
    pthread_t thread;
    int index;
    bool spin_next; /* its last run was alone and the loop spun for it: the next wait may spin */
    /* Room for batched runs, grown when needed and kept. */
    rlx_io_t *io;
    size_t n_io;
    void **rows;
    size_t n_rows;
    rlx_trace_run_t *trace; /* NULL: off */
    /* For onlookers: the job under way and its step. */
    _Atomic(const rlx_job_t *) job;
    _Atomic uint64_t since_ns;
    atomic_uint step;
} rlx_pool_worker_t;

struct rlx_pool {
    rlx_pool_options_t options;
    int n_workers;
    rlx_pool_worker_t *workers; /* one more than threads: the last is the loop, for tiny jobs */
    rlx_team_t *team;          /* of all workers; one run at a time may use it */
    uv_async_t wake;
    uv_prepare_t before_sleep;
    uv_check_t after_sleep;
    int handles_open;
    void (*closed)(void *context);
    void *closed_context;
    /* Of the loop. */
    uint32_t out;              /* submitted and not completed */
    bool spinning;             /* in rlx_pool_spin: loop turns that its poll makes are no sleep */
    uint32_t turn_jobs;        /* submitted in this turn */
    bool turn_lone;            /* the last turn that had jobs had one, and did it itself */
    uint64_t here_ns;          /* spent on tiny jobs in this turn */
    uint64_t last_done_ns;     /* when the last run was handed back */
    _Atomic(rlx_job_t *) *ring; /* ring_mask + 1 places */
    uint32_t ring_mask;
    _Alignas(64) atomic_uint ring_tail; /* written by the loop */
    _Alignas(64) atomic_uint ring_head; /* taken by workers */
    _Alignas(64) _Atomic(rlx_job_t *) done;
    _Alignas(64) atomic_int loop;       /* rlx_pool_loop_t */
    atomic_bool stop;
    atomic_bool team_taken;
    atomic_int idle;           /* workers without a job; all have started before the first job */
    atomic_int loop_cpu;       /* where the loop last spun: no worker spins there */
    atomic_bool summoned;      /* the loop has rung; whoever comes clears it, then looks at the ring. None goes to sleep while it is set */
    _Atomic uint64_t gap_ns;   /* smoothed time from a run handed back to the next one, while runs are alone */
    atomic_uint lone_runs;     /* runs in a row that found the pool empty and the loop spinning */
};

/* worker.c */
void *rlx_pool_worker_main(void *worker);
/* Runs the job as this worker, and notes when and what for onlookers and the trace. */
void rlx_pool_job_do(rlx_pool_worker_t *worker, rlx_job_t *job);
/* run.c: runs the job and sets its results. */
void rlx_pool_run(rlx_pool_worker_t *worker, rlx_job_t *job);

#endif
