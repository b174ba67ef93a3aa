/* How a node that was refused came by its operands: for every operand its type, and the nodes that lead to it from an input or a constant. */
#include <string.h>

#include "ir/dump/dump.h"
#include "ir/onnx/import.h"

#define OPERANDS_MAX 4
#define STEPS_MAX 5

static const rlx_value_t *upstream(const rlx_op_t *op)
{
    for (int i = 0; i < op->n_in; i++)
        if (op->in[i] != NULL && op->in[i]->data == NULL)
            return op->in[i];
    return NULL;
}

static void origin_print(const rlx_value_t *value, const char *last, FILE *out)
{
    for (int steps = 0; value != NULL && value->producer != NULL; value = upstream(value->producer)) {
        if (strcmp(value->producer->source, last) == 0)
            continue; /* one node became several ops */
        last = value->producer->source;
        if (steps < STEPS_MAX)
            fprintf(out, " <- %s", last);
        else if (steps == STEPS_MAX)
            fputs(" <- ...", out);
        steps++;
    }
    if (value != NULL)
        fprintf(out, value->data != NULL ? " <- constant '%s'" : " <- input '%s'", value->name);
}

static void operand_print(rlx_onnx_call_t *call, const rlx_dump_t *dump, int index)
{
    const rlx_value_t *value = call->in[index];

    fprintf(dump->out, "%soperand %d '%s' ", index > 0 ? "\n" : "", index, call->node->in[index]);
    rlx_dump_type(dump, value);
    if (value->producer == NULL)
        fputs(value->data != NULL ? ", a constant" : ", an input", dump->out);
    else
        origin_print(value, call->source, dump->out);
}

void rlx_onnx_path_set(rlx_onnx_call_t *call)
{
    FILE *out = fmemopen(call->diag->path, sizeof call->diag->path - 1, "w");
    rlx_dump_t dump;

    if (out == NULL)
        return;
    rlx_dump_init(&dump, call->graph, out);
    for (int i = 0; i < call->n_in && i < OPERANDS_MAX; i++)
        if (call->in[i] != NULL && call->in[i]->rank >= 0)
            operand_print(call, &dump, i);
    rlx_dump_fini(&dump);
    fclose(out);
}
