/* The inside of the export. Internal to ir/text/export*.c. */
#ifndef RLX_IR_TEXT_EXPORTER_H
#define RLX_IR_TEXT_EXPORTER_H

#include "ir/text/export.h"

typedef struct rlx_exporter {
    rlx_syntax_t *syntax;
    const rlx_graph_t *graph;
    const char **refs; /* by value id: the name in the text; NULL until it is defined */
    bool all_checks;   /* those of shape rules too: passes removed the ops that they come from */
} rlx_exporter_t;

/* export_value.c */
rlx_syntax_value_t *rlx_export_int(rlx_exporter_t *exporter, int64_t value);
rlx_syntax_value_t *rlx_export_string(rlx_exporter_t *exporter, const char *text);
/* A symbol's name: a word where it can be one. */
rlx_syntax_value_t *rlx_export_symbol(rlx_exporter_t *exporter, const char *name);
rlx_syntax_value_t *rlx_export_list(rlx_exporter_t *exporter);
rlx_syntax_value_t *rlx_export_tensor(rlx_exporter_t *exporter, const rlx_tensor_t *tensor);
/* `_` for NULL. */
rlx_syntax_value_t *rlx_export_ref(rlx_exporter_t *exporter, const rlx_value_t *value);
/* With at most `nodes` parts; else NONE. */
rlx_syntax_value_t *rlx_export_expr(rlx_exporter_t *exporter, rlx_expr_t expr, int nodes);
rlx_syntax_value_t *rlx_export_exprs(rlx_exporter_t *exporter, const rlx_expr_t *exprs, int n);
rlx_syntax_type_t *rlx_export_type(rlx_exporter_t *exporter, const rlx_value_t *value);
void rlx_export_attribute(rlx_exporter_t *exporter, rlx_syntax_statement_t *statement, const char *name, rlx_syntax_value_t *value);
/* export_attr.c: attributes that are set, in the order of their declaration, and padding. */
void rlx_export_attrs(rlx_exporter_t *exporter, rlx_syntax_statement_t *statement, const rlx_op_t *op);
/* export_annotation.c: what the author said, canonically. */
void rlx_export_value_annotation(rlx_exporter_t *exporter, rlx_syntax_statement_t *statement, const rlx_value_t *value);
void rlx_export_op_annotation(rlx_exporter_t *exporter, rlx_syntax_statement_t *statement, const rlx_op_t *op);
/* export_schedule.c: what passes attached: for readers, the builder does not take it. */
void rlx_export_schedule(rlx_exporter_t *exporter, rlx_syntax_statement_t *statement, const rlx_op_t *op);

#endif
