/* Collects the steps of a program while operators are lowered, and decides which values share storage.
 *
 * Invariant: steps stand in execution order, and a step's operands are written by earlier steps, graph inputs or constants. */
#include "ir/builder.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "bundle/program.h"
#include "ir/lower/dispatch.h"
#include "ir/flow.h"
#include "ir/flow.h"

void rlx_builder_init(rlx_builder_t *builder, rlx_graph_t *graph, int level)
{
    *builder = (rlx_builder_t){.graph = graph, .level = level};
}

static const uint8_t released; /* what a constant's data points to when its bytes are gone: nothing may read it */

static void made_release(rlx_value_t *value)
{
    if (value->data != &released)
        free((void *)(uintptr_t)value->data);
    value->data = &released;
}

void rlx_builder_const_release(rlx_builder_t *builder, const rlx_value_t *value)
{
    for (int i = 0; i < builder->n_made; ++i)
        if (builder->made[i] == value)
            made_release(builder->made[i]);
}

static void made_fini(rlx_builder_t *builder)
{
    for (int i = 0; i < builder->n_made; ++i) {
        made_release(builder->made[i]);
        builder->made[i]->data = NULL; /* the graph outlives its builder */
    }
    free(builder->made);
}

void rlx_builder_fini(rlx_builder_t *builder)
{
    free(builder->steps);
    free(builder->root);
    made_fini(builder);
    for (int i = 0; i < builder->n_bodies; ++i) {
        rlx_builder_fini(builder->bodies[i]);
        free(builder->bodies[i]);
    }
    free(builder->bodies);
    rlx_regions_fini(&builder->regions);
    *builder = (rlx_builder_t){0};
}

rlx_graph_t *rlx_builder_graph(rlx_builder_t *builder) { return builder->graph; }
int rlx_builder_level(const rlx_builder_t *builder) { return builder->level; }

static void *grow(void *items, int *cap, int need, size_t item_bytes)
{
    int wanted = *cap ? *cap : 64;

    if (need <= *cap)
        return items;
    while (wanted < need)
        wanted *= 2;
    items = realloc(items, (size_t)wanted * item_bytes);
    RLX_ASSERT(items != NULL);
    memset((char *)items + (size_t)*cap * item_bytes, 0, (size_t)(wanted - *cap) * item_bytes);
    *cap = wanted;
    return items;
}

rlx_step_t *rlx_step_begin(rlx_builder_t *builder, const rlx_op_t *op, rlx_kernel_id_t kernel, int param_words)
{
    rlx_step_t *step = rlx_graph_alloc(builder->graph, sizeof *step);
    rlx_expr_t zero = rlx_expr_const(builder->graph->exprs, 0);

    step->builder = builder;
    step->op = op;
    step->cap_operands = (int)kernel < RLX_K_END ? RLX_STEP_OPERANDS_MAX : RLX_CALL_OPERANDS_MAX;
    step->in = rlx_graph_alloc(builder->graph, (size_t)step->cap_operands * sizeof *step->in);
    step->out = rlx_graph_alloc(builder->graph, (size_t)step->cap_operands * sizeof *step->out);
    step->kernel = kernel;
    step->overflow = param_words > RLX_PARAM_MAX;
    step->n_params = step->overflow ? 0 : param_words;
    step->params = rlx_graph_alloc(builder->graph, (size_t)(step->n_params + 1) * sizeof *step->params);
    for (int i = 0; i < step->n_params; ++i)
        step->params[i] = zero;
    step->tiles = step->scratch = step->flops = zero;
    return step;
}

void rlx_step_in(rlx_step_t *step, const rlx_value_t *value)
{
    step->overflow |= step->n_in >= step->cap_operands;
    if (!step->overflow)
        step->in[step->n_in++] = value;
}

void rlx_step_out(rlx_step_t *step, const rlx_value_t *value)
{
    step->overflow |= step->n_out >= step->cap_operands;
    if (!step->overflow)
        step->out[step->n_out++] = value;
}

void rlx_step_param(rlx_step_t *step, int word, rlx_expr_t expr)
{
    step->overflow |= word < 0 || word >= step->n_params;
    if (!step->overflow)
        step->params[word] = expr;
}

void rlx_step_param_const(rlx_step_t *step, int word, int64_t value)
{
    rlx_step_param(step, word, rlx_expr_const(step->builder->graph->exprs, value));
}

void rlx_step_param_f32(rlx_step_t *step, int word, float value)
{
    union { float f; uint32_t u; } bits = {.f = value};

    rlx_step_param_const(step, word, (int64_t)bits.u);
}

rlx_status_t rlx_step_end(rlx_step_t *step, rlx_expr_t tiles, rlx_expr_t scratch, rlx_expr_t flops, rlx_diag_t *diag)
{
    rlx_builder_t *builder = step->builder;

    if (step->overflow || step->n_in + step->n_out > step->cap_operands)
        return rlx_fail(diag, RLX_E_IR_LIMIT, "%s: more operands or parameters than a kernel takes (%d operands, %d words)", step->op->source,
                        step->cap_operands, RLX_PARAM_MAX);
    step->tiles = tiles;
    if (scratch != RLX_EXPR_NONE)
        step->scratch = scratch;
    if (flops != RLX_EXPR_NONE)
        step->flops = flops;
    for (int i = 0; i < step->n_params; ++i)
        if (step->params[i] < 0)
            return rlx_fail(diag, step->params[i] == RLX_EXPR_ERROR ? RLX_E_IR_LIMIT : RLX_E_SHAPE_UNKNOWN,
                            "%s: a kernel parameter %s", step->op->source,
                            step->params[i] == RLX_EXPR_ERROR ? "overflows" : "depends on tensor data");
    if (step->tiles < 0 || step->scratch < 0 || step->flops < 0)
        return rlx_fail(diag, RLX_E_IR_LIMIT, "%s: a size overflows", step->op->source);
    if (builder->n_steps > 0 && builder->steps[builder->n_steps - 1]->op == step->op)
        step->index = builder->steps[builder->n_steps - 1]->index + 1;
    builder->steps = grow(builder->steps, &builder->cap_steps, builder->n_steps + 1, sizeof *builder->steps);
    builder->steps[builder->n_steps++] = step;
    return RLX_OK;
}

rlx_value_t *rlx_builder_temp(rlx_builder_t *builder, rlx_dtype_t dtype, int rank, const rlx_expr_t *dims, rlx_layout_t layout)
{
    rlx_value_t *value = rlx_graph_value(builder->graph, "temp", dtype);

    value->rank = rank;
    for (int i = 0; i < rank; ++i)
        value->dims[i] = dims[i];
    value->layout = layout;
    return value;
}

rlx_value_t *rlx_builder_const(rlx_builder_t *builder, const char *name, rlx_dtype_t dtype, int rank, const int64_t *dims, rlx_layout_t layout,
                               const void *data, int64_t bytes)
{
    rlx_value_t *value = rlx_graph_value(builder->graph, name, dtype);
    void *copy = aligned_alloc(64, ((size_t)bytes + 127) / 64 * 64);

    RLX_ASSERT(copy != NULL);
    memcpy(copy, data, (size_t)bytes);
    memset((char *)copy + bytes, 0, ((size_t)bytes + 127) / 64 * 64 - (size_t)bytes);
    builder->made = grow(builder->made, &builder->cap_made, builder->n_made + 1, sizeof *builder->made);
    builder->made[builder->n_made++] = value;
    value->rank = rank;
    for (int i = 0; i < rank; ++i)
        value->dims[i] = rlx_expr_const(builder->graph->exprs, dims[i]);
    value->layout = layout;
    value->data = copy;
    value->data_bytes = bytes;
    return value;
}

const rlx_value_t *rlx_builder_root(const rlx_builder_t *builder, const rlx_value_t *value)
{
    while ((int)value->id < builder->cap_root && builder->root[value->id] != NULL)
        value = builder->root[value->id];
    return value;
}

static void set_root(rlx_builder_t *builder, const rlx_value_t *value, const rlx_value_t *root)
{
    builder->root = grow(builder->root, &builder->cap_root, builder->graph->n_values + 1, sizeof *builder->root);
    builder->root[value->id] = root;
}

rlx_expr_t rlx_value_bytes(const rlx_graph_t *graph, const rlx_value_t *value)
{
    rlx_exprs_t *e = graph->exprs;
    rlx_expr_t count = rlx_expr_const(e, (int64_t)rlx_dtype_size(value->dtype));

    if (value->data != NULL)
        return rlx_expr_const(e, value->data_bytes);
    for (int i = 0; i < value->rank; ++i) {
        rlx_expr_t extent = value->dims[i];

        if (value->layout == RLX_LAYOUT_C16 && i == 1)
            extent = rlx_expr_mul(e, rlx_expr_ceildiv(e, extent, rlx_expr_const(e, 16)), rlx_expr_const(e, 16));
        else if (value->layout == RLX_LAYOUT_ROWS_APART && i == value->rank - 1)
            extent = rlx_expr_add(e, extent, rlx_expr_const(e, RLX_ROWS_APART));
        count = rlx_expr_mul(e, count, extent);
    }
    return count;
}

/* What calls of bodies take: a body sees its operand's own extents, and a storage has those of the value that stands for it. */
static void find_called(rlx_builder_t *builder)
{
    rlx_graph_t *graph = builder->graph;

    builder->n_called = graph->n_values;
    builder->called = rlx_graph_alloc(graph, (size_t)graph->n_values + 1);
    for (const rlx_op_t *op = graph->first; op != NULL; op = op->next)
        for (int i = 0; rlx_op_is_flow(op) && i < op->n_in; i++)
            if (op->in[i] != NULL)
                builder->called[op->in[i]->id] = true;
}

static bool is_called(const rlx_builder_t *builder, const rlx_value_t *value)
{
    return (int)value->id < builder->n_called && builder->called[value->id];
}

/* A reshape of row-major storage moves nothing. The output then shares the input's storage, unless that would make a graph output share
 * storage with an input, a constant or another output, or show a body other extents than its operand's. */
static bool try_view(rlx_builder_t *builder, rlx_op_t *op)
{
    const rlx_value_t *in = op->in[0];
    const rlx_value_t *out = op->out[0];
    const rlx_value_t *root = rlx_builder_root(builder, in);

    if (in->layout != RLX_LAYOUT_ROW_MAJOR || out->layout != RLX_LAYOUT_ROW_MAJOR)
        return false;
    if (is_called(builder, out))
        return false;
    if (!out->is_output) {
        set_root(builder, out, root);
        return true;
    }
    if (is_called(builder, root) || root->is_input || root->is_output || root->data != NULL || root->observed || (root->producer != NULL && rlx_op_is_flow(root->producer)))
        return false;
    for (int i = 0; i < out->rank; ++i)
        if (rlx_expr_is_computed(builder->graph, out->dims[i]))
            return false; /* extents that may be known only when the storage is written already */
    set_root(builder, root, out);
    return true;
}

static bool elements_known(const rlx_value_t *value)
{
    if (value == NULL || value->n_elements < 0 || value->elements == NULL || value->data != NULL || value->observed)
        return false;
    if (value->dtype != RLX_I64 && value->dtype != RLX_I32)
        return false;
    for (int i = 0; i < value->n_elements; ++i)
        if (value->elements[i] < 0)
            return false;
    return true;
}

static rlx_status_t lower_family(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    switch (op->kind) {
#define RLX_OP(id, family, min_in, max_in, max_out, traits, attrs, doc) \
    case RLX_OP_##id: return rlx_lower_##family(builder, op, diag);
#include "ir/op_list.h"
#undef RLX_OP
    default: return rlx_fail(diag, RLX_E_INTERNAL, "%s: no lowering", op->source);
    }
}

rlx_status_t rlx_builder_lower(rlx_builder_t *builder, rlx_op_t *op, rlx_diag_t *diag)
{
    if (op->n_out == 1 && elements_known(op->out[0]) && op->kind != RLX_OP_store_elements) {
        rlx_op_t *store = rlx_graph_alloc(builder->graph, sizeof *store);

        *store = (rlx_op_t){.kind = RLX_OP_store_elements, .name = op->name, .source = op->source, .n_out = 1, .out = op->out};
        return rlx_lower_make(builder, store, diag);
    }
    if (op->kind == RLX_OP_reshape && try_view(builder, op))
        return RLX_OK;
    if (lower_family(builder, op, diag) != RLX_OK)
        return rlx_diag_at(diag, "%s", op->source);
    return RLX_OK;
}

/* Marks backwards what the graph outputs need. */
static void mark_live(rlx_builder_t *builder)
{
    rlx_graph_t *graph = builder->graph;
    bool *needed = calloc((size_t)graph->n_values + 1, sizeof *needed);

    RLX_ASSERT(needed != NULL);
    for (int i = 0; i < graph->n_outputs; ++i)
        needed[rlx_builder_root(builder, graph->outputs[i])->id] = true;
    for (int i = 0; i < graph->n_symbols; ++i)
        if (graph->symbols[i].holds)
            needed[rlx_builder_root(builder, graph->symbols[i].value)->id] = true;
    for (int i = builder->n_steps - 1; i >= 0; --i) {
        rlx_step_t *step = builder->steps[i];

        for (int k = 0; k < step->n_out; ++k)
            step->live |= step->out[k] != NULL && needed[rlx_builder_root(builder, step->out[k])->id];
        for (int k = 0; k < step->n_in && step->live; ++k)
            if (step->in[k] != NULL)
                needed[rlx_builder_root(builder, step->in[k])->id] = true;
    }
    free(needed);
}

rlx_status_t rlx_builder_lower_graph(rlx_builder_t *builder, rlx_diag_t *diag)
{
    int kept = 0;

    find_called(builder);
    for (rlx_op_t *op = builder->graph->first; op != NULL; op = op->next)
        RLX_TRY(rlx_builder_lower(builder, op, diag));
    mark_live(builder);
    for (int i = 0; i < builder->n_steps; ++i)
        if (builder->steps[i]->live)
            builder->steps[kept++] = builder->steps[i];
    builder->n_steps = kept;
    return rlx_regions_assign(builder, diag);
}

rlx_status_t rlx_builder_body(rlx_builder_t *builder, rlx_graph_t *body, int *out_index, rlx_diag_t *diag)
{
    rlx_builder_t *inner = calloc(1, sizeof *inner);

    RLX_ASSERT(inner != NULL);
    rlx_builder_init(inner, body, builder->level);
    builder->bodies = grow(builder->bodies, &builder->cap_bodies, builder->n_bodies + 1, sizeof *builder->bodies);
    builder->bodies[builder->n_bodies] = inner;
    *out_index = builder->n_bodies++;
    return rlx_builder_lower_graph(inner, diag);
}
