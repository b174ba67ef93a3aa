/* A load under way: requests begin, end and are counted. */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/load/inside.h"

#define DRAIN_S 5

static void slot_begin(rlx_load_slot_t *slot, uint64_t due_ns);

/* ---- the answer ---- */

void *rlx_load_slot_place(void *context, int index, const char *name, uint64_t bytes, rlx_diag_t *diag)
{
    rlx_load_slot_t *slot = context;
    void *to;

    (void)index, (void)name;
    rlx_text_clear(&slot->data);
    to = rlx_text_reserve(&slot->data, bytes + 1);
    if (to == NULL)
        rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for an answer of %llu bytes", (unsigned long long)bytes);
    return to;
}

static bool slot_message(void *context, uint64_t bytes)
{
    rlx_load_slot_t *slot = context;

    rlx_infer_answer_begin(&slot->reader, bytes, rlx_load_slot_place, slot);
    return true;
}

static void slot_data(void *context, const void *data, size_t bytes)
{
    rlx_load_slot_t *slot = context;

    if (slot->reading == RLX_OK)
        slot->reading = rlx_infer_answer_feed(&slot->reader, data, bytes, &slot->diag);
}

static void slot_message_end(void *context)
{
    rlx_load_slot_t *slot = context;

    if (slot->reading == RLX_OK)
        slot->reading = rlx_infer_answer_end(&slot->reader, &slot->diag);
}

/* ---- counting ---- */

/* Closed loop: what ends in the measured time. Open loop: what was due in it, however late it came. */
static bool slot_counts(const rlx_load_t *load, const rlx_load_slot_t *slot, uint64_t now_ns)
{
    if (load->step_ns > 0)
        return slot->due_ns >= load->start_ns && slot->due_ns < load->end_ns;
    return load->measuring && now_ns < load->end_ns;
}

static void failure_count(rlx_load_t *load, rlx_status_t status, const char *message, uint64_t ns)
{
    rlx_load_result_t *result = load->result;

    rlx_histogram_add(&result->refused, ns);
    result->status[(unsigned)status < RLX_LOAD_STATUSES ? status : 2]++;
    if (result->error[0] == '\0')
        snprintf(result->error, sizeof result->error, "%s: %s", rlx_status_name(status), message);
}

static void slot_count(rlx_load_slot_t *slot, const rlx_rpc_end_t *end, uint64_t now_ns)
{
    rlx_load_t *load = slot->load;
    rlx_load_result_t *result = load->result;
    uint64_t ns = now_ns - slot->due_ns;

    if (end->status != RLX_OK || slot->reading != RLX_OK) {
        failure_count(load, end->status != RLX_OK ? end->status : slot->reading, end->status != RLX_OK ? end->message : slot->diag.message,
                      ns);
        return;
    }
    rlx_histogram_add(&result->answered, ns);
    result->status[0]++;
    load->connection_answers[slot->connection]++;
    if (slot->reader.has_times) {
        rlx_histogram_add(&result->queue, slot->reader.queue_ns);
        rlx_histogram_add(&result->kernel, slot->reader.kernel_ns);
    }
    if (result->device[0] == '\0')
        snprintf(result->device, sizeof result->device, "%s", slot->reader.device);
}

static void think_over(uv_timer_t *timer)
{
    rlx_load_slot_t *slot = timer->data;

    if (!slot->load->stopping)
        slot_begin(slot, rlx_clock_ns());
}

static void slot_next(rlx_load_slot_t *slot, uint64_t now_ns)
{
    rlx_load_t *load = slot->load;
    bool over = load->stopping || now_ns >= load->end_ns;

    if (load->step_ns > 0) {
        if (load->next_ns <= now_ns && !over) { /* one was due and had to wait */
            uint64_t due_ns = load->next_ns;

            load->next_ns += load->step_ns;
            slot_begin(slot, due_ns);
            return;
        }
        slot->next = load->free_slots;
        load->free_slots = slot;
    } else if (!over && load->options->think_s > 0)
        uv_timer_start(&slot->think, think_over, (uint64_t)(load->options->think_s * 1e3), 0);
    else if (!over)
        slot_begin(slot, now_ns);
}

static void slot_done(void *context, const rlx_rpc_end_t *end)
{
    rlx_load_slot_t *slot = context;
    uint64_t now_ns = rlx_clock_ns();

    slot->load->n_open--;
    if (slot->load->measuring && now_ns < slot->load->end_ns && end->status == RLX_OK && slot->reading == RLX_OK)
        slot->load->result->in_time++;
    if (slot_counts(slot->load, slot, now_ns))
        slot_count(slot, end, now_ns);
    if (!slot->load->client.failed)
        slot_next(slot, now_ns);
}

static void slot_begin(rlx_load_slot_t *slot, uint64_t due_ns)
{
    static const rlx_rpc_request_ops_t ops = {
        .message = slot_message, .data = slot_data, .message_end = slot_message_end, .done = slot_done};
    rlx_load_t *load = slot->load;
    rlx_rpc_request_t *request;

    slot->due_ns = due_ns;
    slot->reading = RLX_OK;
    slot->diag.code = RLX_E_NONE;
    if (rlx_rpc_request_begin(load->client.channels[slot->connection], RLX_LOAD_INFER_PATH, &load->timeouts, &ops, slot, &request,
                              &load->client.diag) != RLX_OK) {
        load->client.failed = true;
        return;
    }
    load->n_open++;
    slot->message = (rlx_rpc_message_t){.slices = load->request.slices, .n_slices = load->request.n_slices};
    rlx_rpc_request_send(request, &slot->message);
    rlx_rpc_request_half_close(request);
}

/* ---- the open loop's clock ---- */

static void clock_arm(rlx_load_t *load)
{
    struct itimerspec at = {.it_value = {(time_t)(load->next_ns / 1000000000), (long)(load->next_ns % 1000000000)}};

    timerfd_settime(load->clock, TFD_TIMER_ABSTIME, &at, NULL);
}

static void clock_fired(uv_poll_t *poll, int status, int events)
{
    rlx_load_t *load = poll->data;
    uint64_t now_ns = rlx_clock_ns(), fired;

    (void)status, (void)events;
    if (read(load->clock, &fired, sizeof fired) < 0)
        return;
    while (!load->stopping && load->free_slots != NULL && load->next_ns <= now_ns && load->next_ns < load->end_ns) {
        rlx_load_slot_t *slot = load->free_slots;
        uint64_t due_ns = load->next_ns;

        load->free_slots = slot->next;
        load->next_ns += load->step_ns;
        slot_begin(slot, due_ns);
    }
    /* With every slot open the next answer sends what is due; the clock looks again later. */
    if (!load->stopping) {
        if (load->next_ns <= now_ns) {
            struct itimerspec soon = {.it_value = {0, 1000000}};

            timerfd_settime(load->clock, 0, &soon, NULL);
        } else
            clock_arm(load);
    }
}

static rlx_status_t clock_start(rlx_load_t *load, rlx_diag_t *diag)
{
    load->clock = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (load->clock < 0 || uv_poll_init(&load->client.loop, &load->tick, load->clock) != 0)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no timer");
    load->tick.data = load;
    uv_poll_start(&load->tick, UV_READABLE, clock_fired);
    load->next_ns = rlx_clock_ns() + load->step_ns;
    clock_arm(load);
    return RLX_OK;
}

/* ---- the run ---- */

static double cpu_of_self(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* The sum over threads of /proc/PID/task/TID/schedstat would be finer; a clock tick is fine enough for seconds of load. */
static double cpu_of_process(int64_t pid)
{
    char path[64], text[1024], *at;
    unsigned long long user, system;
    FILE *file;
    size_t bytes = 0;

    snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
    file = fopen(path, "r");
    if (file != NULL) {
        bytes = fread(text, 1, sizeof text - 1, file);
        fclose(file);
    }
    text[bytes] = '\0';
    at = strrchr(text, ')'); /* the name may hold anything */
    if (at == NULL || sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user, &system) != 2)
        return -1;
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static void alarm_fired(uv_timer_t *alarm) { (void)alarm; } /* the loop only has to wake */

static void loop_until(rlx_load_t *load, uint64_t end_ns)
{
    for (uint64_t now_ns; (now_ns = rlx_clock_ns()) < end_ns && !load->client.failed;) {
        uv_update_time(&load->client.loop);
        uv_timer_start(&load->alarm, alarm_fired, (end_ns - now_ns) / 1000000 + 1, 0);
        uv_run(&load->client.loop, UV_RUN_ONCE);
    }
}

rlx_status_t rlx_load_measure(rlx_load_t *load, rlx_diag_t *diag)
{
    const rlx_load_options_t *options = load->options;
    rlx_load_result_t *result = load->result;
    uint64_t now_ns = rlx_clock_ns(), warm_ns = now_ns + (uint64_t)(options->warmup_s * 1e9);
    double self_s, server_s;

    load->start_ns = warm_ns;
    load->end_ns = warm_ns + (uint64_t)(options->duration_s * 1e9);
    uv_timer_init(&load->client.loop, &load->alarm);
    if (load->step_ns > 0)
        RLX_TRY(clock_start(load, diag));
    for (int64_t i = 0; i < load->n_slots && load->step_ns == 0; i++)
        slot_begin(&load->slots[i], rlx_clock_ns());
    loop_until(load, warm_ns);
    load->measuring = true;
    if (load->step_ns > 0 && load->next_ns < load->start_ns)
        load->next_ns = load->start_ns; /* what the warm-up could not send is no part of the measurement */
    self_s = cpu_of_self();
    server_s = options->pid > 0 ? cpu_of_process(options->pid) : -1;
    loop_until(load, load->end_ns);
    result->client_cpu_s = cpu_of_self() - self_s;
    result->server_cpu_s = server_s >= 0 ? cpu_of_process(options->pid) - server_s : -1;
    load->measuring = false;
    load->stopping = true;
    result->seconds = options->duration_s;
    if (load->step_ns > 0 && load->next_ns < load->end_ns)
        result->late = (load->end_ns - load->next_ns + load->step_ns - 1) / load->step_ns;
    for (uint64_t limit_ns = rlx_clock_ns() + DRAIN_S * 1000000000ull; load->n_open > 0 && rlx_clock_ns() < limit_ns;)
        loop_until(load, rlx_clock_ns() + 20000000);
    if (load->step_ns > 0)
        uv_close((uv_handle_t *)&load->tick, NULL);
    if (!load->client.failed)
        return RLX_OK;
    rlx_fail(diag, load->client.diag.code, "the load ended early: %s", load->client.diag.message);
    return diag->status;
}
