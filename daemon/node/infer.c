/* What a client asks for, checked against the model and turned into a slot: begin. Then bytes, submit, answer, release.
 *
 * Nothing is taken before the head is checked (infer_check.c): a refused request costs no memory and no place in the actor's
 * table. */
#include "daemon/node/infer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "daemon/node/infer_check.h"
#include "daemon/node/state.h"

void rlx_infer_count_malformed(rlx_node_t *node) { node->malformed++; }

/* Input `port` is used where the client has it: in a sealed region, and its data are no indices. */
static bool input_in_place(const rlx_infer_t *infer, int port, uint64_t offset)
{
    const rlx_region_t *region = infer->binding->input_region[port];

    return region != NULL && !infer->served->inputs[port].integers && rlx_region_address(region, offset) != NULL;
}

/* Regions that the request names: each range is checked and held. On failure the binding's put drops what was taken. */
static rlx_status_t regions_take(rlx_infer_t *infer, rlx_infer_plan_t *plan, rlx_diag_t *diag)
{
    const rlx_infer_head_t *head = plan->head;

    for (int i = 0; i < head->n_inputs; i++) {
        const rlx_infer_place_t *place = &head->inputs[i].place;
        rlx_region_t **region = &infer->binding->input_region[plan->input_of[i]];

        if (place->region == NULL)
            continue;
        RLX_TRY(rlx_regions_use(infer->node->regions, place->region, place->offset, place->bytes, region, diag));
        if (!input_in_place(infer, plan->input_of[i], place->offset))
            plan->in_slot += rlx_infer_align(place->bytes);
    }
    for (int i = 0; i < head->n_outputs; i++) {
        const rlx_infer_place_t *place = &head->outputs[i].place;

        if (place->region != NULL)
            RLX_TRY(rlx_regions_use(infer->node->regions, place->region, place->offset, place->bytes,
                                    &infer->binding->output_region[i], diag));
    }
    return RLX_OK;
}

/* Gives every model input its memory: a place in the slot, or the client's own. */
static void inputs_place(rlx_infer_t *infer, const rlx_infer_plan_t *plan)
{
    rlx_slot_t *slot = infer->slot;
    size_t at = 0;

    slot->n_reads = 0;
    for (int i = 0; i < plan->head->n_inputs; i++) {
        const rlx_infer_input_t *input = &plan->head->inputs[i];
        int port = infer->binding->input_of[i] = plan->input_of[i];
        rlx_region_t *region = infer->binding->input_region[port];
        rlx_tensor_t *tensor = &slot->inputs[port].tensor;
        void *shared = region != NULL ? rlx_region_address(region, input->place.offset) : NULL;

        slot->inputs[port].rows = NULL;
        tensor->dtype = infer->served->inputs[port].dtype;
        tensor->rank = input->rank;
        memcpy(tensor->dims, input->dims, sizeof tensor->dims);
        if (input_in_place(infer, port, input->place.offset)) {
            tensor->data = shared;
            continue;
        }
        tensor->data = slot->memory + at;
        at += rlx_infer_align(plan->bytes[i]);
        if (shared != NULL) {
            memcpy(tensor->data, shared, plan->bytes[i]);
            infer->node->copies.region_guarded += plan->bytes[i];
        } else if (region != NULL) {
            slot->reads[slot->n_reads++] = (rlx_slot_move_t){region, input->place.offset, plan->bytes[i], port};
        }
    }
    slot->inputs_end = at;
}

/* What the answer will hold, in the order asked for, and where outputs go that have a region. */
static void outputs_place(rlx_infer_t *infer, const rlx_infer_plan_t *plan)
{
    const rlx_infer_head_t *head = plan->head;
    rlx_binding_t *binding = infer->binding;
    rlx_slot_t *slot = infer->slot;
    bool all = head->n_outputs == 0;

    slot->n_writes = 0;
    binding->n_answer = all ? infer->served->n_outputs : head->n_outputs;
    for (int i = 0; i < infer->served->n_outputs; i++) {
        slot->outputs[i] = (rlx_io_t){0};
        slot->room[i] = 0;
    }
    for (int i = 0; i < binding->n_answer; i++) {
        int port = binding->output_of[i] = all ? i : plan->output_of[i];
        rlx_region_t *region = all ? NULL : binding->output_region[i];

        binding->answer[i] = (rlx_infer_answer_output_t){.name = infer->served->outputs[port].name};
        if (region == NULL)
            continue;
        binding->answer[i].place = head->outputs[i].place;
        binding->answer[i].place.region = rlx_region_name(region);
        slot->outputs[port].tensor.data = rlx_region_address(region, head->outputs[i].place.offset);
        slot->room[port] = slot->outputs[port].tensor.data != NULL ? head->outputs[i].place.bytes : 0;
        if (slot->outputs[port].tensor.data == NULL)
            slot->writes[slot->n_writes++] = (rlx_slot_move_t){region, head->outputs[i].place.offset, head->outputs[i].place.bytes, port};
    }
}

static uint64_t deadline_of(const rlx_infer_head_t *head)
{
    uint64_t deadline = head->deadline_ns, timeout;

    if (head->timeout_us > 0 && head->timeout_us < UINT64_MAX / 1000) {
        timeout = head->read_ns + head->timeout_us * 1000;
        deadline = timeout < deadline ? timeout : deadline;
    }
    return deadline;
}

/* A place in the actor's table. */
static rlx_status_t request_open(rlx_node_t *node, rlx_served_t *served, rlx_infer_t **out_infer, rlx_diag_t *diag)
{
    rlx_actor_event_t event = {.kind = RLX_EVENT_OPEN, .model = served->number};

    rlx_node_event(node, &event);
    if (event.request == RLX_ACTOR_NONE) {
        served->stats->fail[event.refusal == RLX_REFUSAL_TABLE_FULL ? RLX_FAIL_REJECTED : RLX_FAIL_UNAVAILABLE]++;
        if (event.refusal == RLX_REFUSAL_DRAINING)
            return rlx_fail(diag, RLX_E_DRAINING, "the server is stopping and takes no new requests");
        if (event.refusal == RLX_REFUSAL_MODEL_GONE)
            return rlx_fail(diag, RLX_E_MODEL_UNKNOWN, "model '%s' version %s is no longer served", served->name, served->version);
        return rlx_fail(diag, RLX_E_QUEUE_FULL, "all %u places for requests are taken", node->options.requests_max);
    }
    *out_infer = &node->requests[event.request];
    (*out_infer)->request = event.request;
    return RLX_OK;
}

/* Regions, then memory. What was taken before a failure goes back with the request. */
static rlx_status_t memory_take(rlx_infer_t *infer, rlx_infer_plan_t *plan, rlx_diag_t *diag)
{
    rlx_node_t *node = infer->node;

    if ((infer->binding = rlx_binding_get(node, plan->served)) == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for a request");
    RLX_TRY(regions_take(infer, plan, diag));
    if (node->held_bytes + plan->in_slot > node->options.receive_bytes_max)
        return rlx_fail(diag, RLX_E_SERVER_MEMORY, "the request needs %" PRIu64 " bytes, requests in flight hold %" PRIu64 " of %" PRIu64,
                        plan->in_slot, node->held_bytes, node->options.receive_bytes_max);
    if ((infer->slot = rlx_slots_get(node->slots[plan->served->number], plan->in_slot)) == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for a request of %" PRIu64 " bytes", plan->in_slot);
    infer->held_bytes = plan->in_slot;
    node->held_bytes += plan->in_slot;
    return RLX_OK;
}

rlx_status_t rlx_infer_begin(rlx_node_t *node, const rlx_infer_head_t *head, rlx_infer_answer_fn_t *answer, void *context,
                             rlx_infer_t **out_infer, rlx_diag_t *diag)
{
    rlx_infer_plan_t plan;
    rlx_infer_t *infer;
    rlx_status_t status;

    RLX_TRY(rlx_infer_check(node, head, &plan, diag));
    RLX_TRY(request_open(node, plan.served, &infer, diag));
    *infer = (rlx_infer_t){.node = node, .request = infer->request, .served = plan.served, .answer = answer, .context = context,
                           .read_ns = head->read_ns, .deadline_ns = deadline_of(head), .priority = head->priority};
    snprintf(infer->id, sizeof infer->id, "%s", head->id != NULL ? head->id : "");
    if (node->options.tracing != NULL && head->trace != NULL)
        snprintf(infer->traceparent, sizeof infer->traceparent, "%s", head->trace);
    status = memory_take(infer, &plan, diag);
    if (status != RLX_OK) {
        plan.served->stats->fail[status == RLX_RESOURCE_EXHAUSTED ? RLX_FAIL_REJECTED : RLX_FAIL_INPUT]++;
        rlx_infer_abandon(infer, RLX_ABANDON_UNCOUNTED);
        return status;
    }
    inputs_place(infer, &plan);
    outputs_place(infer, &plan);
    *out_infer = infer;
    return RLX_OK;
}

void *rlx_infer_input(rlx_infer_t *infer, int index, uint64_t *out_bytes)
{
    int port = infer->binding->input_of[index];
    const rlx_tensor_t *tensor = &infer->slot->inputs[port].tensor;
    int64_t count = 0;

    *out_bytes = 0;
    if (infer->binding->input_region[port] != NULL)
        return NULL;
    (void)rlx_dims_count(tensor->dims, tensor->rank, &count);
    *out_bytes = (uint64_t)count * rlx_dtype_size(tensor->dtype);
    return tensor->data;
}

/* Requests that may run together have the same key: the model and every extent but axis 0. */
static uint64_t batch_key(const rlx_infer_t *infer)
{
    const rlx_slot_t *slot = infer->slot;
    uint64_t key = 0x9e3779b97f4a7c15u;

    if (infer->served->batch_max <= 1 || slot->n_reads > 0 || slot->n_writes > 0)
        return 0;
    for (int i = 0; i < infer->served->n_inputs; i++)
        for (int axis = 1; axis < slot->inputs[i].tensor.rank; axis++)
            key = (key ^ (uint64_t)slot->inputs[i].tensor.dims[axis]) * 0x100000001b3u;
    return key | 1;
}

#define COST_UNKNOWN_NS 1000000 /* before the first plan: the actor learns the truth from the run */
#define COST_OPEN_NS 100000000  /* a plan that cannot say it: so large that no measurement makes it brief, for a loop may run on */

static uint64_t cost_of(const rlx_infer_t *infer)
{
    rlx_plan_t *plan = rlx_plan_peek(infer->served->model, infer->slot->inputs);
    uint64_t cost = plan != NULL ? rlx_plan_cost_ns(plan) : COST_UNKNOWN_NS;

    if (plan != NULL)
        rlx_plan_release(plan);
    return cost == UINT64_MAX ? COST_OPEN_NS : cost;
}

void rlx_infer_submit(rlx_infer_t *infer)
{
    rlx_node_t *node = infer->node;
    rlx_actor_event_t event = {.kind = RLX_EVENT_SUBMIT, .request = infer->request, .model = infer->served->number,
                               .deadline_ns = infer->deadline_ns, .priority = infer->priority == 1, .rows = 1};

    RLX_ASSERT(!infer->submitted);
    infer->submitted = true;
    infer->submit_ns = rlx_clock_ns();
    event.batch_key = batch_key(infer);
    if (event.batch_key != 0)
        event.rows = (uint32_t)infer->slot->inputs[0].tensor.dims[0];
    event.cost_ns = cost_of(infer);
    rlx_node_event(node, &event);
}

void rlx_infer_abandon(rlx_infer_t *infer, rlx_abandon_t why)
{
    rlx_actor_event_t event = {.kind = RLX_EVENT_ABANDON, .request = infer->request};

    RLX_ASSERT(!infer->submitted);
    if (why == RLX_ABANDON_MALFORMED)
        rlx_infer_count(infer, RLX_INVALID_ARGUMENT, RLX_FAIL_MALFORMED);
    else if (why == RLX_ABANDON_GONE)
        rlx_infer_count(infer, RLX_CANCELLED, RLX_FAIL_CANCELLED);
    rlx_node_event(infer->node, &event);
}

void rlx_infer_cancel(rlx_infer_t *infer)
{
    rlx_actor_event_t event = {.kind = RLX_EVENT_CANCEL, .request = infer->request};

    RLX_ASSERT(infer->submitted);
    infer->cancelled = true;
    rlx_infer_count(infer, RLX_CANCELLED, RLX_FAIL_CANCELLED);
    rlx_node_event(infer->node, &event);
}

void rlx_infer_release(rlx_infer_t *infer)
{
    rlx_actor_event_t event = {.kind = RLX_EVENT_REPLIED, .request = infer->request};

    rlx_node_event(infer->node, &event);
}

static void answer_send(rlx_infer_t *infer, rlx_status_t status)
{
    infer->result.status = status;
    infer->result.diag = status != RLX_OK ? &infer->diag : NULL;
    infer->result.model = infer->served->name;
    infer->result.version = infer->served->version;
    infer->result.id = infer->id;
    infer->result.device = "cpu:0";
    infer->result.outputs = infer->binding->answer;
    infer->result.n_outputs = status == RLX_OK ? infer->binding->n_answer : 0;
    infer->result.queue_ns = infer->start_ns > infer->submit_ns ? infer->start_ns - infer->submit_ns : 0;
    infer->result.kernel_ns = infer->kernel_ns;
    infer->answer(infer->context, infer, &infer->result);
}

void rlx_infer_answer_ok(rlx_infer_t *infer)
{
    for (int i = 0; i < infer->binding->n_answer; i++) {
        rlx_infer_answer_output_t *output = &infer->binding->answer[i];
        const rlx_tensor_t *tensor = &infer->slot->outputs[infer->binding->output_of[i]].tensor;
        int64_t count = 0;

        output->tensor = *tensor;
        (void)rlx_dims_count(tensor->dims, tensor->rank, &count);
        output->bytes = (uint64_t)count * rlx_dtype_size(tensor->dtype);
        if (output->place.region != NULL)
            output->tensor.data = NULL;
    }
    answer_send(infer, RLX_OK);
}

void rlx_infer_answer_fail(rlx_infer_t *infer) { answer_send(infer, infer->diag.status); }

/* The request as the trace tells it. */
static void request_trace(const rlx_infer_t *infer)
{
    const rlx_slot_t *slot = infer->slot;
    rlx_status_t status = infer->cancelled || !infer->submitted ? RLX_CANCELLED : infer->result.status;
    rlx_trace_request_t request = {.run = infer->run_number, .id = infer->id, .traceparent = infer->traceparent,
                                   .outcome = rlx_status_name(status), .read_ns = infer->read_ns, .submit_ns = infer->submit_ns,
                                   .start_ns = infer->start_ns, .end_ns = infer->end_ns, .kernel_ns = infer->kernel_ns, .rows = 1};

    if (slot != NULL && infer->served->n_inputs > 0 && slot->inputs[0].tensor.rank > 0)
        request.rows = slot->inputs[0].tensor.dims[0];
    rlx_tracing_request(infer->node->options.tracing, infer->served->number, &request);
}

void rlx_infer_free(rlx_infer_t *infer)
{
    rlx_node_t *node = infer->node;

    if (node->options.tracing != NULL)
        request_trace(infer);
    node->held_bytes -= infer->held_bytes;
    if (infer->binding != NULL)
        rlx_binding_put(node, infer->served, infer->binding);
    if (infer->slot != NULL) {
        node->copies.slot_growths += infer->slot->growths;
        infer->slot->growths = 0;
        rlx_slots_put(node->slots[infer->served->number], infer->slot);
    }
    infer->binding = NULL;
    infer->slot = NULL;
    infer->held_bytes = 0;
}
