/* One reader for both: a table says which field is which text or number. */
#include "gss/core/record.h"

#include <string.h>

#include "proto/guard.h"
#include "proto/wire.h"

#define FIELDS_MAX 256

typedef struct place {
    uint32_t number;
    char *text; /* or: */
    size_t text_max;
    uint64_t *word;
} place_t;

static const rlx_guard_message_t plain = {.name = "gss.Body"};
static const rlx_guard_limits_t limits = {.depth_max = 1, .fields_max = FIELDS_MAX, .broken = RLX_E_GOSSIP_BROKEN, .above = RLX_E_GOSSIP_BROKEN};

static const place_t *place_find(const place_t *places, size_t n, uint32_t number)
{
    for (size_t i = 0; i < n; i++)
        if (places[i].number == number)
            return &places[i];
    return NULL;
}

static bool place_text(const place_t *place, const rlx_guard_item_t *item)
{
    if (item->done != 0 || item->bytes != item->total || item->bytes >= place->text_max)
        return false;
    if (item->bytes == 0)
        return true;
    if (memchr(item->data, 0, item->bytes) != NULL)
        return false;
    memcpy(place->text, item->data, item->bytes);
    place->text[item->bytes] = '\0';
    return true;
}

static bool take(const place_t *place, const rlx_guard_item_t *item, rlx_guard_event_t event)
{
    if (place == NULL)
        return true;
    if (place->text != NULL)
        return event == RLX_GUARD_BYTES && place_text(place, item);
    if (event != RLX_GUARD_SCALAR)
        return false;
    *place->word = item->value;
    return true;
}

static bool decode(const void *body, size_t bytes, const place_t *places, size_t n)
{
    rlx_guard_t guard;
    rlx_guard_item_t item;

    rlx_guard_init(&guard, &plain, &limits, bytes);
    rlx_guard_feed(&guard, body, bytes);
    for (;;) {
        rlx_guard_event_t event = rlx_guard_next(&guard, &item, NULL);
        if (event == RLX_GUARD_END)
            return true;
        if (event != RLX_GUARD_SCALAR && event != RLX_GUARD_BYTES)
            return false;
        if (!take(place_find(places, n, item.number), &item, event))
            return false;
    }
}

void rlx_gss_record_encode(const rlx_gss_record_t *record, rlx_text_t *out)
{
    rlx_wire_string(out, 1, record->name);
    rlx_wire_uint(out, 2, record->state);
    rlx_wire_string(out, 3, record->address);
    rlx_wire_string(out, 4, record->zone);
    rlx_wire_uint(out, 5, record->protocol_min);
    rlx_wire_uint(out, 6, record->protocol_max);
    rlx_wire_uint(out, 7, record->cores);
    rlx_wire_uint(out, 8, record->memory_bytes);
}

bool rlx_gss_record_decode(const void *body, size_t bytes, rlx_gss_record_t *out_record)
{
    rlx_gss_record_t record = {0};
    uint64_t state = 0, protocol_min = 0, protocol_max = 0;
    const place_t places[] = {
        {.number = 1, .text = record.name, .text_max = sizeof record.name}, {.number = 2, .word = &state},
        {.number = 3, .text = record.address, .text_max = sizeof record.address},
        {.number = 4, .text = record.zone, .text_max = sizeof record.zone}, {.number = 5, .word = &protocol_min},
        {.number = 6, .word = &protocol_max}, {.number = 7, .word = &record.cores}, {.number = 8, .word = &record.memory_bytes},
    };

    if (!decode(body, bytes, places, sizeof places / sizeof *places) || record.name[0] == '\0')
        return false;
    record.state = (uint32_t)(state < UINT32_MAX ? state : UINT32_MAX);
    record.protocol_min = (uint32_t)(protocol_min < UINT32_MAX ? protocol_min : UINT32_MAX);
    record.protocol_max = (uint32_t)(protocol_max < UINT32_MAX ? protocol_max : UINT32_MAX);
    *out_record = record;
    return true;
}

void rlx_gss_intent_encode(const rlx_gss_intent_t *intent, rlx_text_t *out)
{
    rlx_wire_uint(out, 1, intent->target);
    rlx_wire_uint(out, 2, intent->kind);
    rlx_wire_string(out, 3, intent->key);
    rlx_wire_string(out, 4, intent->value);
}

bool rlx_gss_intent_decode(const void *body, size_t bytes, rlx_gss_intent_t *out_intent)
{
    rlx_gss_intent_t intent = {0};
    uint64_t kind = 0;
    const place_t places[] = {
        {.number = 1, .word = &intent.target}, {.number = 2, .word = &kind}, {.number = 3, .text = intent.key, .text_max = sizeof intent.key},
        {.number = 4, .text = intent.value, .text_max = sizeof intent.value},
    };

    if (!decode(body, bytes, places, sizeof places / sizeof *places))
        return false;
    intent.kind = (uint32_t)(kind < UINT32_MAX ? kind : UINT32_MAX);
    *out_intent = intent;
    return true;
}

bool rlx_gss_intent_same_key(const rlx_gss_intent_t *x, const rlx_gss_intent_t *y)
{
    return x->kind == y->kind && x->target == y->target && strcmp(x->key, y->key) == 0;
}

const char *rlx_gss_intent_kind_name(uint32_t kind)
{
    static const char *const names[] = {
#define X(id, text) text,
        RLX_GSS_INTENT_KINDS(X)
#undef X
    };
    return kind < RLX_GSS_INTENT_KINDS ? names[kind] : "unknown";
}
