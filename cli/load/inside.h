/* The inside of a load: its slots, shared by its set-up (setup.c) and its run (load.c). A slot is one request that can be open; its
 * memory is made once, so that a measured request costs no allocation here. */
#ifndef RLX_CLI_LOAD_INSIDE_H
#define RLX_CLI_LOAD_INSIDE_H

#include "cli/load/client.h"
#include "cli/load/load.h"
#include "cli/load/model.h"

#define RLX_LOAD_INFER_PATH "/inference.GRPCInferenceService/ModelInfer"
#define RLX_LOAD_ANSWER_MAX ((size_t)1 << 32)

typedef struct rlx_load rlx_load_t;

typedef struct rlx_load_slot {
    rlx_load_t *load;
    int connection;
    rlx_rpc_message_t message;
    rlx_infer_answer_reader_t reader;
    rlx_text_t data; /* the answer's tensors; cleared for every answer */
    uint64_t due_ns;
    uv_timer_t think;
    rlx_diag_t diag;
    rlx_status_t reading;
    struct rlx_load_slot *next; /* free, in an open loop */
} rlx_load_slot_t;

struct rlx_load {
    const rlx_load_options_t *options;
    rlx_load_result_t *result;
    rlx_load_client_t client;
    rlx_load_model_t model;
    rlx_infer_request_t request;
    rlx_rpc_timeouts_t timeouts;
    rlx_load_slot_t *slots, *free_slots;
    int64_t n_slots, n_open;
    uint64_t *connection_answers;
    bool measuring, stopping, registered;
    uint64_t start_ns, end_ns; /* of the measured time */
    uv_timer_t alarm;          /* ends a wait of the loop */
    /* Open loop. */
    int clock;
    uv_poll_t tick;
    uint64_t next_ns, step_ns;
};

/* Room for a tensor of an answer. All lie in one buffer that keeps its size: nobody reads them. */
void *rlx_load_slot_place(void *slot, int index, const char *name, uint64_t bytes, rlx_diag_t *diag);
/* Warm-up, then the measured time, then until what is open has ended. */
rlx_status_t rlx_load_measure(rlx_load_t *load, rlx_diag_t *diag);

#endif
