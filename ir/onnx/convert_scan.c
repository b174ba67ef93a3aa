/* Scan: a loop over slices. The body takes its slice of each scanned input by gather, forwards or backwards; results that were appended along
 * the first axis are turned and moved afterwards. Up to opset 8 Scan runs over a batch: a loop around the loop. */
#include "ir/onnx/convert.h"
#include "ir/onnx/loop.h"

typedef struct scan {
    rlx_onnx_model_t graph;
    int n_states, n_scanned, n_out;
    rlx_value_t **states, **scanned; /* of call->graph */
    const int64_t *in_axes, *in_back, *out_axes, *out_back; /* NULL: zeros */
    int n_in_axes, n_in_back, n_out_axes, n_out_back;
    rlx_expr_t count; /* of slices */
} scan_t;

static int64_t entry(const int64_t *list, int n, int index) { return list != NULL && index < n ? list[index] : 0; }

/* The slice of `x` (of the body) in this iteration, on `axis`. */
static rlx_value_t *slice_make(rlx_onnx_call_t *inner, rlx_value_t *x, rlx_value_t *iteration, int axis, bool back)
{
    rlx_value_t *in[2] = {x, iteration};
    rlx_op_t *op;

    if (back) {
        rlx_expr_t last = rlx_expr_sub(inner->graph->exprs, x->dims[axis], rlx_call_expr(inner, 1));
        rlx_value_t *from = rlx_call_exprs_value(inner, &last, 1);

        in[1] = rlx_call_op2(inner, RLX_OP_sub, rlx_call_reshape(inner, from, NULL, 0), iteration);
        if (in[1] == NULL)
            return NULL;
    }
    op = rlx_call_begin(inner, RLX_OP_gather, 2, in, 1);
    rlx_call_set_int(inner, op, "axis", axis);
    return rlx_call_end(inner, op);
}

static void body_fill(rlx_onnx_call_t *call, const scan_t *scan, rlx_onnx_body_t *body, bool (*varies)[RLX_RANK_MAX])
{
    rlx_value_t *iteration = rlx_onnx_loop_scalar(body, "iteration", RLX_I64, NULL);
    const rlx_onnx_port_t *ports = scan->graph.inputs;
    rlx_onnx_call_t inner = *call;

    inner.graph = body->graph;
    rlx_onnx_loop_scalar(body, "condition", RLX_BOOL, NULL);
    for (int i = 0; i < scan->n_states && inner.status == RLX_OK; i++)
        if (!rlx_onnx_scope_add(&body->scope, ports[i].name, rlx_onnx_body_input(body, ports[i].name, scan->states[i], true, varies[i])))
            rlx_call_fail(&inner, RLX_E_ONNX_GRAPH, "the body's input '%s' has a name that is taken", ports[i].name);
    for (int i = 0; i < scan->n_scanned && inner.status == RLX_OK; i++) {
        const char *name = ports[scan->n_states + i].name;
        rlx_value_t *slice;
        int axis;

        if (!rlx_call_axis(&inner, entry(scan->in_axes, scan->n_in_axes, i), scan->scanned[i]->rank, &axis))
            break;
        slice = slice_make(&inner, rlx_onnx_body_take(body, rlx_graph_printf(body->graph, "%s'", name), scan->scanned[i]), iteration, axis,
                           entry(scan->in_back, scan->n_in_back, i) != 0);
        if (slice != NULL && !rlx_onnx_scope_add(&body->scope, name, slice))
            rlx_call_fail(&inner, RLX_E_ONNX_GRAPH, "the body's input '%s' has a name that is taken", name);
    }
    call->status = inner.status;
    rlx_onnx_body_convert(call, body, &scan->graph);
    inner.status = call->status;
    rlx_onnx_body_output(call, body, rlx_call_ok(call) ? rlx_call_scalar(&inner, RLX_BOOL, 1) : NULL);
    rlx_onnx_body_outputs(call, body, &scan->graph, 0);
}

static rlx_value_t *result_arrange(rlx_onnx_call_t *call, const scan_t *scan, rlx_value_t *value, int index)
{
    int64_t perm[RLX_RANK_MAX];
    int axis;

    if (!rlx_call_axis(call, entry(scan->out_axes, scan->n_out_axes, index), value->rank, &axis))
        return NULL;
    if (entry(scan->out_back, scan->n_out_back, index) != 0)
        value = rlx_call_slice(call, value, 0, rlx_call_expr(call, -1), rlx_call_expr(call, INT64_MIN / 2), -1);
    if (value == NULL || axis == 0)
        return value;
    for (int i = 0; i < value->rank; i++)
        perm[i] = i < axis ? i + 1 : i == axis ? 0 : i;
    return rlx_call_transpose(call, value, perm, value->rank);
}

/* All slices there are, and as many in each input. */
static void count_find(rlx_onnx_call_t *call, scan_t *scan)
{
    for (int i = 0; i < scan->n_scanned && rlx_call_ok(call); i++) {
        rlx_expr_t count;
        int axis;

        if (!rlx_call_axis(call, entry(scan->in_axes, scan->n_in_axes, i), scan->scanned[i]->rank, &axis))
            return;
        count = scan->scanned[i]->dims[axis];
        if (i == 0)
            scan->count = count;
        else
            rlx_call_check(call, rlx_expr_eq(call->graph->exprs, scan->count, count), "Scan: its inputs have different lengths");
    }
}

static void scan_make(rlx_onnx_call_t *call, scan_t *scan, rlx_value_t **out)
{
    bool(*varies)[RLX_RANK_MAX] = rlx_graph_alloc(call->graph, (size_t)(scan->n_states + 1) * sizeof *varies), settled = false;
    rlx_onnx_body_t body;

    count_find(call, scan);
    while (!settled && rlx_call_ok(call)) {
        rlx_onnx_body_begin(call, &body, "body");
        if (rlx_call_ok(call))
            body_fill(call, scan, &body, varies);
        rlx_onnx_body_end(call, &body);
        settled = rlx_call_ok(call) && rlx_onnx_loop_settle(call, &body, scan->n_states, varies);
    }
    if (!rlx_call_ok(call))
        return;
    rlx_onnx_loop_make(call, &body, rlx_call_exprs_value(call, &scan->count, 1), NULL, scan->n_states, scan->states, scan->n_out, out);
    for (int i = scan->n_states; i < scan->n_out && rlx_call_ok(call); i++)
        out[i] = result_arrange(call, scan, out[i], i - scan->n_states);
}

/* Up to opset 8: states [batch, ...], inputs [batch, length, ...]; one loop over the batch, whose results are appended. */
static void batch_make(rlx_onnx_call_t *call, scan_t *scan, rlx_value_t **out)
{
    rlx_value_t *trips = scan->n_scanned > 0 ? rlx_call_exprs_value(call, &scan->scanned[0]->dims[0], 1) : NULL;
    rlx_value_t **results = rlx_graph_alloc(call->graph, (size_t)(scan->n_out + 1) * sizeof *results), *iteration;
    rlx_value_t **operands = rlx_graph_alloc(call->graph, (size_t)(scan->n_states + scan->n_scanned) * sizeof *operands);
    rlx_onnx_call_t inner = *call;
    rlx_onnx_body_t body;

    rlx_onnx_body_begin(call, &body, "batch");
    inner.graph = body.graph;
    inner.scope = &body.scope;
    inner.status = call->status;
    iteration = rlx_onnx_loop_scalar(&body, "item", RLX_I64, NULL);
    rlx_onnx_loop_scalar(&body, "condition", RLX_BOOL, NULL);
    for (int i = 0; i < scan->n_states + scan->n_scanned && inner.status == RLX_OK; i++) {
        rlx_value_t *whole = i < scan->n_states ? scan->states[i] : scan->scanned[i - scan->n_states];

        operands[i] = slice_make(&inner, rlx_onnx_body_take(&body, whole->name, whole), iteration, 0, false);
    }
    scan->states = operands;
    scan->scanned = operands + scan->n_states;
    scan_make(&inner, scan, results);
    call->status = inner.status;
    rlx_onnx_body_output(call, &body, rlx_call_ok(call) ? rlx_call_scalar(&inner, RLX_BOOL, 1) : NULL);
    for (int i = 0; i < scan->n_out && rlx_call_ok(call); i++)
        rlx_onnx_body_output(call, &body, results[i]);
    rlx_onnx_body_end(call, &body);
    rlx_onnx_loop_make(call, &body, trips, NULL, 0, NULL, scan->n_out, out);
}

static void attrs_read(rlx_onnx_call_t *call, scan_t *scan, int first)
{
    scan->n_scanned = (int)rlx_call_int(call, "num_scan_inputs", 0);
    scan->n_states = call->n_in - first - scan->n_scanned;
    if (call->opset < 9) {
        scan->in_back = rlx_call_ints(call, "directions", &scan->n_in_back);
    } else {
        scan->in_back = rlx_call_ints(call, "scan_input_directions", &scan->n_in_back);
        scan->in_axes = rlx_call_ints(call, "scan_input_axes", &scan->n_in_axes);
        scan->out_back = rlx_call_ints(call, "scan_output_directions", &scan->n_out_back);
        scan->out_axes = rlx_call_ints(call, "scan_output_axes", &scan->n_out_axes);
    }
    scan->n_out = call->n_out;
    if (!rlx_call_ok(call))
        return;
    if (scan->n_scanned < 1 || scan->n_states < 0 || call->n_out < scan->n_states || scan->graph.n_inputs != call->n_in - first ||
        scan->graph.n_outputs != call->n_out)
        rlx_call_fail(call, RLX_E_ONNX_NODE, "the body has %d inputs and %d outputs, but the node %d operands, %d of them scanned, and %d results",
                      scan->graph.n_inputs, scan->graph.n_outputs, call->n_in - first, scan->n_scanned, call->n_out);
    for (int i = first; i < call->n_in; i++)
        if (call->in[i] == NULL || (i >= first + scan->n_states && call->in[i]->rank < (call->opset < 9 ? 2 : 1)))
            rlx_call_fail(call, RLX_E_ONNX_NODE, "operand %d is missing or has no axis to scan", i);
}

void rlx_convert_scan(rlx_onnx_call_t *call)
{
    int first = call->opset < 9 ? 1 : 0;
    rlx_value_t **out = rlx_graph_alloc(call->graph, (size_t)(call->n_out + 1) * sizeof *out);
    scan_t scan = {.count = RLX_EXPR_NONE};

    if (!rlx_onnx_body_parse(call, "body", &scan.graph))
        return;
    if (first == 1 && rlx_call_in(call, 0) != NULL)
        rlx_call_fail(call, RLX_E_ONNX_OPERATOR, "Scan with sequence_lens is not supported");
    attrs_read(call, &scan, first);
    scan.states = call->in + first;
    scan.scanned = scan.states + scan.n_states;
    if (!rlx_call_ok(call))
        return;
    if (first == 1)
        batch_make(call, &scan, out);
    else
        scan_make(call, &scan, out);
    for (int i = 0; i < call->n_out && rlx_call_ok(call); i++)
        rlx_call_out(call, i, out[i]);
}
