/* Annotations (ir/annotation.h). */
#include "ir/annotation.h"

#include <string.h>

static const char *const sync_names[] = {NULL, "barrier", "async_barrier", "stream_ordered"};
static const char *const sharding_names[] = {NULL, "data_parallel", "tensor_parallel", "pipeline_parallel"};
static const char *const sharing_names[] = {NULL, "none", "shm", "dma_buf", "cuda_ipc", "p2p_dma"};

#define NAME_OF(table, index) ((size_t)(index) < sizeof(table) / sizeof(table)[0] ? (table)[index] : NULL)

static int find(const char *const *names, size_t n, const char *word)
{
    for (size_t i = 1; i < n; i++)
        if (strcmp(names[i], word) == 0)
            return (int)i;
    return 0;
}

#define FIND(table, word) find(table, sizeof(table) / sizeof(table)[0], word)

const char *rlx_sync_mode_name(rlx_sync_mode_t mode) { return NAME_OF(sync_names, mode); }
rlx_sync_mode_t rlx_sync_mode_parse(const char *word) { return (rlx_sync_mode_t)FIND(sync_names, word); }
const char *rlx_sharding_name(rlx_sharding_t sharding) { return NAME_OF(sharding_names, sharding); }
rlx_sharding_t rlx_sharding_parse(const char *word) { return (rlx_sharding_t)FIND(sharding_names, word); }
const char *rlx_sharing_name(rlx_sharing_t sharing) { return NAME_OF(sharing_names, sharing); }
rlx_sharing_t rlx_sharing_parse(const char *word) { return (rlx_sharing_t)FIND(sharing_names, word); }

rlx_value_annotation_t *rlx_value_annotate(rlx_graph_t *graph, rlx_value_t *value)
{
    if (value->annotation == NULL)
        value->annotation = rlx_graph_alloc(graph, sizeof(*value->annotation));
    return value->annotation;
}

rlx_op_annotation_t *rlx_op_annotate(rlx_graph_t *graph, rlx_op_t *op)
{
    if (op->annotation == NULL)
        op->annotation = rlx_graph_alloc(graph, sizeof(*op->annotation));
    return op->annotation;
}

/* Why the op cannot be executed yet, or NULL. */
static const char *obstacle(const rlx_op_t *op)
{
    const rlx_op_annotation_t *annotation = op->annotation;

    if (op->kind == RLX_OP_remote_call)
        return "a call to another cluster";
    if (annotation != NULL && annotation->devices.n > 1)
        return "an operator on several devices";
    if (annotation != NULL && annotation->sharding != RLX_SHARDING_UNSAID)
        return "sharding";
    return NULL;
}

rlx_status_t rlx_graph_executable(const rlx_graph_t *graph, rlx_diag_t *diag)
{
    for (const rlx_op_t *op = graph->first; op != NULL; op = op->next) {
        const char *what = obstacle(op);

        if (what != NULL) {
            rlx_fail(diag, RLX_E_NOT_YET, "%s can be verified and dumped, but not compiled by this version", what);
            return rlx_diag_at(diag, "%s", op->source);
        }
        for (int i = 0; i < op->n_bodies; i++)
            if (rlx_graph_executable(op->bodies[i], diag) != RLX_OK)
                return diag != NULL ? diag->status : RLX_UNIMPLEMENTED;
    }
    return RLX_OK;
}
