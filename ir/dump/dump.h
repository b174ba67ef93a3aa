/* Parts of the printers. Internal to ir/dump*.c.
 *
 * Values are numbered as they are printed: inputs, constants in order of first use, results of ops. So the text depends on the graph alone,
 * not on what passes made and threw away. */
#ifndef RLX_IR_DUMP_H
#define RLX_IR_DUMP_H

#include "ir/graph.h"

typedef struct rlx_dump {
    const rlx_graph_t *graph;
    FILE *out;
    const char **symbol_names;
    int *number; /* by value id; -1: not reachable */
    int n_numbers;
} rlx_dump_t;

void rlx_dump_init(rlx_dump_t *dump, const rlx_graph_t *graph, FILE *out);
void rlx_dump_fini(rlx_dump_t *dump);
void rlx_dump_expr(const rlx_dump_t *dump, rlx_expr_t expr);
/* "f32[batch,64,56,56]{c16}". */
void rlx_dump_type(const rlx_dump_t *dump, const rlx_value_t *value);
/* "%7", or "_" for NULL. */
void rlx_dump_ref(const rlx_dump_t *dump, const rlx_value_t *value);
/* In single quotes; control characters, quotes, backslashes and non-ASCII bytes as \xHH. */
void rlx_dump_quoted(FILE *out, const char *text);
/* " {strides=[2,2], group=1}" of the attributes that are set, in the order of their declaration, and pads; nothing when there are none. */
void rlx_dump_attrs(const rlx_dump_t *dump, const rlx_op_t *op);

#endif
