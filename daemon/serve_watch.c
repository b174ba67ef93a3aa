/* Signals, the watchdog, and systemd's timers.
 *
 * The watchdog is fed by the loop that does the work, at half its interval, and only while no run is older than the node's progress bound:
 * a daemon whose workers hang is restarted. While starting and while draining systemd's own timers run; each is extended before it ends, by
 * steps, never for longer than our own deadline. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/serve_state.h"

#define EXTEND_PULSE_MS 5000
#define EXTEND_US 20000000
#define RETRY_MS 20

static const int signal_numbers[] = {SIGTERM, SIGINT, SIGHUP};

static void extend(rlx_serve_t *serve)
{
    if (serve->phase == RLX_SERVE_STARTING)
        rlx_notify_hint(&serve->notify, "EXTEND_TIMEOUT_USEC=%d\nSTATUS=Loading models: %d to go", EXTEND_US, serve->loads_out);
    else if (serve->phase == RLX_SERVE_DRAINING)
        rlx_notify_hint(&serve->notify, "EXTEND_TIMEOUT_USEC=%d\nSTATUS=Draining: %" PRIu32 " calls open", EXTEND_US,
                        rlx_rpc_server_calls(serve->rpc));
}

static void pulse_beat(uv_timer_t *timer)
{
    rlx_serve_t *serve = timer->data;

    extend(serve);
    if (serve->notify.watchdog_us == 0)
        return;
    if (rlx_node_progresses(serve->node))
        rlx_notify_hint(&serve->notify, "WATCHDOG=1");
    else
        RLX_LOG(RLX_LOG_ERROR, "a run makes no progress: the watchdog is not fed");
}

void rlx_serve_watch_phase(rlx_serve_t *serve)
{
    uint64_t watchdog_ms = serve->notify.watchdog_us / 2000, period_ms = watchdog_ms;
    bool extends = serve->phase == RLX_SERVE_STARTING || serve->phase == RLX_SERVE_DRAINING;

    uv_timer_stop(&serve->pulse);
    if (serve->notify.fd < 0 || serve->phase >= RLX_SERVE_CLOSING)
        return;
    if (extends && (period_ms == 0 || period_ms > EXTEND_PULSE_MS))
        period_ms = EXTEND_PULSE_MS;
    if (period_ms > 0)
        uv_timer_start(&serve->pulse, pulse_beat, 0, period_ms);
}

static void retry_beat(uv_timer_t *timer)
{
    rlx_serve_t *serve = timer->data;

    if (!rlx_notify_retry(&serve->notify))
        uv_timer_stop(timer);
}

void rlx_serve_tell(rlx_serve_t *serve, const char *format, ...)
{
    char text[RLX_NOTIFY_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    rlx_notify_state(&serve->notify, "%s", text);
    if (serve->notify.n_waiting > 0)
        uv_timer_start(&serve->retry, retry_beat, RETRY_MS, RETRY_MS);
}

static void signal_take(uv_signal_t *handle, int number)
{
    rlx_serve_t *serve = handle->data;

    if (number == SIGHUP) {
        rlx_serve_reload(serve);
        return;
    }
    if (serve->phase >= RLX_SERVE_DRAINING)
        rlx_serve_cut(serve, "a second signal came");
    RLX_LOG(RLX_LOG_INFO, "stopping", rlx_log_text("signal", number == SIGTERM ? "SIGTERM" : "SIGINT"));
    rlx_serve_stop(serve, RLXD_EXIT_DONE);
}

void rlx_serve_watch(rlx_serve_t *serve)
{
    signal(SIGPIPE, SIG_IGN);
    for (int i = 0; i < 3; i++) {
        uv_signal_init(&serve->loop, &serve->signals[i]);
        serve->signals[i].data = serve;
        uv_signal_start(&serve->signals[i], signal_take, signal_numbers[i]);
    }
    uv_timer_init(&serve->loop, &serve->pulse);
    uv_timer_init(&serve->loop, &serve->retry);
    uv_timer_init(&serve->loop, &serve->deadline);
    uv_timer_init(&serve->loop, &serve->step);
    serve->pulse.data = serve->retry.data = serve->deadline.data = serve->step.data = serve;
    rlx_serve_watch_phase(serve);
}

void rlx_serve_watch_close(rlx_serve_t *serve)
{
    for (int i = 0; i < 3; i++)
        uv_close((uv_handle_t *)&serve->signals[i], NULL);
    uv_close((uv_handle_t *)&serve->pulse, NULL);
    uv_close((uv_handle_t *)&serve->retry, NULL);
    uv_close((uv_handle_t *)&serve->deadline, NULL);
    uv_close((uv_handle_t *)&serve->step, NULL);
}

void rlx_serve_cut(rlx_serve_t *serve, const char *reason)
{
    int64_t calls = serve->phase < RLX_SERVE_LEAVING ? (int64_t)rlx_rpc_server_calls(serve->rpc) : 0;

    RLX_LOG(RLX_LOG_WARNING, "ending at once", rlx_log_text("reason", reason), rlx_log_int("calls_open", calls));
    rlx_notify_hint(&serve->notify, "STATUS=Ended at once: %s", reason);
    _exit(RLXD_EXIT_CUT);
}
