/* The op table expanded from ir/op_list.h, and the typed attributes of an op.
 *
 * A getter on an attribute that is not set falls back to the default in the declaration "name:type=default"; a declared attribute without
 * default reads as 0, "" or an empty list. Reading or setting an undeclared attribute is a bug of the caller. */
#include "ir/graph.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

static const rlx_op_info_t op_table[RLX_OP_COUNT] = {
    [RLX_OP_NONE] = {"none", "", "", "", 0, 0, 0, 0},
#define RLX_OP(id, family, min_in, max_in, max_out, traits, attrs, doc)                                                                    \
    [RLX_OP_##id] = {#id, #family, attrs, doc, min_in, max_in, max_out, traits},
#include "ir/op_list.h"
#undef RLX_OP
};

const rlx_op_info_t *rlx_op_info(rlx_op_kind_t kind)
{
    RLX_ASSERT((unsigned)kind < RLX_OP_COUNT);
    return &op_table[kind];
}

const char *rlx_attr_declaration(rlx_op_kind_t kind, const char *name)
{
    const char *at = rlx_op_info(kind)->attrs;
    size_t length = strlen(name);

    while (*at) {
        if (strncmp(at, name, length) == 0 && at[length] == ':')
            return at + length + 1;
        at += strcspn(at, " ");
        at += strspn(at, " ");
    }
    return NULL;
}

/* Default text, NUL-terminated in `text`; empty when there is none. */
static void attr_default(const rlx_op_t *op, const char *name, char *text, size_t bytes)
{
    const char *at = rlx_attr_declaration(op->kind, name);
    size_t length;

    RLX_ASSERT(at != NULL);
    text[0] = 0;
    length = strcspn(at, " ");
    at = memchr(at, '=', length) ? at + strcspn(at, "=") + 1 : NULL;
    if (at == NULL)
        return;
    length = strcspn(at, " ");
    RLX_ASSERT(length < bytes);
    memcpy(text, at, length);
    text[length] = 0;
}

static rlx_attr_t *attr_slot(rlx_graph_t *graph, rlx_op_t *op, const char *name, rlx_attr_type_t type)
{
    rlx_attr_t *larger;

    RLX_ASSERT(rlx_attr_declaration(op->kind, name) != NULL);
    for (int i = 0; i < op->n_attrs; i++) {
        if (strcmp(op->attrs[i].name, name) == 0) {
            op->attrs[i] = (rlx_attr_t){.name = op->attrs[i].name, .type = type};
            return &op->attrs[i];
        }
    }
    larger = rlx_graph_alloc(graph, (size_t)(op->n_attrs + 1) * sizeof(*larger));
    if (op->n_attrs > 0)
        memcpy(larger, op->attrs, (size_t)op->n_attrs * sizeof(*larger));
    op->attrs = larger;
    larger[op->n_attrs] = (rlx_attr_t){.name = rlx_graph_strdup(graph, name), .type = type};
    return &larger[op->n_attrs++];
}

void rlx_op_set_int(rlx_graph_t *graph, rlx_op_t *op, const char *name, int64_t value)
{
    attr_slot(graph, op, name, RLX_ATTR_INT)->i = value;
}

void rlx_op_set_float(rlx_graph_t *graph, rlx_op_t *op, const char *name, float value)
{
    attr_slot(graph, op, name, RLX_ATTR_FLOAT)->f = value;
}

void rlx_op_set_string(rlx_graph_t *graph, rlx_op_t *op, const char *name, const char *value)
{
    const char *copy = rlx_graph_strdup(graph, value);

    attr_slot(graph, op, name, RLX_ATTR_STRING)->s = copy;
}

static void *list_copy(rlx_graph_t *graph, const void *values, int n, size_t element)
{
    void *copy = rlx_graph_alloc(graph, (size_t)(n ? n : 1) * element);

    if (n > 0)
        memcpy(copy, values, (size_t)n * element);
    return copy;
}

void rlx_op_set_ints(rlx_graph_t *graph, rlx_op_t *op, const char *name, const int64_t *values, int n)
{
    rlx_attr_t *attr = attr_slot(graph, op, name, RLX_ATTR_INTS);

    attr->is = list_copy(graph, values, n, sizeof(*values));
    attr->n = n;
}

void rlx_op_set_floats(rlx_graph_t *graph, rlx_op_t *op, const char *name, const float *values, int n)
{
    rlx_attr_t *attr = attr_slot(graph, op, name, RLX_ATTR_FLOATS);

    attr->fs = list_copy(graph, values, n, sizeof(*values));
    attr->n = n;
}

void rlx_op_set_tensor(rlx_graph_t *graph, rlx_op_t *op, const char *name, const rlx_tensor_t *tensor)
{
    rlx_attr_t *attr = attr_slot(graph, op, name, RLX_ATTR_TENSOR);
    int64_t count, bytes;

    RLX_ASSERT(rlx_dims_count(tensor->dims, tensor->rank, &count));
    RLX_ASSERT(rlx_size_mul(count, (int64_t)rlx_dtype_size(tensor->dtype), &bytes));
    attr->tensor = *tensor;
    attr->tensor.data = rlx_graph_alloc(graph, bytes ? (size_t)bytes : 1);
    if (bytes > 0)
        memcpy(attr->tensor.data, tensor->data, (size_t)bytes);
}

const rlx_attr_t *rlx_op_attr(const rlx_op_t *op, const char *name)
{
    for (int i = 0; i < op->n_attrs; i++) {
        if (strcmp(op->attrs[i].name, name) == 0)
            return &op->attrs[i];
    }
    return NULL;
}

int64_t rlx_op_int(const rlx_op_t *op, const char *name)
{
    const rlx_attr_t *attr = rlx_op_attr(op, name);
    char text[64];

    if (attr != NULL && attr->type == RLX_ATTR_INT)
        return attr->i;
    attr_default(op, name, text, sizeof(text));
    if (rlx_attr_declaration(op->kind, name)[0] == 't') /* an element type */
        return rlx_dtype_parse(text);
    return strtoll(text, NULL, 10);
}

float rlx_op_float(const rlx_op_t *op, const char *name)
{
    const rlx_attr_t *attr = rlx_op_attr(op, name);
    char text[64];

    if (attr != NULL && attr->type == RLX_ATTR_FLOAT)
        return attr->f;
    attr_default(op, name, text, sizeof(text));
    return strtof(text, NULL);
}

/* Defaults are shared by all ops; a string default is found among the few that the list declares. */
const char *rlx_op_string(const rlx_op_t *op, const char *name)
{
    static const char *const defaults[] = {"none", "constant", "DCR", "linear", "forward", "nearest", "half_pixel", "round_prefer_floor",
                                           "stretch", "zeros", "avg", "direct"};
    const rlx_attr_t *attr = rlx_op_attr(op, name);
    char text[64];

    if (attr != NULL && attr->type == RLX_ATTR_STRING)
        return attr->s;
    attr_default(op, name, text, sizeof(text));
    for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++) {
        if (strcmp(defaults[i], text) == 0)
            return defaults[i];
    }
    RLX_ASSERT(text[0] == 0);
    return "";
}

int64_t rlx_op_ints_at(const rlx_op_t *op, const char *name, int index, int64_t fallback)
{
    const rlx_attr_t *attr = rlx_op_attr(op, name);

    return attr != NULL && attr->type == RLX_ATTR_INTS && index >= 0 && index < attr->n ? attr->is[index] : fallback;
}
