/* Values of the tree from a graph's (ir/text/exporter.h). */
#include "ir/text/exporter.h"

#include <stdlib.h>
#include <string.h>

#include "ir/text/printer.h"

#define TYPE_NODES_MAX 24 /* of an extent in a type: longer ones nobody reads */

static const rlx_span_t nowhere = {0, 0, 0};

rlx_syntax_value_t *rlx_export_int(rlx_exporter_t *exporter, int64_t value)
{
    rlx_syntax_value_t *made = rlx_syntax_value(exporter->syntax, RLX_SYNTAX_INT, nowhere);

    made->i = value;
    return made;
}

rlx_syntax_value_t *rlx_export_string(rlx_exporter_t *exporter, const char *text)
{
    rlx_syntax_value_t *made = rlx_syntax_value(exporter->syntax, RLX_SYNTAX_STRING, nowhere);

    made->s = text;
    return made;
}

rlx_syntax_value_t *rlx_export_list(rlx_exporter_t *exporter) { return rlx_syntax_value(exporter->syntax, RLX_SYNTAX_LIST, nowhere); }

rlx_syntax_value_t *rlx_export_tensor(rlx_exporter_t *exporter, const rlx_tensor_t *tensor)
{
    rlx_syntax_value_t *made = rlx_syntax_value(exporter->syntax, RLX_SYNTAX_TENSOR, nowhere);

    made->tensor = *tensor;
    return made;
}

rlx_syntax_value_t *rlx_export_ref(rlx_exporter_t *exporter, const rlx_value_t *value)
{
    rlx_syntax_value_t *made = rlx_syntax_value(exporter->syntax, value != NULL ? RLX_SYNTAX_REF : RLX_SYNTAX_NONE, nowhere);

    if (value != NULL)
        made->s = exporter->refs[value->id] != NULL ? exporter->refs[value->id] : value->name;
    return made;
}

rlx_syntax_value_t *rlx_export_symbol(rlx_exporter_t *exporter, const char *name)
{
    rlx_syntax_value_t *made = rlx_export_string(exporter, name);

    if (rlx_word_is_plain(name))
        made->kind = RLX_SYNTAX_NAME;
    return made;
}

static rlx_syntax_value_t *node_export(rlx_exporter_t *exporter, rlx_expr_t expr, int *budget)
{
    const rlx_expr_node_t *node;
    rlx_syntax_value_t *made;

    if (--*budget < 0 || expr < 0)
        return rlx_syntax_value(exporter->syntax, RLX_SYNTAX_NONE, nowhere);
    node = rlx_expr_node(exporter->graph->exprs, expr);
    if (node->op == RLX_EXPR_CONST)
        return rlx_export_int(exporter, node->value);
    if (node->op == RLX_EXPR_SYMBOL)
        return rlx_export_symbol(exporter, exporter->graph->symbols[node->value].name);
    made = rlx_syntax_value(exporter->syntax, RLX_SYNTAX_EXPR, nowhere);
    made->op = node->op;
    rlx_syntax_value_add(exporter->syntax, made, node_export(exporter, node->a, budget));
    rlx_syntax_value_add(exporter->syntax, made, node_export(exporter, node->b, budget));
    if (node->op == RLX_EXPR_SELECT)
        rlx_syntax_value_add(exporter->syntax, made, node_export(exporter, node->c, budget));
    if (node->op == RLX_EXPR_ADD && made->items[1]->kind == RLX_SYNTAX_INT && made->items[1]->i < 0 && made->items[1]->i != INT64_MIN) {
        made->op = RLX_EXPR_SUB; /* x-1, not x+-1 */
        made->items[1]->i = -made->items[1]->i;
    }
    return made;
}

rlx_syntax_value_t *rlx_export_expr(rlx_exporter_t *exporter, rlx_expr_t expr, int nodes)
{
    rlx_syntax_value_t *made = node_export(exporter, expr, &nodes);

    return nodes >= 0 ? made : rlx_syntax_value(exporter->syntax, RLX_SYNTAX_NONE, nowhere);
}

rlx_syntax_value_t *rlx_export_exprs(rlx_exporter_t *exporter, const rlx_expr_t *exprs, int n)
{
    rlx_syntax_value_t *list = rlx_export_list(exporter);

    for (int i = 0; i < n; i++)
        rlx_syntax_value_add(exporter->syntax, list, rlx_export_expr(exporter, exprs[i], INT32_MAX));
    return list;
}

rlx_syntax_type_t *rlx_export_type(rlx_exporter_t *exporter, const rlx_value_t *value)
{
    rlx_syntax_type_t *type = rlx_syntax_alloc(exporter->syntax, sizeof *type);

    type->dtype = value->dtype;
    type->rank = value->rank > 0 ? value->rank : 0;
    for (int i = 0; i < type->rank; i++)
        type->dims[i] = rlx_export_expr(exporter, value->dims[i], TYPE_NODES_MAX);
    if (value->layout != RLX_LAYOUT_ROW_MAJOR)
        type->layout = rlx_layout_name(value->layout);
    return type;
}

void rlx_export_attribute(rlx_exporter_t *exporter, rlx_syntax_statement_t *statement, const char *name, rlx_syntax_value_t *value)
{
    rlx_syntax_field_add(exporter->syntax, &statement->attributes, &statement->n_attributes, name, nowhere, value);
}
