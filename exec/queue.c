/* The queue: a bounded ring of runs and one thread that runs them in order. A run is accepted or refused at once; an accepted one
 * completes exactly once, on the queue's thread. When the ring is full, submit refuses with RLX_RESOURCE_EXHAUSTED. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "exec/executor.h"
#include "exec/model.h"
#include "exec/plan.h"

#define QUEUE_MAX 65536

typedef struct entry {
    rlx_plan_t *plan; /* retained, with its model */
    const rlx_io_t *inputs;
    rlx_io_t *outputs;
    const atomic_bool *cancel;
    rlx_done_fn_t *done;
    void *context;
} entry_t;

struct rlx_queue {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    pthread_t thread;
    rlx_team_t *team;
    entry_t *ring;
    int capacity, first, count;
    bool stop;
};

static bool entry_take(rlx_queue_t *queue, entry_t *out_entry)
{
    bool taken = false;

    pthread_mutex_lock(&queue->lock);
    while (queue->count == 0 && !queue->stop)
        pthread_cond_wait(&queue->filled, &queue->lock);
    if (queue->count > 0) {
        *out_entry = queue->ring[queue->first];
        queue->first = (queue->first + 1) % queue->capacity;
        queue->count--;
        taken = true;
    }
    pthread_mutex_unlock(&queue->lock);
    return taken;
}

static void *queue_main(void *argument)
{
    rlx_queue_t *queue = argument;
    entry_t entry;

    pthread_setname_np(pthread_self(), "rlx-queue");
    while (entry_take(queue, &entry)) {
        rlx_diag_t diag = {0};
        rlx_status_t status = rlx_run(entry.plan, queue->team, entry.inputs, entry.outputs, entry.cancel, NULL, &diag);

        rlx_plan_release(entry.plan);
        entry.done(entry.context, status, &diag);
    }
    return NULL;
}

rlx_status_t rlx_queue_create(rlx_team_t *team, int capacity, rlx_queue_t **out_queue, rlx_diag_t *diag)
{
    rlx_queue_t *queue;
    sigset_t all, before;
    int failed;

    if (capacity < 1 || capacity > QUEUE_MAX)
        return rlx_fail(diag, RLX_E_USAGE, "a queue holds 1 to %d requests, not %d", QUEUE_MAX, capacity);
    queue = calloc(1, sizeof *queue);
    if (queue == NULL || (queue->ring = calloc((size_t)capacity, sizeof *queue->ring)) == NULL) {
        free(queue);
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for a queue of %d requests", capacity);
    }
    queue->team = team;
    queue->capacity = capacity;
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->filled, NULL);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    failed = pthread_create(&queue->thread, NULL, queue_main, queue);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed != 0) {
        free(queue->ring);
        free(queue);
        return rlx_fail(diag, RLX_E_NO_MEMORY, "cannot start the queue's thread");
    }
    *out_queue = queue;
    return RLX_OK;
}

rlx_status_t rlx_submit(rlx_queue_t *queue, rlx_plan_t *plan, const rlx_io_t *inputs, rlx_io_t *outputs, const atomic_bool *cancel,
                        rlx_done_fn_t *done, void *context)
{
    entry_t entry = {plan, inputs, outputs, cancel, done, context};
    rlx_status_t status = RLX_OK;

    pthread_mutex_lock(&queue->lock);
    if (queue->stop) {
        status = RLX_FAILED_PRECONDITION;
    } else if (queue->count == queue->capacity) {
        status = RLX_RESOURCE_EXHAUSTED;
    } else {
        rlx_model_retain(plan->model);
        rlx_plan_retain_internal(plan);
        queue->ring[(queue->first + queue->count++) % queue->capacity] = entry;
        pthread_cond_signal(&queue->filled);
    }
    pthread_mutex_unlock(&queue->lock);
    return status;
}

void rlx_queue_destroy(rlx_queue_t *queue)
{
    if (queue == NULL)
        return;
    pthread_mutex_lock(&queue->lock);
    queue->stop = true;
    pthread_cond_signal(&queue->filled);
    pthread_mutex_unlock(&queue->lock);
    pthread_join(queue->thread, NULL);
    pthread_cond_destroy(&queue->filled);
    pthread_mutex_destroy(&queue->lock);
    free(queue->ring);
    free(queue);
}
