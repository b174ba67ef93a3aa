/* One inference over HTTP, from its body to its answer.
 *
 *   SCAN    the JSON is looked over (daemon/json/scan.h)
 *   FILL    the head is parsed, rlx_infer_begin gave memory, and inputs are written there one after another
 *   WAIT    submitted
 *   WRITE   the answer is here and its JSON is being written
 *   SEND    with the HTTP service, until its bytes have left
 *
 * SCAN, FILL and WRITE are done in pieces (rlx_rest_infer_step), each short. Objects come from a free list and keep their memory. */
#ifndef RLX_DAEMON_REST_REQUEST_H
#define RLX_DAEMON_REST_REQUEST_H

#include <jansson.h>

#include "daemon/json/data.h"
#include "daemon/json/scan.h"
#include "daemon/rest/inside.h"

typedef enum rlx_rest_stage { RLX_REST_SCAN, RLX_REST_FILL, RLX_REST_WAIT, RLX_REST_WRITE, RLX_REST_SEND } rlx_rest_stage_t;

/* Where the bytes of an input are in the body. */
typedef struct rlx_rest_source {
    int cut;           /* of the scan; -1: binary, or in a region */
    const char *bytes; /* binary */
} rlx_rest_source_t;

struct rlx_rest_infer {
    rlx_rest_t *rest;
    rlx_http_exchange_t *exchange;
    rlx_rest_infer_t *next; /* in the job queue or free list */
    bool waiting;           /* in the job queue */
    bool stepping;          /* rlx_rest_infer_step is on the stack */
    rlx_rest_stage_t stage;
    rlx_rest_path_t path;

    const char *body;
    size_t body_bytes, json_bytes;
    rlx_json_scan_t scan;
    json_t *root; /* holds the strings of the head */
    rlx_infer_head_t head;
    rlx_infer_input_t inputs[RLX_INFER_PORTS_MAX];
    rlx_rest_source_t sources[RLX_INFER_PORTS_MAX];
    rlx_infer_output_t outputs[RLX_INFER_PORTS_MAX];
    bool binary[RLX_INFER_PORTS_MAX]; /* by requested output */
    bool all_binary;                  /* of outputs that are not asked for one by one */

    rlx_infer_t *infer;
    int filling;            /* input */
    uint64_t filled;        /* bytes of a binary one */
    rlx_json_data_t data;   /* of one in JSON */
    bool reading;           /* data is in use */

    const rlx_infer_answer_t *answer;
    rlx_text_t text; /* JSON of the answer */
    rlx_json_t json;
    int writing;     /* output */
    int64_t written; /* elements of it */
};

/* The head from the skeleton (request.c); body and scan are read. */
rlx_status_t rlx_rest_head_parse(rlx_rest_infer_t *request, rlx_diag_t *diag);
/* A body of one raw tensor, without JSON. */
rlx_status_t rlx_rest_head_raw(rlx_rest_infer_t *request, rlx_diag_t *diag);
/* How many bytes of the body are JSON, by the header (request.c). */
rlx_status_t rlx_rest_json_bytes(rlx_rest_infer_t *request, bool *out_raw, rlx_diag_t *diag);

/* The answer (answer.c): begins the JSON; writes a piece of it (true: there is more); sends it. */
void rlx_rest_answer_begin(rlx_rest_infer_t *request);
bool rlx_rest_answer_write(rlx_rest_infer_t *request);
/* False: it is too large, diag says what to do; nothing was sent. */
bool rlx_rest_answer_send(rlx_rest_infer_t *request, rlx_rpc_release_fn_t *release, rlx_diag_t *diag);

#endif
