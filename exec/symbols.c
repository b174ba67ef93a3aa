/* Order: first what needs no symbol (type, rank, constant extents), then symbols with their bounds, then plain symbol extents against each
 * other, so that "batch is 4 in 'a' and 5 in 'b'" is said before any shape code could fail less clearly. */
#include "exec/symbols.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void at_input(const rlx_model_t *model, uint32_t id, rlx_diag_t *diag)
{
    rlx_diag_at(diag, "input '%s'", rlx_model_value_name(model, id));
}

static rlx_status_t input_check(const rlx_model_t *model, uint32_t id, const rlx_tensor_t *tensor, rlx_diag_t *diag)
{
    const rlx_program_value_t *value = &model->values[id];
    const char *name = rlx_model_value_name(model, id);

    if ((uint32_t)tensor->dtype != value->dtype)
        return rlx_fail(diag, RLX_E_INPUT_DTYPE, "input '%s' has type %s, the model takes %s", name, rlx_dtype_name(tensor->dtype),
                        rlx_dtype_name((rlx_dtype_t)value->dtype));
    if (tensor->rank != (int)value->rank)
        return rlx_fail(diag, RLX_E_INPUT_SHAPE, "input '%s' has %d dimensions, the model takes %u", name, tensor->rank, value->rank);
    for (uint32_t i = 0; i < value->rank; i++) {
        const rlx_ref_t *dim = &model->refs_table[value->dims + i];

        if (tensor->dims[i] < 0)
            return rlx_fail(diag, RLX_E_INPUT_SHAPE, "input '%s' axis %u has extent %" PRId64, name, i, tensor->dims[i]);
        if (dim->slot == RLX_NO_INDEX && tensor->dims[i] != dim->value)
            return rlx_fail(diag, RLX_E_INPUT_SHAPE, "input '%s' axis %u has extent %" PRId64 ", the model takes %" PRId64, name, i,
                            tensor->dims[i], dim->value);
    }
    return RLX_OK;
}

static rlx_status_t input_memory_check(const rlx_model_t *model, uint32_t id, const rlx_io_t *io, rlx_diag_t *diag)
{
    int64_t count, bytes;

    if (!rlx_dims_count(io->tensor.dims, io->tensor.rank, &count) ||
        !rlx_size_mul(count, (int64_t)rlx_dtype_size(io->tensor.dtype), &bytes))
        return rlx_fail(diag, RLX_E_PLAN_OVERFLOW, "input '%s' has more elements than 64 bits can count", rlx_model_value_name(model, id));
    if (count > 0 && io->tensor.data == NULL && io->rows == NULL)
        return rlx_fail(diag, RLX_E_INPUT_NAME, "input '%s' is missing", rlx_model_value_name(model, id));
    if (io->rows != NULL && io->tensor.rank == 0)
        return rlx_fail(diag, RLX_E_INPUT_SHAPE, "input '%s' is a scalar and cannot come in rows", rlx_model_value_name(model, id));
    return RLX_OK;
}

rlx_status_t rlx_symbol_bounds(const rlx_model_t *model, uint32_t index, int64_t number, rlx_diag_t *diag)
{
    const rlx_program_symbol_t *symbol = &model->symbols[index];
    const char *name = model->strings + symbol->name, *from = rlx_model_value_name(model, symbol->value);
    const char *part = symbol->source == RLX_SYMBOL_INPUT_AXIS || symbol->source == RLX_SYMBOL_VALUE_AXIS ? "axis" : "element";
    const char *what = symbol->source == RLX_SYMBOL_VALUE_DATA || symbol->source == RLX_SYMBOL_VALUE_AXIS ? "value" : "input";

    if (number > symbol->max)
        return rlx_fail(diag, RLX_E_INPUT_MAXIMUM, "%s '%s' %s %u is %" PRId64 " ('%s'), the %s maximum is %" PRId64, what, from, part,
                        symbol->index, number, name, symbol->declared ? "declared" : "allowed", symbol->max);
    if (number < symbol->min)
        return rlx_fail(diag, symbol->source == RLX_SYMBOL_INPUT_AXIS ? RLX_E_INPUT_SHAPE : RLX_E_INPUT_VALUE,
                        "%s '%s' %s %u is %" PRId64 " ('%s'), the minimum is %" PRId64, what, from, part, symbol->index, number, name,
                        symbol->min);
    return RLX_OK;
}

#define READ(type)                        \
    do {                                  \
        type number;                      \
        memcpy(&number, at, sizeof number); \
        return (int64_t)number;           \
    } while (0)

/* Of f32 the bits. A u64 above int64 comes out negative: below every minimum. */
static int64_t element_read(rlx_dtype_t dtype, const void *at)
{
    switch (dtype) {
    case RLX_I8: READ(int8_t);
    case RLX_I16: READ(int16_t);
    case RLX_I32: READ(int32_t);
    case RLX_U8: READ(uint8_t);
    case RLX_U16: READ(uint16_t);
    case RLX_F32:
    case RLX_U32: READ(uint32_t);
    case RLX_BOOL: return *(const uint8_t *)at != 0;
    default: READ(int64_t);
    }
}

rlx_status_t rlx_symbol_from_data(const rlx_model_t *model, uint32_t index, const rlx_io_t *io, int64_t *out_value, rlx_diag_t *diag)
{
    const rlx_program_symbol_t *symbol = &model->symbols[index];
    size_t size = rlx_dtype_size(io->tensor.dtype);
    const char *at = io->tensor.data;
    int64_t count, element = symbol->index;

    if (!rlx_dims_count(io->tensor.dims, io->tensor.rank, &count) || element >= count)
        return rlx_fail(diag, RLX_E_INPUT_VALUE, "'%s' has %" PRId64 " elements, the model needs element %u ('%s')",
                        rlx_model_value_name(model, symbol->value), count, symbol->index, model->strings + symbol->name);
    if (io->rows != NULL) {
        int64_t row = count / io->tensor.dims[0];

        at = io->rows[element / row];
        element %= row;
    }
    *out_value = element_read(io->tensor.dtype, at + (size_t)element * size);
    return rlx_symbol_bounds(model, index, *out_value, diag);
}

static bool io_is_absent(const rlx_io_t *io) { return io->tensor.data == NULL && io->rows == NULL; }

static rlx_status_t symbol_fill(const rlx_model_t *model, const rlx_io_t *inputs, uint32_t index, int64_t *out_value, rlx_diag_t *diag)
{
    const rlx_program_symbol_t *symbol = &model->symbols[index];
    const rlx_io_t *io = &inputs[model->port[symbol->value]];

    if (symbol->source == RLX_SYMBOL_INPUT_DATA && io_is_absent(io))
        return rlx_fail(diag, RLX_E_INPUT_NAME, "input '%s' is missing", rlx_model_value_name(model, symbol->value));
    if (symbol->source == RLX_SYMBOL_INPUT_DATA)
        return rlx_symbol_from_data(model, index, io, out_value, diag);
    *out_value = io->tensor.dims[symbol->index];
    return rlx_symbol_bounds(model, index, *out_value, diag);
}

/* `expected` came from a symbol or from shape code. */
static rlx_status_t extent_fail(const rlx_model_t *model, uint32_t id, uint32_t axis, int64_t extent, uint32_t slot, int64_t expected,
                                rlx_diag_t *diag)
{
    const rlx_program_symbol_t *symbol = &model->symbols[slot];

    if (slot >= model->header->symbols.count)
        rlx_fail(diag, RLX_E_INPUT_SHAPE, "input '%s' axis %u has extent %" PRId64 ", the other inputs require %" PRId64,
                 rlx_model_value_name(model, id), axis, extent, expected);
    else
        rlx_fail(diag, RLX_E_INPUT_SHAPE, "input '%s' axis %u has extent %" PRId64 ", but '%s' is %" PRId64 " (%s %u of input '%s')",
                 rlx_model_value_name(model, id), axis, extent, model->strings + symbol->name, expected,
                 symbol->source == RLX_SYMBOL_INPUT_AXIS ? "axis" : "element", symbol->index, rlx_model_value_name(model, symbol->value));
    at_input(model, id, diag);
    return RLX_INVALID_ARGUMENT;
}

/* Compares extents that are slots below `n_slots`. */
static rlx_status_t extents_check(const rlx_model_t *model, const rlx_io_t *inputs, const int64_t *slots, uint32_t n_slots,
                                  rlx_diag_t *diag)
{
    for (uint64_t i = 0; i < model->header->inputs.count; i++) {
        uint32_t id = model->inputs[i];

        for (uint32_t axis = 0; axis < model->values[id].rank; axis++) {
            uint32_t slot = model->refs_table[model->values[id].dims + axis].slot;

            if (slot < n_slots && inputs[i].tensor.dims[axis] != slots[slot])
                return extent_fail(model, id, axis, inputs[i].tensor.dims[axis], slot, slots[slot], diag);
        }
    }
    return RLX_OK;
}

/* Fills the symbols of region 0. `extents_only`: the inputs' memory may be missing where no symbol comes from it. */
static rlx_status_t symbols_from_inputs(const rlx_model_t *model, const rlx_io_t *inputs, bool extents_only, int64_t *out_symbols,
                                        rlx_diag_t *diag)
{
    uint32_t n_symbols = model->regions[0].n_symbols;

    for (uint64_t i = 0; i < model->header->inputs.count; i++) {
        rlx_status_t status = input_check(model, model->inputs[i], &inputs[i].tensor, diag);

        if (status == RLX_OK && !(extents_only && io_is_absent(&inputs[i])))
            status = input_memory_check(model, model->inputs[i], &inputs[i], diag);
        if (status != RLX_OK) {
            at_input(model, model->inputs[i], diag);
            return status;
        }
    }
    for (uint32_t i = 0; i < n_symbols; i++) {
        rlx_status_t status = symbol_fill(model, inputs, i, &out_symbols[i], diag);

        if (status != RLX_OK) {
            at_input(model, model->symbols[i].value, diag);
            return status;
        }
    }
    return extents_check(model, inputs, out_symbols, n_symbols, diag);
}

/* All extents, also those that shape code computed. */
static rlx_status_t plan_extents_check(const rlx_plan_t *plan, const rlx_io_t *inputs, rlx_diag_t *diag)
{
    return extents_check(plan->model, inputs, plan->slots, plan->model->header->n_slots, diag);
}

rlx_status_t rlx_symbols_alloc(const rlx_model_t *model, rlx_symbols_t *symbols, rlx_diag_t *diag)
{
    symbols->values = symbols->few;
    if (model->header->symbols.count > RLX_SYMBOLS_FEW)
        symbols->values = malloc(model->header->symbols.count * sizeof *symbols->values);
    return symbols->values != NULL ? RLX_OK : rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for symbols");
}

void rlx_symbols_free(rlx_symbols_t *symbols)
{
    if (symbols->values != symbols->few)
        free(symbols->values);
}

rlx_status_t rlx_symbols_match_plan(const rlx_plan_t *plan, const rlx_io_t *inputs, rlx_diag_t *diag)
{
    const rlx_model_t *model = plan->model;
    rlx_symbols_t symbols;
    rlx_status_t status;

    RLX_TRY(rlx_symbols_alloc(model, &symbols, diag));
    status = symbols_from_inputs(model, inputs, false, symbols.values, diag);
    if (status == RLX_OK && memcmp(symbols.values, plan->slots, model->regions[0].n_symbols * sizeof *symbols.values) != 0)
        status = rlx_fail(diag, RLX_E_INPUT_SHAPE, "the inputs have other extents than those the plan was made for");
    rlx_symbols_free(&symbols);
    return status == RLX_OK ? plan_extents_check(plan, inputs, diag) : status;
}

rlx_status_t rlx_plan_get(rlx_model_t *model, const rlx_io_t *inputs, rlx_plan_t **out_plan, rlx_diag_t *diag)
{
    rlx_plan_t *plan = NULL;
    rlx_symbols_t symbols;
    rlx_status_t status;

    RLX_TRY(rlx_symbols_alloc(model, &symbols, diag));
    status = symbols_from_inputs(model, inputs, false, symbols.values, diag);
    if (status == RLX_OK)
        status = rlx_plan_cache_get(model, 0, NULL, symbols.values, &plan, diag);
    rlx_symbols_free(&symbols);
    if (status != RLX_OK)
        return status;
    status = plan_extents_check(plan, inputs, diag);
    if (status != RLX_OK) {
        rlx_plan_release_internal(plan);
        return status;
    }
    rlx_model_retain(model);
    *out_plan = plan;
    return RLX_OK;
}

rlx_status_t rlx_symbols_plan(rlx_model_t *model, const rlx_io_t *inputs, rlx_plan_t **plan, rlx_diag_t *diag)
{
    rlx_symbols_t symbols;
    rlx_status_t status;

    RLX_TRY(rlx_symbols_alloc(model, &symbols, diag));
    status = symbols_from_inputs(model, inputs, false, symbols.values, diag);
    if (status == RLX_OK &&
        (*plan == NULL || memcmp(symbols.values, (*plan)->slots, model->regions[0].n_symbols * sizeof *symbols.values) != 0)) {
        rlx_plan_release_internal(*plan);
        *plan = NULL;
        status = rlx_plan_cache_get(model, 0, NULL, symbols.values, plan, diag);
    }
    rlx_symbols_free(&symbols);
    return status == RLX_OK ? plan_extents_check(*plan, inputs, diag) : status;
}

rlx_plan_t *rlx_plan_peek(rlx_model_t *model, const rlx_io_t *inputs)
{
    int64_t symbols[RLX_SYMBOLS_FEW];
    rlx_plan_t *plan;

    if (model->header->symbols.count > RLX_SYMBOLS_FEW || symbols_from_inputs(model, inputs, true, symbols, NULL) != RLX_OK)
        return NULL;
    plan = rlx_plan_cache_peek(model, symbols);
    if (plan == NULL)
        return NULL;
    if (plan_extents_check(plan, inputs, NULL) != RLX_OK) {
        rlx_plan_release_internal(plan);
        return NULL;
    }
    rlx_model_retain(model);
    return plan;
}
