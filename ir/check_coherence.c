/* Memory coherence of annotated graphs (ir/check.h). */
#include "ir/annotation.h"
#include "ir/check.h"

#include <stdio.h>
#include <string.h>

const char *rlx_check_device(const rlx_value_t *value)
{
    return value != NULL && value->annotation != NULL ? value->annotation->device : NULL;
}

/* The one device that an op runs on: its set's, or its result's; NULL: several, or not said. */
static const char *device_of(const rlx_op_t *op)
{
    if (op->annotation != NULL && op->annotation->devices.n > 0)
        return op->annotation->devices.n == 1 ? op->annotation->devices.name[0] : NULL;
    for (int i = 0; i < op->n_out; i++)
        if (rlx_check_device(op->out[i]) != NULL)
            return rlx_check_device(op->out[i]);
    return NULL;
}

bool rlx_check_crosses(const rlx_op_t *op)
{
    const char *device = device_of(op);

    if (op->annotation != NULL && op->annotation->devices.n > 1)
        return true;
    for (int i = 0; i < op->n_in; i++) {
        const char *from = rlx_check_device(op->in[i]);

        if (from != NULL && device != NULL && strcmp(from, device) != 0)
            return true;
        device = device != NULL ? device : from;
    }
    return false;
}

static bool is_incoherent(const rlx_value_t *value)
{
    return value->annotation != NULL && value->annotation->affinity.coherence != NULL &&
           strcmp(value->annotation->affinity.coherence, "none") == 0;
}

/* The op that computed the value ran on the one device that this one runs on. */
static bool is_in_order(const rlx_op_t *op, const rlx_value_t *value)
{
    const char *from = value->producer != NULL ? device_of(value->producer) : NULL, *to = device_of(op);

    return from != NULL && to != NULL && strcmp(from, to) == 0;
}

static bool is_repeated(const rlx_op_t *op, int index)
{
    for (int i = 0; i < index; i++)
        if (op->in[i] == op->in[index])
            return true;
    return false;
}

static void sync_look(const rlx_op_t *op, const rlx_value_t *value, rlx_span_t span, rlx_diag_list_t *findings)
{
    rlx_finding_t *finding;

    if (!is_incoherent(value) || is_in_order(op, value) || (op->annotation != NULL && op->annotation->sync_mode != RLX_SYNC_UNSAID))
        return;
    finding = rlx_report(findings, RLX_E_COHERENCE, span, "%s reads '%s' from incoherent memory without a sync", rlx_op_info(op->kind)->name,
                         value->name);
    rlx_finding_expected(finding, "sync_mode = \"barrier\", \"async_barrier\" or \"stream_ordered\"");
    if (value->annotation->affinity_span.line > 0)
        rlx_finding_note(finding, value->annotation->affinity_span, "the memory of '%s' has coherence \"none\"", value->name);
}

/* The device, other than the value's own, that an op reads it on; NULL: none that is known. */
static const char *reader_elsewhere(const rlx_op_t *op, const char *from)
{
    const char *own = device_of(op);

    for (int i = 0; op->annotation != NULL && i < op->annotation->devices.n; i++)
        if (strcmp(op->annotation->devices.name[i], from) != 0)
            return op->annotation->devices.name[i];
    return own != NULL && strcmp(own, from) != 0 ? own : NULL;
}

/* One warning an op, which names what it reads elsewhere. */
static void copies_look(const rlx_op_t *op, rlx_span_t span, rlx_diag_list_t *findings)
{
    char names[384] = "";
    int n = 0;

    for (int i = 0; i < op->n_in; i++) {
        const rlx_value_t *value = op->in[i];
        const char *from = rlx_check_device(value), *to = from != NULL ? reader_elsewhere(op, from) : NULL;
        size_t at = strlen(names);

        if (to == NULL || value->data != NULL || value->annotation->sharing != RLX_SHARING_UNSAID || is_repeated(op, i))
            continue;
        if (n++ < 3)
            snprintf(names + at, sizeof names - at, "%s'%.64s' from %s to %s", at > 0 ? ", " : "", value->name, from, to);
    }
    if (n > 3)
        snprintf(names + strlen(names), sizeof names - strlen(names), " and %d more", n - 3);
    if (n > 0)
        rlx_finding_expected(rlx_report_warning(findings, RLX_E_COPY_SILENT, span, "%s copies %s in silence", rlx_op_info(op->kind)->name, names),
                             "buffer_sharing_capability of the tensor%s: none, shm, dma_buf, cuda_ipc or p2p_dma", n > 1 ? "s" : "");
}

static void op_look(const rlx_op_t *op, rlx_diag_list_t *findings)
{
    rlx_span_t span = rlx_diag_list_where(findings, op->source);
    int errors = findings->n_errors;

    for (int i = 0; i < op->n_in && findings->n_errors == errors; i++) /* one error a line */
        if (op->in[i] != NULL && op->in[i]->data == NULL)
            sync_look(op, op->in[i], span, findings);
    copies_look(op, span, findings);
}

void rlx_check_coherence(const rlx_graph_t *graph, rlx_diag_list_t *findings, rlx_check_figures_t *out_figures)
{
    for (const rlx_op_t *op = graph->first; op != NULL; op = op->next) {
        out_figures->n_ops++;
        op_look(op, findings);
        for (int i = 0; i < op->n_bodies; i++)
            rlx_check_coherence(op->bodies[i], findings, out_figures);
    }
}
