/* One table of fields for all parts: the guard checks the shape, the reader takes numbers by their field. */
#include "gss/core/message.h"

#include <string.h>

#include "base/assert.h"
#include "gss/core/mutant.h"
#include "gss/core/record.h"
#include "proto/guard.h"
#include "proto/wire.h"

enum { FIELD_CELL = 24, FIELD_RECORD = 25, FIELD_LOAD = 26 };
enum { CELL_KIND = 1, CELL_A, CELL_B, CELL_VERSION_A, CELL_VERSION_B, CELL_VERSION_C, CELL_BODY };

static const rlx_guard_field_t cell_fields[] = {
    {.number = CELL_KIND, .kind = RLX_GUARD_KIND_SCALAR, .name = "kind"}, {.number = CELL_A, .kind = RLX_GUARD_KIND_SCALAR, .name = "a"},
    {.number = CELL_B, .kind = RLX_GUARD_KIND_SCALAR, .name = "b"},
    {.number = CELL_VERSION_A, .kind = RLX_GUARD_KIND_SCALAR, .name = "version_a"},
    {.number = CELL_VERSION_B, .kind = RLX_GUARD_KIND_SCALAR, .name = "version_b"},
    {.number = CELL_VERSION_C, .kind = RLX_GUARD_KIND_SCALAR, .name = "version_c"},
    {.number = CELL_BODY, .kind = RLX_GUARD_KIND_BYTES, .bytes_max = RLX_GSS_BODY_MAX, .name = "body"},
};
static const rlx_guard_message_t cell_message = {.name = "gss.Cell", .fields = cell_fields, .n_fields = sizeof cell_fields / sizeof *cell_fields};
static const rlx_guard_field_t part_fields[] = {
    {.number = FIELD_CELL, .kind = RLX_GUARD_KIND_MESSAGE, .message = &cell_message, .name = "cells"},
    {.number = FIELD_RECORD, .kind = RLX_GUARD_KIND_BYTES, .bytes_max = RLX_GSS_BODY_MAX, .name = "record"},
    {.number = FIELD_LOAD, .kind = RLX_GUARD_KIND_BYTES, .bytes_max = RLX_GSS_LOAD_MAX, .name = "load"},
};
static const rlx_guard_message_t part_message = {.name = "gss.Part", .fields = part_fields, .n_fields = sizeof part_fields / sizeof *part_fields};
static const rlx_guard_field_t packet_fields[] = {
    {.number = 1, .kind = RLX_GUARD_KIND_SCALAR, .name = "protocol"}, {.number = 2, .kind = RLX_GUARD_KIND_SCALAR, .name = "protocol_min"},
    {.number = RLX_GSS_PART_BEAT, .kind = RLX_GUARD_KIND_MESSAGE, .message = &part_message, .name = "beat"},
    {.number = RLX_GSS_PART_REPLY, .kind = RLX_GUARD_KIND_MESSAGE, .message = &part_message, .name = "reply"},
    {.number = RLX_GSS_PART_PEER, .kind = RLX_GUARD_KIND_MESSAGE, .message = &part_message, .name = "peer"},
};
static const rlx_guard_message_t packet_message = {
    .name = "gss.Packet", .fields = packet_fields, .n_fields = sizeof packet_fields / sizeof *packet_fields};
static const rlx_guard_limits_t limits = {
    .depth_max = 3, .fields_max = 16 * RLX_GSS_CELLS_MAX, .broken = RLX_E_GOSSIP_BROKEN, .above = RLX_E_GOSSIP_BROKEN};

static void cell_number(rlx_gss_cell_t *cell, uint32_t number, uint64_t value)
{
    switch (number) {
    case CELL_KIND: cell->key.kind = (uint32_t)(value <= 255 ? value : 0); break; /* 0 is refused at the join */
    case CELL_A: cell->key.a = value; break;
    case CELL_B: cell->key.b = value; break;
    case CELL_VERSION_A: cell->version.a = value; break;
    case CELL_VERSION_B: cell->version.b = value; break;
    case CELL_VERSION_C: cell->version.c = value; break;
    default: break;
    }
}

static void take_number(rlx_gss_packet_t *packet, const rlx_guard_item_t *item)
{
    if (item->depth == 1 && item->number <= 2)
        *(item->number == 1 ? &packet->head.protocol : &packet->head.protocol_min) = (uint32_t)(item->value < UINT32_MAX ? item->value : UINT32_MAX);
    else if (item->depth == 2 && item->number < RLX_GSS_FIELDS && (item->number < FIELD_CELL || item->number > FIELD_LOAD))
        packet->head.f[item->number] = item->value;
    else if (item->depth == 3)
        cell_number(&packet->cells[packet->n_cells - 1], item->number, item->value);
}

static void take_bytes(rlx_gss_packet_t *packet, const rlx_guard_item_t *item)
{
    if (item->field == NULL)
        return;
    if (item->depth == 3) {
        packet->cells[packet->n_cells - 1].body = item->data;
        packet->cells[packet->n_cells - 1].bytes = (uint32_t)item->bytes;
    } else if (item->number == FIELD_RECORD) {
        packet->head.record = item->data;
        packet->head.record_bytes = (uint32_t)item->bytes;
    } else {
        packet->head.load = item->data;
        packet->head.load_bytes = (uint32_t)item->bytes;
    }
}

/* False: a second part, or too many cells. */
static bool enter(rlx_gss_packet_t *packet, const rlx_guard_item_t *item)
{
    if (item->depth == 1) {
        bool first = packet->head.part == 0;
        packet->head.part = (rlx_gss_part_t)item->number;
        return first;
    }
    if (packet->n_cells == RLX_GSS_CELLS_MAX)
        return false;
    packet->cells[packet->n_cells++] = (rlx_gss_cell_t){0};
    return true;
}

rlx_status_t rlx_gss_packet_decode(const void *data, size_t bytes, rlx_gss_packet_t *out_packet, rlx_diag_t *diag)
{
    rlx_guard_t guard;
    rlx_guard_item_t item;

    memset(out_packet, 0, offsetof(rlx_gss_packet_t, cells));
    if (bytes > RLX_GSS_MESSAGE_MAX)
        return rlx_fail(diag, RLX_E_GOSSIP_BROKEN, "a message of the state service of %zu bytes; at most %d are taken", bytes, RLX_GSS_MESSAGE_MAX);
    rlx_guard_init(&guard, &packet_message, &limits, bytes);
    rlx_guard_feed(&guard, data, bytes);
    for (;;) {
        switch (rlx_guard_next(&guard, &item, diag)) {
        case RLX_GUARD_SCALAR: take_number(out_packet, &item); break;
        case RLX_GUARD_BYTES: take_bytes(out_packet, &item); break;
        case RLX_GUARD_ENTER:
            if (!enter(out_packet, &item))
                return rlx_fail(diag, RLX_E_GOSSIP_BROKEN, "a message with two parts or more than %d cells", RLX_GSS_CELLS_MAX);
            break;
        case RLX_GUARD_LEAVE: break;
        case RLX_GUARD_END:
            return out_packet->head.part != 0 ? RLX_OK : rlx_fail(diag, RLX_E_GOSSIP_BROKEN, "a message without a part that is known");
        default: return rlx_fail(diag, RLX_E_GOSSIP_BROKEN, "a message that ends early");
        }
    }
}

rlx_gss_head_t rlx_gss_head(rlx_gss_part_t part)
{
    return (rlx_gss_head_t){.part = part, .protocol = RLX_GSS_PROTOCOL, .protocol_min = RLX_GSS_PROTOCOL_MIN};
}

size_t rlx_gss_packet_begin(rlx_text_t *out, const rlx_gss_head_t *head)
{
    rlx_wire_uint(out, 1, head->protocol);
    rlx_wire_uint(out, 2, head->protocol_min);
    return rlx_wire_open(out, head->part);
}

void rlx_gss_packet_end(rlx_text_t *out, const rlx_gss_head_t *head, size_t at)
{
    for (uint32_t i = 1; i < RLX_GSS_FIELDS; i++)
        rlx_wire_uint(out, i, head->f[i]);
    if (head->record != NULL)
        rlx_wire_bytes(out, FIELD_RECORD, head->record, head->record_bytes);
    if (head->load != NULL)
        rlx_wire_bytes(out, FIELD_LOAD, head->load, head->load_bytes);
    rlx_wire_close(out, at);
}

void rlx_gss_cell_encode(rlx_text_t *out, uint32_t field, const rlx_gss_cell_t *cell)
{
    size_t at = rlx_wire_open(out, field);

    rlx_wire_uint(out, CELL_KIND, cell->key.kind);
    rlx_wire_uint(out, CELL_A, cell->key.a);
    rlx_wire_uint(out, CELL_B, cell->key.b);
    rlx_wire_uint(out, CELL_VERSION_A, cell->version.a);
    rlx_wire_uint(out, CELL_VERSION_B, cell->version.b);
    rlx_wire_uint(out, CELL_VERSION_C, cell->version.c);
    if (cell->bytes > 0)
        rlx_wire_bytes(out, CELL_BODY, cell->body, cell->bytes);
    rlx_wire_close(out, at);
}

#ifdef RLX_GSS_MUTANTS
/* What a passer-on that decodes and encodes would send. */
static void cell_encode_known(rlx_text_t *out, const rlx_gss_cell_t *cell)
{
    rlx_gss_record_t record;
    rlx_gss_cell_t known = *cell;
    rlx_text_t body;

    rlx_text_init(&body, RLX_GSS_BODY_MAX);
    if (rlx_gss_record_decode(cell->body, cell->bytes, &record))
        rlx_gss_record_encode(&record, &body);
    known.body = (const uint8_t *)body.data;
    known.bytes = (uint32_t)body.bytes;
    rlx_gss_cell_encode(out, FIELD_CELL, &known);
    rlx_text_fini(&body);
}
#endif

void rlx_gss_packet_cell(rlx_text_t *out, const rlx_gss_cell_t *cell)
{
#ifdef RLX_GSS_MUTANTS
    if (RLX_MUTANT(FIELDS_DROPPED) && cell->key.kind == RLX_GSS_NODE) {
        cell_encode_known(out, cell);
        return;
    }
#endif
    rlx_gss_cell_encode(out, FIELD_CELL, cell);
}

bool rlx_gss_cell_decode(const void *data, size_t bytes, rlx_gss_cell_t *out_cell)
{
    rlx_guard_t guard;
    rlx_guard_item_t item;
    rlx_gss_cell_t cell = {0};

    rlx_guard_init(&guard, &cell_message, &limits, bytes);
    rlx_guard_feed(&guard, data, bytes);
    for (;;) {
        switch (rlx_guard_next(&guard, &item, NULL)) {
        case RLX_GUARD_SCALAR: cell_number(&cell, item.number, item.value); break;
        case RLX_GUARD_BYTES:
            if (item.field != NULL) {
                cell.body = item.data;
                cell.bytes = (uint32_t)item.bytes;
            }
            break;
        case RLX_GUARD_END: *out_cell = cell; return true;
        default: return false;
        }
    }
}
