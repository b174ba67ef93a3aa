/* Printing of types, references, names and attributes (ir/dump/dump.h). */
#include "ir/dump/dump.h"

#include "base/digest.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void number_give(rlx_dump_t *dump, const rlx_value_t *value)
{
    if (value != NULL && dump->number[value->id] < 0)
        dump->number[value->id] = dump->n_numbers++;
}

static void constants_number(rlx_dump_t *dump)
{
    for (const rlx_op_t *op = dump->graph->first; op != NULL; op = op->next) {
        for (int i = 0; i < op->n_in; i++) {
            if (op->in[i] != NULL && op->in[i]->data != NULL)
                number_give(dump, op->in[i]);
        }
    }
    for (int i = 0; i < dump->graph->n_outputs; i++) {
        if (dump->graph->outputs[i]->data != NULL)
            number_give(dump, dump->graph->outputs[i]);
    }
}

/* The name as it stands in expressions: quoted unless it is plain. Owned by the caller. */
static char *symbol_text(const char *name)
{
    const char *plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:/[]";
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);

    if (out == NULL)
        abort();
    if (name[0] != 0 && !(name[0] >= '0' && name[0] <= '9') && strspn(name, plain) == strlen(name))
        fputs(name, out);
    else
        rlx_dump_quoted(out, name);
    if (fclose(out) != 0)
        abort();
    return text;
}

void rlx_dump_init(rlx_dump_t *dump, const rlx_graph_t *graph, FILE *out)
{
    *dump = (rlx_dump_t){.graph = graph, .out = out};
    dump->symbol_names = calloc((size_t)graph->n_symbols + 1, sizeof(*dump->symbol_names));
    dump->number = malloc(((size_t)graph->n_values + 1) * sizeof(*dump->number));
    if (dump->symbol_names == NULL || dump->number == NULL)
        abort();
    for (int i = 0; i < graph->n_symbols; i++)
        dump->symbol_names[i] = symbol_text(graph->symbols[i].name);
    for (int i = 0; i < graph->n_values; i++)
        dump->number[i] = -1;
    for (int i = 0; i < graph->n_inputs; i++)
        number_give(dump, graph->inputs[i]);
    constants_number(dump);
    for (const rlx_op_t *op = graph->first; op != NULL; op = op->next) {
        for (int i = 0; i < op->n_out; i++)
            number_give(dump, op->out[i]);
    }
}

void rlx_dump_fini(rlx_dump_t *dump)
{
    for (int i = 0; i < dump->graph->n_symbols; i++)
        free((char *)(uintptr_t)dump->symbol_names[i]);
    free(dump->symbol_names);
    free(dump->number);
}

void rlx_dump_expr(const rlx_dump_t *dump, rlx_expr_t expr) { rlx_expr_print(dump->graph->exprs, expr, dump->symbol_names, dump->out); }

void rlx_dump_type(const rlx_dump_t *dump, const rlx_value_t *value)
{
    fputs(rlx_dtype_name(value->dtype), dump->out);
    if (value->rank < 0) {
        fputs("[?]", dump->out);
        return;
    }
    fputc('[', dump->out);
    for (int i = 0; i < value->rank; i++) {
        if (i > 0)
            fputc(',', dump->out);
        rlx_dump_expr(dump, value->dims[i]);
    }
    fputc(']', dump->out);
    if (value->layout != RLX_LAYOUT_ROW_MAJOR)
        fprintf(dump->out, "{%s}", rlx_layout_name(value->layout));
}

void rlx_dump_ref(const rlx_dump_t *dump, const rlx_value_t *value)
{
    if (value == NULL)
        fputc('_', dump->out);
    else
        fprintf(dump->out, "%%%d", dump->number[value->id]);
}

void rlx_dump_quoted(FILE *out, const char *text)
{
    fputc('\'', out);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < 32 || c > 126 || c == '\'' || c == '\\' || c == '"')
            fprintf(out, "\\x%02x", c);
        else
            fputc(c, out);
    }
    fputc('\'', out);
}

static void print_tensor(const rlx_dump_t *dump, const rlx_tensor_t *tensor)
{
    int64_t count = 0;
    uint64_t digest[2];

    fprintf(dump->out, "%s[", rlx_dtype_name(tensor->dtype));
    for (int i = 0; i < tensor->rank; i++)
        fprintf(dump->out, "%s%" PRId64, i ? "," : "", tensor->dims[i]);
    fputc(']', dump->out);
    if (!rlx_dims_count(tensor->dims, tensor->rank, &count) || count > 4) {
        rlx_digest_xxh3(tensor->data, (size_t)count * rlx_dtype_size(tensor->dtype), digest);
        fprintf(dump->out, ":%016" PRIx64 "%016" PRIx64, digest[1], digest[0]);
        return;
    }
    for (int64_t i = 0; i < count * (int64_t)rlx_dtype_size(tensor->dtype); i++)
        fprintf(dump->out, "%s%02x", i ? "" : ":", ((const unsigned char *)tensor->data)[i]);
}

static void print_attr(const rlx_dump_t *dump, const rlx_attr_t *attr, bool is_dtype)
{
    switch (attr->type) {
    case RLX_ATTR_INT:
        if (is_dtype && rlx_dtype_size((rlx_dtype_t)attr->i) > 0)
            fputs(rlx_dtype_name((rlx_dtype_t)attr->i), dump->out);
        else
            fprintf(dump->out, "%" PRId64, attr->i);
        break;
    case RLX_ATTR_FLOAT:
        fprintf(dump->out, "%.9g", (double)attr->f);
        break;
    case RLX_ATTR_STRING:
        rlx_dump_quoted(dump->out, attr->s);
        break;
    case RLX_ATTR_TENSOR:
        print_tensor(dump, &attr->tensor);
        break;
    default:
        fputc('[', dump->out);
        for (int i = 0; i < attr->n; i++) {
            if (attr->type == RLX_ATTR_INTS)
                fprintf(dump->out, "%s%" PRId64, i ? "," : "", attr->is[i]);
            else
                fprintf(dump->out, "%s%.9g", i ? "," : "", (double)attr->fs[i]);
        }
        fputc(']', dump->out);
    }
}

static void print_pads(const rlx_dump_t *dump, const rlx_op_t *op, bool *any)
{
    int n;

    if (op->pads == NULL || op->in[0] == NULL || op->in[0]->rank < 3)
        return;
    n = 2 * (op->in[0]->rank - 2);
    fprintf(dump->out, "%spads=[", *any ? ", " : " {");
    *any = true;
    for (int i = 0; i < n; i++) {
        if (i > 0)
            fputc(',', dump->out);
        rlx_dump_expr(dump, op->pads[i]);
    }
    fputc(']', dump->out);
}

void rlx_dump_attrs(const rlx_dump_t *dump, const rlx_op_t *op)
{
    const char *at = rlx_op_info(op->kind)->attrs;
    bool any = false;
    char name[64];

    while (*at) {
        size_t length = strcspn(at, ":"), whole = strcspn(at, " ");
        const rlx_attr_t *attr;
        snprintf(name, sizeof(name), "%.*s", (int)length, at);
        attr = rlx_op_attr(op, name);
        if (attr != NULL) {
            fprintf(dump->out, "%s%s=", any ? ", " : " {", name);
            print_attr(dump, attr, at[length + 1] == 't');
            any = true;
        }
        at += whole;
        at += strspn(at, " ");
    }
    print_pads(dump, op, &any);
    if (any)
        fputc('}', dump->out);
}
