/* From tables to one blob: header, tables, bodies. */
#include <stdlib.h>
#include <string.h>

#include "ir/emit/emit_code.h"
#include "kernels/abi.h"

void rlx_emit_tables_fini(rlx_emit_tables_t *tables)
{
    rlx_bytes_t *all = (rlx_bytes_t *)tables;

    for (size_t i = 0; i < sizeof *tables / sizeof *all; ++i)
        free(all[i].data);
}

static rlx_table_t place_table(rlx_bytes_t *blob, const rlx_bytes_t *table, size_t item)
{
    rlx_table_t out;

    rlx_bytes_zero(blob, (8 - blob->size % 8) % 8);
    out = (rlx_table_t){.offset = blob->size, .count = table->size / item};
    rlx_bytes_append(blob, table->data, table->size);
    return out;
}

/* The table of bodies, then the bodies, which know nothing of where they lie. */
static rlx_table_t place_bodies(rlx_bytes_t *blob, const rlx_bytes_t *bodies, int n)
{
    rlx_table_t out;

    rlx_bytes_zero(blob, (8 - blob->size % 8) % 8);
    out = (rlx_table_t){.offset = blob->size, .count = (uint64_t)n};
    rlx_bytes_zero(blob, (size_t)n * sizeof(rlx_program_body_t));
    for (int i = 0; i < n; ++i) {
        rlx_program_body_t entry = {.offset = blob->size, .bytes = bodies[i].size};

        rlx_bytes_append(blob, bodies[i].data, bodies[i].size);
        memcpy(blob->data + out.offset + (size_t)i * sizeof entry, &entry, sizeof entry);
    }
    return out;
}

rlx_bytes_t rlx_emit_assemble(const rlx_emit_tables_t *tables, const rlx_emit_code_t *code, const rlx_bytes_t *bodies, int n_bodies)
{
    rlx_program_header_t header = {.magic = RLX_PROGRAM_MAGIC, .major = RLX_PROGRAM_MAJOR, .minor = RLX_PROGRAM_MINOR,
                                   .kernel_abi = RLX_KERNEL_ABI, .n_slots = code->n_slots};
    rlx_bytes_t blob = {0};

    rlx_bytes_zero(&blob, sizeof header);
    header.symbols = place_table(&blob, &tables->symbols, sizeof(rlx_program_symbol_t));
    header.code = place_table(&blob, &code->words, sizeof(int64_t));
    header.refs = place_table(&blob, &tables->refs, sizeof(rlx_ref_t));
    header.values = place_table(&blob, &tables->values, sizeof(rlx_program_value_t));
    header.inputs = place_table(&blob, &tables->inputs, sizeof(uint32_t));
    header.outputs = place_table(&blob, &tables->outputs, sizeof(uint32_t));
    header.steps = place_table(&blob, &tables->steps, sizeof(rlx_program_step_t));
    header.operands = place_table(&blob, &tables->operands, sizeof(uint32_t));
    header.params = place_table(&blob, &tables->params, sizeof(int64_t));
    header.patches = place_table(&blob, &tables->patches, sizeof(rlx_program_patch_t));
    header.regions = place_table(&blob, &tables->regions, sizeof(rlx_program_region_t));
    header.fragments = place_table(&blob, &tables->fragments, sizeof(rlx_program_fragment_t));
    header.costs = place_table(&blob, &tables->costs, sizeof(rlx_program_cost_t));
    header.strings = place_table(&blob, &tables->strings, 1);
    header.bodies = place_bodies(&blob, bodies, n_bodies);
    rlx_bytes_zero(&blob, (8 - blob.size % 8) % 8);
    header.bytes = blob.size;
    memcpy(blob.data, &header, sizeof header);
    return blob;
}
