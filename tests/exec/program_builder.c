/* Tables first in arrays, then one after another into the blob, as ir/emit/emit.c does it. */
#include "tests/exec/program_builder.h"

#include <assert.h>
#include <string.h>

#include "kernels/abi.h"

#define N(array) (sizeof(array) / sizeof *(array))

void pb_init(pb_t *pb)
{
    memset(pb, 0, sizeof *pb);
    pb->n_strings = 1;
    pb->n_regions = 1;
}

uint32_t pb_string(pb_t *pb, const char *text)
{
    uint32_t at = pb->n_strings;

    assert(at + strlen(text) + 1 <= sizeof pb->strings);
    memcpy(pb->strings + at, text, strlen(text) + 1);
    pb->n_strings += (uint32_t)strlen(text) + 1;
    return at;
}

uint32_t pb_symbol(pb_t *pb, const char *name, uint32_t source, uint32_t value, uint32_t index, int64_t min, int64_t max)
{
    assert(pb->n_symbols < N(pb->symbols));
    pb->symbols[pb->n_symbols] = (rlx_program_symbol_t){.name = pb_string(pb, name),
                                                        .source = source,
                                                        .value = value,
                                                        .index = index,
                                                        .min = min,
                                                        .max = max,
                                                        .region = pb->n_regions - 1};
    pb->regions[pb->n_regions - 1].n_symbols++;
    pb->n_slots++;
    return pb->n_symbols++;
}

void pb_code(pb_t *pb, int n, const int64_t *words)
{
    assert(pb->n_code + (uint32_t)n <= N(pb->code));
    memcpy(pb->code + pb->n_code, words, (size_t)n * sizeof *words);
    pb->n_code += (uint32_t)n;
    pb->regions[pb->n_regions - 1].n_code += (uint32_t)n;
}

uint32_t pb_store(pb_t *pb)
{
    pb_code(pb, 2, (int64_t[]){RLX_CODE_STORE, pb->n_slots});
    return pb->n_slots++;
}

uint32_t pb_mul(pb_t *pb, uint32_t a, uint32_t b)
{
    pb_code(pb, 5, (int64_t[]){RLX_CODE_SLOT, a, RLX_CODE_SLOT, b, RLX_CODE_MUL});
    return pb_store(pb);
}

uint32_t pb_scale(pb_t *pb, uint32_t slot, int64_t factor)
{
    pb_code(pb, 5, (int64_t[]){RLX_CODE_SLOT, slot, RLX_CODE_CONST, factor, RLX_CODE_MUL});
    return pb_store(pb);
}

uint32_t pb_value(pb_t *pb, rlx_value_kind_t kind, const char *name, rlx_dtype_t dtype, int rank, const rlx_ref_t *dims, rlx_ref_t offset,
                  rlx_ref_t bytes)
{
    uint32_t id = pb->n_values++;

    assert(id < N(pb->values));
    assert(pb->n_refs + (uint32_t)rank <= N(pb->refs));
    pb->values[id] = (rlx_program_value_t){.kind = kind,
                                           .dtype = dtype,
                                           .rank = (uint32_t)rank,
                                           .dims = pb->n_refs,
                                           .name = pb_string(pb, name),
                                           .region = pb->n_regions - 1,
                                           .batch_symbol = RLX_NO_INDEX,
                                           .offset = offset,
                                           .bytes = bytes};
    if (rank > 0)
        memcpy(pb->refs + pb->n_refs, dims, (size_t)rank * sizeof *dims);
    pb->n_refs += (uint32_t)rank;
    if (kind == RLX_VALUE_INPUT)
        pb->inputs[pb->n_inputs++] = id;
    if (kind == RLX_VALUE_OUTPUT)
        pb->outputs[pb->n_outputs++] = id;
    return id;
}

uint32_t pb_body(pb_t *pb, const void *program, size_t bytes)
{
    assert(pb->n_bodies < N(pb->bodies));
    pb->bodies[pb->n_bodies] = program;
    pb->body_bytes[pb->n_bodies] = bytes;
    return pb->n_bodies++;
}

rlx_program_step_t *pb_step(pb_t *pb, uint32_t kernel, int n_in, int n_out, const uint32_t *operands, rlx_ref_t tiles)
{
    rlx_program_step_t *step = &pb->steps[pb->n_steps];
    uint32_t n = (uint32_t)(n_in + n_out);

    assert(pb->n_steps < N(pb->steps));
    assert(pb->n_operands + n <= N(pb->operands));
    *step = (rlx_program_step_t){.kernel = kernel,
                                 .n_in = (uint32_t)n_in,
                                 .n_out = (uint32_t)n_out,
                                 .operands = pb->n_operands,
                                 .params = pb->n_params,
                                 .patches = pb->n_patches,
                                 .tiles = tiles,
                                 .scratch = pb_number(0),
                                 .name = pb_string(pb, "step"),
                                 .source = pb_string(pb, "node 0 'test'")};
    memcpy(pb->operands + pb->n_operands, operands, n * sizeof *operands);
    pb->n_operands += n;
    pb->costs[pb->n_steps++] = (rlx_program_cost_t){pb_number(0), pb_number(0), 1000000000ull * RLX_COST_SCALE};
    pb->regions[pb->n_regions - 1].n_steps++;
    return step;
}

void pb_param(pb_t *pb, rlx_ref_t param)
{
    rlx_program_step_t *step = &pb->steps[pb->n_steps - 1];

    assert(pb->n_params < N(pb->params));
    if (param.slot != RLX_NO_INDEX) {
        pb->patches[pb->n_patches++] = (rlx_program_patch_t){step->n_params, param.slot};
        step->n_patches++;
    }
    pb->params[pb->n_params++] = param.value;
    step->n_params++;
}

void pb_region(pb_t *pb)
{
    rlx_program_region_t *next = &pb->regions[pb->n_regions++];

    assert(pb->n_regions <= N(pb->regions));
    *next = (rlx_program_region_t){.first_step = pb->n_steps, .code = pb->n_code, .first_symbol = pb->n_symbols};
}

static rlx_table_t table_place(pb_t *pb, size_t *at, const void *data, uint32_t count, size_t size)
{
    rlx_table_t table = {.offset = *at = (*at + 7) / 8 * 8, .count = count};

    assert(*at + count * size <= sizeof pb->blob);
    memcpy(pb->blob + *at, data, count * size);
    *at += count * size;
    return table;
}

#define PLACE(field) table_place(pb, &at, pb->field, pb->n_##field, sizeof *pb->field)

static rlx_table_t bodies_place(pb_t *pb, size_t *at)
{
    rlx_program_body_t entries[N(pb->bodies)] = {{0}};
    rlx_table_t table = table_place(pb, at, entries, pb->n_bodies, sizeof *entries);

    for (uint32_t i = 0; i < pb->n_bodies; i++) {
        rlx_table_t body = table_place(pb, at, pb->bodies[i], (uint32_t)pb->body_bytes[i], 1);

        entries[i] = (rlx_program_body_t){body.offset, body.count};
    }
    memcpy(pb->blob + table.offset, entries, pb->n_bodies * sizeof *entries);
    return table;
}

const void *pb_finish(pb_t *pb, rlx_ref_t arena_bytes, size_t *out_bytes)
{
    rlx_program_header_t header = {.magic = RLX_PROGRAM_MAGIC,
                                   .major = RLX_PROGRAM_MAJOR,
                                   .minor = RLX_PROGRAM_MINOR,
                                   .kernel_abi = RLX_KERNEL_ABI,
                                   .n_slots = pb->n_slots};
    size_t at = sizeof header;

    for (uint32_t i = 0; i < pb->n_regions; i++)
        pb->regions[i].arena_bytes = arena_bytes;
    header.symbols = PLACE(symbols);
    header.code = PLACE(code);
    header.refs = PLACE(refs);
    header.values = PLACE(values);
    header.inputs = PLACE(inputs);
    header.outputs = PLACE(outputs);
    header.steps = PLACE(steps);
    header.operands = PLACE(operands);
    header.params = PLACE(params);
    header.patches = PLACE(patches);
    header.regions = PLACE(regions);
    header.costs = table_place(pb, &at, pb->costs, pb->n_steps, sizeof *pb->costs);
    header.fragments = (rlx_table_t){.offset = at, .count = 0};
    header.strings = PLACE(strings);
    header.bodies = bodies_place(pb, &at);
    at = (at + 7) / 8 * 8;
    header.bytes = at;
    memcpy(pb->blob, &header, sizeof header);
    *out_bytes = at;
    return pb->blob;
}
