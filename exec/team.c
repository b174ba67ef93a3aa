/* The team's protocol.
 *
 * `state` is one word: epoch (15 bits), open (1 bit), workers inside (16 bits). The caller writes the job, then opens a new epoch; a
 * thread that sees an open epoch it has not served enters by compare-and-swap, takes chunks of tiles until none are left, and leaves. The
 * caller takes chunks too, then closes the epoch (nobody enters any more) and waits until nobody is inside. Hence the job and its parts are
 * only rewritten while closed and empty, and a worker that comes late does nothing. Chunks never change a result: kernels give
 * the same bits for any split (kernels/abi.h). Helpers are the team's own workers or, in an open team, anybody's threads.
 *
 * Waiting: spin for `spin_ns`, then sleep on a futex. Sleeping and waking pair up by Dekker's rule with sequentially consistent accesses
 * (sleepers against bell, waiting against state); the futex's own comparison closes the last gap. */
#include "exec/team.h"

#include <immintrin.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/cpus.h"

#define RLX_TEAM_SPIN_NS 50000
#define RLX_TEAM_MAX 1024
#define CHUNKS_PER_THREAD 8
#define PARTS_MAX 16

#define OPEN 0x10000u
#define INSIDE 0xffffu
#define EPOCH_ONE 0x20000u
#define EPOCH(state) ((state) >> 17)

typedef struct worker {
    rlx_team_t *team;
    pthread_t thread;
    int index; /* 1 .. n_threads - 1; the caller is 0 */
} worker_t;

/* A contiguous share of the tiles. Members begin with their own, step after step: kernels that go through a map in the same order then find
 * in their own cache what they wrote before. Who is done takes from the other parts. */
typedef struct part {
    _Alignas(64) _Atomic int64_t next;
    int64_t end;
} part_t;

struct rlx_team {
    int n_threads;
    bool open;         /* helpers are somebody else's threads */
    worker_t *workers; /* own threads; NULL when open */
    pthread_mutex_t lock;
    rlx_team_job_t job; /* written while closed and empty, read while inside */
    int64_t chunk;
    int n_parts;
    atomic_uint present; /* open: bit i while a helper of part i is here; a hint */
    uint64_t spin_ns; /* 0 when there are fewer CPUs than threads: a spinning thread would hold back a working one */
    _Alignas(64) atomic_uint state;
    part_t parts[PARTS_MAX];
    _Alignas(64) atomic_uint bell; /* futex of sleeping workers: changes with every epoch and at stop */
    atomic_int sleepers;
    atomic_uint waiting; /* the caller sleeps on `state` */
    atomic_bool stop;
};

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static void futex_wait(atomic_uint *word, unsigned value) { syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0); }
static void futex_wake(atomic_uint *word, int count) { syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0); }

#define MXCSR_DEFAULT 0x1f80u /* all exceptions masked, round to nearest, no flush to zero, no denormals-are-zero */

unsigned rlx_float_env_enter(void)
{
    unsigned saved = _mm_getcsr();

    _mm_setcsr(MXCSR_DEFAULT);
    return saved;
}

void rlx_float_env_leave(unsigned saved) { _mm_setcsr(saved); }

/* Takes tiles of a part until none is left; returns how many. */
static int64_t part_run(const rlx_team_t *team, part_t *part, const rlx_kernel_args_t *args)
{
    int64_t end = part->end, chunk = team->chunk, taken = 0;

    while (atomic_load_explicit(&part->next, memory_order_relaxed) < end) { /* ordered by entering and leaving */
        int64_t begin = atomic_fetch_add_explicit(&part->next, chunk, memory_order_relaxed);
        int64_t most = end - begin < chunk ? end - begin : chunk;

        if (most <= 0)
            break;
        team->job.fn(args, begin, begin + most);
        taken += most;
    }
    return taken;
}

static int helper_part(const rlx_team_t *team, int index) { return (team->open ? index - 1 : index) % team->n_parts; }

/* Where a member begins. The caller of an open team is mostly one who else helps: its part is then that of nobody who is here. */
static int part_of(rlx_team_t *team, int index)
{
    unsigned free;

    if (index > 0 || !team->open)
        return helper_part(team, index);
    free = ~atomic_load_explicit(&team->present, memory_order_relaxed) & ((1u << team->n_parts) - 1);
    return free != 0 ? __builtin_ctz(free) : 0;
}

/* Own part first. */
static int64_t tiles_run(rlx_team_t *team, int index, const rlx_kernel_args_t *args)
{
    int64_t taken = 0;

    for (int i = 0, first = part_of(team, index); i < team->n_parts; i++)
        taken += part_run(team, &team->parts[(first + i) % team->n_parts], args);
    return taken;
}

static void tiles_take(rlx_team_t *team, int index)
{
    rlx_kernel_args_t args = team->job.args;
    rlx_step_part_t *part = team->job.parts != NULL ? &team->job.parts[index] : NULL;

    if (args.scratch != NULL)
        args.scratch = (char *)args.scratch + (size_t)index * team->job.scratch_stride;
    if (part == NULL) {
        (void)tiles_run(team, index, &args);
        return;
    }
    part->begin_ns = rlx_clock_ns();
    part->tiles = tiles_run(team, index, &args);
    part->end_ns = rlx_clock_ns(); /* the caller reads it after job_close */
}

static bool job_waits(unsigned state, unsigned served) { return (state & OPEN) && EPOCH(state) != served; }

/* Enters the open epoch unless it is `served`. */
static bool job_enter(rlx_team_t *team, unsigned *served)
{
    unsigned state = atomic_load_explicit(&team->state, memory_order_relaxed);

    while (job_waits(state, *served)) {
        /* Acquire pairs with the caller's release store in job_open: the job is visible. */
        if (atomic_compare_exchange_weak_explicit(&team->state, &state, state + 1, memory_order_acquire, memory_order_relaxed)) {
            *served = EPOCH(state);
            return true;
        }
    }
    return false;
}

static void job_leave(rlx_team_t *team)
{
    unsigned state = atomic_fetch_sub(&team->state, 1); /* releases this worker's writes to the caller's acquire in job_close */

    if ((state & (OPEN | INSIDE)) == 1 && atomic_load(&team->waiting))
        futex_wake(&team->state, 1);
}

/* When a helper goes, and how long it spins first. */
typedef struct helper {
    bool (*leave)(void *context);
    uint64_t (*spin_ns)(void *context);
    void *context;
} helper_t;

/* Until a job may be open or the helper shall leave: spins, then sleeps. */
static void helper_wait(rlx_team_t *team, const helper_t *helper, unsigned served)
{
    uint64_t spin_ns = helper->spin_ns(helper->context), until = spin_ns > 0 ? rlx_clock_ns() + spin_ns : 0;
    unsigned bell;

    while (spin_ns > 0) {
        for (int i = 0; i < 64; i++) {
            if (job_waits(atomic_load_explicit(&team->state, memory_order_relaxed), served) || helper->leave(helper->context))
                return;
            _mm_pause();
        }
        if (rlx_clock_ns() >= until)
            break;
        if (team->open)
            sched_yield(); /* whoever else wants this CPU, the loop above all, goes first: nothing is lost but a guess */
    }
    bell = atomic_load(&team->bell);
    atomic_fetch_add(&team->sleepers, 1); /* before the last look: pairs with state, then sleepers in job_open and rlx_team_ring */
    if (!job_waits(atomic_load(&team->state), served) && !helper->leave(helper->context))
        futex_wait(&team->bell, bell);
    atomic_fetch_sub(&team->sleepers, 1);
}

static void team_help(rlx_team_t *team, int index, const helper_t *helper)
{
    unsigned served = EPOCH(~0u);

    while (!helper->leave(helper->context)) {
        if (job_enter(team, &served)) {
            tiles_take(team, index);
            job_leave(team);
        } else {
            helper_wait(team, helper, served);
        }
    }
}

static bool worker_leave(void *context) { return atomic_load(&((rlx_team_t *)context)->stop); }
static uint64_t worker_spin_ns(void *context) { return ((rlx_team_t *)context)->spin_ns; }

static void *worker_main(void *argument)
{
    worker_t *worker = argument;
    helper_t helper = {worker_leave, worker_spin_ns, worker->team};

    pthread_setname_np(pthread_self(), "rlx-worker");
    rlx_float_env_enter();
    team_help(worker->team, worker->index, &helper);
    return NULL;
}

void rlx_team_help(rlx_team_t *team, int index, bool (*leave)(void *context), uint64_t (*spin_ns)(void *context), void *context)
{
    helper_t helper = {leave, spin_ns, context};
    unsigned float_env = rlx_float_env_enter();

    RLX_ASSERT(team->open);
    RLX_ASSERT(index >= 0);
    RLX_ASSERT(index + 1 < team->n_threads);
    atomic_fetch_or_explicit(&team->present, 1u << helper_part(team, index + 1), memory_order_relaxed);
    team_help(team, index + 1, &helper);
    atomic_fetch_and_explicit(&team->present, ~(1u << helper_part(team, index + 1)), memory_order_relaxed);
    rlx_float_env_leave(float_env);
}

bool rlx_team_ring(rlx_team_t *team, int count)
{
    atomic_fetch_add(&team->bell, 1);
    if (atomic_load(&team->sleepers) == 0)
        return false;
    futex_wake(&team->bell, count);
    return true;
}

static rlx_status_t workers_start(rlx_team_t *team, rlx_diag_t *diag)
{
    sigset_t all, before;
    int failed = 0, want = team->n_threads;

    sigfillset(&all); /* signals belong to the program's own threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (team->n_threads = 1; team->n_threads < want && failed == 0; team->n_threads += failed == 0) {
        worker_t *worker = &team->workers[team->n_threads];

        *worker = (worker_t){.team = team, .index = team->n_threads};
        failed = pthread_create(&worker->thread, NULL, worker_main, worker);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed == 0 ? RLX_OK : rlx_fail(diag, RLX_E_NO_MEMORY, "cannot start worker thread %d of %d", team->n_threads, want);
}

static rlx_status_t team_alloc(int n_threads, rlx_team_t **out_team, rlx_diag_t *diag)
{
    rlx_team_t *team;

    if (n_threads < 1 || n_threads > RLX_TEAM_MAX)
        return rlx_fail(diag, RLX_E_USAGE, "a team has 1 to %d threads, not %d", RLX_TEAM_MAX, n_threads);
    team = aligned_alloc(64, (sizeof *team + 63) / 64 * 64);
    if (team == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for a team");
    *team = (rlx_team_t){.n_threads = n_threads, .n_parts = (int)least(n_threads, PARTS_MAX),
                         .spin_ns = rlx_cpus_allowed() >= n_threads ? RLX_TEAM_SPIN_NS : 0};
    pthread_mutex_init(&team->lock, NULL);
    *out_team = team;
    return RLX_OK;
}

rlx_status_t rlx_team_create_open(int n_helpers, rlx_team_t **out_team, rlx_diag_t *diag)
{
    RLX_TRY(team_alloc(n_helpers + 1, out_team, diag));
    (*out_team)->open = true;
    (*out_team)->n_parts = (int)least(n_helpers > 0 ? n_helpers : 1, PARTS_MAX);
    (*out_team)->spin_ns = rlx_cpus_allowed() >= n_helpers ? RLX_TEAM_SPIN_NS : 0; /* whoever runs is one of the helpers */
    return RLX_OK;
}

rlx_status_t rlx_team_create(int n_threads, rlx_team_t **out_team, rlx_diag_t *diag)
{
    rlx_team_t *team;

    RLX_TRY(team_alloc(n_threads, &team, diag));
    team->workers = calloc((size_t)n_threads, sizeof *team->workers);
    if (team->workers == NULL || workers_start(team, diag) != RLX_OK) {
        rlx_team_destroy(team);
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for a team");
    }
    *out_team = team;
    return RLX_OK;
}

void rlx_team_destroy(rlx_team_t *team)
{
    if (team == NULL)
        return;
    atomic_store(&team->stop, true);
    atomic_fetch_add(&team->bell, 1);
    futex_wake(&team->bell, INT_MAX);
    for (int i = 1; team->workers != NULL && i < team->n_threads; i++)
        pthread_join(team->workers[i].thread, NULL);
    pthread_mutex_destroy(&team->lock);
    free(team->workers);
    free(team);
}

void rlx_team_lock(rlx_team_t *team) { pthread_mutex_lock(&team->lock); }
void rlx_team_unlock(rlx_team_t *team) { pthread_mutex_unlock(&team->lock); }
int rlx_team_threads(const rlx_team_t *team) { return team->n_threads; }
bool rlx_team_awake(const rlx_team_t *team) { return atomic_load_explicit(&team->sleepers, memory_order_relaxed) == 0; }

static void job_open(rlx_team_t *team)
{
    unsigned state = atomic_load_explicit(&team->state, memory_order_relaxed);
    int64_t helpers = team->job.tiles / team->chunk;

    RLX_ASSERT((state & (OPEN | INSIDE)) == 0);
    atomic_store(&team->state, (state + EPOCH_ONE) | OPEN); /* releases the job to job_enter */
    atomic_fetch_add(&team->bell, 1);
    if (atomic_load(&team->sleepers) > 0)
        futex_wake(&team->bell, helpers < INT_MAX ? (int)helpers : INT_MAX);
}

/* Closes the epoch and waits until nobody is inside. */
static void job_close(rlx_team_t *team)
{
    unsigned state = atomic_fetch_and(&team->state, ~OPEN) & ~OPEN;
    uint64_t until;

    if ((state & INSIDE) == 0)
        return;
    until = rlx_clock_ns() + team->spin_ns;
    for (int i = 1; (atomic_load(&team->state) & INSIDE) != 0; i++) { /* pairs with job_leave: tiles of others are visible */
        _mm_pause();
        if (i % 64 == 0 && rlx_clock_ns() > until)
            break;
    }
    if ((atomic_load(&team->state) & INSIDE) == 0)
        return;
    atomic_store(&team->waiting, 1);
    while (((state = atomic_load(&team->state)) & INSIDE) != 0)
        futex_wait(&team->state, state);
    atomic_store(&team->waiting, 0);
}

void rlx_team_run(rlx_team_t *team, const rlx_team_job_t *job)
{
    int64_t chunk = job->tiles / ((int64_t)team->n_threads * CHUNKS_PER_THREAD), tiles = job->tiles;

    team->job = *job;
    team->chunk = chunk > 0 ? chunk : 1;
    for (int i = 0; i < team->n_parts; i++) { /* released by job_open */
        atomic_store_explicit(&team->parts[i].next, tiles / team->n_parts * i + least(tiles % team->n_parts, i), memory_order_relaxed);
        team->parts[i].end = tiles / team->n_parts * (i + 1) + least(tiles % team->n_parts, i + 1);
    }
    job_open(team);
    tiles_take(team, 0);
    job_close(team);
}
