/* A module at -O1 and at -O3 (tests/text/levels.h). */
#include "levels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bundle/program_check.h"
#include "exec/model.h"
#include "ir/compile.h"
#include "ir/text/load.h"
#include "tests/exec/image.h"

#define PORTS_MAX 64
#define ARENA_MAX ((size_t)256 << 20)

typedef struct side {
    int level;
    bool reference;
    const char *phase; /* where it ended */
    rlx_diag_t diag;
    rlx_status_t status;
    int n_outputs;
    rlx_io_t outputs[PORTS_MAX]; /* data owned */
} side_t;

static uint64_t draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static double number(uint64_t *state, bool special)
{
    static const double odd[] = {NAN, INFINITY, -INFINITY, -0.0, 1e-45, 3e38};

    if (special && draw(state) % 5 == 0)
        return odd[draw(state) % 6];
    return ((double)(draw(state) % 4001) - 2000) / 500;
}

static void element_set(rlx_dtype_t dtype, void *data, int64_t i, double value)
{
    int64_t whole = isfinite(value) && fabs(value) < 100 ? (int64_t)value : 1;

    switch (dtype) {
    case RLX_F32: ((float *)data)[i] = (float)value; break;
    case RLX_F64: ((double *)data)[i] = value; break;
    case RLX_F16: ((_Float16 *)data)[i] = (_Float16)value; break;
    case RLX_BOOL: ((uint8_t *)data)[i] = value > 0; break;
    default:
        memset((char *)data + i * (int64_t)rlx_dtype_size(dtype), whole < 0 ? 0xff : 0, rlx_dtype_size(dtype));
        *((char *)data + i * (int64_t)rlx_dtype_size(dtype)) = (char)whole;
    }
}

/* An array for an input; equal symbols have equal extents. False: too large. */
static bool input_make(const rlx_graph_t *graph, const rlx_value_t *value, uint64_t seed, rlx_io_t *out_io)
{
    uint64_t state = seed * 77 + value->id;
    rlx_tensor_t *tensor = &out_io->tensor;
    int64_t count = 1;

    *out_io = (rlx_io_t){.tensor = {.dtype = value->dtype, .rank = value->rank}};
    for (int i = 0; i < value->rank; i++) {
        const rlx_expr_node_t *node = rlx_expr_node(graph->exprs, value->dims[i]);
        uint64_t of_symbol = seed + (uint64_t)node->value * 3;

        tensor->dims[i] = node->op == RLX_EXPR_CONST ? node->value : 1 + (int64_t)(draw(&of_symbol) % 5);
        count *= tensor->dims[i];
    }
    if (count > 1 << 22)
        return false;
    tensor->data = calloc((size_t)count + 1, rlx_dtype_size(value->dtype));
    for (int64_t i = 0; i < count; i++)
        element_set(value->dtype, tensor->data, i, number(&state, seed % 4 == 0));
    return true;
}

static rlx_status_t run(const rlx_compiled_t *compiled, const rlx_io_t *inputs, side_t *side)
{
    static rlx_kernel_table_t tables[2];
    static rlx_team_t *team;
    rlx_kernel_table_t *table = &tables[side->reference];
    rlx_model_t *model;
    rlx_plan_t *plan;
    rlx_status_t status;

    if (table->target == NULL)
        image_kernels(side->reference, table);
    if (team == NULL)
        RLX_TRY(rlx_team_create(1, &team, &side->diag));
    side->phase = "load";
    RLX_TRY(rlx_program_check(compiled->program, compiled->program_bytes, compiled->constants_bytes, &side->diag));
    RLX_TRY(rlx_model_create(compiled->program, compiled->constants, table, &model, &side->diag));
    rlx_model_limit(model, ARENA_MAX, 1000000);
    side->n_outputs = (int)rlx_model_program(model)->outputs.count;
    side->phase = "run";
    status = side->n_outputs > PORTS_MAX ? RLX_INVALID_ARGUMENT : rlx_plan_get(model, inputs, &plan, &side->diag);
    if (status == RLX_OK) {
        status = rlx_run(plan, team, inputs, side->outputs, NULL, NULL, &side->diag);
        rlx_plan_release(plan);
    }
    rlx_model_release(model);
    return status;
}

static rlx_status_t side_make(const char *text, uint64_t seed, side_t *side)
{
    rlx_compile_options_t options = {.opt_level = side->level};
    rlx_io_t inputs[PORTS_MAX] = {0};
    rlx_compiled_t compiled = {0};
    rlx_diag_list_t findings;
    rlx_graph_t *graph;
    int n_inputs;

    side->phase = "read";
    rlx_diag_list_init(&findings, 1);
    side->status = rlx_text_load("random.rlxir", text, strlen(text), &findings, &graph, &side->diag);
    rlx_diag_list_fini(&findings);
    if (side->status != RLX_OK)
        return side->status;
    n_inputs = graph->n_inputs;
    for (int i = 0; i < n_inputs && side->status == RLX_OK; i++)
        if (i == PORTS_MAX || !input_make(graph, graph->inputs[i], seed, &inputs[i]))
            side->status = RLX_INVALID_ARGUMENT;
    side->phase = "compile";
    if (side->status == RLX_OK)
        side->status = rlx_compile_graph(graph, &options, &compiled, &side->diag);
    rlx_graph_destroy(graph);
    if (side->status == RLX_OK) {
        side->status = run(&compiled, inputs, side);
        rlx_compiled_fini(&compiled);
    }
    for (int i = 0; i < n_inputs && i < PORTS_MAX; i++)
        free(inputs[i].tensor.data);
    return side->status;
}

static void side_fini(side_t *side)
{
    for (int i = 0; i < side->n_outputs && i < PORTS_MAX; i++)
        free(side->outputs[i].tensor.data);
}

/* NaNs are equal: which bits one has is the machine's (docs/TARGETS.md). */
static bool is_nan(rlx_dtype_t dtype, const void *element)
{
    uint64_t bits = 0;

    memcpy(&bits, element, rlx_dtype_size(dtype));
    switch (dtype) {
    case RLX_F32: return (bits & 0x7fffffff) > 0x7f800000;
    case RLX_F64: return (bits & INT64_MAX) > UINT64_C(0x7ff0000000000000);
    case RLX_F16: return (bits & 0x7fff) > 0x7c00;
    case RLX_BF16: return (bits & 0x7fff) > 0x7f80;
    default: return false;
    }
}

static uint64_t bits_of(rlx_dtype_t dtype, const void *element)
{
    uint64_t bits = 0;

    memcpy(&bits, element, rlx_dtype_size(dtype));
    return bits;
}

static bool output_differs(const rlx_tensor_t *a, const rlx_tensor_t *b, int index, char why[512])
{
    size_t size = rlx_dtype_size(a->dtype);
    int64_t count;

    if (a->dtype != b->dtype || a->rank != b->rank || memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) != 0) {
        snprintf(why, 512, "output %d has another type or shape", index);
        return true;
    }
    if (!rlx_dims_count(a->dims, a->rank, &count) || memcmp(a->data, b->data, (size_t)count * size) == 0)
        return false;
    for (int64_t i = 0; i < count; i++) {
        const char *x = (const char *)a->data + (size_t)i * size, *y = (const char *)b->data + (size_t)i * size;

        if (memcmp(x, y, size) != 0 && !(is_nan(a->dtype, x) && is_nan(a->dtype, y))) {
            snprintf(why, 512, "output %d differs at element %lld of %lld: 0x%llx at -O1, 0x%llx at -O3", index, (long long)i, (long long)count,
                     (unsigned long long)bits_of(a->dtype, x), (unsigned long long)bits_of(a->dtype, y));
            return true;
        }
    }
    return false;
}

static bool is_fault(const side_t *side)
{
    return side->status != RLX_OK && (side->diag.code == RLX_E_INTERNAL || side->diag.code == RLX_E_IR_INVALID || strcmp(side->phase, "load") == 0 ||
                                      strcmp(side->phase, "read") == 0);
}

levels_end_t levels_compare(const char *text, uint64_t seed, char why[512])
{
    side_t *sides = calloc(2, sizeof *sides);
    levels_end_t end = LEVELS_EQUAL;

    if (sides == NULL)
        abort();
    sides[0] = (side_t){.level = 1, .reference = seed % 2 != 0};
    sides[1] = (side_t){.level = 3};
    for (int i = 0; i < 2; i++)
        (void)side_make(text, seed, &sides[i]);
    for (int i = 0; i < 2; i++)
        if (is_fault(&sides[i]) || (sides[i].status != RLX_OK) != (sides[1 - i].status != RLX_OK) ||
            strcmp(sides[i].phase, sides[1 - i].phase) != 0) {
            snprintf(why, 512, "at -O%d: %s: RLX-%d %.300s", sides[i].level, sides[i].phase, (int)sides[i].diag.code, sides[i].diag.message);
            end = LEVELS_DIFFER;
            if (sides[i].status != RLX_OK)
                break;
        }
    if (end == LEVELS_EQUAL && sides[0].status != RLX_OK)
        end = strcmp(sides[0].phase, "run") == 0 ? LEVELS_FAILED : LEVELS_REFUSED;
    for (int i = 0; end == LEVELS_EQUAL && i < sides[0].n_outputs; i++)
        if (output_differs(&sides[0].outputs[i].tensor, &sides[1].outputs[i].tensor, i, why))
            end = LEVELS_DIFFER;
    for (int i = 0; i < 2; i++)
        side_fini(&sides[i]);
    free(sides);
    return end;
}
