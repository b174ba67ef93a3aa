/* Extents are checked against the model's ports and the declared bounds of its symbols here, so that a request of a wrong size is refused
 * before its bytes are read; what remains (relations between inputs) the executor checks when the plan is made. */
#include "daemon/node/infer_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "daemon/node/state.h"
#include "rpc/message/datatype.h"

_Static_assert(RLX_MODEL_PORTS_MAX <= RLX_INFER_PORTS_MAX, "a request can name every port of every model");

/* "a, b, c" for messages: the names of a model's ports. */
static const char *ports_list(const rlx_served_port_t *ports, int n, char *buffer, size_t bytes)
{
    size_t at = 0;

    buffer[0] = '\0';
    for (int i = 0; i < n && at + 1 < bytes; i++) {
        int wrote = snprintf(buffer + at, bytes - at, "%s'%.64s'", i > 0 ? ", " : "", ports[i].name);

        at = wrote < 0 ? bytes : at + (size_t)wrote;
    }
    return buffer;
}

static int port_find(const rlx_served_port_t *ports, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(ports[i].name, name) == 0)
            return i;
    return -1;
}

static const char *dims_text(const int64_t *dims, int rank, char *buffer, size_t bytes)
{
    size_t at = (size_t)snprintf(buffer, bytes, "[");

    for (int i = 0; i < rank && at < bytes; i++)
        at += (size_t)snprintf(buffer + at, bytes - at, dims[i] < 0 ? "%s?" : "%s%" PRId64, i > 0 ? "," : "", dims[i]);
    if (at < bytes)
        snprintf(buffer + at, bytes - at, "]");
    return buffer;
}

/* Type, rank and extents of the head's input `index` against the model's port. */
static rlx_status_t input_check(rlx_infer_plan_t *plan, int index, rlx_diag_t *diag)
{
    const rlx_infer_input_t *input = &plan->head->inputs[index];
    const rlx_served_port_t *port = &plan->served->inputs[plan->input_of[index]];
    rlx_dtype_t dtype = rlx_datatype_parse(input->datatype);
    char have[192], want[192];
    int64_t count;

    if (dtype != port->dtype)
        return rlx_fail(diag, RLX_E_INPUT_DTYPE, "input '%s' of model '%s' is %s, the request has '%.32s'", port->name, plan->served->name,
                        rlx_datatype_name(port->dtype), input->datatype);
    dims_text(port->dims, port->rank, want, sizeof want);
    dims_text(input->dims, input->rank, have, sizeof have);
    if (input->rank != port->rank)
        return rlx_fail(diag, RLX_E_INPUT_SHAPE, "input '%s' of model '%s' has shape %s, the request has %s", port->name,
                        plan->served->name, want, have);
    for (int axis = 0; axis < input->rank; axis++)
        if (input->dims[axis] < 0 || (port->dims[axis] >= 0 && port->dims[axis] != input->dims[axis]))
            return rlx_fail(diag, RLX_E_INPUT_SHAPE, "input '%s' of model '%s' has shape %s, the request has %s (axis %d)", port->name,
                            plan->served->name, want, have, axis);
    if (!rlx_dims_count(input->dims, input->rank, &count) || !rlx_size_mul(count, (int64_t)rlx_dtype_size(dtype), &count))
        return rlx_fail(diag, RLX_E_PLAN_OVERFLOW, "input '%s' of shape %s has more bytes than a number holds", port->name, have);
    plan->bytes[index] = (uint64_t)count;
    return RLX_OK;
}

/* The bytes of an input must be its size exactly, wherever they are. */
static rlx_status_t input_bytes_check(rlx_infer_plan_t *plan, int index, rlx_diag_t *diag)
{
    const rlx_infer_input_t *input = &plan->head->inputs[index];
    uint64_t want = plan->bytes[index];

    if (input->place.region != NULL) {
        if (input->place.bytes != want)
            return rlx_fail(diag, RLX_E_REGION_RANGE, "input '%s' needs %" PRIu64 " bytes, the request gives %" PRIu64 " in region '%s'",
                            input->name, want, input->place.bytes, input->place.region);
    } else if (input->bytes_given != UINT64_MAX && input->bytes_given != want) {
        char shape[192];

        return rlx_fail(diag, RLX_E_INPUT_SHAPE, "input '%s' of shape %s needs %" PRIu64 " bytes, the request has %" PRIu64, input->name,
                        dims_text(input->dims, input->rank, shape, sizeof shape), want, input->bytes_given);
    }
    return RLX_OK;
}

/* Which model input each of the head's is: all there, none twice, none besides. */
static rlx_status_t inputs_match(rlx_infer_plan_t *plan, rlx_diag_t *diag)
{
    const rlx_served_t *served = plan->served;
    const rlx_infer_head_t *head = plan->head;
    bool seen[RLX_INFER_PORTS_MAX] = {false};
    char names[512];

    for (int i = 0; i < head->n_inputs; i++) {
        int port = plan->input_of[i] = port_find(served->inputs, served->n_inputs, head->inputs[i].name);

        if (port < 0)
            return rlx_fail(diag, RLX_E_INPUT_NAME, "model '%s' has no input '%.64s'; it has %s", served->name, head->inputs[i].name,
                            ports_list(served->inputs, served->n_inputs, names, sizeof names));
        if (seen[port])
            return rlx_fail(diag, RLX_E_INPUT_NAME, "input '%s' stands twice in the request", served->inputs[port].name);
        seen[port] = true;
        RLX_TRY(input_check(plan, i, diag));
        RLX_TRY(input_bytes_check(plan, i, diag));
        if (head->inputs[i].place.region == NULL)
            plan->in_slot += rlx_infer_align(plan->bytes[i]);
    }
    for (int i = 0; i < served->n_inputs; i++)
        if (!seen[i])
            return rlx_fail(diag, RLX_E_INPUT_NAME, "input '%s' of model '%s' is missing; it needs %s", served->inputs[i].name,
                            served->name, ports_list(served->inputs, served->n_inputs, names, sizeof names));
    return RLX_OK;
}

static rlx_status_t outputs_match(rlx_infer_plan_t *plan, rlx_diag_t *diag)
{
    const rlx_served_t *served = plan->served;
    const rlx_infer_head_t *head = plan->head;
    bool seen[RLX_INFER_PORTS_MAX] = {false};
    char names[512];

    for (int i = 0; i < head->n_outputs; i++) {
        int port = plan->output_of[i] = port_find(served->outputs, served->n_outputs, head->outputs[i].name);

        if (port < 0)
            return rlx_fail(diag, RLX_E_OUTPUT_NAME, "model '%s' has no output '%.64s'; it has %s", served->name, head->outputs[i].name,
                            ports_list(served->outputs, served->n_outputs, names, sizeof names));
        if (seen[port])
            return rlx_fail(diag, RLX_E_OUTPUT_NAME, "output '%s' is asked for twice", served->outputs[port].name);
        seen[port] = true;
    }
    return RLX_OK;
}

/* Extents against the bounds of the symbols that they set: the declared maxima among them. */
static rlx_status_t bounds_check(const rlx_infer_plan_t *plan, rlx_diag_t *diag)
{
    const rlx_program_header_t *program = rlx_model_program(plan->served->model);
    const rlx_program_symbol_t *symbols = RLX_PROGRAM_TABLE(rlx_program_symbol_t, program, symbols);
    const uint32_t *inputs = RLX_PROGRAM_TABLE(uint32_t, program, inputs);

    for (int i = 0; i < plan->head->n_inputs; i++)
        for (uint64_t s = 0; s < program->symbols.count; s++) {
            const rlx_program_symbol_t *symbol = &symbols[s];
            int64_t extent;

            if (symbol->source != RLX_SYMBOL_INPUT_AXIS || symbol->value != inputs[plan->input_of[i]])
                continue;
            extent = plan->head->inputs[i].dims[symbol->index];
            if (extent > symbol->max)
                return rlx_fail(diag, RLX_E_INPUT_MAXIMUM, "input '%s' axis %u is %" PRId64 ", the %s maximum of '%s' is %" PRId64,
                                plan->head->inputs[i].name, symbol->index, extent, symbol->declared ? "declared" : "largest accepted",
                                rlx_model_string(plan->served->model, symbol->name), symbol->max);
            if (extent < symbol->min)
                return rlx_fail(diag, RLX_E_INPUT_SHAPE, "input '%s' axis %u is %" PRId64 ", at least %" PRId64 " is needed",
                                plan->head->inputs[i].name, symbol->index, extent, symbol->min);
        }
    return RLX_OK;
}

/* Checks that need no memory. On failure the model's statistics have one failure more, or the node's where no model is meant. That the
 * node drains is told at open, where it is counted; here only when the name says nothing any more. */
rlx_status_t rlx_infer_check(rlx_node_t *node, const rlx_infer_head_t *head, rlx_infer_plan_t *out_plan, rlx_diag_t *diag)
{
    rlx_status_t status;

    out_plan->head = head;
    out_plan->in_slot = 0;
    status = rlx_models_find(node->models, head->model, head->version, &out_plan->served, diag);
    if (status != RLX_OK) {
        rlx_infer_count_malformed(node);
        return node->draining ? rlx_fail(diag, RLX_E_DRAINING, "the server is stopping and takes no new requests") : status;
    }
    if (head->n_inputs > RLX_INFER_PORTS_MAX || head->n_outputs > RLX_INFER_PORTS_MAX)
        status = rlx_fail(diag, RLX_E_REQUEST_MALFORMED, "a request has at most %d inputs and outputs", RLX_INFER_PORTS_MAX);
    else if ((status = inputs_match(out_plan, diag)) == RLX_OK && (status = outputs_match(out_plan, diag)) == RLX_OK)
        status = bounds_check(out_plan, diag);
    if (status != RLX_OK)
        out_plan->served->stats->fail[RLX_FAIL_INPUT]++;
    return status;
}
