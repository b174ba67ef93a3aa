/* The graph as canonical text: docs/IR.md. Equal graphs give equal bytes; the text is part of a bundle. Reads only. */
#include "ir/dump.h"

#include "base/digest.h"
#include "ir/tuning.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define IR_SCHEMA 1
#define INLINE_ELEMENTS_MAX 16

static void graph_print(const rlx_graph_t *graph, FILE *out);

static void print_symbol(const rlx_dump_t *dump, const rlx_symbol_t *symbol)
{
    fputs("symbol ", dump->out);
    rlx_dump_quoted(dump->out, symbol->name);
    fprintf(dump->out, " in [%" PRId64 ", %" PRId64 "]", symbol->min, symbol->max);
    if (symbol->value != NULL) {
        fprintf(dump->out, symbol->axis >= 0 ? " = axis %d of " : " = element %d of ", symbol->axis >= 0 ? symbol->axis : symbol->element);
        rlx_dump_quoted(dump->out, symbol->value->name);
    }
    fputs(symbol->declared ? ", declared" : "", dump->out);
    fputs(symbol->independent ? ", independent\n" : "\n", dump->out);
}

/* Known elements of a shape tensor: " (batch, 64, ?)". */
static void print_elements(const rlx_dump_t *dump, const rlx_value_t *value)
{
    if (value->elements == NULL || value->n_elements > INLINE_ELEMENTS_MAX)
        return;
    for (int i = 0; i < value->n_elements; i++) {
        fputs(i ? ", " : " (", dump->out);
        rlx_dump_expr(dump, value->elements[i]);
    }
    if (value->n_elements > 0)
        fputc(')', dump->out);
}

static void print_input(const rlx_dump_t *dump, const rlx_value_t *value)
{
    fputs("input ", dump->out);
    rlx_dump_ref(dump, value);
    fputc(' ', dump->out);
    rlx_dump_quoted(dump->out, value->name);
    fputs(": ", dump->out);
    rlx_dump_type(dump, value);
    fputc('\n', dump->out);
}

static void print_constant(const rlx_dump_t *dump, const rlx_value_t *value)
{
    uint64_t digest[2];

    rlx_digest_xxh3(value->data, (size_t)value->data_bytes, digest);
    fputs("const ", dump->out);
    rlx_dump_ref(dump, value);
    fputc(' ', dump->out);
    rlx_dump_quoted(dump->out, value->name);
    fputs(": ", dump->out);
    rlx_dump_type(dump, value);
    print_elements(dump, value);
    fprintf(dump->out, " xxh3:%016" PRIx64 "%016" PRIx64 "\n", digest[1], digest[0]);
}

/* Constants come in order of their numbers, which is the order of first use. */
static void print_constants(const rlx_dump_t *dump)
{
    int next = dump->graph->n_inputs;

    for (const rlx_op_t *op = dump->graph->first; op != NULL; op = op->next) {
        for (int i = 0; i < op->n_in; i++) {
            const rlx_value_t *value = op->in[i];
            if (value != NULL && value->data != NULL && dump->number[value->id] == next) {
                print_constant(dump, value);
                next++;
            }
        }
    }
    for (int i = 0; i < dump->graph->n_outputs; i++) {
        const rlx_value_t *value = dump->graph->outputs[i];
        if (value->data != NULL && dump->number[value->id] == next) {
            print_constant(dump, value);
            next++;
        }
    }
}

static void print_chain_source(const rlx_dump_t *dump, const rlx_op_t *op, int32_t source)
{
    if (source >= 0 && source < op->n_in)
        rlx_dump_ref(dump, op->in[source]);
    else
        fprintf(dump->out, "t%d", ~source);
}

static void print_chain(const rlx_dump_t *dump, const rlx_op_t *op, const rlx_chain_t *chain)
{
    fputs(" chain[", dump->out);
    for (int i = 0; i < chain->n_steps; i++) {
        const rlx_chain_step_t *step = &chain->steps[i];
        bool any = false;
        fprintf(dump->out, "%st%d: %s = %s(", i ? "; " : "", i, rlx_dtype_name(step->dtype), rlx_op_info(step->op->kind)->name);
        for (int k = 0; k < 3; k++) {
            if (step->src[k] == RLX_CHAIN_ABSENT)
                continue;
            fputs(any ? ", " : "", dump->out);
            print_chain_source(dump, op, step->src[k]);
            any = true;
        }
        fputc(')', dump->out);
        rlx_dump_attrs(dump, step->op);
    }
    for (int i = 0; i < chain->n_results; i++)
        fprintf(dump->out, "%st%d", i ? ", " : " -> ", chain->result[i]);
    fputc(']', dump->out);
}

static void print_epilogue_step(const rlx_dump_t *dump, const rlx_epilogue_step_t *step)
{
    const rlx_op_info_t *info = rlx_op_info(step->op->kind);

    fputs(info->name, dump->out);
    if (step->op->kind == RLX_OP_clip) {
        fprintf(dump->out, "(y, %.9g, %.9g)", (double)step->lo, (double)step->hi);
    } else if (step->tensor != NULL) {
        fputs(step->running_is_second ? "(" : "(y, ", dump->out);
        rlx_dump_ref(dump, step->tensor);
        fputs(step->running_is_second ? ", y)" : ")", dump->out);
    } else if (info->min_in == 2) {
        fprintf(dump->out, step->running_is_second ? "(%.9g, y)" : "(y, %.9g)", (double)step->scalar);
    } else {
        fputs("(y)", dump->out);
    }
    rlx_dump_attrs(dump, step->op);
}

static void print_steps(const rlx_dump_t *dump, const char *title, const rlx_epilogue_step_t *steps, int n_steps)
{
    fprintf(dump->out, " %s[", title);
    for (int i = 0; i < n_steps; i++) {
        fputs(i ? "; " : "", dump->out);
        print_epilogue_step(dump, &steps[i]);
    }
    fputc(']', dump->out);
}

/* " cut[pieces=8 range=4]" where tuning chose. */
static void print_cut(const rlx_dump_t *dump, const rlx_cut_t *cut)
{
    rlx_cut_t copy = *cut;
    bool any = false;

    for (int i = 0; i < RLX_CUT_FIELDS; i++) {
        if (*rlx_cut_at(&copy, i) == 0)
            continue;
        fprintf(dump->out, "%s%s=%" PRId64, any ? " " : " cut[", rlx_cut_fields[i].name, *rlx_cut_at(&copy, i));
        any = true;
    }
    fputs(any ? "]" : "", dump->out);
}

static void print_schedule(const rlx_dump_t *dump, const rlx_op_t *op)
{
    const rlx_schedule_t *schedule = op->sched;

    if (schedule != NULL && schedule->chain != NULL)
        print_chain(dump, op, schedule->chain);
    if (schedule != NULL)
        print_cut(dump, &schedule->cut);
    if (schedule != NULL && schedule->attention != NULL)
        print_steps(dump, "scores", schedule->attention->steps, schedule->attention->n_steps);
    if (schedule != NULL && schedule->epilogue != NULL)
        print_steps(dump, "epilogue", schedule->epilogue->steps, schedule->epilogue->n_steps);
}

static void print_op(const rlx_dump_t *dump, const rlx_op_t *op)
{
    for (int i = 0; i < op->n_out; i++) {
        fputs(i ? ", " : "", dump->out);
        rlx_dump_ref(dump, op->out[i]);
        if (op->out[i] == NULL)
            continue;
        fputs(": ", dump->out);
        rlx_dump_type(dump, op->out[i]);
        print_elements(dump, op->out[i]);
    }
    fprintf(dump->out, " = %s(", rlx_op_info(op->kind)->name);
    for (int i = 0; i < op->n_in; i++) {
        fputs(i ? ", " : "", dump->out);
        rlx_dump_ref(dump, op->in[i]);
    }
    fputc(')', dump->out);
    rlx_dump_attrs(dump, op);
    print_schedule(dump, op);
    fputs(" // ", dump->out);
    for (const char *at = op->source; *at; at++)
        fputc(*at >= 32 && *at < 127 ? *at : '?', dump->out);
    fputc('\n', dump->out);
}

/* A body, each line two places in. */
static void print_body(const rlx_dump_t *dump, const rlx_op_t *op, int index)
{
    char *text = NULL, *line, *rest;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);

    if (out == NULL)
        abort();
    graph_print(op->bodies[index], out);
    if (fclose(out) != 0)
        abort();
    fprintf(dump->out, "  body %d of ", index);
    for (int i = 0; i < op->n_out; i++) {
        fputs(i ? ", " : "", dump->out);
        rlx_dump_ref(dump, op->out[i]);
    }
    fputc('\n', dump->out);
    for (line = text; (rest = strchr(line, '\n')) != NULL; line = rest + 1)
        fprintf(dump->out, "    %.*s\n", (int)(rest - line), line);
    fputs("  end\n", dump->out);
    free(text);
}

static void print_check(const rlx_dump_t *dump, const rlx_check_t *check)
{
    fputs("check ", dump->out);
    rlx_dump_expr(dump, check->condition);
    fputs(" else ", dump->out);
    rlx_dump_quoted(dump->out, check->message);
    fputc('\n', dump->out);
}

static void graph_print(const rlx_graph_t *graph, FILE *out)
{
    rlx_dump_t dump;

    rlx_dump_init(&dump, graph, out);
    for (int i = 0; i < graph->n_symbols; i++)
        if (graph->symbols[i].value != NULL || graph->symbols[i].min != graph->symbols[i].max)
            print_symbol(&dump, &graph->symbols[i]);
    for (int i = 0; i < graph->n_inputs; i++)
        print_input(&dump, graph->inputs[i]);
    print_constants(&dump);
    for (const rlx_op_t *op = graph->first; op != NULL; op = op->next) {
        print_op(&dump, op);
        for (int i = 0; i < op->n_bodies; i++)
            print_body(&dump, op, i);
    }
    for (int i = 0; i < graph->n_checks; i++)
        print_check(&dump, &graph->checks[i]);
    for (int i = 0; i < graph->n_outputs; i++) {
        fputs("output ", out);
        rlx_dump_ref(&dump, graph->outputs[i]);
        fputc(' ', out);
        rlx_dump_quoted(out, graph->outputs[i]->name);
        fputs(": ", out);
        rlx_dump_type(&dump, graph->outputs[i]);
        fputc('\n', out);
    }
    rlx_dump_fini(&dump);
}

void rlx_graph_dump(const rlx_graph_t *graph, FILE *out)
{
    fprintf(out, "rlx.ir %d\ngraph ", IR_SCHEMA);
    rlx_dump_quoted(out, graph->name);
    fputc('\n', out);
    graph_print(graph, out);
}
