/* What passes attached to an op, as attributes that tell a reader what the lowering will do (ir/text/exporter.h). Each step is a string that
 * reads like a statement: "relu(y)", "t1 = mul(t0, %b)". */
#include "ir/text/exporter.h"

#include <inttypes.h>
#include <stdlib.h>

#include "ir/schedule.h"
#include "ir/text/element.h"
#include "ir/text/printer.h"
#include "ir/cost/tuning.h"

static const rlx_span_t nowhere = {0, 0, 0};

/* A stream into memory, and what was written as a string of the tree. */
typedef struct line {
    rlx_printer_t printer;
    char *text;
    size_t bytes;
} line_t;

static void line_open(line_t *line)
{
    line->text = NULL;
    line->printer = (rlx_printer_t){.out = open_memstream(&line->text, &line->bytes)};
    if (line->printer.out == NULL)
        abort();
}

static rlx_syntax_value_t *line_close(rlx_exporter_t *exporter, line_t *line)
{
    rlx_syntax_value_t *made;

    if (fclose(line->printer.out) != 0)
        abort();
    made = rlx_export_string(exporter, rlx_syntax_strndup(exporter->syntax, line->text, line->bytes));
    free(line->text);
    return made;
}

static void ref_print(const rlx_exporter_t *exporter, line_t *line, const rlx_value_t *value)
{
    const char *ref = exporter->refs[value->id];

    rlx_printer_ref(&line->printer, ref != NULL ? ref : value->name);
}

static void attrs_print(rlx_exporter_t *exporter, line_t *line, const rlx_op_t *op)
{
    rlx_syntax_statement_t statement = {0};

    rlx_export_attrs(exporter, &statement, op);
    for (int i = 0; i < statement.n_attributes; i++) {
        fprintf(line->printer.out, "%s%s=", i ? ", " : " {", statement.attributes[i].name);
        rlx_printer_value(&line->printer, statement.attributes[i].value);
    }
    fputs(statement.n_attributes > 0 ? "}" : "", line->printer.out);
}

static void chain_step_print(rlx_exporter_t *exporter, line_t *line, const rlx_op_t *op, const rlx_chain_t *chain, int index)
{
    const rlx_chain_step_t *step = &chain->steps[index];
    bool any = false;

    fprintf(line->printer.out, "t%d: %s = %s(", index, rlx_dtype_name(step->dtype), rlx_op_info(step->op->kind)->name);
    for (int k = 0; k < 3; k++) {
        if (step->src[k] == RLX_CHAIN_ABSENT)
            continue;
        fputs(any ? ", " : "", line->printer.out);
        if (step->src[k] >= 0)
            ref_print(exporter, line, op->in[step->src[k]]);
        else
            fprintf(line->printer.out, "t%d", ~step->src[k]);
        any = true;
    }
    fputc(')', line->printer.out);
    attrs_print(exporter, line, step->op);
}

static void chain_export(rlx_exporter_t *exporter, rlx_syntax_statement_t *statement, const rlx_op_t *op, const rlx_chain_t *chain)
{
    rlx_syntax_value_t *steps = rlx_export_list(exporter), *results = rlx_export_list(exporter);
    line_t line;

    for (int i = 0; i < chain->n_steps; i++) {
        line_open(&line);
        chain_step_print(exporter, &line, op, chain, i);
        rlx_syntax_value_add(exporter->syntax, steps, line_close(exporter, &line));
    }
    for (int i = 0; i < chain->n_results; i++)
        rlx_syntax_value_add(exporter->syntax, results, rlx_export_int(exporter, chain->result[i]));
    rlx_export_attribute(exporter, statement, "chain", steps);
    rlx_export_attribute(exporter, statement, "chain_results", results);
}

static void number_print(line_t *line, float value)
{
    char text[RLX_ELEMENT_TEXT_MAX];

    rlx_float_print(value, text);
    fputs(text, line->printer.out);
}

static void step_print(rlx_exporter_t *exporter, line_t *line, const rlx_epilogue_step_t *step)
{
    const rlx_op_info_t *info = rlx_op_info(step->op->kind);
    bool other = step->op->kind != RLX_OP_clip && (step->tensor != NULL || info->min_in == 2);

    fprintf(line->printer.out, "%s(", info->name);
    fputs(other && step->running_is_second ? "" : "y", line->printer.out);
    if (other) {
        fputs(step->running_is_second ? "" : ", ", line->printer.out);
        if (step->tensor != NULL)
            ref_print(exporter, line, step->tensor);
        else
            number_print(line, step->scalar);
        fputs(step->running_is_second ? ", y" : "", line->printer.out);
    } else if (step->op->kind == RLX_OP_clip) {
        fputs(", ", line->printer.out);
        number_print(line, step->lo);
        fputs(", ", line->printer.out);
        number_print(line, step->hi);
    }
    fputc(')', line->printer.out);
    attrs_print(exporter, line, step->op);
}

static void steps_export(rlx_exporter_t *exporter, rlx_syntax_statement_t *statement, const char *name, const rlx_epilogue_step_t *steps,
                         int n_steps)
{
    rlx_syntax_value_t *list = rlx_export_list(exporter);
    line_t line;

    for (int i = 0; i < n_steps; i++) {
        line_open(&line);
        step_print(exporter, &line, &steps[i]);
        rlx_syntax_value_add(exporter->syntax, list, line_close(exporter, &line));
    }
    rlx_export_attribute(exporter, statement, name, list);
}

/* Where tuning chose. */
static void cut_export(rlx_exporter_t *exporter, rlx_syntax_statement_t *statement, const rlx_cut_t *cut)
{
    rlx_syntax_value_t *dict = rlx_syntax_value(exporter->syntax, RLX_SYNTAX_DICT, nowhere);
    rlx_cut_t copy = *cut;

    for (int i = 0; i < RLX_CUT_FIELDS; i++)
        if (*rlx_cut_at(&copy, i) != 0)
            rlx_syntax_field_add(exporter->syntax, &dict->fields, &dict->n_fields, rlx_cut_fields[i].name, nowhere,
                                 rlx_export_int(exporter, *rlx_cut_at(&copy, i)));
    if (dict->n_fields > 0)
        rlx_export_attribute(exporter, statement, "cut", dict);
}

static void plan_number(rlx_exporter_t *exporter, rlx_syntax_value_t *dict, const char *name, int64_t value)
{
    if (value != 0)
        rlx_syntax_field_add(exporter->syntax, &dict->fields, &dict->n_fields, name, nowhere, rlx_export_int(exporter, value));
}

/* What the author's schedule came to. */
static void plan_export(rlx_exporter_t *exporter, rlx_syntax_statement_t *statement, const rlx_demand_t *demand)
{
    rlx_syntax_value_t *dict = rlx_syntax_value(exporter->syntax, RLX_SYNTAX_DICT, nowhere);

    if (demand->lanes != RLX_LANES_CHOSEN)
        rlx_syntax_field_add(exporter->syntax, &dict->fields, &dict->n_fields, "lanes", nowhere,
                             rlx_export_string(exporter, demand->lanes == RLX_LANES_WIDTH ? "columns" : "channels"));
    plan_number(exporter, dict, "rows", demand->rows);
    plan_number(exporter, dict, "columns", demand->columns);
    plan_number(exporter, dict, "outputs", demand->outputs);
    plan_number(exporter, dict, "block", demand->block);
    plan_number(exporter, dict, "rows_together", demand->rows_together);
    plan_number(exporter, dict, "outputs_together", demand->outputs_together);
    plan_number(exporter, dict, "outputs_apart", demand->outputs_apart);
    plan_number(exporter, dict, "outputs_outside", demand->outputs_outside);
    plan_number(exporter, dict, "unroll_width", demand->unroll_width);
    plan_number(exporter, dict, "unroll_outputs", demand->unroll_outputs);
    if (dict->n_fields > 0)
        rlx_export_attribute(exporter, statement, "plan", dict);
}

void rlx_export_schedule(rlx_exporter_t *exporter, rlx_syntax_statement_t *statement, const rlx_op_t *op)
{
    const rlx_schedule_t *schedule = op->sched;

    if (schedule == NULL)
        return;
    if (schedule->chain != NULL)
        chain_export(exporter, statement, op, schedule->chain);
    cut_export(exporter, statement, &schedule->cut);
    plan_export(exporter, statement, &schedule->demand);
    if (schedule->sync != NULL)
        rlx_export_attribute(exporter, statement, "sync", rlx_export_string(exporter, schedule->sync));
    if (schedule->attention != NULL)
        steps_export(exporter, statement, "scores", schedule->attention->steps, schedule->attention->n_steps);
    if (schedule->epilogue != NULL)
        steps_export(exporter, statement, "epilogue", schedule->epilogue->steps, schedule->epilogue->n_steps);
}
