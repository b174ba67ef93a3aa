/* The plan is made by the executor itself; the kernels are the reference evaluator's, which nobody calls here. */
#include "target/frozen.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "kernels/params_custom.h"
#include "kernels/reference.h"

#define ALIGN 64
#define SHAPE_MAX 256

/* "1x3x224x224", with 1 where an axis is open. */
static void shape_text(const rlx_model_t *model, uint32_t id, char out_text[SHAPE_MAX])
{
    const rlx_program_value_t *value = &model->values[id];
    int at = 0;

    out_text[0] = '\0';
    for (uint32_t i = 0; i < value->rank && at < SHAPE_MAX - 32; i++) {
        const rlx_ref_t *dim = &model->refs_table[value->dims + i];
        bool known = dim->slot == RLX_NO_INDEX;
        int64_t extent = known ? dim->value : 1;

        if (!known && dim->slot < model->header->symbols.count && model->symbols[dim->slot].min == model->symbols[dim->slot].max)
            extent = model->symbols[dim->slot].min;
        at += snprintf(out_text + at, (size_t)(SHAPE_MAX - at), "%s%" PRId64, i > 0 ? "x" : "", extent);
    }
}

static rlx_status_t open_fail(const rlx_model_t *model, const rlx_program_symbol_t *symbol, rlx_diag_t *diag)
{
    const char *input = rlx_model_value_name(model, symbol->value);
    char shape[SHAPE_MAX];

    if (symbol->source == RLX_SYMBOL_INPUT_DATA) {
        rlx_fail(diag, RLX_E_TARGET_MODEL, "a size follows from the data of input '%s' (element %u): this target runs fixed sizes", input,
                 symbol->index);
        return rlx_diag_hint(diag, "Make the input a constant of the model, or compile for x86_64, whose bundles plan each request.");
    }
    shape_text(model, symbol->value, shape);
    rlx_fail(diag, RLX_E_TARGET_MODEL, "input '%s' axis %u is open ('%s'): this target runs fixed sizes", input, symbol->index,
             model->strings + symbol->name);
    return rlx_diag_hint(diag, "Fix every open axis, for example: --shape %s=%s", input, shape);
}

static rlx_status_t regions_check(const rlx_model_t *model, rlx_diag_t *diag)
{
    for (uint64_t i = 0; i < model->header->steps.count; i++)
        if (rlx_step_is_call(&model->steps[i])) {
            rlx_fail(diag, RLX_E_TARGET_MODEL, "step '%s' is %s: this target runs straight-line programs", model->strings + model->steps[i].name,
                     model->steps[i].kernel == RLX_CALL_IF ? "a branch that data decides" : "a loop");
            rlx_diag_at(diag, "%s", model->strings + model->steps[i].source);
            return rlx_diag_hint(diag, "Compile for x86_64, whose executor runs branches and loops.");
        }
    if (model->n_regions > 1) {
        const rlx_program_symbol_t *symbol = &model->symbols[model->regions[1].first_symbol];

        rlx_fail(diag, RLX_E_TARGET_MODEL, "sizes follow from computed data ('%s'): this target runs fixed sizes",
                 model->regions[1].n_symbols > 0 ? rlx_model_value_name(model, symbol->value) : "?");
        return rlx_diag_hint(diag, "Compile for x86_64, whose executor plans what follows when the data is there.");
    }
    return RLX_OK;
}

/* The only values that the symbols may take. */
static rlx_status_t symbols_take(const rlx_model_t *model, int64_t *symbols, rlx_diag_t *diag)
{
    for (uint64_t i = 0; i < model->header->symbols.count; i++) {
        const rlx_program_symbol_t *symbol = &model->symbols[i];

        if (symbol->source != RLX_SYMBOL_INPUT_AXIS || symbol->min != symbol->max)
            return open_fail(model, symbol, diag);
        symbols[i] = symbol->min;
    }
    return RLX_OK;
}

static rlx_status_t plan_make(rlx_model_t *model, rlx_plan_t **out_plan, rlx_diag_t *diag)
{
    int64_t *symbols = calloc(model->header->symbols.count + 1, sizeof *symbols);
    rlx_status_t status;

    if (symbols == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for a plan");
    status = regions_check(model, diag);
    if (status == RLX_OK)
        status = symbols_take(model, symbols, diag);
    if (status == RLX_OK)
        status = rlx_plan_build(model, 0, NULL, symbols, out_plan, diag);
    free(symbols);
    return status;
}

/* Stands for user code. */
static void never_called(const rlx_kernel_args_t *args, int64_t begin, int64_t end)
{
    (void)args;
    (void)begin;
    (void)end;
    RLX_ASSERT(false);
}

rlx_status_t rlx_frozen_make(const void *program, const void *constants, size_t constants_bytes, rlx_frozen_t *out_frozen, rlx_diag_t *diag)
{
    rlx_kernel_table_t kernels = {.target = "reference"};
    rlx_frozen_t frozen = {.constants = constants, .constants_bytes = constants_bytes};
    rlx_status_t status;

    for (int id = 0; id < RLX_K_END; id++)
        kernels.entry[id] = rlx_reference_kernel((rlx_kernel_id_t)id);
    for (int id = RLX_CUSTOM_FIRST; id < RLX_CUSTOM_FIRST + RLX_CUSTOM_MAX; id++)
        kernels.entry[id] = never_called;
    RLX_TRY(rlx_model_create(program, constants, &kernels, &frozen.model, diag));
    status = plan_make(frozen.model, &frozen.plan, diag);
    if (status != RLX_OK) {
        rlx_model_release(frozen.model);
        return status;
    }
    frozen.scratch_offset = (frozen.plan->arena_bytes + ALIGN - 1) / ALIGN * ALIGN;
    frozen.arena_bytes = frozen.scratch_offset + frozen.plan->scratch_bytes;
    if (frozen.arena_bytes == 0)
        frozen.arena_bytes = ALIGN;
    *out_frozen = frozen;
    return RLX_OK;
}

void rlx_frozen_fini(rlx_frozen_t *frozen)
{
    rlx_plan_release_internal(frozen->plan);
    rlx_model_release(frozen->model);
    *frozen = (rlx_frozen_t){0};
}
