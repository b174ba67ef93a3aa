/* Builds plans: runs the shape code, then reads every number the region needs and checks it once. */
#include "exec/plan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "exec/model.h"
#include "exec/shape_code.h"

#define ALIGN 64

/* One allocation: plan, slots, values, steps, params. */
static rlx_plan_t *plan_alloc(const rlx_model_t *model, size_t n_steps, size_t n_params)
{
    size_t n_slots = model->header->n_slots;
    size_t bytes = sizeof(rlx_plan_t) + n_slots * sizeof(int64_t) + model->n_values * sizeof(rlx_plan_value_t) +
                   n_steps * sizeof(rlx_plan_step_t) + n_params * sizeof(int64_t);
    rlx_plan_t *plan = calloc(1, bytes);

    if (plan == NULL)
        return NULL;
    plan->slots = (int64_t *)(plan + 1);
    plan->values = (rlx_plan_value_t *)(plan->slots + n_slots);
    plan->steps = (rlx_plan_step_t *)(plan->values + model->n_values);
    plan->params = (int64_t *)(plan->steps + n_steps);
    return plan;
}

/* Steps of the region and their parameter words; those of a batch of one are counted too. */
static void region_size(const rlx_model_t *model, const rlx_program_region_t *region, size_t *out_steps, size_t *out_params)
{
    *out_steps = *out_params = 0;
    for (uint32_t i = region->first_step; i < region->first_step + region->n_steps; i++) {
        *out_steps += model->by_row[i] ? 2 : 1;
        *out_params += model->steps[i].n_params * (model->by_row[i] ? 2u : 1u);
    }
}

static rlx_status_t value_fail(const rlx_model_t *model, uint32_t id, const char *what, rlx_diag_t *diag)
{
    return rlx_fail(diag, RLX_E_PLAN_OVERFLOW, "value '%s' has %s for these inputs", rlx_model_value_name(model, id), what);
}

/* The bytes of a row-major value; false on overflow or a negative extent. */
static bool dims_bytes(const rlx_tensor_t *shape, int64_t *out_bytes)
{
    int64_t count;

    return rlx_dims_count(shape->dims, shape->rank, &count) && rlx_size_mul(count, (int64_t)rlx_dtype_size(shape->dtype), out_bytes);
}

static rlx_status_t plan_value(rlx_plan_t *plan, uint32_t id, rlx_diag_t *diag)
{
    const rlx_model_t *model = plan->model;
    const rlx_program_value_t *value = &model->values[id];
    rlx_plan_value_t *out = &plan->values[id];
    rlx_tensor_t shape;
    int64_t dense;

    rlx_plan_dims(plan, id, &shape);
    if (!dims_bytes(&shape, &dense))
        return value_fail(model, id, "an extent below zero or more elements than 64 bits can count", diag);
    out->bytes = rlx_plan_ref(plan, &value->bytes);
    out->offset = rlx_plan_ref(plan, &value->offset);
    if (out->bytes < 0 || (value->layout == RLX_LAYOUT_ROW_MAJOR && out->bytes < dense))
        return value_fail(model, id, "a size that differs from its extents", diag);
    if (value->kind != RLX_VALUE_CONST && value->kind != RLX_VALUE_ARENA && out->bytes != dense)
        return value_fail(model, id, "a size that differs from its extents", diag);
    out->row_bytes = shape.rank > 0 && shape.dims[0] > 0 ? out->bytes / shape.dims[0] : out->bytes;
    if (value->kind != RLX_VALUE_ARENA)
        return RLX_OK;
    if (out->offset < 0 || out->offset % ALIGN != 0 || out->offset > plan->arena_bytes || out->bytes > plan->arena_bytes - out->offset)
        return value_fail(model, id, "no place in the arena", diag);
    return RLX_OK;
}

static uint64_t step_cost(const rlx_plan_t *plan, uint32_t step)
{
    const rlx_program_cost_t *cost;
    int64_t flops, bytes, ns;
    uint64_t scaled;

    if (plan->model->costs == NULL)
        return UINT64_MAX; /* unknown: worth a team */
    cost = &plan->model->costs[step];
    flops = rlx_plan_ref(plan, &cost->flops) / RLX_COST_FLOPS_PER_NS;
    bytes = rlx_plan_ref(plan, &cost->bytes) / RLX_COST_BYTES_PER_NS;
    ns = flops > bytes ? flops : bytes;
    if (cost->scale == 0)
        return ns > 0 ? (uint64_t)ns : 0;
    return __builtin_mul_overflow((uint64_t)(ns > 1 ? ns : 1), cost->scale, &scaled) ? UINT64_MAX : scaled / RLX_COST_SCALE;
}

static rlx_status_t plan_step(rlx_plan_t *plan, uint32_t index, int64_t *params, rlx_plan_step_t *out, rlx_diag_t *diag)
{
    const rlx_model_t *model = plan->model;
    const rlx_program_step_t *step = &model->steps[index];

    memcpy(params, model->params + step->params, step->n_params * sizeof *params);
    for (uint32_t i = 0; i < step->n_patches; i++)
        params[model->patches[step->patches + i].index] = plan->slots[model->patches[step->patches + i].slot];
    *out = (rlx_plan_step_t){
        .fn = rlx_step_is_call(step) ? NULL : model->entry[step->kernel],
        .params = params,
        .tiles = rlx_plan_ref(plan, &step->tiles),
        .scratch_bytes = rlx_plan_ref(plan, &step->scratch),
        .cost_ns = step_cost(plan, index),
    };
    if (out->tiles < 0 || out->scratch_bytes < 0 || out->scratch_bytes > RLX_SCRATCH_MAX)
        return rlx_fail(diag, RLX_E_PLAN_OVERFLOW, "step '%s' has %" PRId64 " tiles and %" PRId64 " bytes of scratch for these inputs",
                        model->strings + step->name, out->tiles, out->scratch_bytes);
    if (out->scratch_bytes > plan->scratch_bytes)
        plan->scratch_bytes = (out->scratch_bytes + ALIGN - 1) / ALIGN * ALIGN;
    return RLX_OK;
}

/* Steps that may run row by row, as they are in a batch of one. Leaves numbers of that batch in the slots. */
static rlx_status_t plan_rows(rlx_plan_t *plan, int64_t **params, rlx_diag_t *diag)
{
    const rlx_model_t *model = plan->model;
    const rlx_program_region_t *region = &model->regions[plan->region];
    rlx_plan_step_t *steps = plan->steps + region->n_steps;
    int64_t batch = plan->slots[model->batch_symbol], tiles;

    plan->slots[model->batch_symbol] = 1;
    RLX_TRY(rlx_shape_code_run(model->code + region->code, region->n_code, model->strings, plan->slots, diag));
    for (uint32_t i = 0; i < region->n_steps; i++) {
        if (!model->by_row[region->first_step + i])
            continue;
        RLX_TRY(plan_step(plan, region->first_step + i, *params, steps, diag));
        if (!rlx_size_mul(steps->tiles, batch, &tiles))
            return rlx_fail(diag, RLX_E_PLAN_OVERFLOW, "step '%s' has more tiles than 64 bits can count for these inputs",
                            model->strings + model->steps[region->first_step + i].name);
        *params += model->steps[region->first_step + i].n_params;
        plan->steps[i].row = steps++;
    }
    plan->slots[model->batch_symbol] = batch;
    return RLX_OK;
}

static rlx_status_t plan_steps(rlx_plan_t *plan, int64_t *params, rlx_diag_t *diag)
{
    const rlx_model_t *model = plan->model;
    const rlx_program_region_t *region = &model->regions[plan->region];

    for (uint32_t i = 0; i < region->n_steps; i++) {
        const rlx_plan_step_t *row = plan->steps[i].row;

        RLX_TRY(plan_step(plan, region->first_step + i, params, &plan->steps[i], diag));
        plan->steps[i].row = row;
        params += model->steps[region->first_step + i].n_params;
        if (__builtin_add_overflow(plan->cost_ns, plan->steps[i].cost_ns, &plan->cost_ns))
            plan->cost_ns = UINT64_MAX;
    }
    return RLX_OK;
}

static rlx_status_t plan_fill(rlx_plan_t *plan, rlx_diag_t *diag)
{
    const rlx_model_t *model = plan->model;
    const rlx_program_region_t *region = &model->regions[plan->region];
    int64_t *params = plan->params;

    if (model->batch_symbol != RLX_NO_INDEX && plan->slots[model->batch_symbol] > 1)
        RLX_TRY(plan_rows(plan, &params, diag));
    RLX_TRY(rlx_shape_code_run(model->code + region->code, region->n_code, model->strings, plan->slots, diag));
    plan->arena_bytes = rlx_plan_ref(plan, &region->arena_bytes);
    if (plan->arena_bytes < 0)
        return rlx_fail(diag, RLX_E_PLAN_OVERFLOW, "the arena has a size below zero for these inputs");
    for (uint32_t id = 0; id < model->n_values; id++)
        if (model->values[id].region == plan->region && model->values[id].kind != RLX_VALUE_ABSENT)
            RLX_TRY(plan_value(plan, id, diag));
    RLX_TRY(plan_steps(plan, params, diag));
    if (model->n_regions > 1 || model->n_bodies > 0)
        plan->cost_ns = UINT64_MAX; /* what is not planned yet, or runs as often as data says, has no estimate */
    return RLX_OK;
}

rlx_status_t rlx_plan_build(rlx_model_t *model, uint32_t region, const rlx_plan_t *before, const int64_t *symbols, rlx_plan_t **out_plan,
                            rlx_diag_t *diag)
{
    size_t n_steps, n_params;
    rlx_plan_t *plan;
    rlx_status_t status;

    region_size(model, &model->regions[region], &n_steps, &n_params);
    plan = plan_alloc(model, n_steps, n_params);
    if (plan == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for a plan");
    atomic_init(&plan->refs, 1);
    plan->model = model;
    plan->region = region;
    if (before != NULL)
        memcpy(plan->slots, before->slots, model->header->n_slots * sizeof *plan->slots);
    memcpy(plan->slots, symbols, rlx_model_symbols_until(model, region) * sizeof *symbols);
    status = plan_fill(plan, diag);
    if (status != RLX_OK) {
        free(plan);
        return status;
    }
    *out_plan = plan;
    return RLX_OK;
}

rlx_plan_t *rlx_plan_retain_internal(rlx_plan_t *plan)
{
    atomic_fetch_add_explicit(&plan->refs, 1, memory_order_relaxed);
    return plan;
}

void rlx_plan_release_internal(rlx_plan_t *plan)
{
    if (plan != NULL && atomic_fetch_sub_explicit(&plan->refs, 1, memory_order_acq_rel) == 1) /* pairs with other releases */
        free(plan);
}

void rlx_plan_release(rlx_plan_t *plan)
{
    rlx_model_t *model;

    if (plan == NULL)
        return;
    model = plan->model;
    rlx_plan_release_internal(plan);
    rlx_model_release(model);
}

void rlx_plan_dims(const rlx_plan_t *plan, uint32_t value, rlx_tensor_t *out_shape)
{
    const rlx_program_value_t *entry = &plan->model->values[value];

    *out_shape = (rlx_tensor_t){.dtype = (rlx_dtype_t)entry->dtype, .rank = (int)entry->rank};
    for (uint32_t i = 0; i < entry->rank; i++)
        out_shape->dims[i] = rlx_plan_ref(plan, &plan->model->refs_table[entry->dims + i]);
}

bool rlx_plan_output(const rlx_plan_t *plan, int index, rlx_tensor_t *out_shape)
{
    uint32_t value;

    RLX_ASSERT(index >= 0);
    RLX_ASSERT((uint64_t)index < plan->model->header->outputs.count);
    value = plan->model->outputs[index];
    if (plan->model->values[value].region != plan->region)
        return false;
    rlx_plan_dims(plan, value, out_shape);
    return true;
}

int64_t rlx_plan_arena_bytes(const rlx_plan_t *plan) { return plan->arena_bytes; }
