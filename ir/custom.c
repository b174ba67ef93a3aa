#include "ir/custom.h"

#include <string.h>

#include "ir/annotation.h"

#define ROUNDINGS_PER_STEP 16
#define UNIT_ROUNDOFF 0x1p-53
#define INTERVAL_MAX ((double)(1 << 30))

static rlx_status_t at(const rlx_op_t *op, rlx_diag_t *diag) { return rlx_diag_at(diag, "%s", op->source); }

static rlx_status_t double_check(const rlx_op_t *op, const rlx_value_t *value, rlx_diag_t *diag)
{
    if (value == NULL || value->dtype == RLX_F64)
        return RLX_OK;
    rlx_fail(diag, RLX_E_STABILITY, "custom_op '%s' has a stability_requirement, which is kept in float64 only, but '%s' is %s",
             rlx_op_string(op, "function"), value->name, rlx_dtype_name(value->dtype));
    rlx_diag_hint(diag, "Give its operands and results dtype=\"float64\".");
    return at(op, diag);
}

/* The operand that is the step; refuses none and several. */
static rlx_status_t step_find(const rlx_op_t *op, int *out_step, rlx_diag_t *diag)
{
    int n = 0;

    for (int i = 0; i < op->n_in; i++)
        if (op->in[i] != NULL && op->in[i]->rank == 0) {
            *out_step = i;
            n++;
        }
    if (n == 1)
        return RLX_OK;
    rlx_fail(diag, RLX_E_STABILITY, "custom_op '%s' has a max_step_size and %s operand that is a scalar", rlx_op_string(op, "function"),
             n == 0 ? "no" : "more than one");
    rlx_diag_hint(diag, "The step size is the one operand of rank 0: dt = rlx.scalar(dtype=\"float64\").");
    return at(op, diag);
}

static rlx_status_t stability_check(const rlx_op_t *op, rlx_op_annotation_t *note, rlx_diag_t *diag)
{
    note->step_operand = -1;
    if (note->max_step_size == 0 && note->error_tolerance == 0)
        return RLX_OK;
    for (int i = 0; i < op->n_in; i++)
        RLX_TRY(double_check(op, op->in[i], diag));
    for (int i = 0; i < op->n_out; i++)
        RLX_TRY(double_check(op, op->out[i], diag));
    if (note->error_tolerance != 0 && note->error_tolerance < ROUNDINGS_PER_STEP * UNIT_ROUNDOFF) {
        rlx_fail(diag, RLX_E_STABILITY, "error_tolerance %g is less than one step's rounding in float64 may be (%g)", note->error_tolerance,
                 ROUNDINGS_PER_STEP * UNIT_ROUNDOFF);
        return at(op, diag);
    }
    return note->max_step_size != 0 ? step_find(op, &note->step_operand, diag) : RLX_OK;
}

static int function_find(const rlx_custom_set_t *set, const char *name)
{
    for (int i = 0; set != NULL && i < set->n; i++)
        if (strcmp(set->functions[i].name, name) == 0)
            return i;
    return -1;
}

static rlx_status_t op_assign(rlx_graph_t *graph, rlx_op_t *op, const rlx_custom_set_t *set, bool *used, rlx_diag_t *diag)
{
    const char *name = rlx_op_string(op, "function");
    rlx_op_annotation_t *note = rlx_op_annotate(graph, op);
    int index = function_find(set, name);

    RLX_TRY(stability_check(op, note, diag));
    if (index < 0) {
        rlx_fail(diag, RLX_E_CUSTOM_MISSING, "custom_op calls '%s', whose code is not given", name);
        rlx_diag_hint(diag, "Give it to rlx compile: --custom %s=FILE.c or --custom %s=FILE.f90.", name, name);
        return at(op, diag);
    }
    note->custom_kernel = RLX_CUSTOM_FIRST + index;
    note->custom_split = set->functions[index].split;
    used[index] = true;
    return RLX_OK;
}

static rlx_status_t graph_assign(rlx_graph_t *graph, const rlx_custom_set_t *set, bool *used, rlx_diag_t *diag)
{
    for (rlx_op_t *op = graph->first; op != NULL; op = op->next) {
        if (op->kind == RLX_OP_custom_op)
            RLX_TRY(op_assign(graph, op, set, used, diag));
        for (int i = 0; i < op->n_bodies; i++)
            RLX_TRY(graph_assign(op->bodies[i], set, used, diag));
    }
    return RLX_OK;
}

rlx_status_t rlx_custom_assign(rlx_graph_t *graph, const rlx_custom_set_t *set, rlx_diag_t *diag)
{
    bool used[RLX_CUSTOM_MAX] = {false};

    RLX_TRY(graph_assign(graph, set, used, diag));
    for (int i = 0; set != NULL && i < set->n; i++)
        if (!used[i])
            return rlx_fail(diag, RLX_E_CUSTOM_MISSING, "--custom gives code for '%s', which no custom_op of the model calls",
                            set->functions[i].name);
    return RLX_OK;
}

static double op_interval(const rlx_op_annotation_t *note)
{
    double steps = INTERVAL_MAX;

    if (note->max_step_size > 0 && 1 / note->max_step_size < steps)
        steps = 1 / note->max_step_size;
    if (note->error_tolerance > 0 && note->error_tolerance / (ROUNDINGS_PER_STEP * UNIT_ROUNDOFF) < steps)
        steps = note->error_tolerance / (ROUNDINGS_PER_STEP * UNIT_ROUNDOFF);
    return steps < 1 ? 1 : steps;
}

int64_t rlx_custom_interval(const rlx_graph_t *graph)
{
    int64_t least = 0;

    for (const rlx_op_t *op = graph->first; op != NULL; op = op->next) {
        const rlx_op_annotation_t *note = op->annotation;
        int64_t steps = 0;

        if (op->kind == RLX_OP_custom_op && note != NULL && (note->max_step_size > 0 || note->error_tolerance > 0))
            steps = (int64_t)op_interval(note);
        for (int i = 0; i < op->n_bodies; i++) {
            int64_t inner = rlx_custom_interval(op->bodies[i]);

            steps = inner > 0 && (steps == 0 || inner < steps) ? inner : steps;
        }
        least = steps > 0 && (least == 0 || steps < least) ? steps : least;
    }
    return least;
}
