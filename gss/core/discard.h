/* Replicas that were apart while one of them forgot tombstones may differ by what these removed, and a join would bring it back. Who forgets
 * knows when each other replica last had everything (marks in peers.c, kept over restarts as ages), and says so in the first message of a
 * link: MISSED, or MISSED_DURABLE for one that comes from its snapshot. Then one of the two discards its state: the one that reached fewer
 * replicas while they were apart (only a majority evicts); of equals the one that missed something; of those the later in the list. Both
 * decide from the same two messages, so exactly one does.
 *
 * It sends first what is not to be lost: intents, of which the other takes those that it has never seen, and the records of nodes that left,
 * of which the other takes those of nodes that it still has a record of. When all has arrived the state is discarded, and refilled before
 * the replica speaks. No clock of another machine takes part. */
#ifndef RLX_GSS_CORE_DISCARD_H
#define RLX_GSS_CORE_DISCARD_H

#include "gss/core/inside.h"

/* Peer `index` spoke for the first time on its link: is it this replica that discards? */
bool gss_discard_wanted(const rlx_gss_replica_t *replica, uint32_t index, const rlx_gss_head_t *in);
void gss_discard_begin(rlx_gss_replica_t *replica, uint32_t index);
/* Sends the intents. */
void gss_discard_flush(rlx_gss_replica_t *replica);
/* The peer spoke: true when it has the intents, and the state is discarded now. */
bool gss_discard_echo(rlx_gss_replica_t *replica, uint32_t index);
void gss_discard_peer_down(rlx_gss_replica_t *replica, uint32_t index);
/* Everything that peer `index` has is here: what it knows of the others' absences holds for this replica, too. */
void gss_discard_refilled(rlx_gss_replica_t *replica, uint32_t index);

#endif
