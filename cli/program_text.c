/* Prints a checked program. Numbers that depend on shapes appear as s<slot>; slots below the symbol count as the symbol's name. */
#include "cli/program_text.h"

#include <inttypes.h>

#include "kernels/reference.h"

static const char *string_at(const rlx_program_header_t *program, uint32_t offset)
{
    return RLX_PROGRAM_TABLE(char, program, strings) + offset;
}

static void ref_print(const rlx_program_header_t *program, const rlx_ref_t *ref, FILE *out)
{
    if (ref->slot == RLX_NO_INDEX)
        fprintf(out, "%" PRId64, ref->value);
    else if (ref->slot < program->symbols.count)
        fputs(string_at(program, RLX_PROGRAM_TABLE(rlx_program_symbol_t, program, symbols)[ref->slot].name), out);
    else
        fprintf(out, "s%u", ref->slot);
}

static void value_print(const rlx_program_header_t *program, uint32_t id, FILE *out)
{
    static const char *const kinds[] = {"input", "output", "const", "arena", "absent", "dynamic"};
    const rlx_program_value_t *value = &RLX_PROGRAM_TABLE(rlx_program_value_t, program, values)[id];
    const rlx_ref_t *refs = RLX_PROGRAM_TABLE(rlx_ref_t, program, refs) + value->dims;

    fprintf(out, "%%%u = %s %s[", id, kinds[value->kind < 6 ? value->kind : 4], rlx_dtype_name((rlx_dtype_t)value->dtype));
    for (uint32_t i = 0; i < value->rank; i++) {
        fputs(i > 0 ? "," : "", out);
        ref_print(program, &refs[i], out);
    }
    fprintf(out, "] %s", rlx_layout_name((rlx_layout_t)value->layout));
    if (value->kind == RLX_VALUE_CONST || value->kind == RLX_VALUE_ARENA) {
        fputs(" at ", out);
        ref_print(program, &value->offset, out);
    }
    fputs(", bytes ", out);
    ref_print(program, &value->bytes, out);
    fprintf(out, "  \"%s\"\n", string_at(program, value->name));
}

static void step_params_print(const rlx_program_header_t *program, const rlx_program_step_t *step, FILE *out)
{
    const int64_t *params = RLX_PROGRAM_TABLE(int64_t, program, params) + step->params;
    const rlx_program_patch_t *patches = RLX_PROGRAM_TABLE(rlx_program_patch_t, program, patches) + step->patches;

    fputs(" {", out);
    for (uint32_t i = 0; i < step->n_params; i++) {
        rlx_ref_t ref = {params[i], RLX_NO_INDEX, 0};

        for (uint32_t k = 0; k < step->n_patches; k++)
            if (patches[k].index == i)
                ref.slot = patches[k].slot;
        fputs(i > 0 ? " " : "", out);
        ref_print(program, &ref, out);
    }
    fputc('}', out);
}

static void step_print(const rlx_program_header_t *program, uint32_t index, FILE *out)
{
    const rlx_program_step_t *step = &RLX_PROGRAM_TABLE(rlx_program_step_t, program, steps)[index];
    const uint32_t *operands = RLX_PROGRAM_TABLE(uint32_t, program, operands) + step->operands;
    const char *kernel = rlx_step_is_call(step) ? rlx_call_name(step->kernel) : rlx_kernel_name((rlx_kernel_id_t)step->kernel);

    fprintf(out, "%4u: ", index);
    for (uint32_t i = 0; i < step->n_out; i++)
        fprintf(out, "%s%%%u", i > 0 ? ", " : "", operands[step->n_in + i]);
    fprintf(out, " = %s(", kernel != NULL ? kernel : "?");
    for (uint32_t i = 0; i < step->n_in; i++)
        fprintf(out, "%s%%%u", i > 0 ? ", " : "", operands[i]);
    fputc(')', out);
    step_params_print(program, step, out);
    fputs(" tiles ", out);
    ref_print(program, &step->tiles, out);
    fputs(", scratch ", out);
    ref_print(program, &step->scratch, out);
    fprintf(out, "  \"%s\"\n", string_at(program, step->name));
}

static void symbols_print(const rlx_program_header_t *program, FILE *out)
{
    static const char *const sources[] = {"extent", "input element", "computed element", "computed extent"};
    const rlx_program_symbol_t *symbols = RLX_PROGRAM_TABLE(rlx_program_symbol_t, program, symbols);

    for (uint64_t i = 0; i < program->symbols.count; i++)
        fprintf(out, "symbol %s: %s %u of %%%u, %" PRId64 "..%" PRId64 "%s\n", string_at(program, symbols[i].name),
                sources[symbols[i].source < 4 ? symbols[i].source : 0], symbols[i].index, symbols[i].value, symbols[i].min, symbols[i].max,
                symbols[i].declared ? " (declared)" : "");
}

/* A program's symbols, values and steps, then its bodies. The program was checked: depth is bounded. */
static void tables_print(const rlx_program_header_t *program, FILE *out)
{
    const rlx_program_region_t *regions = RLX_PROGRAM_TABLE(rlx_program_region_t, program, regions);

    symbols_print(program, out);
    for (uint64_t i = 0; i < program->values.count; i++)
        value_print(program, (uint32_t)i, out);
    for (uint64_t r = 0; r < program->regions.count; r++) {
        fprintf(out, "region %u, arena ", (unsigned)r);
        ref_print(program, &regions[r].arena_bytes, out);
        fputs(" bytes\n", out);
        for (uint32_t i = 0; i < regions[r].n_steps; i++)
            step_print(program, regions[r].first_step + i, out);
    }
    for (uint32_t i = 0; i < rlx_program_bodies(program); i++) {
        fprintf(out, "body %u\n", i);
        tables_print(rlx_program_body(program, i), out);
        fprintf(out, "end of body %u\n", i);
    }
}

void rlx_program_print(const rlx_program_header_t *program, FILE *out)
{
    fprintf(out, "program %u.%u, kernel ABI %u, %u slots\n", program->major, program->minor, program->kernel_abi, program->n_slots);
    tables_print(program, out);
}
