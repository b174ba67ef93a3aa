/* Slots: one allocation for tables, one for memory. A slot that comes back keeps its memory, up to IDLE_MAX bytes over all idle
 * slots of a model; what is above is given back to the system. */
#include "daemon/pool/slot.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

#define IDLE_MAX ((size_t)256 << 20)
#define ALIGN 64

struct rlx_slots {
    int n_inputs, n_outputs;
    rlx_slot_t *idle;
    size_t idle_bytes;
    int out;
};

static size_t round_up(size_t bytes) { return (bytes + ALIGN - 1) / ALIGN * ALIGN; }

rlx_slots_t *rlx_slots_create(int n_inputs, int n_outputs)
{
    rlx_slots_t *slots = calloc(1, sizeof *slots);

    if (slots == NULL)
        return NULL;
    slots->n_inputs = n_inputs;
    slots->n_outputs = n_outputs;
    return slots;
}

static void slot_free(rlx_slot_t *slot)
{
    free(slot->memory);
    free(slot);
}

void rlx_slots_destroy(rlx_slots_t *slots)
{
    if (slots == NULL)
        return;
    RLX_ASSERT(slots->out == 0);
    while (slots->idle != NULL) {
        rlx_slot_t *slot = slots->idle;

        slots->idle = slot->next;
        slot_free(slot);
    }
    free(slots);
}

static rlx_slot_t *slot_create(const rlx_slots_t *slots)
{
    size_t n_in = (size_t)slots->n_inputs, n_out = (size_t)slots->n_outputs;
    rlx_slot_t *slot = calloc(1, sizeof *slot + (n_in + n_out) * (sizeof(rlx_io_t) + sizeof(rlx_slot_move_t)) + n_out * sizeof(uint64_t));

    if (slot == NULL)
        return NULL;
    slot->inputs = (rlx_io_t *)(slot + 1);
    slot->outputs = slot->inputs + n_in;
    slot->reads = (rlx_slot_move_t *)(slot->outputs + n_out);
    slot->writes = slot->reads + n_in;
    slot->room = (uint64_t *)(slot->writes + n_out);
    return slot;
}

rlx_status_t rlx_slot_reserve(rlx_slot_t *slot, int n_inputs, size_t bytes)
{
    size_t size = round_up(bytes > 0 ? bytes : 1), used = slot->inputs_end;
    char *memory;

    if (bytes <= slot->memory_bytes && slot->memory != NULL)
        return RLX_OK;
    memory = aligned_alloc(ALIGN, size);
    if (memory == NULL)
        return rlx_fail(&slot->diag, RLX_E_NO_MEMORY, "no memory for a request of %zu bytes", size);
    if (used > 0)
        memcpy(memory, slot->memory, used);
    for (int i = 0; i < n_inputs; i++) {
        char *data = slot->inputs[i].tensor.data;

        if (slot->memory != NULL && data >= slot->memory && data < slot->memory + slot->memory_bytes)
            slot->inputs[i].tensor.data = memory + (data - slot->memory);
    }
    free(slot->memory);
    slot->memory = memory;
    slot->memory_bytes = size;
    slot->growths++;
    return RLX_OK;
}

rlx_slot_t *rlx_slots_get(rlx_slots_t *slots, size_t inputs_bytes)
{
    rlx_slot_t *slot = slots->idle;

    if (slot != NULL) {
        slots->idle = slot->next;
        slots->idle_bytes -= slot->memory_bytes;
    } else if ((slot = slot_create(slots)) == NULL) {
        return NULL;
    }
    slot->next = NULL;
    slot->inputs_end = 0; /* nothing in it is worth keeping */
    slot->n_reads = slot->n_writes = 0;
    slot->status = RLX_OK;
    if (rlx_slot_reserve(slot, 0, inputs_bytes) != RLX_OK) {
        slot_free(slot);
        return NULL;
    }
    slots->out++;
    return slot;
}

void rlx_slots_put(rlx_slots_t *slots, rlx_slot_t *slot)
{
    slots->out--;
    if (slots->idle_bytes + slot->memory_bytes > IDLE_MAX) {
        slot_free(slot);
        return;
    }
    slots->idle_bytes += slot->memory_bytes;
    slot->next = slots->idle;
    slots->idle = slot;
}
