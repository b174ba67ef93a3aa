/* The canonical form of a source, digested (ir/source_digest.h). Constants follow the text in the order of their first use, those of bodies
 * after the graph's own. */
#include "ir/source_digest.h"

#include <inttypes.h>
#include <stdlib.h>
#include <stdio.h>

#include "bundle/bundle.h"

#define HASHERS 2

typedef struct places {
    const char **items; /* of all ops, in order of the walk */
    size_t n;
} places_t;

static size_t ops_count(const rlx_graph_t *graph)
{
    size_t n = 0;

    for (const rlx_op_t *op = graph->first; op != NULL; op = op->next) {
        n++;
        for (int i = 0; i < op->n_bodies; i++)
            n += ops_count(op->bodies[i]);
    }
    return n;
}

static void places_take(rlx_graph_t *graph, places_t *places)
{
    for (rlx_op_t *op = graph->first; op != NULL; op = op->next) {
        places->items[places->n++] = op->source;
        op->source = "";
        for (int i = 0; i < op->n_bodies; i++)
            places_take(op->bodies[i], places);
    }
}

static void places_give(rlx_graph_t *graph, places_t *places)
{
    for (rlx_op_t *op = graph->first; op != NULL; op = op->next) {
        op->source = places->items[places->n++];
        for (int i = 0; i < op->n_bodies; i++)
            places_give(op->bodies[i], places);
    }
}

static bool bytes_print(const void *data, int64_t bytes, FILE *out)
{
    uint8_t root[RLX_BUNDLE_DIGEST];
    char hex[2 * RLX_BUNDLE_DIGEST + 1];

    if (!rlx_bundle_digest_tree(data, (uint64_t)bytes, HASHERS, root))
        return false;
    rlx_digest_hex(root, sizeof root, hex);
    fprintf(out, "data %" PRId64 " %s\n", bytes, hex);
    return true;
}

static bool constant_print(const rlx_value_t *value, bool *seen, FILE *out)
{
    if (value == NULL || value->data == NULL || seen[value->id])
        return true;
    seen[value->id] = true;
    return bytes_print(value->data, value->data_bytes, out);
}

static bool attrs_print(const rlx_op_t *op, FILE *out)
{
    for (int i = 0; i < op->n_attrs; i++) {
        const rlx_tensor_t *tensor = &op->attrs[i].tensor;
        int64_t count = 0;

        if (op->attrs[i].type != RLX_ATTR_TENSOR)
            continue;
        if (!rlx_dims_count(tensor->dims, tensor->rank, &count) ||
            !bytes_print(tensor->data, count * (int64_t)rlx_dtype_size(tensor->dtype), out))
            return false;
    }
    return true;
}

static bool graph_data_print(const rlx_graph_t *graph, FILE *out)
{
    bool *seen = calloc((size_t)graph->n_values + 1, sizeof *seen);
    bool whole = seen != NULL;

    for (const rlx_op_t *op = graph->first; whole && op != NULL; op = op->next) {
        for (int i = 0; whole && i < op->n_in; i++)
            whole = constant_print(op->in[i], seen, out);
        whole = whole && attrs_print(op, out);
    }
    for (int i = 0; whole && i < graph->n_outputs; i++)
        whole = constant_print(graph->outputs[i], seen, out);
    for (const rlx_op_t *op = graph->first; whole && op != NULL; op = op->next)
        for (int i = 0; whole && i < op->n_bodies; i++)
            whole = graph_data_print(op->bodies[i], out);
    free(seen);
    return whole;
}

rlx_status_t rlx_graph_source_digest(rlx_graph_t *graph, uint8_t out_digest[RLX_BLAKE2B_BYTES], rlx_diag_t *diag)
{
    places_t places = {.items = calloc(ops_count(graph) + 1, sizeof *places.items)};
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    bool whole = places.items != NULL && out != NULL;

    if (whole) {
        places_take(graph, &places);
        fputs("RLX source 1\n", out);
        rlx_graph_dump(graph, out);
        places.n = 0;
        places_give(graph, &places);
        whole = graph_data_print(graph, out);
    }
    if (out != NULL)
        whole = fclose(out) == 0 && whole;
    if (whole)
        rlx_digest_blake2b(text, bytes, out_digest);
    free(text);
    free((void *)places.items);
    return whole ? RLX_OK : rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for the digest of a model");
}
