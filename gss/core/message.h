/* Messages of the state service (proto/gss.proto). Every one is a Packet: the sender's protocol range and one part. Reading walks the bytes
 * once with the guard and allocates nothing; cells and texts are borrowed from the message. A message is whole and well formed before any of
 * it is acted on. Fields that this version does not know are skipped here, for a message lives for one hop; those inside bodies stay. */
#ifndef RLX_GSS_CORE_MESSAGE_H
#define RLX_GSS_CORE_MESSAGE_H

#include "base/diag.h"
#include "base/text.h"
#include "gss/core/cell.h"
#include "gss/core/options.h"

typedef enum rlx_gss_part { RLX_GSS_PART_BEAT = 3, RLX_GSS_PART_REPLY = 4, RLX_GSS_PART_PEER = 5 } rlx_gss_part_t;

/* Numbers of a part, by field. They share one space, so that one table reads all three. */
typedef enum rlx_gss_field {
    RLX_GSS_F_SENDER = 1,       /* node, or replica */
    RLX_GSS_F_INCARNATION = 2,  /* BEAT: 0 asks what is known of the node. REPLY: of the record that is held */
    RLX_GSS_F_BOOT = 3,         /* BEAT: of the node. REPLY: of the record that is held */
    RLX_GSS_F_COUNTER = 4,      /* BEAT: of heartbeats. REPLY: the last that is known of the held life */
    RLX_GSS_F_EPOCH = 5,        /* of the sender's serials: its boot. BEAT: the replica's, whose serials are acknowledged */
    RLX_GSS_F_SINCE = 6,        /* the cells are what changed after this serial */
    RLX_GSS_F_SERIAL = 7,       /* and up to this. BEAT: received up to this */
    RLX_GSS_F_DIGEST = 8,       /* of all that the sender holds */
    RLX_GSS_F_STAMP = 9,        /* the sender's clock, to be echoed; nobody else reads anything from it */
    RLX_GSS_F_ECHO = 10,
    RLX_GSS_F_FLAGS = 11,
    RLX_GSS_F_EVICTED = 12,     /* REPLY: the incarnation up to which the node is out */
    RLX_GSS_F_SEQUENCE = 13,    /* BEAT: of the record */
    RLX_GSS_F_BEATS_SINCE = 14, /* PEER: as SINCE and SERIAL, of beats */
    RLX_GSS_F_BEATS_SERIAL = 15,
    RLX_GSS_F_ACK_EPOCH = 16,   /* PEER: what the sender has of the receiver */
    RLX_GSS_F_ACK_SERIAL = 17,
    RLX_GSS_F_ACK_BEATS = 18,
    RLX_GSS_F_ACK_DURABLE = 19, /* PEER: and what of it a snapshot has */
    RLX_GSS_F_TOTAL = 20,       /* PEER: the serial of the sender's newest change */
    RLX_GSS_F_FORGOT_AGE = 21,  /* PEER: of the youngest tombstone that the sender has forgotten, + 1 */
    RLX_GSS_F_GROUP = 22,       /* PEER: bits of the replicas that the sender reached when the link came up, itself among them */
    RLX_GSS_F_HAVE_AGE = 27,    /* PEER, and the seven after it: since replica i had all that the sender has, + 1 */
    RLX_GSS_F_DURABLE_AGE = 35, /* PEER, and the seven after it: since it had that on disk, + 1 */
    RLX_GSS_FIELDS = 43,
} rlx_gss_field_t;

enum rlx_gss_flag {
    RLX_GSS_FLAG_MORE = 1,            /* REPLY, PEER: more cells follow */
    RLX_GSS_FLAG_NOT_READY = 2,       /* REPLY, PEER: the sender has not yet what it needs to speak for the cluster */
    RLX_GSS_FLAG_MINORITY = 4,        /* REPLY: the replica sees half of the replicas or fewer: beat at the others, too */
    RLX_GSS_FLAG_HOLDER_LIVE = 8,     /* REPLY: the life that holds the name was heard from just now */
    RLX_GSS_FLAG_MISSED = 16,         /* PEER: the receiver may lack tombstones that are forgotten; REPLY: likewise: all is sent anew */
    RLX_GSS_FLAG_MISSED_DURABLE = 32, /* PEER: the same for a receiver that comes from its snapshot */
    RLX_GSS_FLAG_RESCUE = 64,         /* PEER: the sender's intents, before it discards everything */
    RLX_GSS_FLAG_INCOMPATIBLE = 128,  /* REPLY: protocol ranges do not meet */
    RLX_GSS_FLAG_LEAVING = 256,       /* BEAT: the last one */
    RLX_GSS_FLAG_FULL = 512,          /* REPLY: the table of nodes is full: not registered */
    RLX_GSS_FLAG_FRESH = 1024,        /* PEER: the first link to the receiver since the sender's start */
};

typedef struct rlx_gss_head {
    rlx_gss_part_t part;
    uint32_t protocol, protocol_min;
    uint64_t f[RLX_GSS_FIELDS];
    const uint8_t *record, *load; /* BEAT: bodies of the record and of the watermarks; NULL: none */
    uint32_t record_bytes, load_bytes;
} rlx_gss_head_t;

typedef struct rlx_gss_packet {
    rlx_gss_head_t head;
    uint32_t n_cells;
    rlx_gss_cell_t cells[RLX_GSS_CELLS_MAX];
} rlx_gss_packet_t;

/* Refuses what is malformed, too large, without exactly one part, or has too many cells. Does not judge the protocol range. */
rlx_status_t rlx_gss_packet_decode(const void *data, size_t bytes, rlx_gss_packet_t *out_packet, rlx_diag_t *diag);

/* A head of `part` with this code's protocol range and no fields. */
rlx_gss_head_t rlx_gss_head(rlx_gss_part_t part);
/* Writing: begin, the cells, end, which writes the head's fields: only then it is known how far the cells reach. Begin returns what end
 * needs. */
size_t rlx_gss_packet_begin(rlx_text_t *out, const rlx_gss_head_t *head);
void rlx_gss_packet_cell(rlx_text_t *out, const rlx_gss_cell_t *cell);
void rlx_gss_packet_end(rlx_text_t *out, const rlx_gss_head_t *head, size_t at);

/* One cell as its own message, for snapshots. */
bool rlx_gss_cell_decode(const void *data, size_t bytes, rlx_gss_cell_t *out_cell);
void rlx_gss_cell_encode(rlx_text_t *out, uint32_t field, const rlx_gss_cell_t *cell);

#endif
