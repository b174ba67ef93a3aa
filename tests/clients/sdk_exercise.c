/* librlx under use: many threads, callbacks, cancellation, calls freed while open, a client closed with calls open, output buffers, shared
 * memory. sdk_c_test.py runs it against a real rlxd: sdk_exercise URL[,URL...] MEMORY_SOCKET [SEED]. The model "plus" gives y = x + 1,
 * "slow" takes a while. Prints what it counted; ends with 1 at the first thing that is not as the header says. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sdk/c/rlx.h"

#define CHECK(condition, ...)                                                       \
    do {                                                                            \
        if (!(condition)) {                                                         \
            fprintf(stderr, "sdk_exercise.c:%d: %s: ", __LINE__, #condition);       \
            fprintf(stderr, __VA_ARGS__);                                           \
            fputc('\n', stderr);                                                    \
            exit(1);                                                                \
        }                                                                           \
    } while (0)

enum { LENGTH = 1000, THREADS = 8, CALLS = 200, OPEN_CALLS = 64 };

static const char *urls[8], *memory_socket;
static int n_urls;

static uint32_t random_next(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static rlx_client_t *client_open(void)
{
    rlx_client_options_t options = {.size = sizeof options, .memory_socket = memory_socket};
    rlx_client_t *client;
    rlx_client_error_t error;

    CHECK(rlx_client_create(urls, n_urls, &options, &client, &error) == 0, "%s", error.text);
    return client;
}

static rlx_client_input_t plus_input(float *data)
{
    return (rlx_client_input_t){.name = "x", .tensor = {.type = RLX_CLIENT_F32, .rank = 1, .dims = {LENGTH}, .data = data}};
}

static rlx_client_request_t plus_request(const rlx_client_input_t *input)
{
    return (rlx_client_request_t){.size = sizeof(rlx_client_request_t), .model = "plus", .inputs = input, .n_inputs = 1};
}

static void answer_check(const rlx_client_call_t *call, float first)
{
    rlx_client_tensor_t y;

    CHECK(rlx_client_call_find(call, "y", &y) == 0, "no output y");
    CHECK(y.type == RLX_CLIENT_F32, "type %d", y.type);
    CHECK(y.rank == 1, "rank %d", y.rank);
    CHECK(y.dims[0] == LENGTH, "extent %lld", (long long)y.dims[0]);
    for (int i = 0; i < LENGTH; i++)
        CHECK(((float *)y.data)[i] == first + (float)i + 1, "element %d", i);
    CHECK(strncmp(rlx_client_call_device(call), "cpu", 3) == 0, "device %s", rlx_client_call_device(call));
}

static void ramp(float *data, float first)
{
    for (int i = 0; i < LENGTH; i++)
        data[i] = first + (float)i;
}

/* ---- threads that wait ---- */

static void *waiting_thread(void *context)
{
    rlx_client_t *client = context;
    float data[LENGTH];
    rlx_client_input_t input = plus_input(data);
    rlx_client_request_t request = plus_request(&input);

    for (int i = 0; i < CALLS; i++) {
        rlx_client_call_t *call;
        rlx_client_error_t error;

        ramp(data, (float)i);
        CHECK(rlx_client_infer(client, &request, &call, &error) == 0, "%s", error.text);
        answer_check(call, (float)i);
        rlx_client_call_free(call);
    }
    return NULL;
}

static void threads_wait(rlx_client_t *client)
{
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, waiting_thread, client) == 0, "no thread");
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%d calls from %d threads\n", THREADS * CALLS, THREADS);
}

/* ---- callbacks, cancelled and freed at random ---- */

typedef struct open_call {
    float data[LENGTH], out[LENGTH];
    rlx_client_call_t *call;
    atomic_int done;
    int status;
} open_call_t;

static void callback(void *context, rlx_client_call_t *call)
{
    open_call_t *open = context;
    rlx_client_error_t error = {0};

    open->status = rlx_client_call_wait(call, 0, &error);
    CHECK(open->status == 0 || open->status == 1, "status %d: %s", open->status, error.text);
    CHECK(atomic_fetch_add(&open->done, 1) == 0, "done twice");
}

static void open_submit(rlx_client_t *client, open_call_t *open, float first)
{
    rlx_client_input_t input = plus_input(open->data);
    rlx_client_output_t output = {.name = "y", .data = open->out, .bytes = sizeof open->out};
    rlx_client_request_t request = plus_request(&input);
    rlx_client_error_t error;

    request.outputs = &output;
    request.n_outputs = 1;
    ramp(open->data, first);
    atomic_store(&open->done, 0);
    CHECK(rlx_client_submit(client, &request, callback, open, &open->call, &error) == 0, "%s", error.text);
}

static void callbacks_run(rlx_client_t *client, uint32_t seed)
{
    open_call_t *open = calloc(OPEN_CALLS, sizeof *open);
    int freed = 0, cancelled = 0, answered = 0;

    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < OPEN_CALLS; i++)
            open_submit(client, &open[i], (float)(round + i));
        for (int i = 0; i < OPEN_CALLS; i++) {
            uint32_t dice = random_next(&seed) % 10;

            if (dice == 0) { /* freed while open: no callback afterwards */
                rlx_client_call_free(open[i].call);
                open[i].call = NULL;
                freed++;
            } else if (dice == 1)
                rlx_client_call_cancel(open[i].call);
        }
        for (int i = 0; i < OPEN_CALLS; i++) {
            if (open[i].call == NULL)
                continue;
            for (int wait = 0; atomic_load(&open[i].done) == 0; wait++) {
                CHECK(wait < 20000, "a call does not end");
                usleep(1000);
            }
            if (open[i].status == 0) {
                answered++;
                CHECK(open[i].out[LENGTH - 1] == (float)(round + i + LENGTH), "wrong answer");
            } else
                cancelled++;
            rlx_client_call_free(open[i].call);
        }
    }
    free(open);
    printf("%d answered, %d cancelled, %d freed while open\n", answered, cancelled, freed);
}

/* ---- chains: a callback submits the next and frees itself ---- */

typedef struct chain {
    rlx_client_t *client;
    float data[LENGTH];
    rlx_client_input_t input;
    int left;
    atomic_bool over;
} chain_t;

static void chain_step(void *context, rlx_client_call_t *call)
{
    chain_t *chain = context;
    rlx_client_request_t request = plus_request(&chain->input);
    rlx_client_call_t *next;
    rlx_client_error_t error;

    answer_check(call, 0);
    rlx_client_call_free(call);
    if (--chain->left == 0)
        atomic_store(&chain->over, true);
    else
        CHECK(rlx_client_submit(chain->client, &request, chain_step, chain, &next, &error) == 0, "%s", error.text);
}

static void chain_run(rlx_client_t *client)
{
    chain_t chain = {.client = client, .left = 500};
    rlx_client_request_t request;
    rlx_client_call_t *call;
    rlx_client_error_t error;

    ramp(chain.data, 0);
    chain.input = plus_input(chain.data);
    request = plus_request(&chain.input);
    CHECK(rlx_client_submit(client, &request, chain_step, &chain, &call, &error) == 0, "%s", error.text);
    while (!atomic_load(&chain.over))
        usleep(1000);
    printf("a chain of 500 callbacks\n");
}

/* ---- shared memory ---- */

static void memory_run(rlx_client_t *client)
{
    rlx_client_memory_t *memory;
    rlx_client_input_t input = plus_input(NULL);
    rlx_client_output_t output = {.name = "y", .bytes = LENGTH * sizeof(float), .offset = 8192};
    rlx_client_request_t request = plus_request(&input);
    rlx_client_call_t *call;
    rlx_client_error_t error;

    CHECK(rlx_client_memory_create(client, 16384, &memory, &error) == 0, "%s", error.text);
    input.memory = output.memory = memory;
    request.outputs = &output;
    request.n_outputs = 1;
    for (int i = 0; i < 50; i++) {
        ramp(rlx_client_memory_address(memory), (float)i);
        CHECK(rlx_client_infer(client, &request, &call, &error) == 0, "%s", error.text);
        answer_check(call, (float)i);
        rlx_client_call_free(call);
    }
    output.offset = 16384 - 8; /* no room */
    CHECK(rlx_client_infer(client, &request, &call, &error) == 3, "a range outside of the memory is taken");
    CHECK(error.code == 1613, "code %d: %s", error.code, error.text);
    rlx_client_memory_free(memory);
    printf("50 calls in shared memory\n");
}

/* ---- limits, and a client closed under its calls ---- */

/* Answers come in any order, each to its call, with its own id; errors are one call's. */
static void stream_calls(rlx_client_stream_t *stream, uint32_t seed)
{
    static float data[OPEN_CALLS][LENGTH];
    rlx_client_call_t *calls[OPEN_CALLS];
    char ids[OPEN_CALLS][16];
    rlx_client_error_t error;

    for (int i = 0; i < OPEN_CALLS; i++) {
        rlx_client_input_t in = plus_input(data[i]);
        rlx_client_request_t request = plus_request(&in);

        for (int j = 0; j < LENGTH; j++)
            data[i][j] = (float)(i + j);
        snprintf(ids[i], sizeof ids[i], "id %d", i);
        request.id = ids[i];
        if (i % 8 == 5)
            request.model = "absent";
        CHECK(rlx_client_stream_submit(stream, &request, NULL, NULL, &calls[i], &error) == 0, "%s", error.text);
    }
    for (int i = 0; i < OPEN_CALLS; i++) {
        if (random_next(&seed) % 7 == 0) {
            rlx_client_call_free(calls[i]); /* open or done */
            continue;
        }
        if (i % 8 == 5) {
            CHECK(rlx_client_call_wait(calls[i], -1, &error) == 5 /* NOT_FOUND */, "%d %s", error.status, error.text);
            CHECK(error.code == 1603, "%d %s", error.code, error.text);
        } else {
            CHECK(rlx_client_call_wait(calls[i], -1, &error) == 0, "%s", error.text);
            answer_check(calls[i], (float)i);
            CHECK(strcmp(rlx_client_call_id(calls[i]), ids[i]) == 0, "%s", rlx_client_call_id(calls[i]));
        }
        rlx_client_call_free(calls[i]);
    }
}

static void stream_done_count(void *context, rlx_client_call_t *call)
{
    CHECK(rlx_client_call_wait(call, 0, NULL) == 0, "callback");
    atomic_fetch_add((atomic_int *)context, 1);
}

static void stream_run(rlx_client_t *client, uint32_t seed)
{
    static float data[LENGTH];
    rlx_client_stream_t *stream, *other;
    rlx_client_error_t error;
    rlx_client_input_t in = plus_input(data);
    float *large = calloc(512 * 512, sizeof *large);
    rlx_client_input_t large_in = {.name = "x", .tensor = {.type = RLX_CLIENT_F32, .rank = 2, .dims = {512, 512}, .data = large}};
    rlx_client_request_t request = plus_request(&in), slow = plus_request(&large_in);
    rlx_client_call_t *calls[OPEN_CALLS], *late;
    atomic_int answered = 0;

    CHECK(rlx_client_stream_open(client, &stream, &error) == 0, "%s", error.text);
    CHECK(rlx_client_stream_open(client, &other, &error) == 0, "%s", error.text);
    rlx_client_stream_close(other); /* never used */
    for (int round = 0; round < 4; round++)
        stream_calls(stream, seed + (uint32_t)round);
    for (int i = 0; i < OPEN_CALLS; i++)
        CHECK(rlx_client_stream_submit(stream, &request, stream_done_count, &answered, &calls[i], &error) == 0, "%s", error.text);
    rlx_client_stream_close(stream); /* what is open is answered */
    for (int i = 0; i < OPEN_CALLS; i++)
        CHECK(rlx_client_call_wait(calls[i], -1, &error) == 0, "%s", error.text);
    for (int i = 0; i < OPEN_CALLS; i++)
        rlx_client_call_free(calls[i]);
    CHECK(atomic_load(&answered) == OPEN_CALLS, "%d callbacks", atomic_load(&answered));
    CHECK(rlx_client_stream_open(client, &stream, &error) == 0, "%s", error.text);
    slow.model = "slow";
    slow.timeouts.total_ms = 20;
    CHECK(rlx_client_stream_submit(stream, &slow, NULL, NULL, &late, &error) == 0, "%s", error.text);
    (void)rlx_client_call_wait(late, -1, &error);
    CHECK(error.status == 4 || error.status == 8, "%d %s", error.status, error.text); /* late; or the server heard the time and refused */
    rlx_client_call_free(late);
    CHECK(rlx_client_stream_submit(stream, &slow, NULL, NULL, &late, &error) == 0, "%s", error.text);
    rlx_client_call_free(late); /* while it is open; its data may go */
    free(large);
    CHECK(rlx_client_stream_submit(stream, &request, NULL, NULL, &late, &error) == 0, "%s", error.text);
    CHECK(rlx_client_call_wait(late, -1, &error) == 0, "after one that was late: %s", error.text);
    rlx_client_call_free(late);
    rlx_client_stream_close(stream);
    printf("%d calls on streams\n", 5 * OPEN_CALLS);
}

static void timeouts_run(rlx_client_t *client)
{
    float *data = calloc(512 * 512, sizeof *data);
    rlx_client_input_t input = {.name = "x", .tensor = {.type = RLX_CLIENT_F32, .rank = 2, .dims = {512, 512}, .data = data}};
    rlx_client_request_t request = {
        .size = sizeof request, .model = "slow", .inputs = &input, .n_inputs = 1, .timeouts = {.compute_ms = 20}};
    rlx_client_call_t *call;
    rlx_client_error_t error;

    CHECK(rlx_client_infer(client, &request, &call, &error) == 4, "no timeout");
    CHECK(error.code == 1702, "code %d: %s", error.code, error.text);
    CHECK(strstr(error.text, "computing") != NULL, "%s", error.text);
    CHECK(rlx_client_submit(client, &request, NULL, NULL, &call, &error) == 0, "%s", error.text);
    CHECK(rlx_client_call_wait(call, 1, &error) == -1, "done at once");
    rlx_client_call_free(call);
    free(data);
    printf("compute limit, and a call freed that was waited for\n");
}

static void close_run(void)
{
    open_call_t *open = calloc(OPEN_CALLS, sizeof *open);

    for (int round = 0; round < 20; round++) {
        rlx_client_t *client = client_open();

        for (int i = 0; i < OPEN_CALLS; i++)
            open_submit(client, &open[i], 0);
        if (round % 2 == 0)
            usleep(2000);
        rlx_client_destroy(client);
        for (int i = 0; i < OPEN_CALLS; i++) {
            CHECK(atomic_load(&open[i].done) == 1, "a call of a closed client did not end");
            rlx_client_call_free(open[i].call);
        }
    }
    free(open);
    printf("20 clients closed with calls open\n");
}

int main(int argc, char **argv)
{
    uint32_t seed = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 1;
    rlx_client_t *client;
    char *state;

    CHECK(argc >= 3, "usage: sdk_exercise URL[,URL...] MEMORY_SOCKET [SEED]");
    for (char *url = strtok(argv[1], ","); url != NULL && n_urls < 8; url = strtok(NULL, ","))
        urls[n_urls++] = url;
    memory_socket = argv[2];
    client = client_open();
    threads_wait(client);
    callbacks_run(client, seed);
    chain_run(client);
    stream_run(client, seed);
    memory_run(client);
    timeouts_run(client);
    CHECK(rlx_client_state(client, &state, NULL) == 0, "no state");
    CHECK(strstr(state, "\"open\":0") != NULL, "%s", state);
    rlx_client_text_free(state);
    rlx_client_destroy(client);
    close_run();
    return 0;
}
