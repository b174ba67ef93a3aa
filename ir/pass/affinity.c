/* Decisions by memory. See ir/pass/affinity.h.
 *
 * The steps of a request run on one device in order, with a barrier of the team between them; coherent memory needs no more. Memory whose
 * coherence is "none" is read only behind such a barrier, which is then part of the program's meaning and stands in the dump. */
#include "ir/pass/affinity.h"

#include <stdio.h>
#include <string.h>

#include "ir/annotation.h"
#include "ir/dump/explain.h"
#include "ir/pass.h"

static const rlx_value_annotation_t *note_of(const rlx_value_t *value)
{
    static const rlx_value_annotation_t none;

    return value->annotation != NULL ? value->annotation : &none;
}

static const char *device_of(const rlx_value_t *value) { return note_of(value)->device != NULL ? note_of(value)->device : "cpu:0"; }

const char *rlx_affinity_location(const rlx_value_t *value)
{
    if (note_of(value)->affinity.location != NULL)
        return note_of(value)->affinity.location;
    return strncmp(device_of(value), "cpu", 3) == 0 ? "DDR" : "VRAM";
}

bool rlx_affinity_keeps(const rlx_value_t *inner, const rlx_value_t *outer, char why[RLX_AFFINITY_WHY])
{
    const rlx_value_annotation_t *note = inner->annotation;

    if (note == NULL)
        return false;
    if (note->layout != NULL) {
        snprintf(why, RLX_AFFINITY_WHY, "the text fixes the layout of '%s', which needs a buffer", inner->name);
        return true;
    }
    if (note->device != NULL && strcmp(note->device, device_of(outer)) != 0) {
        snprintf(why, RLX_AFFINITY_WHY, "'%s' is on %s, '%s' on %s", inner->name, note->device, outer->name, device_of(outer));
        return true;
    }
    if (note->affinity.location != NULL && strcmp(note->affinity.location, rlx_affinity_location(outer)) != 0) {
        snprintf(why, RLX_AFFINITY_WHY, "'%s' lives in %s, '%s' in %s", inner->name, note->affinity.location, outer->name,
                 rlx_affinity_location(outer));
        return true;
    }
    return false;
}

/* An operand whose memory is incoherent and may change: constants are read-only once they are loaded. */
static const rlx_value_t *incoherent_operand(const rlx_op_t *op)
{
    for (int i = 0; i < op->n_in; i++) {
        const rlx_value_t *value = op->in[i];

        if (value != NULL && value->data == NULL && note_of(value)->affinity.coherence != NULL &&
            strcmp(note_of(value)->affinity.coherence, "none") == 0)
            return value;
    }
    return NULL;
}

static void memory_explain(const rlx_graph_t *graph, const rlx_op_t *op)
{
    for (int i = 0; i < op->n_out; i++) {
        const rlx_value_t *y = op->out[i];

        if (y != NULL && (graph->text != NULL || note_of(y)->affinity.location != NULL)) /* a model that says nothing of memory needs no line */
            rlx_explain(graph, op, "memory",
                        note_of(y)->affinity.location != NULL ? "the text says so; this target has main memory, which stands for it"
                                                              : "nothing is said: the memory of the device",
                        "memory_affinity={\"location\": ...} on the tensor", "'%s' lives in %s of %s", y->name, rlx_affinity_location(y), device_of(y));
    }
}

static void coherent_explain(const rlx_graph_t *graph, const rlx_op_t *op)
{
    for (int i = 0; i < op->n_in; i++) {
        const rlx_value_t *x = op->in[i];

        if (x == NULL || x->annotation == NULL || note_of(x)->affinity.location == NULL)
            continue;
        if (x->data != NULL)
            rlx_explain(graph, op, "sync", "constants are read-only after loading", "nothing: there is nothing to wait for",
                        "no sync before reading '%s' (%s)", x->name, rlx_affinity_location(x));
        else
            rlx_explain(graph, op, "sync", "coherent memory of the same device: the order of steps is enough",
                        "coherence=\"none\" in its memory_affinity", "no sync before reading '%s' (%s, %s)", x->name, rlx_affinity_location(x),
                        note_of(x)->affinity.coherence != NULL ? note_of(x)->affinity.coherence : "coherent");
    }
}

rlx_status_t rlx_pass_sync(rlx_graph_t *graph, rlx_diag_t *diag)
{
    (void)diag;
    for (rlx_op_t *op = graph->first; op != NULL; op = op->next) {
        const rlx_value_t *incoherent = incoherent_operand(op);
        rlx_sync_mode_t mode = op->annotation != NULL ? op->annotation->sync_mode : RLX_SYNC_UNSAID;

        memory_explain(graph, op);
        if (incoherent != NULL) {
            rlx_op_schedule(graph, op)->sync = "step_barrier";
            rlx_explain(graph, op, "sync", "its coherence is \"none\": every writer must be done and visible", "a coherent memory, or one fused operator",
                        "barrier of all workers before reading '%s'", incoherent->name);
        } else if (mode != RLX_SYNC_UNSAID) {
            rlx_op_schedule(graph, op)->sync = "none";
            rlx_explain(graph, op, "sync", "one device and coherent memory: the order of steps is enough", "coherence=\"none\" on an operand",
                        "sync_mode \"%s\" needs no sync of its own", rlx_sync_mode_name(mode));
        }
        coherent_explain(graph, op);
    }
    return RLX_OK;
}
