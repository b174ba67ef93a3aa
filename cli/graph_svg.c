/* Layered drawing (Sugiyama's scheme, in its cheapest form): an operator's layer is one below its deepest producer; inside a layer
 * operators stand in the order of their producers' mean position. One sweep, linear in the graph. Constants are not drawn. */
#include "cli/graph_svg.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

#define ROW_HEIGHT 74
#define BOX_HEIGHT 40
#define CHAR_WIDTH 7
#define BOX_GAP 18
#define MARGIN 20
#define MIDDLE 400 /* where what has no producer is put */
#define TEXT_MAX 40

typedef struct box {
    const rlx_op_t *op;        /* NULL for a graph input */
    const rlx_value_t *input;
    char title[TEXT_MAX], shape[TEXT_MAX];
    int layer, x, width;
    double wish; /* mean centre of producers */
} box_t;

typedef struct drawing {
    const rlx_graph_t *graph;
    const char **symbols;
    box_t *boxes;
    int n_boxes, n_layers, width;
    int *box_of_value; /* by value id; -1: a constant */
} drawing_t;

static void text_put(const char *text, FILE *out)
{
    for (const unsigned char *at = (const unsigned char *)text; *at != 0; at++)
        if (*at == '<' || *at == '&' || *at == '"' || *at < 0x20)
            fprintf(out, "&#%u;", *at < 0x20 ? (unsigned)' ' : *at);
        else
            fputc(*at, out);
}

static void shape_print(const drawing_t *drawing, const rlx_value_t *value, char *out, size_t size)
{
    char *text = NULL;
    size_t bytes;
    FILE *stream = open_memstream(&text, &bytes);

    RLX_ASSERT(stream != NULL);
    fprintf(stream, "%s[", rlx_dtype_name(value->dtype));
    for (int i = 0; i < value->rank; i++) {
        if (i > 0)
            fputc(',', stream);
        rlx_expr_print(drawing->graph->exprs, value->dims[i], drawing->symbols, stream);
    }
    fputc(']', stream);
    fclose(stream);
    snprintf(out, size, strlen(text) < size ? "%s" : "%.30s...", text);
    free(text);
}

static void box_add(drawing_t *drawing, const rlx_op_t *op, const rlx_value_t *input)
{
    box_t *box = &drawing->boxes[drawing->n_boxes];
    const rlx_value_t *value = op == NULL ? input : op->n_out > 0 ? op->out[0] : NULL;
    size_t longest;

    *box = (box_t){.op = op, .input = input};
    snprintf(box->title, sizeof box->title, "%.36s", op != NULL ? rlx_op_info(op->kind)->name : input->name);
    if (value != NULL)
        shape_print(drawing, value, box->shape, sizeof box->shape);
    longest = strlen(box->title) > strlen(box->shape) ? strlen(box->title) : strlen(box->shape);
    box->width = (int)longest * CHAR_WIDTH + 16;
    for (int i = 0; op != NULL && i < op->n_in; i++) {
        int from = op->in[i] != NULL ? drawing->box_of_value[op->in[i]->id] : -1;

        if (from >= 0 && drawing->boxes[from].layer >= box->layer)
            box->layer = drawing->boxes[from].layer + 1;
    }
    if (box->layer >= drawing->n_layers)
        drawing->n_layers = box->layer + 1;
    for (int i = 0; op != NULL && i < op->n_out; i++)
        if (op->out[i] != NULL)
            drawing->box_of_value[op->out[i]->id] = drawing->n_boxes;
    if (input != NULL)
        drawing->box_of_value[input->id] = drawing->n_boxes;
    drawing->n_boxes++;
}

static int layer_compare(const void *a, const void *b)
{
    const box_t *x = *(box_t *const *)a, *y = *(box_t *const *)b;

    if (x->layer != y->layer)
        return x->layer - y->layer;
    return x->wish < y->wish ? -1 : x->wish > y->wish ? 1 : (x > y) - (x < y);
}

static void box_wish(const drawing_t *drawing, box_t *box)
{
    double sum = 0;
    int n = 0;

    for (int i = 0; box->op != NULL && i < box->op->n_in; i++) {
        int from = box->op->in[i] != NULL ? drawing->box_of_value[box->op->in[i]->id] : -1;

        if (from >= 0) {
            sum += drawing->boxes[from].x + drawing->boxes[from].width / 2.0;
            n++;
        }
    }
    box->wish = n > 0 ? sum / n : MIDDLE;
}

/* Places one layer: each box as near to its wish as the one before it allows, then all of them moved so that none drifts to the right. */
static void layer_place(drawing_t *drawing, box_t **layer, int n)
{
    int x = MARGIN, drift = 0;

    for (int i = 0; i < n; i++)
        box_wish(drawing, layer[i]);
    qsort(layer, (size_t)n, sizeof *layer, layer_compare);
    for (int i = 0; i < n; i++) {
        int wish = (int)(layer[i]->wish - layer[i]->width / 2.0);

        layer[i]->x = wish > x ? wish : x;
        drift += (layer[i]->x - wish) / n;
        x = layer[i]->x + layer[i]->width + BOX_GAP;
    }
    if (drift > layer[0]->x - MARGIN)
        drift = layer[0]->x - MARGIN;
    for (int i = 0; i < n; i++)
        layer[i]->x -= drift;
    if (x - drift > drawing->width)
        drawing->width = x - drift;
}

static void drawing_place(drawing_t *drawing)
{
    box_t **order = calloc((size_t)drawing->n_boxes + 1, sizeof *order);
    int start = 0;

    RLX_ASSERT(order != NULL);
    for (int i = 0; i < drawing->n_boxes; i++)
        order[i] = &drawing->boxes[i];
    qsort(order, (size_t)drawing->n_boxes, sizeof *order, layer_compare);
    for (int i = 1; i <= drawing->n_boxes; i++)
        if (i == drawing->n_boxes || order[i]->layer != order[start]->layer) {
            layer_place(drawing, order + start, i - start);
            start = i;
        }
    free(order);
}

static void edge_print(const box_t *from, const box_t *to, const rlx_value_t *value, FILE *out)
{
    int x1 = from->x + from->width / 2, y1 = MARGIN + from->layer * ROW_HEIGHT + BOX_HEIGHT;
    int x2 = to->x + to->width / 2, y2 = MARGIN + to->layer * ROW_HEIGHT;

    fprintf(out, "<path class=\"e\" d=\"M%d %dC%d %d %d %d %d %d\"><title>", x1, y1, x1, y1 + 20, x2, y2 - 20, x2, y2);
    text_put(value->name, out);
    fputs("</title></path>\n", out);
}

static const char *box_class(const box_t *box)
{
    if (box->op == NULL)
        return "i";
    if (box->op->n_out > 0 && box->op->out[0] != NULL && box->op->out[0]->is_output)
        return "o";
    return rlx_op_info(box->op->kind)->traits & RLX_TRAIT_LAYOUT ? "l" : "b";
}

static void box_print(const box_t *box, FILE *out)
{
    int y = MARGIN + box->layer * ROW_HEIGHT, middle = box->x + box->width / 2;

    fprintf(out, "<g><title>");
    text_put(box->op != NULL ? box->op->source != NULL ? box->op->source : box->op->name : box->input->name, out);
    fprintf(out, "</title><rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"5\"/><text x=\"%d\" y=\"%d\">",
            box_class(box), box->x, y, box->width, BOX_HEIGHT, middle, y + 16);
    text_put(box->title, out);
    fprintf(out, "</text><text class=\"s\" x=\"%d\" y=\"%d\">", middle, y + 32);
    text_put(box->shape, out);
    fputs("</text></g>\n", out);
}

static void drawing_print(const drawing_t *drawing, FILE *out)
{
    fprintf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\">\n", drawing->width + MARGIN,
            2 * MARGIN + drawing->n_layers * ROW_HEIGHT);
    fputs("<style>text{font:12px monospace;text-anchor:middle}.s{fill:#555;font-size:11px}rect{stroke:#444}.e{fill:none;stroke:#888}"
          ".i{fill:#cfe8cf}.o{fill:#f6d9b8}.l{fill:#f2c9d4}.b{fill:#dbe6f5}</style>\n"
          "<rect width=\"100%\" height=\"100%\" style=\"fill:#fff;stroke:none\"/>\n",
          out);
    for (int i = 0; i < drawing->n_boxes; i++)
        for (int k = 0; drawing->boxes[i].op != NULL && k < drawing->boxes[i].op->n_in; k++) {
            const rlx_value_t *value = drawing->boxes[i].op->in[k];
            int from = value != NULL ? drawing->box_of_value[value->id] : -1;

            if (from >= 0)
                edge_print(&drawing->boxes[from], &drawing->boxes[i], value, out);
        }
    for (int i = 0; i < drawing->n_boxes; i++)
        box_print(&drawing->boxes[i], out);
    fputs("</svg>\n", out);
}

void rlx_graph_svg_print(const rlx_graph_t *graph, FILE *out)
{
    drawing_t drawing = {.graph = graph};

    drawing.boxes = calloc((size_t)graph->n_inputs + (size_t)graph->n_ops + 1, sizeof *drawing.boxes);
    drawing.box_of_value = malloc(((size_t)graph->n_values + 1) * sizeof *drawing.box_of_value);
    drawing.symbols = calloc((size_t)graph->n_symbols + 1, sizeof *drawing.symbols);
    RLX_ASSERT(drawing.boxes != NULL && drawing.box_of_value != NULL && drawing.symbols != NULL);
    for (int i = 0; i < graph->n_values; i++)
        drawing.box_of_value[i] = -1;
    for (int i = 0; i < graph->n_symbols; i++)
        drawing.symbols[i] = graph->symbols[i].name;
    for (int i = 0; i < graph->n_inputs; i++)
        box_add(&drawing, NULL, graph->inputs[i]);
    for (const rlx_op_t *op = graph->first; op != NULL; op = op->next)
        box_add(&drawing, op, NULL);
    drawing_place(&drawing);
    drawing_print(&drawing, out);
    free(drawing.boxes);
    free(drawing.box_of_value);
    free(drawing.symbols);
}
