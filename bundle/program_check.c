/* rlx_program_check: the one gate between bytes and the executor.
 *
 * Order of the checks: header, tables, strings; then symbols and region bounds; then the shape code of each region in turn (which fixes
 * how many slots are known when the region's steps are planned); then values, steps, fragments, costs against that. Every loop runs over a
 * table whose extent was already checked, so the whole is linear. Regions are capped so that the bound per region fits on the stack. */
#include <inttypes.h>
#include <string.h>

#include "bundle/program_check.h"

#define REGIONS_MAX 256
#define SLOTS_MAX (1u << 20)
#define KERNEL_END 256
#define OPERANDS_MAX 24
#define PARAMS_MAX 512
#define ALIGN 64
#define LAYOUT_MAX 63 /* kernels know their layouts; here only a bound */

typedef struct check {
    const rlx_program_header_t *header;
    const rlx_program_symbol_t *symbols;
    const int64_t *code;
    const rlx_ref_t *refs;
    const rlx_program_value_t *values;
    const uint32_t *operands;
    const rlx_program_patch_t *patches;
    const rlx_program_region_t *regions;
    uint64_t bytes, const_bytes;
    uint32_t slots_known[REGIONS_MAX]; /* by shape code, after the region's code ran */
    rlx_diag_t *diag;
} check_t;

#define BAD(c, ...) rlx_fail((c)->diag, RLX_E_BUNDLE_MALFORMED, "program: " __VA_ARGS__)

static bool range_fits(uint64_t first, uint64_t count, uint64_t limit) { return count <= limit && first <= limit - count; }

static bool string_fits(const check_t *c, uint32_t offset) { return offset < c->header->strings.count; }

static rlx_status_t check_header(check_t *c, const void *data)
{
    const rlx_program_header_t *header = data;

    if ((uintptr_t)data % 8 != 0)
        return BAD(c, "not aligned to 8 bytes");
    if (c->bytes < offsetof(rlx_program_header_t, bodies) || header->magic != RLX_PROGRAM_MAGIC ||
        (header->minor >= 2 && c->bytes < sizeof *header))
        return BAD(c, "no program header");
    if (header->major != RLX_PROGRAM_MAJOR)
        return rlx_fail(c->diag, RLX_E_BUNDLE_VERSION, "program has version %u.%u, this executor reads %d.x", header->major, header->minor,
                        RLX_PROGRAM_MAJOR);
    if (header->bytes != c->bytes)
        return BAD(c, "header says %" PRIu64 " bytes, segment has %" PRIu64, header->bytes, c->bytes);
    if (header->n_slots > SLOTS_MAX)
        return BAD(c, "%u slots, at most %u", header->n_slots, SLOTS_MAX);
    c->header = header;
    return RLX_OK;
}

static rlx_status_t check_table(check_t *c, const rlx_table_t *table, size_t size, const char *name)
{
    if (table->offset % 8 != 0 || table->offset > c->bytes || table->count > (c->bytes - table->offset) / size)
        return BAD(c, "table %s lies outside", name);
    if (table->count >= RLX_NO_INDEX)
        return BAD(c, "table %s is too long", name);
    return RLX_OK;
}

static rlx_status_t check_tables(check_t *c)
{
    const rlx_program_header_t *h = c->header;

    RLX_TRY(check_table(c, &h->symbols, sizeof(rlx_program_symbol_t), "symbols"));
    RLX_TRY(check_table(c, &h->code, sizeof(int64_t), "code"));
    RLX_TRY(check_table(c, &h->refs, sizeof(rlx_ref_t), "refs"));
    RLX_TRY(check_table(c, &h->values, sizeof(rlx_program_value_t), "values"));
    RLX_TRY(check_table(c, &h->inputs, sizeof(uint32_t), "inputs"));
    RLX_TRY(check_table(c, &h->outputs, sizeof(uint32_t), "outputs"));
    RLX_TRY(check_table(c, &h->steps, sizeof(rlx_program_step_t), "steps"));
    RLX_TRY(check_table(c, &h->operands, sizeof(uint32_t), "operands"));
    RLX_TRY(check_table(c, &h->params, sizeof(int64_t), "params"));
    RLX_TRY(check_table(c, &h->patches, sizeof(rlx_program_patch_t), "patches"));
    RLX_TRY(check_table(c, &h->regions, sizeof(rlx_program_region_t), "regions"));
    RLX_TRY(check_table(c, &h->fragments, sizeof(rlx_program_fragment_t), "fragments"));
    RLX_TRY(check_table(c, &h->costs, sizeof(rlx_program_cost_t), "costs"));
    RLX_TRY(check_table(c, &h->strings, 1, "strings"));
    if (h->minor >= 2)
        RLX_TRY(check_table(c, &h->bodies, sizeof(rlx_program_body_t), "bodies"));
    c->symbols = RLX_PROGRAM_TABLE(rlx_program_symbol_t, h, symbols);
    c->code = RLX_PROGRAM_TABLE(int64_t, h, code);
    c->refs = RLX_PROGRAM_TABLE(rlx_ref_t, h, refs);
    c->values = RLX_PROGRAM_TABLE(rlx_program_value_t, h, values);
    c->operands = RLX_PROGRAM_TABLE(uint32_t, h, operands);
    c->patches = RLX_PROGRAM_TABLE(rlx_program_patch_t, h, patches);
    c->regions = RLX_PROGRAM_TABLE(rlx_program_region_t, h, regions);
    return RLX_OK;
}

static rlx_status_t check_counts(check_t *c)
{
    const rlx_program_header_t *h = c->header;
    const char *strings = RLX_PROGRAM_TABLE(char, h, strings);

    if (h->strings.count == 0 || strings[0] != '\0' || strings[h->strings.count - 1] != '\0')
        return BAD(c, "strings do not begin and end with NUL");
    if (h->regions.count < 1 || h->regions.count > REGIONS_MAX)
        return BAD(c, "%" PRIu64 " regions, 1 to %d allowed", h->regions.count, REGIONS_MAX);
    if (h->symbols.count > h->n_slots)
        return BAD(c, "more symbols than slots");
    if (h->costs.count != 0 && h->costs.count != h->steps.count)
        return BAD(c, "costs and steps differ in number");
    return RLX_OK;
}

/* What symbols may be read from. */
static bool dtype_is_number(uint32_t dtype) { return (dtype >= RLX_I8 && dtype <= RLX_BOOL) || dtype == RLX_F32; }

static bool has_computed_data(const rlx_program_value_t *value)
{
    return value->kind == RLX_VALUE_INPUT || value->kind == RLX_VALUE_ARENA || value->kind == RLX_VALUE_OUTPUT || value->kind == RLX_VALUE_CONST ||
           value->kind == RLX_VALUE_DYNAMIC;
}

static rlx_status_t check_symbol(check_t *c, uint32_t index, uint32_t region)
{
    const rlx_program_symbol_t *symbol = &c->symbols[index];
    const rlx_program_value_t *value;

    if (!string_fits(c, symbol->name) || symbol->value >= c->header->values.count || symbol->region != region)
        return BAD(c, "symbol %u: name, value or region out of range", index);
    if (symbol->min > symbol->max)
        return BAD(c, "symbol %u: minimum above maximum", index);
    value = &c->values[symbol->value];
    switch (symbol->source) {
    case RLX_SYMBOL_INPUT_AXIS:
        if (region == 0 && value->kind == RLX_VALUE_INPUT && symbol->index < value->rank && symbol->min >= 0)
            return RLX_OK;
        break;
    case RLX_SYMBOL_INPUT_DATA:
        if (region == 0 && value->kind == RLX_VALUE_INPUT && dtype_is_number(value->dtype))
            return RLX_OK;
        break;
    case RLX_SYMBOL_VALUE_DATA:
        if (has_computed_data(value) && dtype_is_number(value->dtype) && value->region < region && value->layout == RLX_LAYOUT_ROW_MAJOR)
            return RLX_OK;
        break;
    case RLX_SYMBOL_VALUE_AXIS:
        if (value->kind == RLX_VALUE_DYNAMIC && value->region == region && symbol->index < value->rank && symbol->min >= 0)
            return RLX_OK;
        break;
    default: break;
    }
    return BAD(c, "symbol %u: its source does not fit its value", index);
}

/* Regions split the steps and the symbols without gap or overlap, in order. */
static rlx_status_t check_regions(check_t *c)
{
    uint64_t step = 0, symbol = 0;

    for (uint32_t r = 0; r < c->header->regions.count; r++) {
        const rlx_program_region_t *region = &c->regions[r];

        if (region->first_step != step || region->first_symbol != symbol)
            return BAD(c, "region %u does not follow the one before", r);
        step += region->n_steps;
        symbol += region->n_symbols;
        if (step > c->header->steps.count || symbol > c->header->symbols.count)
            return BAD(c, "region %u has steps or symbols that do not exist", r);
        if (!range_fits(region->code, region->n_code, c->header->code.count))
            return BAD(c, "region %u: code out of range", r);
        for (uint64_t i = region->first_symbol; i < symbol; i++)
            RLX_TRY(check_symbol(c, (uint32_t)i, r));
    }
    if (step != c->header->steps.count || symbol != c->header->symbols.count)
        return BAD(c, "steps or symbols outside every region");
    return RLX_OK;
}

static bool slot_fits(const check_t *c, uint32_t slot, uint32_t region)
{
    if (slot < c->header->symbols.count)
        return c->symbols[slot].region <= region;
    return slot < c->slots_known[region];
}

static bool ref_fits(const check_t *c, const rlx_ref_t *ref, uint32_t region)
{
    return ref->reserved == 0 && (ref->slot == RLX_NO_INDEX || slot_fits(c, ref->slot, region));
}

static bool layout_fits(uint32_t kind, uint32_t layout)
{
    bool outside = kind == RLX_VALUE_INPUT || kind == RLX_VALUE_OUTPUT || kind == RLX_VALUE_DYNAMIC;

    return layout == RLX_LAYOUT_ROW_MAJOR || (!outside && layout <= LAYOUT_MAX);
}

static bool const_fits(const check_t *c, const rlx_program_value_t *value)
{
    int64_t offset = value->offset.value, bytes = value->bytes.value;

    if (value->offset.slot != RLX_NO_INDEX || value->bytes.slot != RLX_NO_INDEX || offset < 0 || bytes < 0 || offset % ALIGN != 0)
        return false;
    return range_fits((uint64_t)offset, (uint64_t)bytes, c->const_bytes);
}

static rlx_status_t check_value(check_t *c, uint64_t index)
{
    const rlx_program_value_t *value = &c->values[index];
    uint64_t symbols = c->header->symbols.count;

    if (value->kind > RLX_VALUE_DYNAMIC || !string_fits(c, value->name) || value->region >= c->header->regions.count)
        return BAD(c, "value %" PRIu64 ": kind, name or region out of range", index);
    if (value->kind == RLX_VALUE_ABSENT)
        return RLX_OK;
    if (rlx_dtype_size((rlx_dtype_t)value->dtype) == 0 || value->rank > RLX_RANK_MAX || !layout_fits(value->kind, value->layout))
        return BAD(c, "value %" PRIu64 ": element type, rank or layout out of range", index);
    if (!range_fits(value->dims, value->rank, c->header->refs.count))
        return BAD(c, "value %" PRIu64 ": dimensions out of range", index);
    for (uint32_t i = 0; i < value->rank; i++)
        if (!ref_fits(c, &c->refs[value->dims + i], value->region))
            return BAD(c, "value %" PRIu64 ": dimension %u uses a slot that is not known yet", index, i);
    if (!ref_fits(c, &value->offset, value->region) || !ref_fits(c, &value->bytes, value->region))
        return BAD(c, "value %" PRIu64 ": offset or size uses a slot that is not known yet", index);
    if (value->kind == RLX_VALUE_CONST && !const_fits(c, value))
        return BAD(c, "value %" PRIu64 ": constant outside its segment", index);
    if (value->kind == RLX_VALUE_INPUT && value->region != 0)
        return BAD(c, "value %" PRIu64 ": input outside region 0", index);
    if (value->kind == RLX_VALUE_DYNAMIC && value->region == 0)
        return BAD(c, "value %" PRIu64 ": dynamic value in region 0", index);
    if (value->batch_symbol < RLX_BATCH_FREE && value->batch_symbol >= symbols)
        return BAD(c, "value %" PRIu64 ": batch symbol out of range", index);
    return RLX_OK;
}

/* Inputs are input values, each listed once. An output may be any value (the executor copies where it was not written in place), twice
 * too. */
static rlx_status_t check_ends(check_t *c)
{
    const uint32_t *inputs = RLX_PROGRAM_TABLE(uint32_t, c->header, inputs);
    const uint32_t *outputs = RLX_PROGRAM_TABLE(uint32_t, c->header, outputs);
    uint64_t n_values = c->header->values.count, n_inputs = 0;

    for (uint64_t i = 0; i < c->header->inputs.count; i++)
        if (inputs[i] >= n_values || c->values[inputs[i]].kind != RLX_VALUE_INPUT || (i > 0 && inputs[i] <= inputs[i - 1]))
            return BAD(c, "input %" PRIu64 " is no input value, or out of order", i);
    for (uint64_t i = 0; i < n_values; i++)
        n_inputs += c->values[i].kind == RLX_VALUE_INPUT;
    if (n_inputs != c->header->inputs.count)
        return BAD(c, "an input value is not listed");
    for (uint64_t i = 0; i < c->header->outputs.count; i++)
        if (outputs[i] >= n_values || c->values[outputs[i]].kind == RLX_VALUE_ABSENT ||
            c->values[outputs[i]].layout != RLX_LAYOUT_ROW_MAJOR)
            return BAD(c, "output %" PRIu64 " is no row-major value", i);
    return RLX_OK;
}

/* A result is written in its region; a dynamic one by a call of an earlier region than those that read it. */
static bool result_fits(const rlx_program_step_t *step, const rlx_program_value_t *value, uint32_t region)
{
    if (value->kind == RLX_VALUE_DYNAMIC)
        return rlx_step_is_call(step) && value->region > region;
    return (value->kind == RLX_VALUE_OUTPUT || value->kind == RLX_VALUE_ARENA || value->kind == RLX_VALUE_ABSENT) && value->region <= region;
}

static rlx_status_t check_operands(check_t *c, const rlx_program_step_t *step, uint64_t index, uint32_t region)
{
    for (uint32_t i = 0; i < step->n_in + step->n_out; i++) {
        uint32_t id = c->operands[step->operands + i];

        if (id >= c->header->values.count || (i < step->n_in && c->values[id].region > region))
            return BAD(c, "step %" PRIu64 ": operand %u out of range", index, i);
        if (i >= step->n_in && !result_fits(step, &c->values[id], region))
            return BAD(c, "step %" PRIu64 ": operand %u may not be written", index, i);
    }
    return RLX_OK;
}

static rlx_status_t check_step(check_t *c, const rlx_program_step_t *step, uint64_t index, uint32_t region)
{
    const rlx_program_header_t *h = c->header;

    uint32_t operands_max = rlx_step_is_call(step) ? RLX_CALL_OPERANDS_MAX : OPERANDS_MAX;

    if (step->kernel == 0 || (step->kernel >= KERNEL_END && step->kernel != RLX_CALL_IF && step->kernel != RLX_CALL_LOOP) ||
        !string_fits(c, step->name) || !string_fits(c, step->source))
        return BAD(c, "step %" PRIu64 ": kernel or name out of range", index);
    if (step->n_in > operands_max || step->n_out > operands_max || step->n_params > PARAMS_MAX)
        return BAD(c, "step %" PRIu64 ": too many operands or parameters", index);
    if (!range_fits(step->operands, step->n_in + step->n_out, h->operands.count) ||
        !range_fits(step->params, step->n_params, h->params.count) || !range_fits(step->patches, step->n_patches, h->patches.count) ||
        step->n_patches > step->n_params)
        return BAD(c, "step %" PRIu64 ": operands, parameters or patches out of range", index);
    RLX_TRY(check_operands(c, step, index, region));
    for (uint32_t i = 0; i < step->n_patches; i++) {
        const rlx_program_patch_t *patch = &c->patches[step->patches + i];

        if (patch->index >= step->n_params || !slot_fits(c, patch->slot, region))
            return BAD(c, "step %" PRIu64 ": patch %u out of range", index, i);
    }
    if (!ref_fits(c, &step->tiles, region) || !ref_fits(c, &step->scratch, region))
        return BAD(c, "step %" PRIu64 ": tiles or scratch use a slot that is not known yet", index);
    return RLX_OK;
}

static rlx_status_t check_steps(check_t *c)
{
    const rlx_program_step_t *steps = RLX_PROGRAM_TABLE(rlx_program_step_t, c->header, steps);
    const rlx_program_cost_t *costs = RLX_PROGRAM_TABLE(rlx_program_cost_t, c->header, costs);

    for (uint32_t r = 0; r < c->header->regions.count; r++) {
        const rlx_program_region_t *region = &c->regions[r];

        if (!ref_fits(c, &region->arena_bytes, r))
            return BAD(c, "region %u: arena size uses a slot that is not known yet", r);
        for (uint64_t i = region->first_step; i < (uint64_t)region->first_step + region->n_steps; i++) {
            RLX_TRY(check_step(c, &steps[i], i, r));
            if (c->header->costs.count && (!ref_fits(c, &costs[i].flops, r) || !ref_fits(c, &costs[i].bytes, r)))
                return BAD(c, "cost %" PRIu64 " uses a slot that is not known yet", i);
            if (c->header->costs.count && costs[i].scale > RLX_COST_SCALE_MAX)
                return BAD(c, "cost %" PRIu64 " is scaled beyond all measure", i);
        }
    }
    return RLX_OK;
}

static rlx_status_t check_fragments(check_t *c)
{
    const rlx_program_header_t *h = c->header;
    const rlx_program_fragment_t *fragments = RLX_PROGRAM_TABLE(rlx_program_fragment_t, h, fragments);
    uint64_t visited = 0;

    for (uint64_t i = 0; i < h->fragments.count; i++) {
        const rlx_program_fragment_t *fragment = &fragments[i];
        uint64_t n_values = (uint64_t)fragment->n_in + fragment->n_out;

        if (!range_fits(fragment->first_step, fragment->n_steps, h->steps.count) ||
            !range_fits(fragment->values, n_values, h->operands.count) ||
            (fragment->split_symbol != RLX_NO_INDEX && fragment->split_symbol >= h->symbols.count))
            return BAD(c, "fragment %" PRIu64 " is out of range", i);
        visited += n_values;
        if (visited > h->operands.count)
            return BAD(c, "fragments share their value lists");
        for (uint64_t k = 0; k < n_values; k++)
            if (c->operands[fragment->values + k] >= h->values.count)
                return BAD(c, "fragment %" PRIu64 ": value out of range", i);
    }
    return RLX_OK;
}

rlx_status_t rlx_program_check_depth(const void *data, size_t bytes, uint64_t const_bytes, int depth, rlx_diag_t *diag)
{
    check_t c = {.bytes = bytes, .const_bytes = const_bytes, .diag = diag};

    RLX_TRY(check_header(&c, data));
    RLX_TRY(check_tables(&c));
    RLX_TRY(check_counts(&c));
    RLX_TRY(check_regions(&c));
    RLX_TRY(rlx_program_check_code(c.header, c.slots_known, c.diag));
    for (uint64_t i = 0; i < c.header->values.count; i++)
        RLX_TRY(check_value(&c, i));
    RLX_TRY(check_ends(&c));
    RLX_TRY(check_steps(&c));
    RLX_TRY(check_fragments(&c));
    return rlx_program_check_calls(c.header, const_bytes, depth, diag);
}

rlx_status_t rlx_program_check(const void *data, size_t bytes, uint64_t const_bytes, rlx_diag_t *diag)
{
    return rlx_program_check_depth(data, bytes, const_bytes, 0, diag);
}
