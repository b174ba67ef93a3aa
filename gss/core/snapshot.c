/* Body (proto/gss.proto: Snapshot): fields of the replica, then one Saved per topology cell, oldest change first, so that reading in order
 * gives the order of serials back. Beats are not saved: liveness starts anew with the process. */
#include "gss/core/snapshot.h"

#include <inttypes.h>
#include <string.h>

#include "base/digest.h"
#include "gss/core/inside.h"
#include "proto/guard.h"
#include "proto/wire.h"

typedef struct head {
    char magic[8];
    uint32_t format, zero;
    uint64_t generation, bytes;
    uint64_t digest[2]; /* XXH3-128 of the body, then xored with the generation, so that a head of another generation does not fit */
} head_t;
_Static_assert(sizeof(head_t) == 48, "the head is written as it lies");

enum { SNAPSHOT_FORGOT_AGE = 1, SNAPSHOT_PEER = 2, SNAPSHOT_SAVED = 3, SNAPSHOT_FORGOT = 4 };
enum { PEER_ID = 1, PEER_HAVE_AGE = 2, PEER_DURABLE_AGE = 3 };
enum { SAVED_CELL = 1, SAVED_AGE = 2 };

static const char magic[8] = {'R', 'L', 'X', 'G', 'S', 'S', '\r', '\n'};
static const rlx_guard_field_t saved_fields[] = {
    {.number = SAVED_CELL, .kind = RLX_GUARD_KIND_BYTES, .bytes_max = 2 * RLX_GSS_BODY_MAX, .name = "cell"},
};
static const rlx_guard_message_t saved_message = {.name = "gss.Saved", .fields = saved_fields, .n_fields = 1};
static const rlx_guard_message_t peer_message = {.name = "gss.SavedPeer"};
static const rlx_guard_field_t snapshot_fields[] = {
    {.number = SNAPSHOT_PEER, .kind = RLX_GUARD_KIND_MESSAGE, .message = &peer_message, .name = "peer"},
    {.number = SNAPSHOT_SAVED, .kind = RLX_GUARD_KIND_MESSAGE, .message = &saved_message, .name = "saved"},
};
static const rlx_guard_message_t snapshot_message = {.name = "gss.Snapshot", .fields = snapshot_fields, .n_fields = 2};
static const rlx_guard_limits_t limits = {
    .depth_max = 2, .fields_max = UINT32_MAX, .broken = RLX_E_GSS_SNAPSHOT_BROKEN, .above = RLX_E_GSS_SNAPSHOT_BROKEN};

static uint64_t age(const rlx_gss_replica_t *replica, uint64_t then_ms) { return gss_now(replica) - then_ms; }

static void saved_encode(const rlx_gss_replica_t *replica, const rlx_gss_entry_t *entry, rlx_text_t *out)
{
    size_t at = rlx_wire_open(out, SNAPSHOT_SAVED);

    rlx_gss_cell_encode(out, SAVED_CELL, &entry->cell);
    rlx_wire_uint(out, SAVED_AGE, age(replica, entry->changed_ms));
    rlx_wire_close(out, at);
}

static void body_encode(const rlx_gss_replica_t *replica, rlx_text_t *out)
{
    const rlx_gss_store_t *store = &replica->state.store;

    rlx_wire_bool(out, SNAPSHOT_FORGOT, replica->state.forgot_ms != 0);
    rlx_wire_uint(out, SNAPSHOT_FORGOT_AGE, replica->state.forgot_ms != 0 ? age(replica, replica->state.forgot_ms) : 0);
    for (uint32_t i = 0; i < replica->n_replicas; i++) {
        size_t at = rlx_wire_open(out, SNAPSHOT_PEER);
        rlx_wire_uint(out, PEER_ID, replica->peers[i].id);
        rlx_wire_uint(out, PEER_HAVE_AGE, age(replica, replica->peers[i].have_ms));
        rlx_wire_uint(out, PEER_DURABLE_AGE, age(replica, replica->peers[i].durable_ms));
        rlx_wire_close(out, at);
    }
    for (const rlx_gss_entry_t *entry = rlx_gss_store_after(store, RLX_GSS_TOPOLOGY, 0); entry != NULL; entry = rlx_gss_store_next(store, entry))
        saved_encode(replica, entry, out);
}

bool rlx_gss_replica_snapshot(rlx_gss_replica_t *replica, rlx_text_t *out)
{
    size_t at = out->bytes;
    head_t head = {.format = RLX_GSS_SNAPSHOT_FORMAT, .generation = ++replica->generation};

    rlx_text_add(out, &head, sizeof head);
    body_encode(replica, out);
    if (out->full)
        return false;
    memcpy(head.magic, magic, sizeof magic);
    head.bytes = out->bytes - at - sizeof head;
    rlx_digest_xxh3(out->data + at + sizeof head, head.bytes, head.digest);
    head.digest[0] ^= head.generation;
    memcpy(out->data + at, &head, sizeof head);
    return true;
}

rlx_status_t rlx_gss_snapshot_check(const void *data, size_t bytes, uint64_t *out_generation, rlx_diag_t *diag)
{
    head_t head;
    uint64_t digest[2];

    if (bytes < sizeof head || memcmp(data, magic, sizeof magic) != 0)
        return rlx_fail(diag, RLX_E_GSS_SNAPSHOT_BROKEN, "a snapshot of %zu bytes that does not begin like one", bytes);
    memcpy(&head, data, sizeof head);
    if (head.format > RLX_GSS_SNAPSHOT_FORMAT)
        return rlx_fail(diag, RLX_E_GSS_SNAPSHOT_NEWER, "the snapshot has format %" PRIu32 "; this program knows formats up to %d", head.format,
                        RLX_GSS_SNAPSHOT_FORMAT);
    if (head.bytes != bytes - sizeof head)
        return rlx_fail(diag, RLX_E_GSS_SNAPSHOT_BROKEN, "the snapshot announces %" PRIu64 " bytes and has %zu", head.bytes, bytes - sizeof head);
    rlx_digest_xxh3((const char *)data + sizeof head, head.bytes, digest);
    if ((digest[0] ^ head.generation) != head.digest[0] || digest[1] != head.digest[1] || head.zero != 0 || head.format == 0)
        return rlx_fail(diag, RLX_E_GSS_SNAPSHOT_BROKEN, "generation %" PRIu64 " of the snapshot does not match its digest", head.generation);
    *out_generation = head.generation;
    return RLX_OK;
}

int rlx_gss_snapshot_pick(const void *first, size_t first_bytes, const void *second, size_t second_bytes, rlx_diag_t *diag)
{
    uint64_t generations[2] = {0};
    rlx_diag_t whys[2] = {0};
    bool good[2] = {
        first_bytes > 0 && rlx_gss_snapshot_check(first, first_bytes, &generations[0], &whys[0]) == RLX_OK,
        second_bytes > 0 && rlx_gss_snapshot_check(second, second_bytes, &generations[1], &whys[1]) == RLX_OK,
    };

    for (int i = 0; i < 2; i++)
        if (whys[i].code == RLX_E_GSS_SNAPSHOT_NEWER || (whys[i].code != RLX_E_NONE && !good[1 - i])) {
            rlx_fail(diag, whys[i].code, "%s", whys[i].message);
            return -1;
        }
    if (!good[0] && !good[1])
        return -1;
    if (!good[0] || !good[1])
        return good[1];
    return (generations[1] > generations[0]) != RLX_MUTANT(OLD_SNAPSHOT);
}

typedef struct reader {
    rlx_gss_replica_t *replica;
    uint64_t saved_age, forgot_age, peer_id, peer_have, peer_durable;
    bool forgot;
    const uint8_t *cell;
    size_t cell_bytes;
} reader_t;

static void read_number(reader_t *reader, const rlx_guard_item_t *item)
{
    if (item->depth == 1) {
        if (item->number == SNAPSHOT_FORGOT_AGE)
            reader->forgot_age = item->value;
        if (item->number == SNAPSHOT_FORGOT)
            reader->forgot = item->value != 0;
        return;
    }
    if (item->message == &saved_message && item->number == SAVED_AGE)
        reader->saved_age = item->value;
    if (item->message == &peer_message && item->number >= PEER_ID && item->number <= PEER_DURABLE_AGE)
        *(item->number == PEER_ID ? &reader->peer_id : item->number == PEER_HAVE_AGE ? &reader->peer_have : &reader->peer_durable) = item->value;
}

static uint64_t then(const rlx_gss_replica_t *replica, uint64_t aged_ms)
{
    return gss_now(replica) - (aged_ms < GSS_AWAKE_START / 2 ? aged_ms : GSS_AWAKE_START / 2);
}

static void read_peer(reader_t *reader)
{
    for (uint32_t i = 0; i < reader->replica->n_replicas; i++) {
        gss_peer_t *peer = &reader->replica->peers[i];
        if (peer->id != reader->peer_id)
            continue;
        peer->have_ms = then(reader->replica, reader->peer_have);
        peer->durable_ms = then(reader->replica, reader->peer_durable);
    }
}

static bool read_saved(reader_t *reader)
{
    rlx_gss_cell_t cell;

    if (reader->cell == NULL || !rlx_gss_cell_decode(reader->cell, reader->cell_bytes, &cell))
        return false;
    return rlx_gss_state_join(&reader->replica->state, &cell, RLX_GSS_NONE, then(reader->replica, reader->saved_age)) != RLX_GSS_JOINED_BAD;
}

static bool read_end(reader_t *reader, const rlx_guard_item_t *item)
{
    if (item->field->message == &peer_message) {
        read_peer(reader);
        return true;
    }
    return read_saved(reader);
}

static rlx_status_t read_body(reader_t *reader, const uint8_t *data, size_t bytes, rlx_diag_t *diag)
{
    rlx_guard_t guard;
    rlx_guard_item_t item;

    rlx_guard_init(&guard, &snapshot_message, &limits, bytes);
    rlx_guard_feed(&guard, data, bytes);
    for (;;) {
        switch (rlx_guard_next(&guard, &item, diag)) {
        case RLX_GUARD_ENTER:
            reader->saved_age = reader->peer_id = reader->peer_have = reader->peer_durable = 0;
            reader->cell = NULL;
            break;
        case RLX_GUARD_SCALAR: read_number(reader, &item); break;
        case RLX_GUARD_BYTES:
            if (item.field != NULL) {
                reader->cell = item.data;
                reader->cell_bytes = item.bytes;
            }
            break;
        case RLX_GUARD_LEAVE:
            if (!read_end(reader, &item))
                return rlx_fail(diag, RLX_E_GSS_SNAPSHOT_BROKEN, "the snapshot has a cell that cannot be read, before byte %" PRIu64, guard.offset);
            break;
        case RLX_GUARD_END: return RLX_OK;
        default: return rlx_fail(diag, RLX_E_GSS_SNAPSHOT_BROKEN, "the snapshot ends early");
        }
    }
}

rlx_status_t gss_snapshot_read(rlx_gss_replica_t *replica, const void *data, size_t bytes, rlx_diag_t *diag)
{
    reader_t reader = {.replica = replica};

    RLX_TRY(rlx_gss_snapshot_check(data, bytes, &replica->generation, diag));
    RLX_TRY(read_body(&reader, (const uint8_t *)data + sizeof(head_t), bytes - sizeof(head_t), diag));
    if (reader.forgot)
        replica->state.forgot_ms = then(replica, reader.forgot_age);
    return RLX_OK;
}
