/* The inside of librlx.
 *
 * Who may touch what: `mutex` guards what is marked so. Everything else of a client belongs to its driver, the one thread that runs the
 * loop at this moment: the client's own thread, or a thread that waits for a call (drive.c). A call belongs to its user, then from submit
 * until done to the driver, then to its user again. */
#ifndef RLX_SDK_CLIENT_H
#define RLX_SDK_CLIENT_H

#include <pthread.h>
#include <stdatomic.h>
#include <uv.h>

#include "base/text.h"
#include "rpc/message/admin.h"
#include "rpc/client/client.h"
#include "rpc/message/infer_answer.h"
#include "rpc/message/infer_request.h"
#include "rpc/message/stream_answer.h"
#include "sdk/c/rlx.h"

#define RLX_SDK_CALLS_KEPT 64                        /* free call objects that keep their memory */
#define RLX_SDK_BYTES_KEPT ((uint64_t)16 << 20)      /* of tensor buffers in one of them */

typedef struct rlx_sdk_endpoint {
    char *url;
    rlx_client_t *client;
    bool local; /* on this machine */
    rlx_rpc_channel_t *channel;
    rlx_rpc_channel_state_t state; /* mutex: changed by the driver, read by rlx_client_state; so are the next three */
    uint64_t answered, failed;
    char why[512]; /* it is not ready */
    uint64_t failed_ns; /* when the last attempt failed */
    uint32_t n_open;
} rlx_sdk_endpoint_t;

typedef enum rlx_sdk_call_state {
    RLX_SDK_IDLE,    /* the user's, or in the pool */
    RLX_SDK_WAITING, /* for a ready endpoint */
    RLX_SDK_OPEN,    /* a request of a channel */
    RLX_SDK_DONE,
} rlx_sdk_call_state_t;

typedef struct rlx_sdk_buffer {
    void *data;
    uint64_t capacity;
} rlx_sdk_buffer_t;

typedef struct rlx_sdk_wanted { /* an output that the user has a place for */
    char *name;
    void *data;
    uint64_t bytes;
} rlx_sdk_wanted_t;

struct rlx_client_call {
    rlx_client_t *client;
    rlx_client_call_t *next; /* in the list that it is in: arrived, waiting, pool */
    bool arrived;            /* mutex: in the list of those that the driver has not seen */
    bool done;               /* mutex: set once; then the call is the user's */
    bool cancel_wanted;      /* mutex */
    rlx_client_call_t *cancel_next; /* mutex */
    pthread_cond_t changed;  /* done, or a turn at driving */
    /* What to do. */
    const char *path;
    bool repeatable;  /* may be sent again although a server may have worked on it */
    bool is_ask;
    rlx_admin_method_t method;
    int pinned;       /* the only endpoint that will do, or -1 */
    rlx_infer_request_t request;
    rlx_text_t ask;
    rlx_rpc_slice_t ask_slice;
    rlx_rpc_message_t message;
    rlx_client_timeouts_t timeouts;
    rlx_client_done_fn_t *on_done;
    void *context;
    rlx_sdk_wanted_t wanted[RLX_CLIENT_TENSORS_MAX];
    int n_wanted;
    /* On a stream: */
    rlx_client_stream_t *stream;     /* from submit until done; NULL: none */
    rlx_client_call_t *stream_next;  /* in the stream's list */
    uint64_t number;                 /* its id on the wire */
    char wire_id[24];
    char *user_id;                   /* its id for the user; NULL: not on a stream */
    bool orphaned;                   /* the stream's request broke; its turn to be told comes */
    /* How far it is. */
    rlx_sdk_call_state_t state;
    uint64_t born_ns, deadline_ns, connect_ns;
    uint64_t tried; /* endpoints, as bits */
    bool second_round; /* all were tried, and it is tried again */
    uint32_t round;    /* of dispatch_waiting that has seen it */
    int endpoint;      /* of the last attempt; -1 */
    rlx_rpc_request_t *rpc;
    /* What came of it. */
    rlx_status_t reading; /* of the answer's bytes */
    rlx_diag_t diag;
    rlx_infer_answer_reader_t reader;
    rlx_sdk_buffer_t *buffers; /* one per tensor of the answer, kept for the next */
    int n_buffers;
    rlx_text_t answer;         /* of an ask */
    rlx_client_error_t error;
};

struct rlx_client {
    atomic_int references; /* the user's, and one per call and memory that lives */
    uv_loop_t loop;
    uv_async_t wake;
    uv_timer_t patience; /* of the calls that wait for an endpoint */
    uv_timer_t alarm;    /* ends a driver's wait */
    rlx_sdk_endpoint_t endpoints[RLX_CLIENT_ENDPOINTS_MAX];
    int n_endpoints, next_endpoint; /* next: where the search for the least begins */
    rlx_client_timeouts_t timeouts;
    uint32_t in_flight_max;
    rlx_client_call_t *waiting; /* in order of arrival */
    rlx_client_stream_t *streams; /* that have a request */
    uint64_t answer_bytes_max;
    uint32_t round;
    pthread_mutex_t mutex;
    /* Under the mutex. */
    pthread_t thread;
    pthread_cond_t idle;           /* the client's thread waits for its turn */
    bool driven, stopping, closing, thread_waits, orphaned; /* orphaned: its thread ends it */
    uint64_t released_ns;          /* when a waiting thread last stopped driving */
    rlx_client_call_t *waiters[64]; /* of threads that wait and could drive */
    int n_waiters;
    rlx_client_call_t *arrived, **arrived_end;
    rlx_client_call_t *cancels;    /* to be cancelled by the driver */
    rlx_client_stream_t *closed_streams; /* by their users; the driver has not seen it */
    rlx_client_call_t *callback;   /* whose `done` runs now */
    pthread_cond_t callback_over;
    pthread_t driver;              /* while driven */
    uint32_t n_open;               /* submitted and not done */
    uint64_t retries;
    rlx_client_call_t *pool;
    int n_pool;
    /* Of memory.c, under its own lock: hand-over blocks. */
    pthread_mutex_t memory_mutex;
    char memory_socket[108];
    int memory_fd, memory_endpoint;
    uint32_t memory_number;
    rlx_client_memory_t *memories;
};

/* Everything but the references belongs to the driver. */
struct rlx_client_stream {
    rlx_client_t *client;
    atomic_int references;         /* the user's, one per call that is not done, one of its request */
    atomic_int n_calls;            /* submitted and not done */
    _Atomic uint64_t last_number;  /* of its calls */
    rlx_client_stream_t *closed_next; /* mutex */
    rlx_client_stream_t *next;     /* in client->streams */
    rlx_rpc_request_t *rpc;        /* NULL: opened by the next call */
    int endpoint;                  /* of the request */
    bool closed, half_closed;
    bool broken;                   /* the server sent what is no answer */
    rlx_client_call_t *calls;      /* sent, in order */
    rlx_text_t message;            /* that is coming in */
};

struct rlx_client_memory {
    rlx_client_t *client;
    rlx_client_memory_t *next;
    char name[64];
    int fd;
    void *address;
    uint64_t bytes;
};

/* client.c */
int rlx_sdk_error(rlx_client_error_t *error, rlx_status_t status, const rlx_diag_t *diag);
/* The server's words, as they are; its code stands in front. */
void rlx_sdk_error_told(const rlx_rpc_end_t *end, rlx_client_error_t *error);
void rlx_sdk_client_release(rlx_client_t *client);
void rlx_sdk_client_end(rlx_client_t *client);

/* drive.c */
bool rlx_sdk_is_driver(rlx_client_t *client); /* mutex held */
rlx_status_t rlx_sdk_thread_start(rlx_client_t *client, rlx_diag_t *diag);
/* The client's thread ends, and the caller goes on with rlx_sdk_client_end. False: the caller is that thread, in a callback; it does so
 * itself when it comes out of the loop. */
bool rlx_sdk_thread_stop(rlx_client_t *client);
/* Mutex held. The driver looks at what has arrived. `own` NULL: somebody must drive even if no thread waits. */
void rlx_sdk_nudge(rlx_client_t *client, bool somebody_must_drive);
/* Mutex held (released meanwhile). Waits until the call is done, driving if nobody does; false when `until_ns` came first. */
bool rlx_sdk_wait(rlx_client_call_t *call, uint64_t until_ns);

/* dispatch.c, on the driver */
void rlx_sdk_dispatch_arrived(rlx_client_t *client); /* and cancels */
void rlx_sdk_dispatch_close(rlx_client_t *client);   /* the caller becomes the driver for good; all but open calls end */
void rlx_sdk_dispatch_waiting(rlx_client_t *client);
void rlx_sdk_call_ended(rlx_client_call_t *call, const rlx_rpc_end_t *end); /* an attempt ended: done, or tried elsewhere */
void rlx_sdk_call_cancel_now(rlx_client_call_t *call);
/* `diag` NULL: call->error is filled. */
void rlx_sdk_call_finish(rlx_client_call_t *call, rlx_status_t status, const rlx_diag_t *diag);
void rlx_sdk_channel_changed(void *context, rlx_rpc_channel_t *channel, rlx_rpc_channel_state_t state, const rlx_diag_t *diag);
void rlx_sdk_patience_fired(uv_timer_t *timer);

/* call.c */
rlx_client_call_t *rlx_sdk_call_take(rlx_client_t *client); /* NULL: no memory */
void rlx_sdk_call_destroy(rlx_client_call_t *call);
void rlx_sdk_call_put(rlx_client_call_t *call);             /* back to the pool; mutex not held */
/* `stream` NULL: a request of its own. */
rlx_status_t rlx_sdk_infer_submit(rlx_client_t *client, rlx_client_stream_t *stream, const rlx_client_request_t *given,
                                  rlx_client_done_fn_t *done, void *context, rlx_client_call_t **out_call, rlx_diag_t *diag);
rlx_status_t rlx_sdk_call_submit(rlx_client_call_t *call, const rlx_client_timeouts_t *timeouts, rlx_diag_t *diag);

/* request.c */
rlx_status_t rlx_sdk_request_write(rlx_client_call_t *call, const rlx_client_request_t *request, rlx_diag_t *diag);

/* answer.c */
extern const rlx_rpc_request_ops_t rlx_sdk_infer_ops, rlx_sdk_ask_ops;

/* stream.c; all but join and unjoin on the driver */
#define RLX_STREAM_ERROR_MAX 1400
/* Any thread, before submit: `call` goes by `stream`. Unjoin: it was not submitted after all. */
void rlx_sdk_stream_join(rlx_client_stream_t *stream, rlx_client_call_t *call);
void rlx_sdk_stream_unjoin(rlx_client_call_t *call);
/* Sends the call; opens the stream's request at endpoint `index` if it has none. */
rlx_status_t rlx_sdk_stream_send(rlx_client_call_t *call, int index, rlx_diag_t *diag);
void rlx_sdk_stream_cancel(rlx_client_call_t *call); /* it was sent; ends with CANCELLED */
void rlx_sdk_stream_left(rlx_client_stream_t *stream); /* one of its calls is done */
void rlx_sdk_streams_close(rlx_client_t *client);      /* those that users have closed */
uint64_t rlx_sdk_streams_due(const rlx_client_t *client); /* the first deadline of all that was sent */
void rlx_sdk_streams_expire(rlx_client_t *client, uint64_t now_ns);

/* memory.c */
/* Any thread. The range is the memory's and the daemon has it. */
rlx_status_t rlx_sdk_memory_use(rlx_client_memory_t *memory, uint64_t offset, uint64_t bytes, int *out_endpoint, rlx_diag_t *diag);
void rlx_sdk_memory_fini(rlx_client_t *client);

#endif
