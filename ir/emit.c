/* Writes the program blob (bundle/program.h) and the constant segment.
 *
 * Every symbolic number gets a slot; slots are written once, in topological order, so equal expressions are computed once per plan.
 * Deterministic: tables follow the order of steps, constants the order of first use, deduplicated by content. */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/assert.h"
#include "bundle/program.h"
#include "ir/builder.h"

#define CONST_ALIGNMENT 64

typedef struct bytes {
    char *data;
    size_t size, cap;
} bytes_t;

typedef struct const_entry {
    XXH128_hash_t hash;
    int64_t offset, size;
} const_entry_t;

typedef struct emitter {
    const rlx_builder_t *builder;
    rlx_graph_t *graph;
    rlx_diag_t *diag;
    rlx_expr_t *offsets;   /* by graph value id */
    uint32_t *batch;       /* by graph value id: rlx_batch_storage */
    uint32_t *value_index; /* graph value id -> program value id */
    uint32_t *slot_of;     /* expr -> slot */
    int n_exprs_cap;
    uint32_t n_slots;
    const_entry_t *entries;
    int n_entries, cap_entries;
    bytes_t symbols, code, refs, values, inputs, outputs, steps, operands, params, patches, regions, fragments, costs, strings, constants;
} emitter_t;

static void append(bytes_t *bytes, const void *data, size_t size)
{
    if (bytes->size + size > bytes->cap) {
        bytes->cap = (bytes->size + size) * 2 + 256;
        bytes->data = realloc(bytes->data, bytes->cap);
        RLX_ASSERT(bytes->data != NULL);
    }
    if (size > 0)
        memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
}

static void append_zero(bytes_t *bytes, size_t size)
{
    static const char zero[4096];

    for (; size > sizeof zero; size -= sizeof zero)
        append(bytes, zero, sizeof zero);
    append(bytes, zero, size);
}

static uint32_t add_string(emitter_t *em, const char *text)
{
    uint32_t offset = (uint32_t)em->strings.size;

    if (text[0] == 0)
        return 0;
    append(&em->strings, text, strlen(text) + 1);
    return offset;
}

static void code_word(emitter_t *em, int64_t word) { append(&em->code, &word, sizeof word); }

static rlx_code_op_t code_op(rlx_expr_op_t op)
{
    static const rlx_code_op_t table[] = {
        [RLX_EXPR_ADD] = RLX_CODE_ADD, [RLX_EXPR_SUB] = RLX_CODE_SUB,           [RLX_EXPR_MUL] = RLX_CODE_MUL,
        [RLX_EXPR_MIN] = RLX_CODE_MIN, [RLX_EXPR_FLOORDIV] = RLX_CODE_FLOORDIV, [RLX_EXPR_CEILDIV] = RLX_CODE_CEILDIV,
        [RLX_EXPR_MAX] = RLX_CODE_MAX, [RLX_EXPR_TRUNCDIV] = RLX_CODE_TRUNCDIV, [RLX_EXPR_MOD] = RLX_CODE_MOD,
        [RLX_EXPR_LT] = RLX_CODE_LT,   [RLX_EXPR_SELECT] = RLX_CODE_SELECT,     [RLX_EXPR_EQ] = RLX_CODE_EQ,
        [RLX_EXPR_FSCALE] = RLX_CODE_FSCALE, [RLX_EXPR_FCEILDIV] = RLX_CODE_FCEILDIV, [RLX_EXPR_FSUB] = RLX_CODE_FSUB,
    };

    return table[op];
}

static void push_operand(emitter_t *em, rlx_expr_t expr)
{
    int64_t value;

    if (rlx_expr_is_const(em->graph->exprs, expr, &value)) {
        code_word(em, RLX_CODE_CONST);
        code_word(em, value);
        return;
    }
    code_word(em, RLX_CODE_SLOT);
    code_word(em, em->slot_of[expr]);
}

static void slots_reserve(emitter_t *em, rlx_expr_t expr)
{
    int cap = em->n_exprs_cap ? em->n_exprs_cap : 1024;

    if (expr < em->n_exprs_cap)
        return;
    while (cap <= expr)
        cap *= 2;
    em->slot_of = realloc(em->slot_of, (size_t)cap * sizeof *em->slot_of);
    RLX_ASSERT(em->slot_of != NULL);
    for (int i = em->n_exprs_cap; i < cap; ++i)
        em->slot_of[i] = RLX_NO_INDEX;
    em->n_exprs_cap = cap;
}

/* Writes the code of `expr` and of all it needs, without recursion: expressions can be deep. */
static void emit_expr(emitter_t *em, rlx_expr_t expr)
{
    rlx_expr_t *stack = malloc(4 * sizeof *stack);
    int depth = 0, cap = 4;

    RLX_ASSERT(stack != NULL);
    stack[depth++] = expr;
    while (depth > 0) {
        rlx_expr_t top = stack[depth - 1];
        const rlx_expr_node_t *node = rlx_expr_node(em->graph->exprs, top);
        rlx_expr_t operands[3] = {node->a, node->b, node->op == RLX_EXPR_SELECT ? node->c : RLX_EXPR_NONE};
        bool waiting = false;

        slots_reserve(em, top);
        if (node->op == RLX_EXPR_CONST || node->op == RLX_EXPR_SYMBOL || em->slot_of[top] != RLX_NO_INDEX) {
            if (node->op == RLX_EXPR_SYMBOL)
                em->slot_of[top] = (uint32_t)node->value;
            --depth;
            continue;
        }
        if (depth + 3 > cap) {
            cap *= 2;
            stack = realloc(stack, (size_t)cap * sizeof *stack);
            RLX_ASSERT(stack != NULL);
        }
        for (int i = 0; i < 3; ++i) {
            if (operands[i] < 0)
                continue;
            slots_reserve(em, operands[i]);
            if (rlx_expr_node(em->graph->exprs, operands[i])->op != RLX_EXPR_CONST && em->slot_of[operands[i]] == RLX_NO_INDEX) {
                stack[depth++] = operands[i];
                waiting = true;
            }
        }
        if (waiting)
            continue;
        for (int i = 0; i < 3; ++i)
            if (operands[i] >= 0)
                push_operand(em, operands[i]);
        code_word(em, code_op(node->op));
        code_word(em, RLX_CODE_STORE);
        code_word(em, em->n_slots);
        em->slot_of[top] = em->n_slots++;
        --depth;
    }
    free(stack);
}

static rlx_ref_t make_ref(emitter_t *em, rlx_expr_t expr)
{
    rlx_ref_t ref = {.slot = RLX_NO_INDEX};

    if (rlx_expr_is_const(em->graph->exprs, expr, &ref.value))
        return ref;
    emit_expr(em, expr);
    ref.slot = em->slot_of[expr];
    ref.value = 0;
    return ref;
}

/* Offset of a constant's bytes in the constant segment; equal bytes are stored once. */
static int64_t place_constant(emitter_t *em, const rlx_value_t *value, XXH128_hash_t *out_hash)
{
    size_t size = (size_t)value->data_bytes;
    const_entry_t entry = {.hash = XXH3_128bits(value->data, size), .size = (int64_t)size};

    *out_hash = entry.hash;
    for (int i = 0; i < em->n_entries; ++i)
        if (XXH128_isEqual(em->entries[i].hash, entry.hash) && em->entries[i].size == entry.size)
            return em->entries[i].offset;
    append_zero(&em->constants, (CONST_ALIGNMENT - em->constants.size % CONST_ALIGNMENT) % CONST_ALIGNMENT);
    entry.offset = (int64_t)em->constants.size;
    append(&em->constants, value->data, size);
    if (em->n_entries == em->cap_entries) {
        em->cap_entries = em->cap_entries * 2 + 64;
        em->entries = realloc(em->entries, (size_t)em->cap_entries * sizeof *em->entries);
        RLX_ASSERT(em->entries != NULL);
    }
    em->entries[em->n_entries++] = entry;
    return entry.offset;
}

static rlx_value_kind_t value_kind(const rlx_value_t *value)
{
    return value->is_input ? RLX_VALUE_INPUT : value->is_output ? RLX_VALUE_OUTPUT : value->data != NULL ? RLX_VALUE_CONST : RLX_VALUE_ARENA;
}

static uint32_t value_id(emitter_t *em, const rlx_value_t *value)
{
    rlx_program_value_t out = {.kind = RLX_VALUE_ABSENT, .dtype = RLX_F32, .batch_symbol = RLX_NO_INDEX,
                               .offset.slot = RLX_NO_INDEX, .bytes.slot = RLX_NO_INDEX};
    uint32_t id = (uint32_t)(em->values.size / sizeof out);
    XXH128_hash_t hash;

    if (value == NULL) {
        append(&em->values, &out, sizeof out);
        return id;
    }
    value = rlx_builder_root(em->builder, value);
    if (em->value_index[value->id] != RLX_NO_INDEX)
        return em->value_index[value->id];
    out.kind = value_kind(value);
    out.dtype = value->dtype;
    out.layout = value->layout;
    out.rank = (uint32_t)value->rank;
    out.name = add_string(em, value->name);
    out.batch_symbol = em->batch[value->id];
    out.bytes = make_ref(em, rlx_value_bytes(em->graph, value));
    out.dims = (uint32_t)(em->refs.size / sizeof(rlx_ref_t));
    for (int i = 0; i < value->rank; ++i) {
        rlx_ref_t dim = make_ref(em, value->dims[i]);

        append(&em->refs, &dim, sizeof dim);
    }
    if (out.kind == RLX_VALUE_CONST) {
        out.offset.value = place_constant(em, value, &hash);
        out.digest[0] = hash.low64;
        out.digest[1] = hash.high64;
    }
    if (out.kind == RLX_VALUE_ARENA)
        out.offset = make_ref(em, em->offsets[value->id]);
    em->value_index[value->id] = id;
    append(&em->values, &out, sizeof out);
    return id;
}

static void emit_io(emitter_t *em)
{
    for (int i = 0; i < em->graph->n_inputs; ++i) {
        uint32_t id = value_id(em, em->graph->inputs[i]);

        append(&em->inputs, &id, sizeof id);
    }
    for (int i = 0; i < em->graph->n_outputs; ++i) {
        uint32_t id = value_id(em, em->graph->outputs[i]);

        append(&em->outputs, &id, sizeof id);
    }
}

static void emit_symbols(emitter_t *em)
{
    for (int i = 0; i < em->graph->n_symbols; ++i) {
        const rlx_symbol_t *symbol = &em->graph->symbols[i];
        rlx_program_symbol_t out = {
            .name = add_string(em, symbol->name),
            .source = symbol->axis >= 0 ? RLX_SYMBOL_INPUT_AXIS : RLX_SYMBOL_INPUT_DATA,
            .value = em->value_index[symbol->input->id],
            .index = (uint32_t)(symbol->axis >= 0 ? symbol->axis : symbol->element),
            .min = symbol->min,
            .max = symbol->max,
            .declared = symbol->declared,
        };

        append(&em->symbols, &out, sizeof out);
    }
}

static void emit_checks(emitter_t *em)
{
    for (int i = 0; i < em->graph->n_checks; ++i) {
        emit_expr(em, em->graph->checks[i].condition);
        push_operand(em, em->graph->checks[i].condition);
        code_word(em, RLX_CODE_CHECK);
        code_word(em, add_string(em, em->graph->checks[i].message));
    }
}

static rlx_expr_t step_bytes(emitter_t *em, const rlx_step_t *step)
{
    rlx_exprs_t *e = em->graph->exprs;
    rlx_expr_t total = rlx_expr_const(e, 0);

    for (int i = 0; i < step->n_in + step->n_out; ++i) {
        const rlx_value_t *value = i < step->n_in ? step->in[i] : step->out[i - step->n_in];

        if (value != NULL)
            total = rlx_expr_add(e, total, rlx_value_bytes(em->graph, value));
    }
    return total < 0 ? rlx_expr_const(e, INT64_MAX) : total;
}

static void emit_step(emitter_t *em, const rlx_step_t *step)
{
    rlx_program_step_t out = {.kernel = step->kernel, .n_in = (uint32_t)step->n_in, .n_out = (uint32_t)step->n_out, .n_params = (uint32_t)step->n_params};
    rlx_program_cost_t cost = {.flops = make_ref(em, step->flops), .bytes = make_ref(em, step_bytes(em, step))};
    uint32_t ids[RLX_STEP_OPERANDS_MAX];
    char name[256];

    for (int i = 0; i < step->n_in; ++i)
        ids[i] = value_id(em, step->in[i]);
    for (int i = 0; i < step->n_out; ++i)
        ids[step->n_in + i] = value_id(em, step->out[i]);
    out.operands = (uint32_t)(em->operands.size / sizeof *ids);
    append(&em->operands, ids, (size_t)(step->n_in + step->n_out) * sizeof *ids);
    out.params = (uint32_t)(em->params.size / sizeof(int64_t));
    out.patches = (uint32_t)(em->patches.size / sizeof(rlx_program_patch_t));
    for (int i = 0; i < step->n_params; ++i) {
        rlx_ref_t ref = make_ref(em, step->params[i]);
        rlx_program_patch_t patch = {.index = (uint32_t)i, .slot = ref.slot};

        append(&em->params, &ref.value, sizeof ref.value);
        if (ref.slot != RLX_NO_INDEX) {
            append(&em->patches, &patch, sizeof patch);
            ++out.n_patches;
        }
    }
    out.tiles = make_ref(em, step->tiles);
    out.scratch = make_ref(em, step->scratch);
    snprintf(name, sizeof name, "%s %s", rlx_op_info(step->op->kind)->name, step->op->name);
    out.name = add_string(em, name);
    out.source = add_string(em, step->op->source);
    append(&em->steps, &out, sizeof out);
    append(&em->costs, &cost, sizeof cost);
}

static void emit_fragment(emitter_t *em)
{
    rlx_program_fragment_t fragment = {.n_steps = (uint32_t)em->builder->n_steps,
                                       .split_symbol = RLX_NO_INDEX,
                                       .n_in = (uint32_t)em->graph->n_inputs,
                                       .n_out = (uint32_t)em->graph->n_outputs,
                                       .values = (uint32_t)(em->operands.size / sizeof(uint32_t))};

    append(&em->operands, em->inputs.data, em->inputs.size);
    append(&em->operands, em->outputs.data, em->outputs.size);
    append(&em->fragments, &fragment, sizeof fragment);
}

static rlx_table_t place_table(bytes_t *blob, const bytes_t *table, size_t item)
{
    rlx_table_t out;

    append_zero(blob, (8 - blob->size % 8) % 8);
    out = (rlx_table_t){.offset = blob->size, .count = table->size / item};
    append(blob, table->data, table->size);
    return out;
}

static void assemble(emitter_t *em, rlx_emitted_t *out)
{
    rlx_program_header_t header = {.magic = RLX_PROGRAM_MAGIC, .major = RLX_PROGRAM_MAJOR, .minor = RLX_PROGRAM_MINOR,
                                   .kernel_abi = RLX_KERNEL_ABI, .n_slots = em->n_slots};
    bytes_t blob = {0};

    append_zero(&blob, sizeof header);
    header.symbols = place_table(&blob, &em->symbols, sizeof(rlx_program_symbol_t));
    header.code = place_table(&blob, &em->code, sizeof(int64_t));
    header.refs = place_table(&blob, &em->refs, sizeof(rlx_ref_t));
    header.values = place_table(&blob, &em->values, sizeof(rlx_program_value_t));
    header.inputs = place_table(&blob, &em->inputs, sizeof(uint32_t));
    header.outputs = place_table(&blob, &em->outputs, sizeof(uint32_t));
    header.steps = place_table(&blob, &em->steps, sizeof(rlx_program_step_t));
    header.operands = place_table(&blob, &em->operands, sizeof(uint32_t));
    header.params = place_table(&blob, &em->params, sizeof(int64_t));
    header.patches = place_table(&blob, &em->patches, sizeof(rlx_program_patch_t));
    header.regions = place_table(&blob, &em->regions, sizeof(rlx_program_region_t));
    header.fragments = place_table(&blob, &em->fragments, sizeof(rlx_program_fragment_t));
    header.costs = place_table(&blob, &em->costs, sizeof(rlx_program_cost_t));
    header.strings = place_table(&blob, &em->strings, 1);
    append_zero(&blob, (8 - blob.size % 8) % 8);
    header.bytes = blob.size;
    memcpy(blob.data, &header, sizeof header);
    *out = (rlx_emitted_t){.program = blob.data, .program_bytes = blob.size, .constants = em->constants.data, .constants_bytes = em->constants.size};
}

rlx_status_t rlx_emit_program(const rlx_builder_t *builder, rlx_emitted_t *out_emitted, rlx_diag_t *diag)
{
    rlx_graph_t *graph = builder->graph;
    emitter_t em = {.builder = builder, .graph = graph, .diag = diag, .n_slots = (uint32_t)graph->n_symbols};
    rlx_program_region_t region = {.n_steps = (uint32_t)builder->n_steps, .n_symbols = (uint32_t)graph->n_symbols};
    rlx_expr_t arena_bytes = RLX_EXPR_NONE;
    rlx_status_t status;
    bytes_t *tables[] = {&em.symbols, &em.code,    &em.refs,    &em.values,    &em.inputs, &em.outputs, &em.steps,
                         &em.operands, &em.params, &em.patches, &em.fragments, &em.costs,  &em.strings, &em.regions};

    em.batch = rlx_batch_storage(builder);
    em.offsets = malloc(((size_t)graph->n_values + 1) * sizeof *em.offsets);
    em.value_index = malloc(((size_t)graph->n_values + 1) * sizeof *em.value_index);
    RLX_ASSERT(em.offsets != NULL);
    RLX_ASSERT(em.value_index != NULL);
    for (int i = 0; i < graph->n_values; ++i)
        em.value_index[i] = RLX_NO_INDEX;
    append_zero(&em.strings, 1);
    status = rlx_memory_plan(builder, em.offsets, &arena_bytes, diag);
    if (status == RLX_OK) {
        emit_io(&em);
        emit_symbols(&em);
        emit_checks(&em);
        for (int i = 0; i < builder->n_steps; ++i)
            emit_step(&em, builder->steps[i]);
        region.arena_bytes = make_ref(&em, arena_bytes);
        emit_fragment(&em);
        code_word(&em, RLX_CODE_END);
        region.n_code = (uint32_t)(em.code.size / sizeof(int64_t));
        append(&em.regions, &region, sizeof region);
        assemble(&em, out_emitted);
    } else {
        free(em.constants.data);
    }
    for (size_t i = 0; i < sizeof tables / sizeof *tables; ++i)
        free(tables[i]->data);
    free(em.batch);
    free(em.offsets);
    free(em.value_index);
    free(em.slot_of);
    free(em.entries);
    return status;
}
