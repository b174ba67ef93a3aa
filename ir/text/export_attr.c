/* An op's attributes as fields of the tree (ir/text/exporter.h). */
#include "ir/text/exporter.h"

#include <stdlib.h>
#include <string.h>

#include "ir/text/element.h"
#include "ir/text/names.h"

static const rlx_span_t nowhere = {0, 0, 0};

/* The number whose shortest text is the f32's. */
static rlx_syntax_value_t *float_export(rlx_exporter_t *exporter, float value)
{
    rlx_syntax_value_t *made = rlx_syntax_value(exporter->syntax, RLX_SYNTAX_FLOAT, nowhere);
    char text[RLX_ELEMENT_TEXT_MAX];

    rlx_float_print(value, text);
    made->f = strtod(text, NULL);
    return made;
}

static rlx_syntax_value_t *attr_export(rlx_exporter_t *exporter, const rlx_attr_t *attr, bool is_dtype)
{
    rlx_syntax_value_t *made;

    switch (attr->type) {
    case RLX_ATTR_INT:
        if (!is_dtype || rlx_dtype_size((rlx_dtype_t)attr->i) == 0)
            return rlx_export_int(exporter, attr->i);
        made = rlx_syntax_value(exporter->syntax, RLX_SYNTAX_DTYPE, nowhere);
        made->dtype = (rlx_dtype_t)attr->i;
        return made;
    case RLX_ATTR_FLOAT: return float_export(exporter, attr->f);
    case RLX_ATTR_STRING: return rlx_export_string(exporter, attr->s);
    case RLX_ATTR_TENSOR: return rlx_export_tensor(exporter, &attr->tensor);
    default: break;
    }
    made = rlx_export_list(exporter);
    for (int i = 0; i < attr->n; i++)
        rlx_syntax_value_add(exporter->syntax, made,
                             attr->type == RLX_ATTR_INTS ? rlx_export_int(exporter, attr->is[i]) : float_export(exporter, attr->fs[i]));
    return made;
}

/* Begins only where they are the ends too; nothing where all are 0. */
static void padding_export(rlx_exporter_t *exporter, rlx_syntax_statement_t *statement, const rlx_op_t *op)
{
    int n = rlx_op_has_padding(op->kind) && op->pads != NULL ? rlx_op_spatial(op) : 0;
    bool zero = true, even = true;

    for (int i = 0; i < 2 * n; i++)
        zero = zero && rlx_expr_is(exporter->graph->exprs, op->pads[i], 0);
    for (int i = 0; i < n; i++)
        even = even && op->pads[i] == op->pads[n + i];
    if (!zero)
        rlx_export_attribute(exporter, statement, "padding", rlx_export_exprs(exporter, op->pads, even ? n : 2 * n));
}

void rlx_export_attrs(rlx_exporter_t *exporter, rlx_syntax_statement_t *statement, const rlx_op_t *op)
{
    const char *at = rlx_op_info(op->kind)->attrs;

    padding_export(exporter, statement, op);
    while (*at) {
        size_t length = strcspn(at, ":");
        const char *name = rlx_syntax_strndup(exporter->syntax, at, length);
        const rlx_attr_t *attr = rlx_op_attr(op, name);

        if (attr != NULL)
            rlx_export_attribute(exporter, statement, name, attr_export(exporter, attr, at[length + 1] == 't' && at[length + 2] != 'e'));
        at += strcspn(at, " ");
        at += strspn(at, " ");
    }
}
