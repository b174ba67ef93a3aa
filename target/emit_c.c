/* Deterministic: tables in the program's order, nothing else. */
#include "target/emit_c.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "kernels/params_custom.h"
#include "kernels/reference.h"

void rlx_emit_c_name(const char *stem, size_t bytes, char *out_name, char *out_macro)
{
    size_t n = 0;

    if (isdigit((unsigned char)stem[0]) || stem[0] == '\0')
        out_name[n++] = 'm';
    for (const char *at = stem; *at != '\0' && n + 1 < bytes; at++)
        out_name[n++] = isalnum((unsigned char)*at) && (unsigned char)*at < 128 ? *at : '_';
    out_name[n] = '\0';
    for (size_t i = 0; i <= n; i++)
        out_macro[i] = (char)toupper((unsigned char)out_name[i]);
}

/* A name of the model inside a comment or string literal: what could end either becomes '?'. */
static void name_put(rlx_text_t *out, const char *name)
{
    for (; *name != '\0'; name++) {
        char c = (unsigned char)*name < 32 || *name == '"' || *name == '\\' || *name == '?' || (*name == '/' && name[1] == '*') ||
                         (*name == '*' && name[1] == '/')
                     ? '.'
                     : *name;

        rlx_text_add(out, &c, 1);
    }
}

static const rlx_program_value_t *value_of(const rlx_emit_c_t *emit, uint32_t id) { return &emit->frozen->model->values[id]; }
static const rlx_plan_value_t *place_of(const rlx_emit_c_t *emit, uint32_t id) { return &emit->frozen->plan->values[id]; }

static const char *dtype_descr(uint32_t dtype)
{
    static const char *const descr[RLX_DTYPE_COUNT] = {
#define X(name, number, bytes, text, numpy) [number] = numpy,
        RLX_DTYPES(X)
#undef X
    };

    return descr[dtype];
}

static void shape_put(const rlx_emit_c_t *emit, uint32_t id, rlx_text_t *out)
{
    rlx_tensor_t shape;

    rlx_plan_dims(emit->frozen->plan, id, &shape);
    for (int i = 0; i < shape.rank; i++)
        rlx_text_printf(out, "%s%" PRId64, i > 0 ? ", " : "", shape.dims[i]);
}

static void port_comment(const rlx_emit_c_t *emit, const char *what, uint64_t index, uint32_t id, rlx_text_t *out)
{
    rlx_text_printf(out, " *   %s[%" PRIu64 "]: ", what, index);
    name_put(out, rlx_model_value_name(emit->frozen->model, id));
    rlx_text_printf(out, ", %s [", rlx_dtype_name((rlx_dtype_t)value_of(emit, id)->dtype));
    shape_put(emit, id, out);
    rlx_text_printf(out, "], %" PRId64 " bytes\n", place_of(emit, id)->bytes);
}

static void ports_comment(const rlx_emit_c_t *emit, rlx_text_t *out)
{
    const rlx_model_t *model = emit->frozen->model;

    for (uint64_t i = 0; i < model->header->inputs.count; i++)
        port_comment(emit, "inputs", i, model->inputs[i], out);
    for (uint64_t i = 0; i < model->header->outputs.count; i++)
        port_comment(emit, "outputs", i, model->outputs[i], out);
}

void rlx_emit_c_tensors(const rlx_emit_c_t *emit, rlx_text_t *out)
{
    const rlx_model_t *model = emit->frozen->model;
    uint64_t n_in = model->header->inputs.count, n = n_in + model->header->outputs.count;

    rlx_text_puts(out, "| | name | type | shape |\n|---|---|---|---|\n");
    for (uint64_t i = 0; i < n; i++) {
        uint32_t id = i < n_in ? model->inputs[i] : model->outputs[i - n_in];

        rlx_text_printf(out, "| `%s[%" PRIu64 "]` | ", i < n_in ? "inputs" : "outputs", i < n_in ? i : i - n_in);
        name_put(out, rlx_model_value_name(model, id));
        rlx_text_printf(out, " | %s | ", rlx_dtype_name((rlx_dtype_t)value_of(emit, id)->dtype));
        shape_put(emit, id, out);
        rlx_text_puts(out, " |\n");
    }
}

void rlx_emit_c_header(const rlx_emit_c_t *emit, rlx_text_t *out)
{
    const rlx_model_t *model = emit->frozen->model;
    const char *name = emit->name, *macro = emit->macro;

    rlx_text_printf(out, "/* %s: made by %s from ", name, emit->compiler);
    name_put(out, emit->model);
    rlx_text_puts(out, ".\n *\n");
    ports_comment(emit, out);
    rlx_text_printf(out, " */\n#ifndef %s_KERNEL_H\n#define %s_KERNEL_H\n\n#include <stddef.h>\n#include <stdint.h>\n\n", macro, macro);
    rlx_text_puts(out, "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
    rlx_text_printf(out, "#define %s_INPUTS %" PRIu64 "\n#define %s_OUTPUTS %" PRIu64 "\n", macro, model->header->inputs.count, macro,
                    model->header->outputs.count);
    rlx_text_printf(out, "#define %s_ALIGN 64\n#define %s_ARENA_BYTES %" PRId64 "\n#define %s_WEIGHTS_BYTES %zu\n\n", macro, macro,
                    emit->frozen->arena_bytes, macro, emit->frozen->constants_bytes);
    rlx_text_printf(out,
                    "typedef struct %s_tensor {\n    const char *name;\n    const char *descr; /* of the element, as numpy writes it */\n"
                    "    int rank;\n    int64_t shape[8];\n    size_t bytes;\n} %s_tensor_t;\n\n",
                    name, name);
    rlx_text_printf(out, "extern const %s_tensor_t %s_inputs[], %s_outputs[];\n\n", name, name, name);
    if (emit->static_arena)
        rlx_text_printf(out,
                        "/* Tensors are dense, row-major, aligned to their elements. Works in a static arena: one run at a time.\n"
                        " * 0, or bits: 1 an index outside its axis, 2 an integer divided by zero, 4 a value outside its domain. */\n"
                        "int %s_run(const void *const inputs[], void *const outputs[]);\n",
                        name);
    else
        rlx_text_printf(out,
                        "/* Tensors are dense, row-major, aligned to their elements; the arena is %s_ARENA_BYTES at a multiple of\n"
                        " * %s_ALIGN. Allocates nothing, keeps nothing: any thread, each with its own arena.\n"
                        " * 0, or bits: 1 an index outside its axis, 2 an integer divided by zero, 4 a value outside its domain; 256: the arena\n"
                        " * is not aligned. */\n"
                        "int %s_run(const void *const inputs[], void *const outputs[], void *arena);\n",
                        macro, macro, name);
    rlx_text_puts(out, "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
}

/* ---- the source ---- */

static void port_put(const rlx_emit_c_t *emit, uint32_t id, rlx_text_t *out)
{
    rlx_text_puts(out, "    {\"");
    name_put(out, rlx_model_value_name(emit->frozen->model, id));
    rlx_text_printf(out, "\", \"%s\", %u, {", dtype_descr(value_of(emit, id)->dtype), value_of(emit, id)->rank);
    shape_put(emit, id, out);
    rlx_text_printf(out, "%s}, %" PRId64 "},\n", value_of(emit, id)->rank == 0 ? "0" : "", place_of(emit, id)->bytes);
}

static void ports_put(const rlx_emit_c_t *emit, rlx_text_t *out)
{
    const rlx_model_t *model = emit->frozen->model;

    rlx_text_printf(out, "const %s_tensor_t %s_inputs[] = {\n", emit->name, emit->name);
    for (uint64_t i = 0; i < model->header->inputs.count; i++)
        port_put(emit, model->inputs[i], out);
    if (model->header->inputs.count == 0)
        rlx_text_puts(out, "    {0},\n");
    rlx_text_printf(out, "};\nconst %s_tensor_t %s_outputs[] = {\n", emit->name, emit->name);
    for (uint64_t i = 0; i < model->header->outputs.count; i++)
        port_put(emit, model->outputs[i], out);
    if (model->header->outputs.count == 0)
        rlx_text_puts(out, "    {0},\n");
    rlx_text_puts(out, "};\n\n");
}

static void prelude_put(const rlx_emit_c_t *emit, rlx_text_t *out)
{
    rlx_text_printf(out, "/* %s: made by %s from ", emit->name, emit->compiler);
    name_put(out, emit->model);
    rlx_text_puts(out, ".\n *\n * One function per step: operands in the arena, in the constants or at a tensor of the caller; parameters of the\n"
                       " * kernel (kernels/params.h); the range of tiles. */\n#include \"kernel.h\"\n\n#include \"kernels/abi.h\"\n\n");
    rlx_text_puts(out, "#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__\n"
                       "#error \"the constants are little-endian\"\n#endif\n\n");
    rlx_text_printf(out, "extern const unsigned char %s_weights[] __attribute__((visibility(\"hidden\"))); /* weights.S */\n\n", emit->name);
    rlx_text_puts(out, "typedef struct run {\n    char *arena;\n    const void *const *in;\n    void *const *out;\n    uint32_t error;\n} run_t;\n\n");
    rlx_text_printf(out,
                    "#define ARENA(offset, row) {.base = run->arena + (offset), .row_bytes = (row)}\n"
                    "#define CONST(offset, row) {.base = (void *)(uintptr_t)(%s_weights + (offset)), .row_bytes = (row)}\n"
                    "#define IN(index, row) {.base = (void *)(uintptr_t)run->in[index], .row_bytes = (row)}\n"
                    "#define OUT(index, row) {.base = run->out[index], .row_bytes = (row)}\n"
                    "#define ABSENT {.base = NULL}\n"
                    "#define CALL(kernel, n_in, tiles)                                                                                 \\\n"
                    "    kernel(                                                                                                       \\\n"
                    "        &(rlx_kernel_args_t){operand, operand + (n_in), param, run->arena + %" PRId64 ", &run->error}, 0, (tiles))\n\n",
                    emit->name, emit->frozen->scratch_offset);
}

/* The function of a kernel: RLX's own, or what stands before user code. */
static void function_put(uint32_t kernel, rlx_text_t *out)
{
    if (kernel >= RLX_CUSTOM_FIRST)
        rlx_text_printf(out, "rlx_custom_entry_%u", kernel - RLX_CUSTOM_FIRST);
    else
        rlx_text_printf(out, "rlx_kernel_%s", rlx_kernel_name((rlx_kernel_id_t)kernel));
}

static void prototypes_put(const rlx_emit_c_t *emit, rlx_text_t *out)
{
    const rlx_model_t *model = emit->frozen->model;
    bool used[RLX_K_END] = {0};

    for (uint64_t i = 0; i < model->header->steps.count; i++)
        used[model->steps[i].kernel] = true;
    for (int id = 0; id < RLX_K_END; id++)
        if (used[id]) {
            rlx_text_puts(out, "void ");
            function_put((uint32_t)id, out);
            rlx_text_puts(out, "(const rlx_kernel_args_t *args, int64_t tile_begin, int64_t tile_end);\n");
        }
    rlx_text_puts(out, "\n");
}

static void operand_put(const rlx_emit_c_t *emit, uint32_t id, rlx_text_t *out)
{
    const rlx_plan_value_t *place = place_of(emit, id);

    switch (value_of(emit, id)->kind) {
    case RLX_VALUE_ARENA: rlx_text_printf(out, "ARENA(%" PRId64 ", %" PRId64 ")", place->offset, place->row_bytes); break;
    case RLX_VALUE_CONST: rlx_text_printf(out, "CONST(%" PRId64 ", %" PRId64 ")", place->offset, place->row_bytes); break;
    case RLX_VALUE_INPUT: rlx_text_printf(out, "IN(%u, %" PRId64 ")", emit->frozen->model->port[id], place->row_bytes); break;
    case RLX_VALUE_OUTPUT: rlx_text_printf(out, "OUT(%u, %" PRId64 ")", emit->frozen->model->port[id], place->row_bytes); break;
    default: rlx_text_puts(out, "ABSENT"); break;
    }
}

static void step_put(const rlx_emit_c_t *emit, uint32_t index, rlx_text_t *out)
{
    const rlx_model_t *model = emit->frozen->model;
    const rlx_program_step_t *step = &model->steps[index];
    const rlx_plan_step_t *planned = &emit->frozen->plan->steps[index];

    rlx_text_printf(out, "/* %u: ", index);
    name_put(out, model->strings + step->name);
    rlx_text_printf(out, " */\nstatic void step_%u(run_t *run)\n{\n    const rlx_operand_t operand[] = {\n", index);
    for (uint32_t i = 0; i < step->n_in + step->n_out; i++) {
        rlx_text_puts(out, "        ");
        operand_put(emit, model->operands[step->operands + i], out);
        rlx_text_puts(out, ",\n");
    }
    rlx_text_puts(out, "    };\n    static const int64_t param[] = {");
    for (uint32_t i = 0; i < step->n_params; i++)
        rlx_text_printf(out, "%s%" PRId64, i == 0 ? "" : i % 12 == 0 ? ",\n        " : ", ", planned->params[i]);
    rlx_text_printf(out, "%s};\n\n    CALL(", step->n_params == 0 ? "0" : "");
    function_put(step->kernel, out);
    rlx_text_printf(out, ", %u, %" PRId64 ");\n}\n\n", step->n_in, planned->tiles);
}

/* An output that is no value of its own (an input, a constant, a temporary, or one that stands twice) is copied last. */
static void copies_put(const rlx_emit_c_t *emit, rlx_text_t *out)
{
    const rlx_model_t *model = emit->frozen->model;

    for (uint64_t i = 0; i < model->header->outputs.count; i++) {
        uint32_t id = model->outputs[i];

        if ((value_of(emit, id)->kind == RLX_VALUE_OUTPUT && model->port[id] == i) || place_of(emit, id)->bytes == 0)
            continue;
        rlx_text_puts(out, "    {\n        const rlx_operand_t from = ");
        operand_put(emit, id, out);
        rlx_text_printf(out, ";\n\n        __builtin_memcpy(run->out[%" PRIu64 "], from.base, %" PRId64 ");\n    }\n", i, place_of(emit, id)->bytes);
    }
}

static bool step_runs(const rlx_emit_c_t *emit, uint64_t index) { return emit->frozen->plan->steps[index].tiles > 0; }

static void run_put(const rlx_emit_c_t *emit, rlx_text_t *out)
{
    uint64_t n = emit->frozen->model->header->steps.count;

    rlx_text_puts(out, "static void (*const steps[])(run_t *run) = {\n");
    for (uint64_t i = 0; i < n; i++)
        if (step_runs(emit, i))
            rlx_text_printf(out, "    step_%" PRIu64 ",\n", i);
    rlx_text_puts(out, "    NULL,\n};\n\nstatic void outputs_copy(run_t *run)\n{\n    (void)run;\n");
    copies_put(emit, out);
    rlx_text_puts(out, "}\n\n");
    if (emit->static_arena)
        rlx_text_printf(out,
                        "static _Alignas(%s_ALIGN) char arena[%s_ARENA_BYTES]\n#ifdef __ELF__\n    __attribute__((section(\".bss.%s_arena\")))\n#endif\n"
                        "    ;\n\nint %s_run(const void *const inputs[], void *const outputs[])\n{\n",
                        emit->macro, emit->macro, emit->name, emit->name);
    else
        rlx_text_printf(out, "int %s_run(const void *const inputs[], void *const outputs[], void *arena)\n{\n", emit->name);
    rlx_text_puts(out, "    run_t run = {arena, inputs, outputs, 0};\n\n");
    if (!emit->static_arena)
        rlx_text_printf(out, "    if ((uintptr_t)arena %% %s_ALIGN != 0)\n        return 256;\n", emit->macro);
    rlx_text_puts(out, "    for (size_t i = 0; steps[i] != NULL; i++) {\n        steps[i](&run);\n        if (run.error != 0)\n"
                       "            return (int)run.error;\n    }\n    outputs_copy(&run);\n    return 0;\n}\n");
}

void rlx_emit_c_source(const rlx_emit_c_t *emit, rlx_text_t *out)
{
    uint64_t n = emit->frozen->model->header->steps.count;

    prelude_put(emit, out);
    prototypes_put(emit, out);
    ports_put(emit, out);
    for (uint64_t i = 0; i < n; i++)
        if (step_runs(emit, i))
            step_put(emit, (uint32_t)i, out);
    run_put(emit, out);
}
