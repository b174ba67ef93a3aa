/* Bodies stand in order and apart, so that each byte is checked at most once per level, and levels are bounded. A call gives its body as
 * many inputs, and takes as many outputs, of the same types and ranks, as the body has; extents are compared when it runs. */
#include <inttypes.h>

#include "bundle/program_check.h"

typedef struct calls {
    const rlx_program_header_t *header;
    const rlx_program_value_t *values;
    const uint32_t *operands;
    const rlx_program_step_t *step;
    uint64_t index; /* of the step */
    rlx_diag_t *diag;
} calls_t;

#define BAD(diag, ...) rlx_fail((diag), RLX_E_BUNDLE_MALFORMED, "program: " __VA_ARGS__)

static rlx_status_t check_bodies(const rlx_program_header_t *header, uint64_t const_bytes, int depth, rlx_diag_t *diag)
{
    const rlx_program_body_t *bodies;
    uint64_t end = sizeof *header;

    if (rlx_program_bodies(header) == 0) /* an earlier minor has no such table */
        return RLX_OK;
    bodies = RLX_PROGRAM_TABLE(rlx_program_body_t, header, bodies);
    if (depth >= RLX_PROGRAM_DEPTH_MAX)
        return BAD(diag, "bodies nest more than %d deep", RLX_PROGRAM_DEPTH_MAX);
    for (uint32_t i = 0; i < rlx_program_bodies(header); i++) {
        if (bodies[i].offset % 8 != 0 || bodies[i].offset < end || bodies[i].offset > header->bytes ||
            bodies[i].bytes > header->bytes - bodies[i].offset)
            return BAD(diag, "body %u lies outside, or over another", i);
        end = bodies[i].offset + bodies[i].bytes;
        if (rlx_program_check_depth((const char *)header + bodies[i].offset, bodies[i].bytes, const_bytes, depth + 1, diag) != RLX_OK)
            return rlx_diag_at(diag, "body %u", i);
    }
    return RLX_OK;
}

/* `count` operands of the step from `first` on are of the types of the body's ports [port, port + count). */
static rlx_status_t check_ports(const calls_t *c, const rlx_program_header_t *body, const rlx_table_t *ports, uint64_t port, uint32_t first,
                                uint64_t count)
{
    const rlx_program_value_t *values = RLX_PROGRAM_TABLE(rlx_program_value_t, body, values);
    const uint32_t *ids = (const uint32_t *)((const char *)body + ports->offset);

    for (uint64_t i = 0; i < count; i++) {
        const rlx_program_value_t *outer = &c->values[c->operands[c->step->operands + first + i]], *inner = &values[ids[port + i]];

        if (outer->kind == RLX_VALUE_ABSENT && ports == &body->outputs)
            continue; /* nobody asked for it */
        if (outer->kind == RLX_VALUE_ABSENT || outer->dtype != inner->dtype || outer->layout != RLX_LAYOUT_ROW_MAJOR)
            return BAD(c->diag, "step %" PRIu64 ": operand %" PRIu64 " does not fit its body", c->index, first + i);
    }
    return RLX_OK;
}

static rlx_status_t check_ranks(const calls_t *c, const rlx_program_header_t *body, const rlx_table_t *ports, uint64_t port, uint32_t first,
                                uint64_t count, uint32_t more)
{
    const rlx_program_value_t *values = RLX_PROGRAM_TABLE(rlx_program_value_t, body, values);
    const uint32_t *ids = (const uint32_t *)((const char *)body + ports->offset);

    RLX_TRY(check_ports(c, body, ports, port, first, count));
    for (uint64_t i = 0; i < count; i++) {
        const rlx_program_value_t *outer = &c->values[c->operands[c->step->operands + first + i]];

        if (outer->kind != RLX_VALUE_ABSENT && outer->rank != values[ids[port + i]].rank + more)
            return BAD(c->diag, "step %" PRIu64 ": operand %" PRIu64 " has another rank than in its body", c->index, first + i);
    }
    return RLX_OK;
}

/* The body that parameter `param` names; NULL when there is none. */
static const rlx_program_header_t *body_of(const calls_t *c, uint32_t param)
{
    const int64_t *params = RLX_PROGRAM_TABLE(int64_t, c->header, params) + c->step->params;

    if (params[param] < 0 || params[param] >= (int64_t)rlx_program_bodies(c->header))
        return NULL;
    return rlx_program_body(c->header, (uint32_t)params[param]);
}

static bool operand_is(const calls_t *c, uint32_t index, rlx_dtype_t dtype, bool or_absent)
{
    const rlx_program_value_t *value = &c->values[c->operands[c->step->operands + index]];

    return (or_absent && value->kind == RLX_VALUE_ABSENT) || (value->kind != RLX_VALUE_ABSENT && value->dtype == (uint32_t)dtype);
}

static const rlx_program_value_t *port_of(const rlx_program_header_t *body, const rlx_table_t *ports, uint64_t index)
{
    return &RLX_PROGRAM_TABLE(rlx_program_value_t, body, values)[((const uint32_t *)((const char *)body + ports->offset))[index]];
}

static bool port_is(const rlx_program_header_t *body, const rlx_table_t *ports, uint64_t index, rlx_dtype_t dtype)
{
    return port_of(body, ports, index)->dtype == (uint32_t)dtype;
}

static rlx_status_t check_if(const calls_t *c)
{
    const rlx_program_header_t *bodies[2] = {body_of(c, 0), body_of(c, 1)};
    uint32_t first = 1;

    if (bodies[0] == NULL || bodies[1] == NULL)
        return BAD(c->diag, "step %" PRIu64 ": its body does not exist", c->index);
    if (c->step->n_in != 1 + bodies[0]->inputs.count + bodies[1]->inputs.count || c->step->n_out != bodies[0]->outputs.count ||
        c->step->n_out != bodies[1]->outputs.count || !operand_is(c, 0, RLX_BOOL, false))
        return BAD(c->diag, "step %" PRIu64 ": operands do not fit the branches", c->index);
    for (int i = 0; i < 2; i++) {
        RLX_TRY(check_ranks(c, bodies[i], &bodies[i]->inputs, 0, first, bodies[i]->inputs.count, 0));
        RLX_TRY(check_ranks(c, bodies[i], &bodies[i]->outputs, 0, c->step->n_in, c->step->n_out, 0));
        first += (uint32_t)bodies[i]->inputs.count;
    }
    return RLX_OK;
}

static rlx_status_t check_loop(const calls_t *c)
{
    const rlx_program_header_t *body = body_of(c, 0);
    int64_t carried = RLX_PROGRAM_TABLE(int64_t, c->header, params)[c->step->params + 1];

    if (body == NULL)
        return BAD(c->diag, "step %" PRIu64 ": its body does not exist", c->index);
    if (carried < 0 || c->step->n_in < 2 || carried > (int64_t)c->step->n_in - 2 || carried > (int64_t)c->step->n_out ||
        c->step->n_in != body->inputs.count || c->step->n_out + UINT64_C(1) != body->outputs.count ||
        !operand_is(c, 0, RLX_I64, true) || !operand_is(c, 1, RLX_BOOL, true) || !port_is(body, &body->inputs, 0, RLX_I64) ||
        !port_is(body, &body->inputs, 1, RLX_BOOL) || !port_is(body, &body->outputs, 0, RLX_BOOL))
        return BAD(c->diag, "step %" PRIu64 ": operands do not fit the loop's body", c->index);
    RLX_TRY(check_ranks(c, body, &body->inputs, 2, 2, c->step->n_in - 2, 0));
    RLX_TRY(check_ranks(c, body, &body->outputs, 1, c->step->n_in, (uint64_t)carried, 0));
    for (uint64_t i = 0; i < (uint64_t)carried; i++) { /* what comes out goes in again */
        const rlx_program_value_t *in = port_of(body, &body->inputs, i + 2), *out = port_of(body, &body->outputs, i + 1);

        if (in->dtype != out->dtype || in->rank != out->rank)
            return BAD(c->diag, "step %" PRIu64 ": carried value %" PRIu64 " changes its type", c->index, i);
    }
    return check_ranks(c, body, &body->outputs, 1 + (uint64_t)carried, c->step->n_in + (uint32_t)carried,
                       c->step->n_out - (uint32_t)carried, 1);
}

rlx_status_t rlx_program_check_calls(const rlx_program_header_t *header, uint64_t const_bytes, int depth, rlx_diag_t *diag)
{
    const rlx_program_step_t *steps = RLX_PROGRAM_TABLE(rlx_program_step_t, header, steps);
    calls_t c = {.header = header, .values = RLX_PROGRAM_TABLE(rlx_program_value_t, header, values),
                 .operands = RLX_PROGRAM_TABLE(uint32_t, header, operands), .diag = diag};

    RLX_TRY(check_bodies(header, const_bytes, depth, diag));
    for (uint64_t i = 0; i < header->steps.count; i++) {
        if (!rlx_step_is_call(&steps[i]))
            continue;
        c.step = &steps[i];
        c.index = i;
        if (steps[i].n_params != 2 || steps[i].n_patches != 0)
            return BAD(diag, "step %" PRIu64 ": a call has two constant parameters", i);
        RLX_TRY(steps[i].kernel == RLX_CALL_IF ? check_if(&c) : check_loop(&c));
    }
    return RLX_OK;
}
