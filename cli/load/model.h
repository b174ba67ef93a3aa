/* What a load sends: the model's inputs, made up or from a file, and where they lie. */
#ifndef RLX_CLI_LOAD_MODEL_H
#define RLX_CLI_LOAD_MODEL_H

#include "cli/load/load.h"
#include "rpc/client/client.h"
#include "rpc/message/infer_answer.h"
#include "rpc/message/infer_request.h"

#define RLX_LOAD_PORTS_MAX 64

typedef struct rlx_load_port {
    char name[256], datatype[16];
    rlx_tensor_t tensor; /* dims with -1 where the model leaves them open, until chosen; data owned */
    uint64_t bytes;
    uint64_t region_offset;
} rlx_load_port_t;

/* A region that inputs and outputs share: the inputs' bytes, then room for the outputs. */
typedef struct rlx_load_region {
    char name[64], key[64];
    void *address;
    uint64_t bytes;
    int socket; /* of a hand-over, open as long as the region lives; -1 */
} rlx_load_region_t;

typedef struct rlx_load_model {
    rlx_load_port_t inputs[RLX_LOAD_PORTS_MAX], outputs[RLX_LOAD_PORTS_MAX];
    int n_inputs, n_outputs;
    bool batch_open; /* the first extent of every input is open */
    uint64_t input_bytes, output_bytes;
    rlx_load_region_t region;
    bool has_region;
} rlx_load_model_t;

/* Reads ModelMetadata's JSON. */
rlx_status_t rlx_load_model_parse(const char *json, size_t bytes, rlx_load_model_t *out_model, rlx_diag_t *diag);
/* Chooses extents and fills the inputs, from --input, --shape and --batch-size. */
rlx_status_t rlx_load_model_fill(rlx_load_model_t *model, const rlx_load_options_t *options, rlx_diag_t *diag);
/* What the model answers, learnt from one answer. */
void rlx_load_model_outputs(rlx_load_model_t *model, const rlx_infer_answer_reader_t *answer);
/* Moves the inputs into shared memory, with room for the outputs behind them, and hands a memfd over. */
rlx_status_t rlx_load_model_share(rlx_load_model_t *model, const rlx_load_options_t *options, rlx_diag_t *diag);
rlx_status_t rlx_load_model_encode(const rlx_load_model_t *model, const rlx_load_options_t *options, rlx_infer_request_t *out_request,
                                   rlx_diag_t *diag);
void rlx_load_model_fini(rlx_load_model_t *model);

#endif
