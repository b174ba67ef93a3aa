/* A slot: the memory that one request's tensors are read into and answered from. Slots of a model are reused, and grow to what its requests
 * need. How many there are is bounded by the requests that may be in the server, their inputs by the node's request memory; what idle ones
 * keep is bounded in slot.c. */
#ifndef RLX_DAEMON_POOL_SLOT_H
#define RLX_DAEMON_POOL_SLOT_H

#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "daemon/memory/regions.h"
#include "exec/executor.h"

/* Bytes that move between a system shared-memory region and a slot, on the worker: inputs before the run, outputs after it. */
typedef struct rlx_slot_move {
    rlx_region_t *region; /* borrowed: the request uses it */
    uint64_t offset, bytes;
    int port;             /* input or output of the model */
} rlx_slot_move_t;

/* One request's memory and tensors: reused, grown when needed (counted). Written by the loop until submitted, by a worker while running.
 * Inputs: the loop has set every inputs[i] (type, extents, data), those of `reads` too. Outputs: the loop sets data only where a sealed
 * region takes the output (capacity in `room`); the worker sets type and extents and, elsewhere, memory of the slot behind the inputs.
 * An output that is larger than its room fails this request (RLX_E_REGION_RANGE, both numbers). */
typedef struct rlx_slot {
    rlx_io_t *inputs, *outputs; /* in the model's order */
    uint64_t *room;             /* by output: bytes at outputs[i].tensor.data; 0: slot memory */
    char *memory;               /* 64-byte aligned */
    size_t memory_bytes;
    size_t inputs_end;          /* bytes that inputs take; outputs follow */
    rlx_slot_move_t *reads, *writes; /* room for one per port */
    int n_reads, n_writes;
    rlx_status_t status;        /* of this request, set by the worker: one bad request of a batch does not hurt the others */
    rlx_diag_t diag;
    uint64_t growths;           /* times that memory was allocated since the node last counted */
    struct rlx_slot *next;      /* in its free list */
} rlx_slot_t;

/* The slots of one model: a free list that grows to the most requests that were ever in flight. Loop thread. */
typedef struct rlx_slots rlx_slots_t;
rlx_slots_t *rlx_slots_create(int n_inputs, int n_outputs); /* NULL: no memory */
void rlx_slots_destroy(rlx_slots_t *slots);                 /* all are back */
rlx_slot_t *rlx_slots_get(rlx_slots_t *slots, size_t inputs_bytes); /* memory for the inputs at least; NULL: no memory */
void rlx_slots_put(rlx_slots_t *slots, rlx_slot_t *slot);
/* Room for `bytes` in the slot's memory. What lies in it moves when it grows: the first inputs_end bytes and the `n_inputs` inputs'
 * pointers into it. Whoever has the slot. */
rlx_status_t rlx_slot_reserve(rlx_slot_t *slot, int n_inputs, size_t bytes);

#endif
