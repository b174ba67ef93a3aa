/* Who runs the loop. A thread that waits for a call runs it itself, so that a call in a quiet program costs no hand-over between threads;
 * the client's own thread runs it when nobody waits: for calls with callbacks, and so that idle connections are looked after.
 *
 * One thread drives at a time (`driven`). It gives up after each turn of the loop if others want; who stops driving wakes a successor. The
 * client's thread comes back by itself LINGER_MS after the last waiting thread left, so that a program that calls again and again never
 * has to push it aside. */
#include <errno.h>
#include <time.h>

#include "sdk/c/client.h"

#define LINGER_MS 10
#define NS_PER_MS 1000000ull

bool rlx_sdk_is_driver(rlx_client_t *client) { return client->driven && pthread_equal(client->driver, pthread_self()); }

static void alarm_fired(uv_timer_t *timer) { (void)timer; }

/* Mutex held, released meanwhile: one turn of the loop, of at most `until_ns`. */
static void drive(rlx_client_t *client, uint64_t until_ns)
{
    uint64_t now_ns;

    client->driven = true;
    client->driver = pthread_self();
    pthread_mutex_unlock(&client->mutex);
    rlx_sdk_dispatch_arrived(client);
    if (until_ns != UINT64_MAX) {
        now_ns = uv_hrtime();
        uv_update_time(&client->loop);
        uv_timer_start(&client->alarm, alarm_fired, until_ns <= now_ns ? 0 : (until_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS, 0);
    }
    uv_run(&client->loop, UV_RUN_ONCE);
    if (until_ns != UINT64_MAX)
        uv_timer_stop(&client->alarm);
    pthread_mutex_lock(&client->mutex);
    client->driven = false;
}

static void wait_until(pthread_cond_t *condition, pthread_mutex_t *mutex, uint64_t until_ns)
{
    struct timespec at = {(time_t)(until_ns / 1000000000), (long)(until_ns % 1000000000)};

    if (until_ns == UINT64_MAX)
        pthread_cond_wait(condition, mutex);
    else
        pthread_cond_timedwait(condition, mutex, &at);
}

static void waiter_remove(rlx_client_t *client, const rlx_client_call_t *call)
{
    int n = client->n_waiters;

    for (int i = 0; i < n; i++)
        if (client->waiters[i] == call) {
            client->waiters[i] = client->waiters[n - 1];
            client->n_waiters--;
            return;
        }
}

/* Nobody drives now: who is next? */
static void succession(rlx_client_t *client)
{
    if (client->driven)
        return;
    client->released_ns = uv_hrtime();
    if (client->n_waiters > 0)
        pthread_cond_signal(&client->waiters[0]->changed);
    else if (client->n_open > 0)
        pthread_cond_signal(&client->idle);
}

bool rlx_sdk_wait(rlx_client_call_t *call, uint64_t until_ns)
{
    rlx_client_t *client = call->client;

    while (!call->done && uv_hrtime() < until_ns) {
        bool listed = client->n_waiters < (int)(sizeof client->waiters / sizeof *client->waiters);

        if (!client->driven) {
            drive(client, until_ns);
            continue;
        }
        if (listed)
            client->waiters[client->n_waiters++] = call;
        wait_until(&call->changed, &client->mutex, until_ns);
        if (listed)
            waiter_remove(client, call);
    }
    succession(client);
    return call->done;
}

void rlx_sdk_nudge(rlx_client_t *client, bool somebody_must_drive)
{
    if (client->driven) {
        if (!rlx_sdk_is_driver(client))
            uv_async_send(&client->wake);
    } else if (somebody_must_drive && client->thread_waits)
        pthread_cond_signal(&client->idle);
}

/* ---- the client's thread ---- */

static void *thread_run(void *context)
{
    rlx_client_t *client = context;
    bool orphaned;

    pthread_mutex_lock(&client->mutex);
    while (!client->stopping) {
        uint64_t now_ns = uv_hrtime(), linger_ns = client->released_ns + LINGER_MS * NS_PER_MS;

        if (client->driven || client->n_waiters > 0 || (client->n_open == 0 && now_ns < linger_ns)) {
            client->thread_waits = true;
            wait_until(&client->idle, &client->mutex, now_ns + 2 * LINGER_MS * NS_PER_MS);
            client->thread_waits = false;
            continue;
        }
        drive(client, UINT64_MAX);
        if (client->n_waiters > 0)
            pthread_cond_signal(&client->waiters[0]->changed);
    }
    orphaned = client->orphaned;
    pthread_mutex_unlock(&client->mutex);
    if (orphaned)
        rlx_sdk_client_end(client);
    return NULL;
}

rlx_status_t rlx_sdk_thread_start(rlx_client_t *client, rlx_diag_t *diag)
{
    sigset_t all, before;
    int failed;

    /* Signals are the program's: its own threads take them. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    failed = pthread_create(&client->thread, NULL, thread_run, client);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed == 0 ? RLX_OK : rlx_fail(diag, RLX_E_NO_MEMORY, "no thread");
}

bool rlx_sdk_thread_stop(rlx_client_t *client)
{
    bool own;

    pthread_mutex_lock(&client->mutex);
    client->stopping = true;
    own = pthread_equal(client->thread, pthread_self());
    client->orphaned = own;
    pthread_cond_signal(&client->idle);
    if (client->driven && !own)
        uv_async_send(&client->wake);
    pthread_mutex_unlock(&client->mutex);
    if (own)
        pthread_detach(client->thread);
    else
        pthread_join(client->thread, NULL);
    return !own;
}
