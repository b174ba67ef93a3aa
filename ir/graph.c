/* The graph's storage, values, ops and edits (ir/graph.h).
 *
 * Invariants kept here: a value's id is its place in `values`; names of values are unique; n_uses counts operand slots of linked ops plus
 * places in `outputs`; ops are linked in an order in which every operand stands before its use (the caller chooses the place).
 * All memory comes from one arena of chunks. */
#include "ir/graph_memory.h"

#include "base/assert.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

rlx_graph_t *rlx_graph_create(const char *name)
{
    rlx_graph_memory_t *memory = rlx_graph_memory_create();
    rlx_graph_t *graph = rlx_graph_memory_alloc(memory, sizeof(*graph));

    graph->memory = memory;
    graph->exprs = rlx_exprs_create();
    graph->name = rlx_graph_strdup(graph, name ? name : "");
    return graph;
}

rlx_graph_t *rlx_graph_create_child(rlx_graph_t *parent, const char *name)
{
    rlx_graph_t *graph = rlx_graph_create(name);

    graph->next_child = parent->first_child;
    parent->first_child = graph;
    return graph;
}

typedef struct rlx_graph_kept {
    struct rlx_graph_kept *next;
    void *object;
    void (*destroy)(void *object);
} rlx_graph_kept_t;

void rlx_graph_keep(rlx_graph_t *graph, void *object, void (*destroy)(void *object))
{
    rlx_graph_kept_t *kept = rlx_graph_alloc(graph, sizeof *kept);

    *kept = (rlx_graph_kept_t){graph->kept, object, destroy};
    graph->kept = kept;
}

/* Nesting is bounded where children are made. */
void rlx_graph_destroy(rlx_graph_t *graph)
{
    rlx_graph_t *next;

    if (graph == NULL)
        return;
    for (rlx_graph_t *child = graph->first_child; child != NULL; child = next) {
        next = child->next_child;
        rlx_graph_destroy(child);
    }
    for (const rlx_graph_kept_t *kept = graph->kept; kept != NULL; kept = kept->next)
        kept->destroy(kept->object);
    rlx_exprs_destroy(graph->exprs);
    rlx_graph_memory_destroy(graph->memory);
}

bool rlx_source_is_text(const rlx_graph_t *graph, const char *source)
{
    size_t n = graph->text != NULL ? strlen(graph->text) : 0;

    return n > 0 && strncmp(source, graph->text, n) == 0 && source[n] == ':';
}

void *rlx_graph_alloc(rlx_graph_t *graph, size_t bytes) { return rlx_graph_memory_alloc(graph->memory, bytes); }

const char *rlx_graph_strdup(rlx_graph_t *graph, const char *text)
{
    size_t bytes = strlen(text) + 1;

    return memcpy(rlx_graph_alloc(graph, bytes), text, bytes);
}

const char *rlx_graph_printf(rlx_graph_t *graph, const char *format, ...)
{
    va_list args;
    int length;
    char *text;

    va_start(args, format);
    length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    RLX_ASSERT(length >= 0);
    text = rlx_graph_alloc(graph, (size_t)length + 1);
    va_start(args, format);
    vsnprintf(text, (size_t)length + 1, format, args);
    va_end(args);
    return text;
}

void *rlx_graph_array_grow(rlx_graph_t *graph, void *array, int n, int *cap, size_t element)
{
    void *larger;

    if (n < *cap)
        return array;
    *cap = *cap ? *cap * 2 : 8;
    larger = rlx_graph_alloc(graph, (size_t)*cap * element);
    if (n > 0)
        memcpy(larger, array, (size_t)n * element);
    return larger;
}

rlx_value_t *rlx_graph_value(rlx_graph_t *graph, const char *name, rlx_dtype_t dtype)
{
    rlx_value_t *value = rlx_graph_alloc(graph, sizeof(*value));

    value->id = (uint32_t)graph->n_values;
    value->name = rlx_graph_memory_name(graph->memory, name && name[0] ? name : "v");
    value->dtype = dtype;
    value->rank = -1;
    value->n_elements = -1;
    for (int i = 0; i < RLX_RANK_MAX; i++)
        value->dims[i] = RLX_EXPR_NONE;
    graph->values = rlx_graph_array_grow(graph, graph->values, graph->n_values, &graph->cap_values, sizeof(*graph->values));
    graph->values[graph->n_values++] = value;
    return value;
}

/* Appends to a list whose capacity is not stored: full when n is 0 or a power of two. */
static rlx_value_t **list_append(rlx_graph_t *graph, rlx_value_t **list, int *n, rlx_value_t *value)
{
    if ((*n & (*n - 1)) == 0) {
        rlx_value_t **larger = rlx_graph_alloc(graph, (size_t)(*n ? *n * 2 : 1) * sizeof(*larger));
        if (*n > 0)
            memcpy(larger, list, (size_t)*n * sizeof(*larger));
        list = larger;
    }
    list[(*n)++] = value;
    return list;
}

rlx_value_t *rlx_graph_input(rlx_graph_t *graph, const char *name, rlx_dtype_t dtype, int rank, const rlx_expr_t *dims)
{
    rlx_value_t *value = rlx_graph_value(graph, name, dtype);

    value->is_input = true;
    if (dims != NULL) {
        RLX_ASSERT(rank >= 0);
        RLX_ASSERT(rank <= RLX_RANK_MAX);
        value->rank = rank;
        for (int i = 0; i < rank; i++)
            value->dims[i] = dims[i];
    }
    graph->inputs = list_append(graph, graph->inputs, &graph->n_inputs, value);
    return value;
}

void rlx_graph_output(rlx_graph_t *graph, rlx_value_t *value)
{
    graph->outputs = list_append(graph, graph->outputs, &graph->n_outputs, value);
    value->is_output = true;
    value->n_uses++;
}

bool rlx_element_load(rlx_dtype_t dtype, const void *data, int64_t i, int64_t *out)
{
    switch (dtype) {
    case RLX_I8: *out = ((const int8_t *)data)[i]; return true;
    case RLX_I16: *out = ((const int16_t *)data)[i]; return true;
    case RLX_I32: *out = ((const int32_t *)data)[i]; return true;
    case RLX_I64: *out = ((const int64_t *)data)[i]; return true;
    case RLX_U8: *out = ((const uint8_t *)data)[i]; return true;
    case RLX_BOOL: *out = ((const uint8_t *)data)[i] != 0; return true;
    case RLX_U16: *out = ((const uint16_t *)data)[i]; return true;
    case RLX_U32: *out = ((const uint32_t *)data)[i]; return true;
    case RLX_U64:
        *out = (int64_t)((const uint64_t *)data)[i];
        return *out >= 0;
    default: return false;
    }
}

static bool dtype_has_elements(rlx_dtype_t dtype) { return dtype >= RLX_I8 && dtype <= RLX_BOOL; }

static void const_elements_fill(rlx_graph_t *graph, rlx_value_t *value, int64_t count)
{
    int64_t element;

    if (!dtype_has_elements(value->dtype) || count > RLX_ELEMENTS_MAX)
        return;
    value->n_elements = (int)count;
    value->elements = rlx_graph_alloc(graph, (size_t)(count ? count : 1) * sizeof(rlx_expr_t));
    for (int64_t i = 0; i < count; i++) {
        bool fits = rlx_element_load(value->dtype, value->data, i, &element);
        value->elements[i] = fits ? rlx_expr_const(graph->exprs, element) : RLX_EXPR_NONE;
    }
}

rlx_value_t *rlx_graph_const(rlx_graph_t *graph, const char *name, rlx_dtype_t dtype, int rank, const int64_t *dims, const void *data,
                             bool borrow)
{
    rlx_value_t *value = rlx_graph_value(graph, name, dtype);
    int64_t count, bytes;

    RLX_ASSERT(rank >= 0);
    RLX_ASSERT(rank <= RLX_RANK_MAX);
    RLX_ASSERT(rlx_dims_count(dims, rank, &count));
    RLX_ASSERT(rlx_size_mul(count, (int64_t)rlx_dtype_size(dtype), &bytes));
    value->rank = rank;
    for (int i = 0; i < rank; i++)
        value->dims[i] = rlx_expr_const(graph->exprs, dims[i]);
    value->data_bytes = bytes;
    if (borrow && data != NULL) {
        value->data = data;
    } else {
        void *copy = rlx_graph_alloc(graph, bytes < 64 ? 64 : (size_t)bytes);
        if (bytes > 0)
            memcpy(copy, data, (size_t)bytes);
        value->data = copy;
    }
    const_elements_fill(graph, value, count);
    return value;
}

rlx_value_t *rlx_graph_const_i64(rlx_graph_t *graph, const char *name, const int64_t *data, int count)
{
    const int64_t dims[1] = {count};

    return rlx_graph_const(graph, name, RLX_I64, 1, dims, data, false);
}

static void op_link(rlx_graph_t *graph, rlx_op_t *op, rlx_op_t *before)
{
    op->next = before;
    op->prev = before ? before->prev : graph->last;
    if (op->prev)
        op->prev->next = op;
    else
        graph->first = op;
    if (before)
        before->prev = op;
    else
        graph->last = op;
    graph->n_ops++;
}

rlx_op_t *rlx_graph_op(rlx_graph_t *graph, rlx_op_t *before, rlx_op_kind_t kind, const char *name, int n_in, rlx_value_t *const *in,
                       int n_out, rlx_value_t *const *out)
{
    rlx_op_t *op = rlx_graph_alloc(graph, sizeof(*op));

    RLX_ASSERT(kind > RLX_OP_NONE);
    RLX_ASSERT(kind < RLX_OP_COUNT);
    op->kind = kind;
    op->id = rlx_graph_memory_op_id(graph->memory);
    op->name = name && name[0] ? rlx_graph_strdup(graph, name) : rlx_graph_printf(graph, "%s_%u", rlx_op_info(kind)->name, op->id);
    op->source = rlx_graph_printf(graph, "op %u '%s'", op->id, op->name);
    op->n_in = n_in;
    op->n_out = n_out;
    op->in = rlx_graph_alloc(graph, (size_t)(n_in ? n_in : 1) * sizeof(*op->in));
    op->out = rlx_graph_alloc(graph, (size_t)(n_out ? n_out : 1) * sizeof(*op->out));
    for (int i = 0; i < n_in; i++) {
        op->in[i] = in[i];
        if (in[i])
            in[i]->n_uses++;
    }
    for (int i = 0; i < n_out; i++) {
        op->out[i] = out[i];
        if (out[i]) {
            RLX_ASSERT(out[i]->producer == NULL);
            out[i]->producer = op;
        }
    }
    op_link(graph, op, before);
    return op;
}

void rlx_op_set_input(rlx_op_t *op, int index, rlx_value_t *value)
{
    RLX_ASSERT(index >= 0);
    RLX_ASSERT(index < op->n_in);
    if (op->in[index])
        op->in[index]->n_uses--;
    op->in[index] = value;
    if (value)
        value->n_uses++;
}

/* Walks the ops after the producer only: uses of an SSA value stand there. */
void rlx_value_replace_uses(rlx_graph_t *graph, rlx_value_t *old_value, rlx_value_t *new_value)
{
    rlx_op_t *op = old_value->producer ? old_value->producer->next : graph->first;

    if (old_value == new_value)
        return;
    for (; op != NULL && old_value->n_uses > 0; op = op->next) {
        for (int i = 0; i < op->n_in; i++) {
            if (op->in[i] == old_value)
                rlx_op_set_input(op, i, new_value);
        }
    }
    for (int i = 0; i < graph->n_outputs; i++) {
        if (graph->outputs[i] != old_value)
            continue;
        graph->outputs[i] = new_value;
        old_value->n_uses--;
        new_value->n_uses++;
        new_value->is_output = true;
    }
    old_value->is_output = false;
    for (int i = 0; old_value->observed && i < graph->n_symbols; i++) {
        if (graph->symbols[i].value != old_value)
            continue;
        graph->symbols[i].value = new_value;
        old_value->n_uses--;
        new_value->n_uses++;
        new_value->observed = true;
    }
    old_value->observed = false;
}

void rlx_graph_remove(rlx_graph_t *graph, rlx_op_t *op)
{
    for (int i = 0; i < op->n_out; i++) {
        if (op->out[i] == NULL)
            continue;
        RLX_ASSERT(op->out[i]->n_uses == 0);
        op->out[i]->producer = NULL;
    }
    for (int i = 0; i < op->n_in; i++) {
        if (op->in[i])
            op->in[i]->n_uses--;
    }
    if (op->prev)
        op->prev->next = op->next;
    else
        graph->first = op->next;
    if (op->next)
        op->next->prev = op->prev;
    else
        graph->last = op->prev;
    op->prev = op->next = NULL;
    graph->n_ops--;
}

bool rlx_value_is_const(const rlx_value_t *value) { return value != NULL && value->data != NULL; }

bool rlx_value_dims_const(const rlx_graph_t *graph, const rlx_value_t *value, int64_t *out_dims)
{
    if (value->rank < 0)
        return false;
    for (int i = 0; i < value->rank; i++) {
        if (!rlx_expr_is_const(graph->exprs, value->dims[i], &out_dims[i]))
            return false;
    }
    return true;
}

rlx_expr_t rlx_value_count(const rlx_graph_t *graph, const rlx_value_t *value)
{
    rlx_expr_t count = rlx_expr_const(graph->exprs, 1);

    if (value->rank < 0)
        return RLX_EXPR_NONE;
    for (int i = 0; i < value->rank; i++)
        count = rlx_expr_mul(graph->exprs, count, value->dims[i]);
    return count;
}

bool rlx_value_ints(const rlx_graph_t *graph, const rlx_value_t *value, int64_t *out, int cap, int *out_count)
{
    if (value == NULL || value->elements == NULL || value->n_elements < 0 || value->n_elements > cap)
        return false;
    for (int i = 0; i < value->n_elements; i++) {
        if (!rlx_expr_is_const(graph->exprs, value->elements[i], &out[i]))
            return false;
    }
    *out_count = value->n_elements;
    return true;
}
