/* ModelInferRequest -> an inference that is begun and has all its bytes. The message comes in any pieces; tensors go from the piece
 * straight to the memory that rlx_infer_input gives.
 *
 * Clients write fields in order, so at the first byte of raw_input_contents everything else is known: the inference begins there, and raw
 * bytes are copied once. Where metadata follows raw contents after all, what came is taken back into a stage (stage.h) and the
 * inference begins at the end. Typed contents wait in the stage too.
 *
 * Refused, with the name of the input: raw and typed contents in one request; another number of raw entries than inputs that carry data
 * (inputs in shared memory carry none); another size than the shape says; a type that has no typed form; an input without data. Metadata
 * above its caps is refused by the guard. Unknown parameters are ignored.
 *
 * Owner: the caller, by value, in a free list: memory grows to what requests need and stays. Loop thread. */
#ifndef RLX_DAEMON_OIP_DECODE_H
#define RLX_DAEMON_OIP_DECODE_H

#include "daemon/node/infer.h"
#include "daemon/oip/contents.h"
#include "daemon/oip/stage.h"
#include "proto/guard.h"

#define RLX_OIP_TEXT_MAX ((size_t)256 << 10) /* all strings of one request; above: refused */

/* Who asks, and who hears the answer. */
typedef struct rlx_oip_origin {
    rlx_node_t *node;
    rlx_infer_answer_fn_t *answer;
    void *context;
    uint64_t deadline_ns, read_ns;
    const char *trace;
} rlx_oip_origin_t;

typedef uint32_t rlx_oip_text_t; /* a string: its offset in `text`; 0: none (offset 0 holds "") */

typedef struct rlx_oip_port {
    rlx_oip_text_t name, datatype, region;
    uint64_t region_offset, region_bytes;
    bool region_sized;
    int rank; /* may be above RLX_RANK_MAX: refused when the inference begins */
    int64_t dims[RLX_RANK_MAX];
    rlx_oip_contents_t contents;
} rlx_oip_port_t;

typedef struct rlx_oip_parameter {
    char key[40]; /* long enough for those that are known */
    uint32_t key_bytes;
    int type;     /* rlx_oip_tag_t of the value; 0: none */
    uint64_t value;
    rlx_oip_text_t text;
    size_t text_before; /* size of `text` before the entry: what an unknown one took is given back */
} rlx_oip_parameter_t;

typedef struct rlx_oip_ports {
    rlx_oip_port_t *ports;
    int n, capacity;
} rlx_oip_ports_t;

typedef struct rlx_oip_decoder {
    rlx_guard_t guard;
    rlx_oip_origin_t origin;
    rlx_text_t text;
    rlx_oip_text_t model, version, id, devices, location;
    uint64_t timeout_us, priority;
    rlx_oip_ports_t inputs, outputs;
    rlx_infer_input_t *head_inputs;   /* as many as inputs.capacity */
    rlx_infer_output_t *head_outputs; /* as many as outputs.capacity */
    int scope;                        /* tag of the message that parameters, names and shapes belong to; 0: the request */
    rlx_oip_parameter_t parameter;
    rlx_oip_carry_t carry;            /* of a packed shape */
    rlx_oip_stage_t stage;
    uint64_t raw_at[RLX_INFER_PORTS_MAX],
        raw_bytes[RLX_INFER_PORTS_MAX]; /* raw entries: where in the stage (unless begun), and how long */
    int n_raw;
    rlx_infer_t *infer;               /* begun, ours until finish */
    int input;                        /* that takes the current raw entry */
    char *to;                         /* where it goes */
    bool malformed;                   /* refused here: begin counts what it refuses itself */
} rlx_oip_decoder_t;

/* `staged`: the sum that its stage counts into (stage.h). */
void rlx_oip_decoder_init(rlx_oip_decoder_t *decoder, size_t *staged);
void rlx_oip_decoder_fini(rlx_oip_decoder_t *decoder);

/* A message of `bytes` bytes begins. `origin` is copied; its trace is borrowed until finish. */
void rlx_oip_decoder_start(rlx_oip_decoder_t *decoder, const rlx_oip_origin_t *origin, uint64_t bytes);
/* A piece of it. After a failure the message is lost: stop feeding, and end it with drop. */
rlx_status_t rlx_oip_decoder_feed(rlx_oip_decoder_t *decoder, const void *data, size_t bytes, rlx_diag_t *diag);
/* All bytes were fed. The inference, with all its inputs written, moves to the caller, who submits it. */
rlx_status_t rlx_oip_decoder_finish(rlx_oip_decoder_t *decoder, rlx_infer_t **out_infer, rlx_diag_t *diag);
/* Between start and finish: gives up; counts a message that was malformed. After finish: nothing. */
void rlx_oip_decoder_drop(rlx_oip_decoder_t *decoder);

/* For answers and errors; "" where the message has none. Valid until the next start. */
const char *rlx_oip_decoder_id(const rlx_oip_decoder_t *decoder);
const char *rlx_oip_decoder_model(const rlx_oip_decoder_t *decoder);

#endif
