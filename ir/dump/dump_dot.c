/* The graph for Graphviz: one box per op, one ellipse per input and output, types on the edges. Constants are named inside their user. */
#include "ir/dump/dump.h"

#include <stdlib.h>

/* Text inside a double-quoted DOT string. */
static void print_text(FILE *out, const char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else
            fputc(c < 32 || c > 126 ? '?' : c, out);
    }
}

static void print_end(const rlx_dump_t *dump, const char *kind, int index, const rlx_value_t *value)
{
    fprintf(dump->out, "  %s%d [shape=ellipse, label=\"", kind, index);
    print_text(dump->out, value->name);
    fputs("\\n", dump->out);
    rlx_dump_type(dump, value);
    fputs("\"];\n", dump->out);
}

static void print_op(const rlx_dump_t *dump, const rlx_op_t *op, int index)
{
    fprintf(dump->out, "  op%d [shape=box, label=\"%s\\n", index, rlx_op_info(op->kind)->name);
    print_text(dump->out, op->name);
    for (int i = 0; i < op->n_in; i++) {
        if (op->in[i] == NULL || op->in[i]->data == NULL)
            continue;
        fputs("\\n", dump->out);
        print_text(dump->out, op->in[i]->name);
        fputc(' ', dump->out);
        rlx_dump_type(dump, op->in[i]);
    }
    fputs("\"];\n", dump->out);
}

/* Where a value comes from, as a node name; false for constants. */
static bool print_source(const rlx_dump_t *dump, const int *op_index, const rlx_value_t *value)
{
    if (value->producer != NULL)
        fprintf(dump->out, "  op%d", op_index[value->id]);
    else if (value->is_input)
        fprintf(dump->out, "  in%d", dump->number[value->id]);
    else
        return false;
    return true;
}

static void print_edge(const rlx_dump_t *dump, const int *op_index, const rlx_value_t *value, const char *kind, int index)
{
    if (value == NULL || !print_source(dump, op_index, value))
        return;
    fprintf(dump->out, " -> %s%d [label=\"", kind, index);
    rlx_dump_type(dump, value);
    fputs("\"];\n", dump->out);
}

/* Place of the producer in the list of ops, by value id. */
static int *producer_indices(const rlx_graph_t *graph)
{
    int *indices = calloc((size_t)graph->n_values + 1, sizeof(*indices)), index = 0;

    if (indices == NULL)
        abort();
    for (const rlx_op_t *op = graph->first; op != NULL; op = op->next, index++) {
        for (int i = 0; i < op->n_out; i++) {
            if (op->out[i] != NULL)
                indices[op->out[i]->id] = index;
        }
    }
    return indices;
}

void rlx_graph_dump_dot(const rlx_graph_t *graph, FILE *out)
{
    rlx_dump_t dump;
    int *op_index, index = 0;

    rlx_dump_init(&dump, graph, out);
    op_index = producer_indices(graph);
    fputs("digraph rlx {\n  node [fontname=\"monospace\", fontsize=10];\n  edge [fontname=\"monospace\", fontsize=8];\n", out);
    for (int i = 0; i < graph->n_inputs; i++)
        print_end(&dump, "in", dump.number[graph->inputs[i]->id], graph->inputs[i]);
    for (const rlx_op_t *op = graph->first; op != NULL; op = op->next, index++) {
        print_op(&dump, op, index);
        for (int i = 0; i < op->n_in; i++)
            print_edge(&dump, op_index, op->in[i], "op", index);
    }
    for (int i = 0; i < graph->n_outputs; i++) {
        print_end(&dump, "out", i, graph->outputs[i]);
        print_edge(&dump, op_index, graph->outputs[i], "out", i);
    }
    fputs("}\n", out);
    free(op_index);
    rlx_dump_fini(&dump);
}
