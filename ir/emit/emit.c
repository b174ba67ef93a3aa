/* Writes the program blob (bundle/program.h) and the constant segment.
 *
 * Region by region, so that the code of a region computes what its values, checks and steps need and no earlier one has. Deterministic:
 * tables follow the order of steps, constants the order of first use, deduplicated by content over the program and its bodies. */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/assert.h"
#include "bundle/program.h"
#include "ir/builder.h"
#include "ir/emit/emit_code.h"
#include "ir/flow.h"
#include "ir/schedule.h"

#define CONST_ALIGNMENT 64

typedef struct const_entry {
    XXH128_hash_t hash;
    int64_t offset, size;
} const_entry_t;

typedef struct constants {
    rlx_bytes_t bytes;
    const_entry_t *entries;
    int n, cap;
} constants_t;

typedef struct emitter {
    rlx_builder_t *builder;
    rlx_graph_t *graph;
    rlx_expr_t *offsets;   /* by graph value id */
    uint32_t *batch;       /* by graph value id: rlx_batch_storage */
    rlx_expr_t *arenas;    /* by region */
    uint32_t *value_index; /* graph value id -> program value id */
    uint32_t *symbol_slot; /* symbols of the graph -> of the program */
    rlx_emit_code_t code;
    constants_t *constants;
    rlx_emit_tables_t tables;
} emitter_t;

static uint32_t add_string(emitter_t *em, const char *text)
{
    uint32_t offset = (uint32_t)em->tables.strings.size;

    if (text[0] == 0)
        return 0;
    rlx_bytes_append(&em->tables.strings, text, strlen(text) + 1);
    return offset;
}

/* Offset of a constant's bytes in the constant segment; equal bytes are stored once. */
static int64_t place_constant(constants_t *all, const rlx_value_t *value, XXH128_hash_t *out_hash)
{
    size_t size = (size_t)value->data_bytes;
    const_entry_t entry = {.hash = XXH3_128bits(value->data, size), .size = (int64_t)size};

    *out_hash = entry.hash;
    for (int i = 0; i < all->n; ++i)
        if (XXH128_isEqual(all->entries[i].hash, entry.hash) && all->entries[i].size == entry.size)
            return all->entries[i].offset;
    rlx_bytes_zero(&all->bytes, (CONST_ALIGNMENT - all->bytes.size % CONST_ALIGNMENT) % CONST_ALIGNMENT);
    entry.offset = (int64_t)all->bytes.size;
    rlx_bytes_append(&all->bytes, value->data, size);
    if (all->n == all->cap) {
        all->cap = all->cap * 2 + 64;
        all->entries = realloc(all->entries, (size_t)all->cap * sizeof *all->entries);
        RLX_ASSERT(all->entries != NULL);
    }
    all->entries[all->n++] = entry;
    return entry.offset;
}

static rlx_value_kind_t value_kind(const emitter_t *em, const rlx_value_t *value)
{
    if (rlx_value_is_dynamic(em->graph, value))
        return RLX_VALUE_DYNAMIC;
    return value->is_input ? RLX_VALUE_INPUT : value->is_output ? RLX_VALUE_OUTPUT : value->data != NULL ? RLX_VALUE_CONST : RLX_VALUE_ARENA;
}

/* The numbers of a value, in the code of the region that is being written. */
static void value_fill(emitter_t *em, const rlx_value_t *value)
{
    rlx_program_value_t *out = (rlx_program_value_t *)em->tables.values.data + em->value_index[value->id];
    uint32_t batch = em->batch[value->id];
    XXH128_hash_t hash;

    out->batch_symbol = batch < RLX_BATCH_FREE ? em->symbol_slot[batch] : batch;
    out->bytes = rlx_emit_ref(&em->code, rlx_value_bytes(em->graph, value));
    out->dims = (uint32_t)(em->tables.refs.size / sizeof(rlx_ref_t));
    for (int i = 0; i < value->rank; ++i) {
        rlx_ref_t dim = rlx_emit_ref(&em->code, value->dims[i]);

        rlx_bytes_append(&em->tables.refs, &dim, sizeof dim);
    }
    if (out->kind == RLX_VALUE_CONST) {
        out->offset.value = place_constant(em->constants, value, &hash);
        rlx_builder_const_release(em->builder, value);
        out->digest[0] = hash.low64;
        out->digest[1] = hash.high64;
    }
    if (out->kind == RLX_VALUE_ARENA)
        out->offset = rlx_emit_ref(&em->code, em->offsets[value->id]);
}

static uint32_t value_id(emitter_t *em, const rlx_value_t *value)
{
    rlx_program_value_t out = {.kind = RLX_VALUE_ABSENT, .dtype = RLX_F32, .batch_symbol = RLX_NO_INDEX,
                               .offset.slot = RLX_NO_INDEX, .bytes.slot = RLX_NO_INDEX};
    uint32_t id = (uint32_t)(em->tables.values.size / sizeof out);

    if (value == NULL) {
        rlx_bytes_append(&em->tables.values, &out, sizeof out);
        return id;
    }
    value = rlx_builder_root(em->builder, value);
    if (em->value_index[value->id] != RLX_NO_INDEX)
        return em->value_index[value->id];
    out.kind = value_kind(em, value);
    out.dtype = value->dtype;
    out.layout = value->layout;
    out.rank = (uint32_t)value->rank;
    out.name = add_string(em, value->name);
    out.region = out.kind == RLX_VALUE_CONST || out.kind == RLX_VALUE_INPUT ? 0 : (uint32_t)em->builder->regions.of_value[value->id];
    em->value_index[value->id] = id;
    rlx_bytes_append(&em->tables.values, &out, sizeof out);
    if (out.kind != RLX_VALUE_DYNAMIC) /* a call names it before its extents are known: value_fill then */
        value_fill(em, value);
    return id;
}

static int value_region(const emitter_t *em, const rlx_value_t *value)
{
    const rlx_value_t *root = rlx_builder_root(em->builder, value);

    return root->is_input || root->data != NULL ? 0 : em->builder->regions.of_value[root->id];
}

/* Inputs, and outputs of region `region`, before anything else of it. */
static void emit_ports(emitter_t *em, int region)
{
    for (int i = 0; region == 0 && i < em->graph->n_inputs; ++i) {
        uint32_t id = value_id(em, em->graph->inputs[i]);

        rlx_bytes_append(&em->tables.inputs, &id, sizeof id);
    }
    for (int i = 0; i < em->graph->n_outputs; ++i)
        if (value_region(em, em->graph->outputs[i]) == region)
            value_id(em, em->graph->outputs[i]);
}

static void emit_outputs(emitter_t *em)
{
    for (int i = 0; i < em->graph->n_outputs; ++i) {
        uint32_t id = value_id(em, em->graph->outputs[i]);

        rlx_bytes_append(&em->tables.outputs, &id, sizeof id);
    }
}

/* Values of this region that calls of earlier ones have named. */
static void emit_dynamics(emitter_t *em, int region)
{
    for (int i = 0; i < em->graph->n_values; ++i) {
        const rlx_value_t *value = em->graph->values[i];

        if (em->value_index[i] != RLX_NO_INDEX && rlx_value_is_dynamic(em->graph, value) && value_region(em, value) == region)
            value_fill(em, value);
    }
}

/* Symbols stand by region; those of inputs that were dropped have no value, and stand nowhere. */
static uint32_t symbols_order(emitter_t *em)
{
    uint32_t n = 0;

    for (int r = 0; r < em->builder->regions.count; ++r)
        for (int i = 0; i < em->graph->n_symbols; ++i)
            if (em->graph->symbols[i].value != NULL && em->builder->regions.of_symbol[i] == r)
                em->symbol_slot[i] = n++;
    return n;
}

static void emit_symbol(emitter_t *em, const rlx_symbol_t *symbol, int region)
{
    bool axis = symbol->axis >= 0;
    rlx_program_symbol_t out = {
        .name = add_string(em, symbol->name),
        .source = symbol->value->is_input ? (axis ? RLX_SYMBOL_INPUT_AXIS : RLX_SYMBOL_INPUT_DATA)
                                          : (axis ? RLX_SYMBOL_VALUE_AXIS : RLX_SYMBOL_VALUE_DATA),
        .value = value_id(em, symbol->value),
        .index = (uint32_t)(axis ? symbol->axis : symbol->element),
        .min = symbol->min,
        .max = symbol->max,
        .region = (uint32_t)region,
        .declared = symbol->declared,
    };

    rlx_bytes_append(&em->tables.symbols, &out, sizeof out);
}

/* Returns how many there are. */
static uint32_t emit_symbols(emitter_t *em, int region)
{
    uint32_t n = 0;

    for (int i = 0; i < em->graph->n_symbols; ++i) {
        if (em->graph->symbols[i].value == NULL || em->builder->regions.of_symbol[i] != region)
            continue;
        emit_symbol(em, &em->graph->symbols[i], region);
        ++n;
    }
    return n;
}

static void emit_checks(emitter_t *em, int region)
{
    const rlx_regions_t *regions = &em->builder->regions;

    for (int i = 0; i < em->graph->n_checks; ++i)
        if (regions->of_expr[em->graph->checks[i].condition] == region)
            rlx_emit_check(&em->code, em->graph->checks[i].condition, add_string(em, em->graph->checks[i].message));
}

static rlx_expr_t step_bytes(emitter_t *em, const rlx_step_t *step)
{
    rlx_exprs_t *e = em->graph->exprs;
    rlx_expr_t total = rlx_expr_const(e, 0);

    for (int i = 0; i < step->n_in + step->n_out; ++i) {
        const rlx_value_t *value = i < step->n_in ? step->in[i] : step->out[i - step->n_in];

        if (value != NULL && step->kernel < RLX_K_END)
            total = rlx_expr_add(e, total, rlx_value_bytes(em->graph, value));
    }
    return total < 0 ? rlx_expr_const(e, INT64_MAX) : total;
}

/* What tuning measured, relative to the estimate; 0: nothing. */
static uint64_t step_scale(const rlx_step_t *step)
{
    const rlx_schedule_t *sched = step->op->sched;

    return sched != NULL && step->index < RLX_SCHEDULE_STEPS_MAX ? sched->scale[step->index] : 0;
}

static void emit_step(emitter_t *em, const rlx_step_t *step)
{
    rlx_program_step_t out = {.kernel = step->kernel, .n_in = (uint32_t)step->n_in, .n_out = (uint32_t)step->n_out, .n_params = (uint32_t)step->n_params};
    rlx_program_cost_t cost = {.flops = rlx_emit_ref(&em->code, step->flops), .bytes = rlx_emit_ref(&em->code, step_bytes(em, step)),
                               .scale = step_scale(step)};
    char name[256];

    out.operands = (uint32_t)(em->tables.operands.size / sizeof(uint32_t));
    for (int i = 0; i < step->n_in + step->n_out; ++i) {
        uint32_t id = value_id(em, i < step->n_in ? step->in[i] : step->out[i - step->n_in]);

        rlx_bytes_append(&em->tables.operands, &id, sizeof id);
    }
    out.params = (uint32_t)(em->tables.params.size / sizeof(int64_t));
    out.patches = (uint32_t)(em->tables.patches.size / sizeof(rlx_program_patch_t));
    for (int i = 0; i < step->n_params; ++i) {
        rlx_ref_t ref = rlx_emit_ref(&em->code, step->params[i]);
        rlx_program_patch_t patch = {.index = (uint32_t)i, .slot = ref.slot};

        rlx_bytes_append(&em->tables.params, &ref.value, sizeof ref.value);
        if (ref.slot != RLX_NO_INDEX) {
            rlx_bytes_append(&em->tables.patches, &patch, sizeof patch);
            ++out.n_patches;
        }
    }
    out.tiles = rlx_emit_ref(&em->code, step->tiles);
    out.scratch = rlx_emit_ref(&em->code, step->scratch);
    snprintf(name, sizeof name, "%s %s", rlx_op_info(step->op->kind)->name, step->op->name);
    out.name = add_string(em, name);
    out.source = add_string(em, step->op->source);
    rlx_bytes_append(&em->tables.steps, &out, sizeof out);
    rlx_bytes_append(&em->tables.costs, &cost, sizeof cost);
}

static void emit_fragment(emitter_t *em)
{
    rlx_program_fragment_t fragment = {.n_steps = (uint32_t)em->builder->n_steps,
                                       .split_symbol = RLX_NO_INDEX,
                                       .n_in = (uint32_t)em->graph->n_inputs,
                                       .n_out = (uint32_t)em->graph->n_outputs,
                                       .values = (uint32_t)(em->tables.operands.size / sizeof(uint32_t))};

    rlx_bytes_append(&em->tables.operands, em->tables.inputs.data, em->tables.inputs.size);
    rlx_bytes_append(&em->tables.operands, em->tables.outputs.data, em->tables.outputs.size);
    rlx_bytes_append(&em->tables.fragments, &fragment, sizeof fragment);
}

static void emit_region(emitter_t *em, int r)
{
    const rlx_builder_t *builder = em->builder;
    rlx_program_region_t region = {.code = (uint32_t)(em->code.words.size / sizeof(int64_t)),
                                   .first_step = (uint32_t)(em->tables.steps.size / sizeof(rlx_program_step_t))};

    emit_ports(em, r);
    emit_dynamics(em, r);
    emit_checks(em, r);
    for (int i = 0; i < builder->n_steps; ++i)
        if (builder->steps[i]->region == r)
            emit_step(em, builder->steps[i]);
    region.n_steps = (uint32_t)(em->tables.steps.size / sizeof(rlx_program_step_t)) - region.first_step;
    region.arena_bytes = rlx_emit_ref(&em->code, em->arenas[r]);
    rlx_emit_word(&em->code, RLX_CODE_END);
    region.n_code = (uint32_t)(em->code.words.size / sizeof(int64_t)) - region.code;
    rlx_bytes_append(&em->tables.regions, &region, sizeof region);
}

/* Symbols refer to values, so they come last. */
static void emit_region_symbols(emitter_t *em)
{
    rlx_program_region_t *regions = (rlx_program_region_t *)em->tables.regions.data;
    uint32_t first = 0;

    for (int r = 0; r < em->builder->regions.count; ++r) {
        regions[r].first_symbol = first;
        regions[r].n_symbols = emit_symbols(em, r);
        first += regions[r].n_symbols;
    }
}

static void emitter_init(emitter_t *em)
{
    size_t n_values = (size_t)em->graph->n_values + 1;

    em->offsets = malloc(n_values * sizeof *em->offsets);
    em->arenas = malloc((size_t)em->builder->regions.count * sizeof *em->arenas);
    em->value_index = malloc(n_values * sizeof *em->value_index);
    em->symbol_slot = calloc((size_t)em->graph->n_symbols + 1, sizeof *em->symbol_slot);
    RLX_ASSERT(em->offsets != NULL);
    RLX_ASSERT(em->arenas != NULL);
    RLX_ASSERT(em->value_index != NULL);
    RLX_ASSERT(em->symbol_slot != NULL);
    memset(em->value_index, 0xff, n_values * sizeof *em->value_index); /* RLX_NO_INDEX */
    em->code = (rlx_emit_code_t){.exprs = em->graph->exprs, .symbol_slot = em->symbol_slot, .n_slots = symbols_order(em)};
    em->batch = rlx_batch_storage(em->builder);
    rlx_bytes_zero(&em->tables.strings, 1);
}

static void emitter_fini(emitter_t *em)
{
    rlx_emit_tables_fini(&em->tables);
    free(em->code.words.data);
    free(em->batch);
    free(em->offsets);
    free(em->arenas);
    free(em->value_index);
    free(em->symbol_slot);
    free(em->code.slot_of);
}

static rlx_status_t emit_graph(rlx_builder_t *builder, constants_t *constants, rlx_bytes_t *out_blob, rlx_diag_t *diag);

static rlx_status_t emit_bodies(rlx_builder_t *builder, constants_t *constants, rlx_bytes_t *bodies, rlx_diag_t *diag)
{
    for (int i = 0; i < builder->n_bodies; ++i)
        RLX_TRY(emit_graph(builder->bodies[i], constants, &bodies[i], diag));
    return RLX_OK;
}

static rlx_status_t emit_graph(rlx_builder_t *builder, constants_t *constants, rlx_bytes_t *out_blob, rlx_diag_t *diag)
{
    emitter_t em = {.builder = builder, .graph = builder->graph, .constants = constants};
    rlx_bytes_t *bodies = calloc((size_t)builder->n_bodies + 1, sizeof *bodies);
    rlx_status_t status;

    RLX_ASSERT(bodies != NULL);
    emitter_init(&em);
    status = rlx_memory_plan(builder, em.offsets, em.arenas, diag);
    for (int r = 0; r < builder->regions.count && status == RLX_OK; ++r)
        emit_region(&em, r);
    if (status == RLX_OK) {
        emit_outputs(&em);
        emit_region_symbols(&em);
        emit_fragment(&em);
        status = emit_bodies(builder, constants, bodies, diag);
    }
    if (status == RLX_OK)
        *out_blob = rlx_emit_assemble(&em.tables, &em.code, bodies, builder->n_bodies);
    for (int i = 0; i < builder->n_bodies; ++i)
        free(bodies[i].data);
    free(bodies);
    emitter_fini(&em);
    return status;
}

rlx_status_t rlx_emit_program(rlx_builder_t *builder, rlx_emitted_t *out_emitted, rlx_diag_t *diag)
{
    constants_t constants = {0};
    rlx_bytes_t blob = {0};
    rlx_status_t status = emit_graph(builder, &constants, &blob, diag);

    free(constants.entries);
    if (status != RLX_OK) {
        free(constants.bytes.data);
        return status;
    }
    *out_emitted = (rlx_emitted_t){.program = blob.data, .program_bytes = blob.size, .constants = constants.bytes.data,
                                   .constants_bytes = constants.bytes.size};
    return RLX_OK;
}
