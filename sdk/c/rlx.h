/* librlx: send inference requests to rlxd, or to any server of the Open Inference Protocol v2 over gRPC. docs/CLIENTS.md is the tour.
 *
 *     const char *endpoints[] = {"http://gpu-node-01:8080", "http://gpu-node-02:8080"};
 *     rlx_client_t *client;
 *     rlx_client_error_t error;
 *     if (rlx_client_create(endpoints, 2, NULL, &client, &error) != 0) { fprintf(stderr, "%s\n", error.text); ... }
 *     rlx_client_input_t in = {.name = "input", .tensor = {RLX_CLIENT_F32, 4, {1, 3, 224, 224}, pixels}};
 *     rlx_client_request_t request = {.size = sizeof request, .model = "resnet18", .inputs = &in, .n_inputs = 1};
 *     rlx_client_call_t *call;
 *     if (rlx_client_infer(client, &request, &call, &error) == 0) {
 *         rlx_client_tensor_t out;
 *         if (rlx_client_call_find(call, "output", &out) == 0) use(out.data);
 *         rlx_client_call_free(call);
 *     }
 *     rlx_client_destroy(client);
 *
 * This header stands alone and only grows. A client keeps one connection per endpoint for its life, sends each request to the ready
 * endpoint with the fewest open ones, leaves dead endpoints alone and comes back to them by itself. A request that a server has certainly
 * not begun, or refused as UNAVAILABLE, is tried on another endpoint.
 *
 * Threads: a client may be used from any thread; a call by one thread at a time. The network runs on the client's own thread, or on a
 * thread that waits in this library anyway. Functions return 0, or a gRPC status above 0 and fill `error` (which may be NULL). Nothing
 * here prints, exits, or touches signals. After fork() the child must not use a client of its parent. */
#ifndef RLX_SDK_RLX_H
#define RLX_SDK_RLX_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RLX_CLIENT_RANK_MAX 8
#define RLX_CLIENT_ENDPOINTS_MAX 64
#define RLX_CLIENT_TENSORS_MAX 256 /* inputs, outputs of a request */
#define RLX_CLIENT_API __attribute__((visibility("default")))

typedef struct rlx_client rlx_client_t;
typedef struct rlx_client_call rlx_client_call_t;
typedef struct rlx_client_memory rlx_client_memory_t;
typedef struct rlx_client_stream rlx_client_stream_t;

typedef enum rlx_client_type {
    RLX_CLIENT_F32 = 1,
    RLX_CLIENT_F64 = 2,
    RLX_CLIENT_F16 = 3,
    RLX_CLIENT_BF16 = 4,
    RLX_CLIENT_I8 = 5,
    RLX_CLIENT_I16 = 6,
    RLX_CLIENT_I32 = 7,
    RLX_CLIENT_I64 = 8,
    RLX_CLIENT_U8 = 9,
    RLX_CLIENT_U16 = 10,
    RLX_CLIENT_U32 = 11,
    RLX_CLIENT_U64 = 12,
    RLX_CLIENT_BOOL = 13
} rlx_client_type_t;

typedef struct rlx_client_error {
    int32_t status;  /* gRPC's */
    int32_t code;    /* RLX-1402 gives 1402; 0 when the server told none. docs/ERRORS.md lists them */
    char text[1408]; /* what, where and what to do, in one line */
} rlx_client_error_t;

/* Milliseconds; 0: the client's default. `total` bounds the whole call and goes to the server as its deadline; `connect` the wait for a
 * ready endpoint; `transfer` the sending of the request, and again the receiving of the answer; `compute` the time between the two. */
typedef struct rlx_client_timeouts {
    uint32_t total_ms, connect_ms, transfer_ms, compute_ms;
} rlx_client_timeouts_t;

typedef struct rlx_client_options {
    uint32_t size;              /* sizeof(rlx_client_options_t) */
    uint32_t in_flight_max;     /* calls open at once; more: RESOURCE_EXHAUSTED. 0: 1024 */
    rlx_client_timeouts_t timeouts; /* defaults: 30000, 5000, none, none */
    uint64_t answer_bytes_max;  /* of one answer; 0: 4 GiB - 1 */
    const char *ca, *certificate, *key; /* PEM files for https://; NULL: the system's authorities, no client certificate */
    const char *server_name;    /* that certificates must carry; NULL: the endpoint's host */
    int32_t insecure;           /* not 0: any certificate will do */
    const char *memory_socket;  /* of an rlxd on this machine; NULL: /run/rlxd/memory.sock */
} rlx_client_options_t;

/* Endpoints: "http://HOST:PORT" and "grpc://HOST:PORT" (the same), "https://HOST:PORT", "unix:PATH". Strings are copied. Connecting begins
 * at once and in the background: a dead endpoint is no error here. `options` may be NULL. */
RLX_CLIENT_API int rlx_client_create(const char *const *endpoints, int n_endpoints, const rlx_client_options_t *options,
                                     rlx_client_t **out_client, rlx_client_error_t *error);
/* Open calls end with CANCELLED. No other thread may be inside a function of this client. Calls and memory may be freed later. */
RLX_CLIENT_API void rlx_client_destroy(rlx_client_t *client);

/* A dense row-major tensor; rank 0 is a scalar. */
typedef struct rlx_client_tensor {
    int32_t type; /* rlx_client_type_t */
    int32_t rank;
    int64_t dims[RLX_CLIENT_RANK_MAX];
    void *data;
} rlx_client_tensor_t;

typedef struct rlx_client_input {
    const char *name;
    rlx_client_tensor_t tensor; /* data: borrowed until the call is done; with `memory`: not used */
    rlx_client_memory_t *memory; /* or NULL: the bytes at `offset` of this memory */
    uint64_t offset;
} rlx_client_input_t;

/* An output that is asked for. With neither data nor memory its bytes live in the call. */
typedef struct rlx_client_output {
    const char *name;
    void *data;     /* borrowed until the call is done: the answer is written here */
    uint64_t bytes; /* that `data`, or the place in `memory`, has room for */
    rlx_client_memory_t *memory;
    uint64_t offset;
} rlx_client_output_t;

typedef struct rlx_client_request {
    uint32_t size;     /* sizeof(rlx_client_request_t) */
    uint32_t priority; /* 0 default, 1 highest */
    const char *model, *version, *id; /* version and id may be NULL */
    const rlx_client_input_t *inputs;
    int32_t n_inputs, n_outputs;
    const rlx_client_output_t *outputs; /* none: all of the model's */
    const char *preferred_devices;      /* a wish, "cuda:0,cpu:0", or NULL */
    const char *output_location;        /* a wish, "cpu:0", or NULL */
    rlx_client_timeouts_t timeouts;
} rlx_client_request_t;

/* Sends and waits. On success the caller owns the call, which holds the answer. */
RLX_CLIENT_API int rlx_client_infer(rlx_client_t *client, const rlx_client_request_t *request, rlx_client_call_t **out_call,
                                    rlx_client_error_t *error);
/* Runs once when the call is done, on a thread inside of this library: it must not block, nor wait for calls. It may submit others and may
 * free this one. */
typedef void rlx_client_done_fn_t(void *context, rlx_client_call_t *call);
/* Sends and returns. Everything but tensor data is copied. `done` may be NULL: then wait for the call. On success the caller owns it. */
RLX_CLIENT_API int rlx_client_submit(rlx_client_t *client, const rlx_client_request_t *request, rlx_client_done_fn_t *done, void *context,
                                     rlx_client_call_t **out_call, rlx_client_error_t *error);
/* Waits until the call is done and returns its status. `ms` < 0: for ever; else -1, and no error, when it is still open then. Inside of a
 * callback only for calls that are done: their outcome is told at once. */
RLX_CLIENT_API int rlx_client_call_wait(rlx_client_call_t *call, int ms, rlx_client_error_t *error);
/* The call will be done soon, with CANCELLED unless it is already. */
RLX_CLIENT_API void rlx_client_call_cancel(rlx_client_call_t *call);
/* An open call is cancelled and its `done` does not run any more; borrowed data is free when this returns. Not from two threads. NULL is
 * allowed. */
RLX_CLIENT_API void rlx_client_call_free(rlx_client_call_t *call);

/* Many calls on one stream (ModelStreamInfer): no headers and no stream of HTTP/2 for each, and all of them at one endpoint. Answers come
 * in order of completion and find their calls by themselves, so `id` is yours as elsewhere. A call on a stream is a call like any other:
 * wait for it or take a callback, cancel it, read it, free it. What differs:
 *  - data of inputs is copied when the message is sent, and tensors of the answer once more than without a stream;
 *  - cancelling drops the answer; the server is not told, and computes it;
 *  - of the timeouts `total` counts (the server hears it too) and `connect`;
 *  - an error that the server answers is the call's own and the stream goes on, and is not tried elsewhere. When the connection breaks,
 *    calls without an answer are sent again on another, as calls without a stream are.
 * The stream connects with its first call. A server works on a bounded number of its requests at once (rlxd: 64) and takes more when
 * answers have left; until then they wait here, at most in_flight_max of them.
 *
 * Close when nothing more will be submitted: calls that are open end as they would. Before the client is destroyed. NULL is allowed. */
RLX_CLIENT_API int rlx_client_stream_open(rlx_client_t *client, rlx_client_stream_t **out_stream, rlx_client_error_t *error);
RLX_CLIENT_API int rlx_client_stream_submit(rlx_client_stream_t *stream, const rlx_client_request_t *request, rlx_client_done_fn_t *done,
                                            void *context, rlx_client_call_t **out_call, rlx_client_error_t *error);
RLX_CLIENT_API void rlx_client_stream_close(rlx_client_stream_t *stream);

/* The answer of a call that is done with status 0. Pointers live until the call is freed. */
RLX_CLIENT_API int rlx_client_call_output_count(const rlx_client_call_t *call);
/* The name of output `index`. */
RLX_CLIENT_API const char *rlx_client_call_output(const rlx_client_call_t *call, int index, rlx_client_tensor_t *out_tensor);
/* NOT_FOUND when there is no such output. */
RLX_CLIENT_API int rlx_client_call_find(const rlx_client_call_t *call, const char *name, rlx_client_tensor_t *out_tensor);
/* "" when the server did not tell. */
RLX_CLIENT_API const char *rlx_client_call_device(const rlx_client_call_t *call);
RLX_CLIENT_API const char *rlx_client_call_model_version(const rlx_client_call_t *call);
RLX_CLIENT_API const char *rlx_client_call_id(const rlx_client_call_t *call);
/* The endpoint that answered, as given to create; "" before one did. */
RLX_CLIENT_API const char *rlx_client_call_endpoint(const rlx_client_call_t *call);
/* Nanoseconds in the server's queue and in its kernels; 0 when not told. */
RLX_CLIENT_API uint64_t rlx_client_call_queue_ns(const rlx_client_call_t *call);
RLX_CLIENT_API uint64_t rlx_client_call_kernel_ns(const rlx_client_call_t *call);

typedef enum rlx_client_question {
    RLX_CLIENT_SERVER_LIVE = 0,     /* {"live": true} */
    RLX_CLIENT_SERVER_READY = 1,    /* {"ready": true} */
    RLX_CLIENT_MODEL_READY = 2,     /* {"ready": true} */
    RLX_CLIENT_SERVER_METADATA = 3, /* {"name", "version", "extensions"} */
    RLX_CLIENT_MODEL_METADATA = 4,  /* {"name", "versions", "platform", "inputs", "outputs"} */
    RLX_CLIENT_STATISTICS = 5,      /* {"model_stats": [...]}; model NULL: all */
    RLX_CLIENT_INDEX = 6,           /* {"models": [{"name", "version", "state", "reason"}]} */
    RLX_CLIENT_LOAD = 7,            /* {} when the model is loaded */
    RLX_CLIENT_UNLOAD = 8           /* {} */
} rlx_client_question_t;

/* The protocol's small calls; the answer is JSON with the protocol's names. Fields that are zero or empty are left out. `endpoint` is an
 * index into create's list, or -1: any. `total_ms` 0: the client's default. */
RLX_CLIENT_API int rlx_client_ask(rlx_client_t *client, int endpoint, rlx_client_question_t question, const char *model,
                                  const char *version, uint32_t total_ms, char **out_json, rlx_client_error_t *error);
/* The client's own view, without a call: {"endpoints": [{"url", "state", "open", "answered", "failed", "why"}], "open", "retries"}. */
RLX_CLIENT_API int rlx_client_state(rlx_client_t *client, char **out_json, rlx_client_error_t *error);
RLX_CLIENT_API void rlx_client_text_free(char *json);

/* Memory that an rlxd on this machine uses in place: tensors in it are never copied. `bytes` are zeroed and page-aligned. Requests with it
 * go to the client's endpoint on this machine. */
RLX_CLIENT_API int rlx_client_memory_create(rlx_client_t *client, uint64_t bytes, rlx_client_memory_t **out_memory,
                                            rlx_client_error_t *error);
RLX_CLIENT_API void *rlx_client_memory_address(const rlx_client_memory_t *memory);
/* No call that uses it may be open. NULL is allowed. */
RLX_CLIENT_API void rlx_client_memory_free(rlx_client_memory_t *memory);

/* Bytes of one element; 0 for a type outside the list. */
RLX_CLIENT_API int rlx_client_type_bytes(int type);
RLX_CLIENT_API const char *rlx_client_version(void);

#ifdef __cplusplus
}
#endif

#endif
