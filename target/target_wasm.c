/* --target wasm: a module without imports, in two forms: with the SIMD of WebAssembly, and without. Its memory is what the plan needs: constants,
 * arena, tensors and stack; it does not grow.
 *
 * WebAssembly has no fused multiply-add, so there is no `strict` form: `stable` takes product and sum, in the same order, which gives the same bits
 * in every engine. */
#include <inttypes.h>
#include <string.h>

#include "target/compiled.h"
#include "target/source_files.h"

#define STACK_BYTES (1 << 20)
#define MEMORY_MAX ((int64_t)4 << 30)
#define WITHOUT "fma.c"
#define MORE "wasm.c"

/* Offsets of tensors in one block, each at a multiple of 64. */
static int64_t ports_place(const rlx_frozen_t *frozen, const uint32_t *ids, uint64_t count, int64_t at, rlx_text_t *out)
{
    for (uint64_t i = 0; i < count; i++) {
        rlx_text_printf(out, "tensors + %" PRId64 ", ", at);
        at += (frozen->plan->values[ids[i]].bytes + 63) / 64 * 64;
    }
    return at;
}

static rlx_status_t sources_add(rlx_compiled_c_t *compiled, rlx_diag_t *diag)
{
    const rlx_model_t *model = compiled->frozen.model;
    char name[64], macro[64], bytes_text[32];
    rlx_text_t in, out;
    int64_t bytes;
    rlx_status_t status;
    const rlx_template_word_t words[] = {{"NAME", name}, {"MACRO", macro}, {"PORT_BYTES", bytes_text}, {"INPUT_AT", NULL}, {"OUTPUT_AT", NULL}, {NULL, NULL}};
    rlx_template_word_t filled[sizeof words / sizeof *words];

    rlx_emit_c_name(compiled->job->stem, sizeof name, name, macro);
    rlx_text_init(&in, RLX_FILE_TEXT_MAX);
    rlx_text_init(&out, RLX_FILE_TEXT_MAX);
    bytes = ports_place(&compiled->frozen, model->inputs, model->header->inputs.count, 0, &in);
    bytes = ports_place(&compiled->frozen, model->outputs, model->header->outputs.count, bytes, &out);
    rlx_text_add(&in, "", 1);
    rlx_text_add(&out, "", 1);
    snprintf(bytes_text, sizeof bytes_text, "%" PRId64, bytes + 64);
    memcpy(filled, words, sizeof words);
    filled[3].text = in.data;
    filled[4].text = out.data;
    if (in.full || out.full)
        status = rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for the output");
    else if (compiled->frozen.arena_bytes + (int64_t)compiled->frozen.constants_bytes + bytes + STACK_BYTES > MEMORY_MAX - (1 << 20))
        status = rlx_fail(diag, RLX_E_TARGET_MODEL, "constants, arena and tensors take %" PRId64 " bytes, and WebAssembly has 4 GiB of memory",
                          compiled->frozen.arena_bytes + (int64_t)compiled->frozen.constants_bytes + bytes);
    else
        status = rlx_source_template_add(compiled->set, "wasm.c", "wasm.c", filled, diag);
    if (status == RLX_OK)
        status = rlx_source_template_add(compiled->set, "stable.h", "stable.h", filled, diag);
    if (status == RLX_OK)
        status = rlx_source_template_add(compiled->set, "run.mjs", "run.mjs", filled, diag);
    if (status == RLX_OK)
        status = rlx_file_set_write(compiled->set, compiled->work, diag);
    rlx_text_fini(&in);
    rlx_text_fini(&out);
    return status;
}

static rlx_status_t module_make(const rlx_compiled_c_t *compiled, const char *flags, const char *name, rlx_diag_t *diag)
{
    rlx_tool_t link = {0};
    char all[256];

    snprintf(all, sizeof all, "--target=wasm32 -mbulk-memory -mnontrapping-fptoint %s -include stable.h", flags);
    RLX_TRY(rlx_compiled_c_clang(compiled, all, ".o", WITHOUT, MORE, diag));
    rlx_tool_words(&link, "wasm-ld-19 --no-entry --gc-sections --strip-all --no-growable-memory -z");
    rlx_tool_word(&link, "stack-size=%d", STACK_BYTES);
    rlx_tool_word(&link, "-o");
    rlx_tool_word(&link, "%s", name);
    rlx_compiled_c_objects(compiled, WITHOUT, MORE, ".o", &link);
    RLX_TRY(rlx_tool_run(&link, compiled->work, diag));
    return rlx_compiled_c_take(compiled, name, name, diag);
}

static rlx_status_t make(const rlx_target_job_t *job, rlx_target_figures_t *out_figures, rlx_diag_t *diag)
{
    rlx_target_job_t bare = *job;
    rlx_compiled_c_t compiled;
    rlx_status_t status;

    if (!job->stable) {
        rlx_fail(diag, RLX_E_TARGET_MODEL, "WebAssembly has no fused multiply-add, so it cannot give the bits of determinism 'strict'");
        return rlx_diag_hint(diag, "Add --determinism stable: product and sum in the same order, the same bits in every engine.");
    }
    bare.freestanding = true;
    RLX_TRY(rlx_compiled_c_begin(&bare, &compiled, diag));
    status = sources_add(&compiled, diag);
    if (status == RLX_OK)
        status = module_make(&compiled, "-msimd128", "kernel.wasm", diag);
    if (status == RLX_OK)
        status = module_make(&compiled, "", "kernel_scalar.wasm", diag);
    if (status == RLX_OK)
        status = rlx_compiled_c_take(&compiled, "run.mjs", "run.mjs", diag);
    *out_figures = (rlx_target_figures_t){.n_files = 3};
    rlx_compiled_c_end(&compiled, out_figures);
    return status;
}

const rlx_target_t rlx_target_wasm = {"wasm", "WebAssembly modules with and without SIMD", make};
