/* What a trace says of a model's steps, as text, made once: the writer only copies it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_quote.h"
#include "kernels/abi.h"
#include "kernels/params_custom.h"
#include "trace/record.h"

#define TEXT_MAX ((size_t)64 << 20)

static const char *const kernel_names[RLX_K_END] = {
#define RLX_KERNEL(id, number, flags) [number] = #id,
#include "kernels/kernel_list.h"
#undef RLX_KERNEL
};

static const char *kernel_name(uint32_t kernel)
{
    if (rlx_call_name(kernel) != NULL)
        return rlx_call_name(kernel);
    if (kernel >= RLX_CUSTOM_FIRST && kernel < RLX_K_END)
        return "custom";
    return kernel < RLX_K_END && kernel_names[kernel] != NULL ? kernel_names[kernel] : "?";
}

static void step_text(rlx_text_t *text, const rlx_program_step_t *step, const char *strings, rlx_trace_step_text_t *out_step)
{
    out_step->name = (uint32_t)text->bytes;
    rlx_json_quote(text, strings + step->name);
    out_step->name_bytes = (uint32_t)text->bytes - out_step->name;
    out_step->args = (uint32_t)text->bytes;
    rlx_text_puts(text, "\"kernel\":");
    rlx_json_quote(text, kernel_name(step->kernel));
    rlx_text_puts(text, ",\"source\":");
    rlx_json_quote(text, strings + step->source);
    out_step->args_bytes = (uint32_t)text->bytes - out_step->args;
}

/* What events call it: its name, with a number where another version or bundle had it before. */
static void label_make(rlx_text_t *text, const char *name, uint32_t nth)
{
    char label[512];

    snprintf(label, sizeof label, "%s (%u)", name, (unsigned)nth + 1);
    rlx_json_quote(text, nth == 0 ? name : label);
}

rlx_trace_model_t *rlx_trace_model_make(const char *name, const char *version, const uint8_t digest[32], const char *isa,
                                        uint32_t nth, const rlx_program_header_t *program)
{
    rlx_trace_model_t *model = calloc(1, sizeof *model);

    if (model == NULL)
        return NULL;
    rlx_text_init(&model->text, TEXT_MAX);
    memcpy(model->digest, digest, sizeof model->digest);
    model->name = strdup(name);
    model->version = strdup(version);
    model->isa = strdup(isa);
    model->n_steps = rlx_program_steps_total(program);
    model->steps = calloc(model->n_steps + 1, sizeof *model->steps);
    label_make(&model->text, name, nth);
    model->label_bytes = (uint32_t)model->text.bytes;
    for (uint32_t i = 0; i < model->n_steps && model->steps != NULL; i++) {
        const rlx_program_header_t *body;
        const rlx_program_step_t *step = rlx_program_step_find(program, i, &body);

        step_text(&model->text, step, RLX_PROGRAM_TABLE(char, body, strings), &model->steps[i]);
    }
    if (model->name == NULL || model->version == NULL || model->isa == NULL || model->steps == NULL || model->text.full) {
        rlx_trace_model_free(model);
        return NULL;
    }
    return model;
}

void rlx_trace_model_free(rlx_trace_model_t *model)
{
    free(model->name);
    free(model->version);
    free(model->isa);
    free(model->steps);
    rlx_text_fini(&model->text);
    free(model);
}
