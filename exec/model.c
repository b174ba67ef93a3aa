/* Models: tables of a checked program, entry points of its kernels, what each value is to the outside. */
#include "exec/model.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/assert.h"
#include "exec/by_row.h"
#include "exec/call.h"
#include "kernels/params_custom.h"

static void model_tables(rlx_model_t *model, const rlx_program_header_t *header)
{
    model->header = header;
    model->symbols = RLX_PROGRAM_TABLE(rlx_program_symbol_t, header, symbols);
    model->code = RLX_PROGRAM_TABLE(int64_t, header, code);
    model->refs_table = RLX_PROGRAM_TABLE(rlx_ref_t, header, refs);
    model->values = RLX_PROGRAM_TABLE(rlx_program_value_t, header, values);
    model->inputs = RLX_PROGRAM_TABLE(uint32_t, header, inputs);
    model->outputs = RLX_PROGRAM_TABLE(uint32_t, header, outputs);
    model->steps = RLX_PROGRAM_TABLE(rlx_program_step_t, header, steps);
    model->operands = RLX_PROGRAM_TABLE(uint32_t, header, operands);
    model->params = RLX_PROGRAM_TABLE(int64_t, header, params);
    model->patches = RLX_PROGRAM_TABLE(rlx_program_patch_t, header, patches);
    model->regions = RLX_PROGRAM_TABLE(rlx_program_region_t, header, regions);
    model->costs = header->costs.count ? RLX_PROGRAM_TABLE(rlx_program_cost_t, header, costs) : NULL;
    model->strings = RLX_PROGRAM_TABLE(char, header, strings);
    model->n_values = (uint32_t)header->values.count;
    model->n_regions = (uint32_t)header->regions.count;
}

static rlx_status_t model_kernels(rlx_model_t *model, const rlx_kernel_table_t *kernels, rlx_diag_t *diag)
{
    if (model->header->kernel_abi != RLX_KERNEL_ABI)
        return rlx_fail(diag, RLX_E_BUNDLE_VERSION, "the program was compiled for kernel ABI %u, this executor has ABI %d",
                        model->header->kernel_abi, RLX_KERNEL_ABI);
    for (uint64_t i = 0; i < model->header->steps.count; i++) {
        uint32_t kernel = model->steps[i].kernel;

        if (rlx_step_is_call(&model->steps[i]))
            continue;
        if (kernels->entry[kernel] == NULL && kernel >= RLX_CUSTOM_FIRST)
            return rlx_fail(diag, RLX_E_BUNDLE_TARGET, "step '%s' needs kernel %u, user code that the code for %s does not have",
                            model->strings + model->steps[i].name, kernel, kernels->target);
        if (kernels->entry[kernel] == NULL)
            return rlx_fail(diag, RLX_E_BUNDLE_TARGET, "step '%s' needs kernel %u, which the code for %s does not have",
                            model->strings + model->steps[i].name, kernel, kernels->target);
        model->entry[kernel] = kernels->entry[kernel];
    }
    return RLX_OK;
}

/* Fills `port`; an output value that is in no list would have no memory. */
static rlx_status_t model_ports(rlx_model_t *model, rlx_diag_t *diag)
{
    for (uint32_t i = 0; i < model->n_values; i++)
        model->port[i] = RLX_NO_INDEX;
    for (uint64_t i = 0; i < model->header->inputs.count; i++)
        model->port[model->inputs[i]] = (uint32_t)i;
    for (uint64_t i = model->header->outputs.count; i-- > 0;)
        if (model->values[model->outputs[i]].kind == RLX_VALUE_OUTPUT)
            model->port[model->outputs[i]] = (uint32_t)i;
    for (uint32_t i = 0; i < model->n_values; i++)
        if (model->values[i].kind == RLX_VALUE_OUTPUT && model->port[i] == RLX_NO_INDEX)
            return rlx_fail(diag, RLX_E_BUNDLE_MALFORMED, "program: output value %u is not listed", i);
    return RLX_OK;
}

/* Numbers the dynamic values. */
static rlx_status_t model_dynamics(rlx_model_t *model, rlx_diag_t *diag)
{
    for (uint32_t i = 0; i < model->n_values; i++) {
        if (model->values[i].kind != RLX_VALUE_DYNAMIC)
            continue;
        if (model->dynamic == NULL && (model->dynamic = calloc(model->n_values, sizeof *model->dynamic)) == NULL)
            return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for a model");
        model->dynamic[i] = model->n_dynamic++;
    }
    return RLX_OK;
}

static rlx_status_t model_make(const void *program, const void *constants, const rlx_kernel_table_t *kernels, uint32_t first_step,
                               rlx_model_t **out_model, rlx_diag_t *diag);

/* Depth is bounded: rlx_program_check. */
static rlx_status_t model_bodies(rlx_model_t *model, const rlx_kernel_table_t *kernels, rlx_diag_t *diag)
{
    uint32_t n = rlx_program_bodies(model->header), next = model->first_step + (uint32_t)model->header->steps.count;

    if (n > 0 && (model->bodies = calloc(n, sizeof *model->bodies)) == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for a model");
    for (; model->n_bodies < n; model->n_bodies++) {
        const rlx_program_header_t *body = rlx_program_body(model->header, model->n_bodies);

        RLX_TRY(model_make(body, model->constants, kernels, next, &model->bodies[model->n_bodies], diag));
        next += rlx_program_steps_total(body);
    }
    for (uint64_t i = 0; i < model->header->steps.count; i++)
        if (rlx_step_is_call(&model->steps[i])) {
            size_t bytes = rlx_call_bytes(model, &model->steps[i]);

            model->call_bytes = bytes > model->call_bytes ? bytes : model->call_bytes;
        }
    return RLX_OK;
}

static void model_destroy(rlx_model_t *model)
{
    for (uint32_t i = 0; i < model->n_bodies; i++)
        rlx_model_release(model->bodies[i]);
    free(model->bodies);
    free(model->dynamic);
    rlx_plan_cache_fini(&model->cache);
    rlx_arena_pool_fini(&model->arenas);
    if (model->on_destroy)
        model->on_destroy(model->context);
    free(model->port);
    free(model->rows_ok);
    free(model->by_row);
    free(model);
}

static rlx_status_t model_make(const void *program, const void *constants, const rlx_kernel_table_t *kernels, uint32_t first_step,
                               rlx_model_t **out_model, rlx_diag_t *diag)
{
    rlx_model_t *model = calloc(1, sizeof *model);
    rlx_status_t status;

    if (model == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for a model");
    model_tables(model, program);
    model->constants = constants;
    model->first_step = first_step;
    model->iterations_max = RLX_LOOP_ITERATIONS_MAX;
    rlx_arena_pool_init(&model->arenas);
    atomic_init(&model->refs, 1);
    status = rlx_plan_cache_init(&model->cache, model->header->symbols.count, diag);
    model->port = malloc((model->n_values + 1) * sizeof *model->port);
    model->rows_ok = malloc(model->n_values + 1);
    model->by_row = calloc(model->header->steps.count + 1, sizeof *model->by_row);
    if (model->port == NULL || model->rows_ok == NULL || model->by_row == NULL)
        status = rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for a model");
    if (status == RLX_OK)
        status = model_kernels(model, kernels, diag);
    if (status == RLX_OK)
        status = model_ports(model, diag);
    if (status == RLX_OK)
        status = model_dynamics(model, diag);
    if (status == RLX_OK)
        status = model_bodies(model, kernels, diag);
    if (status != RLX_OK) {
        model_destroy(model);
        return status;
    }
    rlx_by_row_mark(model);
    *out_model = model;
    return RLX_OK;
}

rlx_status_t rlx_model_create(const void *program, const void *constants, const rlx_kernel_table_t *kernels, rlx_model_t **out_model,
                              rlx_diag_t *diag)
{
    return model_make(program, constants, kernels, 0, out_model, diag);
}

void rlx_model_limit(rlx_model_t *model, size_t arena_bytes_max, int64_t iterations_max)
{
    model->arenas.bytes_max = arena_bytes_max;
    model->iterations_max = iterations_max;
    for (uint32_t i = 0; i < model->n_bodies; i++)
        rlx_model_limit(model->bodies[i], arena_bytes_max, iterations_max);
}

rlx_model_t *rlx_model_retain(rlx_model_t *model)
{
    atomic_fetch_add_explicit(&model->refs, 1, memory_order_relaxed);
    return model;
}

void rlx_model_release(rlx_model_t *model)
{
    if (model == NULL)
        return;
    if (atomic_fetch_sub_explicit(&model->refs, 1, memory_order_acq_rel) == 1) /* pairs with other releases: all use happened before */
        model_destroy(model);
}

const rlx_program_header_t *rlx_model_program(const rlx_model_t *model) { return model->header; }

const char *rlx_model_string(const rlx_model_t *model, uint32_t offset)
{
    RLX_ASSERT(offset < model->header->strings.count);
    return model->strings + offset;
}

const char *rlx_model_value_name(const rlx_model_t *model, uint32_t value) { return model->strings + model->values[value].name; }

void rlx_model_on_destroy(rlx_model_t *model, void (*fn)(void *context), void *context)
{
    RLX_ASSERT(model->on_destroy == NULL);
    model->on_destroy = fn;
    model->context = context;
}
