/* ONNX protobuf to the structs of model.h. Each repeated field is counted against its cap before memory for it is taken; the schema's
 * nesting that is followed here is model > graph > node > attribute > tensor, so depth is fixed whatever the file holds; a branch of If is
 * a graph that is parsed when it is taken. */
#include "ir/onnx/model.h"

#include <string.h>

rlx_status_t rlx_onnx_malformed(rlx_diag_t *diag, const char *what)
{
    return rlx_fail(diag, RLX_E_ONNX_MALFORMED, "%s is no valid protobuf message of its kind", what);
}

rlx_status_t rlx_onnx_name_parse(rlx_graph_t *memory, const rlx_wire_field_t *field, const char **out_name, rlx_diag_t *diag)
{
    char *name;

    if (field->type != RLX_WIRE_LEN)
        return rlx_onnx_malformed(diag, "a name");
    if (field->bytes.size > RLX_ONNX_NAME_MAX)
        return rlx_fail(diag, RLX_E_ONNX_LIMIT, "a name has %zu bytes; the limit is %d", field->bytes.size, RLX_ONNX_NAME_MAX);
    if (field->bytes.size == 0) {
        *out_name = "";
        return RLX_OK;
    }
    if (memchr(field->bytes.data, 0, field->bytes.size) != NULL)
        return rlx_fail(diag, RLX_E_ONNX_MALFORMED, "a name holds a NUL byte");
    name = rlx_graph_alloc(memory, field->bytes.size + 1);
    memcpy(name, field->bytes.data, field->bytes.size);
    *out_name = name;
    return RLX_OK;
}

static int64_t packed_count(rlx_onnx_bytes_t bytes, int type)
{
    int64_t count = 0;

    if (type != RLX_WIRE_VARINT)
        return (int64_t)(bytes.size / (type == RLX_WIRE_I64 ? 8 : 4));
    for (size_t i = 0; i < bytes.size; i++)
        count += (bytes.data[i] & 0x80) == 0;
    return count;
}

rlx_status_t rlx_onnx_count(rlx_onnx_bytes_t message, uint32_t number, int packed_type, int64_t cap, const char *what, int64_t *out_count,
                            rlx_diag_t *diag)
{
    rlx_wire_reader_t reader = rlx_wire_reader_open(message);
    rlx_wire_field_t field;
    int64_t count = 0;

    while (rlx_wire_next(&reader, &field))
        if (field.number == number)
            count += packed_type >= 0 && field.type == RLX_WIRE_LEN ? packed_count(field.bytes, packed_type) : 1;
    if (reader.bad)
        return rlx_onnx_malformed(diag, what);
    if (count > cap)
        return rlx_fail(diag, RLX_E_ONNX_LIMIT, "%s: %lld entries; the limit is %lld", what, (long long)count, (long long)cap);
    *out_count = count;
    return RLX_OK;
}

/* A repeated string field as an array of names. */
static rlx_status_t names_parse(rlx_graph_t *memory, rlx_onnx_bytes_t message, uint32_t number, const char *what, const char ***out_names,
                                int *out_n, rlx_diag_t *diag)
{
    rlx_wire_reader_t reader = rlx_wire_reader_open(message);
    rlx_wire_field_t field;
    const char **names;
    int64_t count;
    int n = 0;

    RLX_TRY(rlx_onnx_count(message, number, -1, RLX_ONNX_PORTS_MAX, what, &count, diag));
    names = rlx_graph_alloc(memory, (size_t)(count + 1) * sizeof *names);
    while (rlx_wire_next(&reader, &field))
        if (field.number == number)
            RLX_TRY(rlx_onnx_name_parse(memory, &field, &names[n++], diag));
    *out_names = names;
    *out_n = n;
    return RLX_OK;
}

static rlx_status_t attrs_parse(rlx_graph_t *memory, rlx_onnx_bytes_t message, uint32_t number, rlx_onnx_attr_t **out_attrs, int *out_n,
                                rlx_diag_t *diag)
{
    rlx_wire_reader_t reader = rlx_wire_reader_open(message);
    rlx_wire_field_t field;
    rlx_onnx_attr_t *attrs;
    int64_t count;
    int n = 0;

    RLX_TRY(rlx_onnx_count(message, number, -1, RLX_ONNX_ATTRS_MAX, "attributes of a node", &count, diag));
    attrs = rlx_graph_alloc(memory, (size_t)(count + 1) * sizeof *attrs);
    while (rlx_wire_next(&reader, &field)) {
        if (field.number != number)
            continue;
        if (field.type != RLX_WIRE_LEN)
            return rlx_onnx_malformed(diag, "an attribute");
        RLX_TRY(rlx_onnx_attr_parse(memory, field.bytes, &attrs[n], diag));
        for (int i = 0; i < n; i++)
            if (strcmp(attrs[i].name, attrs[n].name) == 0)
                return rlx_fail(diag, RLX_E_ONNX_NODE, "attribute '%s' stands twice", attrs[n].name);
        n++;
    }
    *out_attrs = attrs;
    *out_n = n;
    return RLX_OK;
}

rlx_status_t rlx_onnx_node_parse(rlx_graph_t *memory, rlx_onnx_bytes_t bytes, rlx_onnx_node_t *out_node, rlx_diag_t *diag)
{
    rlx_wire_reader_t reader = rlx_wire_reader_open(bytes);
    rlx_wire_field_t field;

    out_node->name = out_node->op_type = out_node->domain = "";
    while (rlx_wire_next(&reader, &field)) {
        if (field.number == 3)
            RLX_TRY(rlx_onnx_name_parse(memory, &field, &out_node->name, diag));
        else if (field.number == 4)
            RLX_TRY(rlx_onnx_name_parse(memory, &field, &out_node->op_type, diag));
        else if (field.number == 7)
            RLX_TRY(rlx_onnx_name_parse(memory, &field, &out_node->domain, diag));
    }
    if (reader.bad)
        return rlx_onnx_malformed(diag, "a node");
    if (strcmp(out_node->domain, "ai.onnx") == 0)
        out_node->domain = "";
    RLX_TRY(names_parse(memory, bytes, 1, "inputs of a node", &out_node->in, &out_node->n_in, diag));
    RLX_TRY(names_parse(memory, bytes, 2, "outputs of a node", &out_node->out, &out_node->n_out, diag));
    return attrs_parse(memory, bytes, 5, &out_node->attrs, &out_node->n_attrs, diag);
}

static rlx_status_t nodes_parse(rlx_graph_t *memory, rlx_onnx_bytes_t message, uint32_t number, int64_t *budget,
                                rlx_onnx_node_t **out_nodes, int *out_n, rlx_diag_t *diag)
{
    rlx_wire_reader_t reader = rlx_wire_reader_open(message);
    rlx_wire_field_t field;
    rlx_onnx_node_t *nodes;
    int64_t count;
    int n = 0;

    RLX_TRY(rlx_onnx_count(message, number, -1, *budget, "nodes", &count, diag));
    *budget -= count;
    nodes = rlx_graph_alloc(memory, (size_t)(count + 1) * sizeof *nodes);
    for (; rlx_wire_next(&reader, &field);) {
        if (field.number != number)
            continue;
        if (field.type != RLX_WIRE_LEN)
            return rlx_onnx_malformed(diag, "a node");
        if (rlx_onnx_node_parse(memory, field.bytes, &nodes[n], diag) != RLX_OK)
            return rlx_diag_at(diag, "node %d '%s' (%s)", n, nodes[n].name ? nodes[n].name : "", nodes[n].op_type ? nodes[n].op_type : "");
        n++;
    }
    *out_nodes = nodes;
    *out_n = n;
    return RLX_OK;
}

static rlx_status_t dim_parse(rlx_graph_t *memory, rlx_onnx_bytes_t bytes, rlx_onnx_dim_t *out_dim, rlx_diag_t *diag)
{
    rlx_wire_reader_t reader = rlx_wire_reader_open(bytes);
    rlx_wire_field_t field;

    out_dim->param = "";
    while (rlx_wire_next(&reader, &field)) {
        if (field.number == 1 && field.type == RLX_WIRE_VARINT) {
            out_dim->known = true;
            out_dim->value = (int64_t)field.value;
        } else if (field.number == 2) {
            RLX_TRY(rlx_onnx_name_parse(memory, &field, &out_dim->param, diag));
            out_dim->known = false;
        }
    }
    return reader.bad ? rlx_onnx_malformed(diag, "a dimension") : RLX_OK;
}

static rlx_status_t shape_parse(rlx_graph_t *memory, rlx_onnx_bytes_t bytes, rlx_onnx_port_t *port, rlx_diag_t *diag)
{
    rlx_wire_reader_t reader = rlx_wire_reader_open(bytes);
    rlx_wire_field_t field;

    port->has_shape = true;
    port->rank = 0;
    while (rlx_wire_next(&reader, &field)) {
        if (field.number != 1)
            continue;
        if (field.type != RLX_WIRE_LEN)
            return rlx_onnx_malformed(diag, "a shape");
        if (port->rank == RLX_RANK_MAX)
            return rlx_fail(diag, RLX_E_ONNX_LIMIT, "'%s' has rank above %d", port->name, RLX_RANK_MAX);
        RLX_TRY(dim_parse(memory, field.bytes, &port->dims[port->rank++], diag));
    }
    return reader.bad ? rlx_onnx_malformed(diag, "a shape") : RLX_OK;
}

static rlx_status_t tensor_type_parse(rlx_graph_t *memory, rlx_onnx_bytes_t bytes, rlx_onnx_port_t *port, rlx_diag_t *diag)
{
    rlx_wire_reader_t reader = rlx_wire_reader_open(bytes);
    rlx_wire_field_t field;

    while (rlx_wire_next(&reader, &field)) {
        if (field.number == 1 && field.type == RLX_WIRE_VARINT)
            port->elem_type = (int64_t)field.value;
        else if (field.number == 2 && field.type == RLX_WIRE_LEN)
            RLX_TRY(shape_parse(memory, field.bytes, port, diag));
    }
    return reader.bad ? rlx_onnx_malformed(diag, "a tensor type") : RLX_OK;
}

static rlx_status_t type_parse(rlx_graph_t *memory, rlx_onnx_bytes_t bytes, rlx_onnx_port_t *port, rlx_diag_t *diag)
{
    static const char *const kinds[] = {
        [1] = "tensor", [4] = "sequence", [5] = "map", [7] = "opaque", [8] = "sparse tensor", [9] = "optional"};
    rlx_wire_reader_t reader = rlx_wire_reader_open(bytes);
    rlx_wire_field_t field;

    while (rlx_wire_next(&reader, &field)) {
        if (field.type != RLX_WIRE_LEN || field.number >= sizeof kinds / sizeof *kinds || kinds[field.number] == NULL)
            continue;
        port->kind = kinds[field.number];
        if (field.number == 1)
            RLX_TRY(tensor_type_parse(memory, field.bytes, port, diag));
    }
    return reader.bad ? rlx_onnx_malformed(diag, "a type") : RLX_OK;
}

static rlx_status_t port_parse(rlx_graph_t *memory, rlx_onnx_bytes_t bytes, rlx_onnx_port_t *port, rlx_diag_t *diag)
{
    rlx_wire_reader_t reader = rlx_wire_reader_open(bytes);
    rlx_wire_field_t field;
    rlx_onnx_bytes_t type = {0};

    port->name = port->kind = "";
    while (rlx_wire_next(&reader, &field)) {
        if (field.number == 1)
            RLX_TRY(rlx_onnx_name_parse(memory, &field, &port->name, diag));
        else if (field.number == 2 && field.type == RLX_WIRE_LEN)
            type = field.bytes;
    }
    if (reader.bad)
        return rlx_onnx_malformed(diag, "an input or output");
    return type_parse(memory, type, port, diag);
}

static rlx_status_t ports_parse(rlx_graph_t *memory, rlx_onnx_bytes_t graph, uint32_t number, const char *what,
                                rlx_onnx_port_t **out_ports, int *out_n, rlx_diag_t *diag)
{
    rlx_wire_reader_t reader = rlx_wire_reader_open(graph);
    rlx_wire_field_t field;
    int64_t count;
    int n = 0;

    RLX_TRY(rlx_onnx_count(graph, number, -1, RLX_ONNX_GRAPH_PORTS_MAX, what, &count, diag));
    *out_ports = rlx_graph_alloc(memory, (size_t)(count + 1) * sizeof **out_ports);
    while (rlx_wire_next(&reader, &field)) {
        if (field.number != number)
            continue;
        if (field.type != RLX_WIRE_LEN)
            return rlx_onnx_malformed(diag, what);
        RLX_TRY(port_parse(memory, field.bytes, &(*out_ports)[n++], diag));
    }
    *out_n = n;
    return RLX_OK;
}

static rlx_status_t inits_parse(rlx_graph_t *memory, rlx_onnx_bytes_t graph, rlx_onnx_model_t *model, rlx_diag_t *diag)
{
    rlx_wire_reader_t reader = rlx_wire_reader_open(graph);
    rlx_wire_field_t field;
    int64_t count;

    RLX_TRY(rlx_onnx_count(graph, 5, -1, RLX_ONNX_TENSORS_MAX, "initializers", &count, diag));
    model->inits = rlx_graph_alloc(memory, (size_t)(count + 1) * sizeof *model->inits);
    while (rlx_wire_next(&reader, &field)) {
        if (field.number == 15)
            model->has_sparse = true;
        if (field.number == 2)
            RLX_TRY(rlx_onnx_name_parse(memory, &field, &model->graph_name, diag));
        if (field.number != 5)
            continue;
        if (field.type != RLX_WIRE_LEN)
            return rlx_onnx_malformed(diag, "an initializer");
        RLX_TRY(rlx_onnx_tensor_parse(memory, field.bytes, &model->inits[model->n_inits++], diag));
    }
    return RLX_OK;
}

static rlx_status_t opset_parse(rlx_graph_t *memory, rlx_onnx_bytes_t bytes, rlx_onnx_opset_t *out_opset, rlx_diag_t *diag)
{
    rlx_wire_reader_t reader = rlx_wire_reader_open(bytes);
    rlx_wire_field_t field;

    out_opset->domain = "";
    while (rlx_wire_next(&reader, &field)) {
        if (field.number == 1)
            RLX_TRY(rlx_onnx_name_parse(memory, &field, &out_opset->domain, diag));
        else if (field.number == 2 && field.type == RLX_WIRE_VARINT)
            out_opset->version = (int64_t)field.value;
    }
    if (strcmp(out_opset->domain, "ai.onnx") == 0)
        out_opset->domain = "";
    return reader.bad ? rlx_onnx_malformed(diag, "an opset import") : RLX_OK;
}

static rlx_status_t opsets_parse(rlx_graph_t *memory, rlx_onnx_bytes_t message, uint32_t number, rlx_onnx_opset_t **out_opsets, int *out_n,
                                 rlx_diag_t *diag)
{
    rlx_wire_reader_t reader = rlx_wire_reader_open(message);
    rlx_wire_field_t field;
    int64_t count;
    int n = 0;

    RLX_TRY(rlx_onnx_count(message, number, -1, RLX_ONNX_ATTRS_MAX, "opset imports", &count, diag));
    *out_opsets = rlx_graph_alloc(memory, (size_t)(count + 1) * sizeof **out_opsets);
    while (rlx_wire_next(&reader, &field)) {
        if (field.number != number)
            continue;
        if (field.type != RLX_WIRE_LEN)
            return rlx_onnx_malformed(diag, "an opset import");
        RLX_TRY(opset_parse(memory, field.bytes, &(*out_opsets)[n++], diag));
    }
    *out_n = n;
    return RLX_OK;
}

static rlx_status_t function_parse(rlx_graph_t *memory, rlx_onnx_bytes_t bytes, int64_t *node_budget, rlx_onnx_function_t *out,
                                   rlx_diag_t *diag)
{
    rlx_wire_reader_t reader = rlx_wire_reader_open(bytes);
    rlx_wire_field_t field;

    out->name = out->domain = "";
    while (rlx_wire_next(&reader, &field)) {
        if (field.number == 1)
            RLX_TRY(rlx_onnx_name_parse(memory, &field, &out->name, diag));
        else if (field.number == 10)
            RLX_TRY(rlx_onnx_name_parse(memory, &field, &out->domain, diag));
    }
    if (reader.bad)
        return rlx_onnx_malformed(diag, "a function");
    RLX_TRY(names_parse(memory, bytes, 4, "inputs of a function", &out->in, &out->n_in, diag));
    RLX_TRY(names_parse(memory, bytes, 5, "outputs of a function", &out->out, &out->n_out, diag));
    RLX_TRY(names_parse(memory, bytes, 6, "attributes of a function", &out->attr_names, &out->n_attr_names, diag));
    RLX_TRY(attrs_parse(memory, bytes, 11, &out->attrs, &out->n_attrs, diag));
    RLX_TRY(opsets_parse(memory, bytes, 9, &out->opsets, &out->n_opsets, diag));
    return nodes_parse(memory, bytes, 7, node_budget, &out->nodes, &out->n_nodes, diag);
}

static rlx_status_t functions_parse(rlx_graph_t *memory, rlx_onnx_bytes_t message, int64_t *node_budget, rlx_onnx_model_t *model,
                                    rlx_diag_t *diag)
{
    rlx_wire_reader_t reader = rlx_wire_reader_open(message);
    rlx_wire_field_t field;
    int64_t count;

    RLX_TRY(rlx_onnx_count(message, 25, -1, RLX_ONNX_FUNCTIONS_MAX, "functions", &count, diag));
    model->functions = rlx_graph_alloc(memory, (size_t)(count + 1) * sizeof *model->functions);
    while (rlx_wire_next(&reader, &field)) {
        if (field.number != 25)
            continue;
        if (field.type != RLX_WIRE_LEN)
            return rlx_onnx_malformed(diag, "a function");
        RLX_TRY(function_parse(memory, field.bytes, node_budget, &model->functions[model->n_functions++], diag));
    }
    return RLX_OK;
}

static rlx_status_t graph_find(rlx_onnx_bytes_t bytes, rlx_onnx_bytes_t *out_graph, rlx_diag_t *diag)
{
    rlx_wire_reader_t reader = rlx_wire_reader_open(bytes);
    rlx_wire_field_t field;
    int n_graphs = 0;

    while (rlx_wire_next(&reader, &field)) {
        if (field.number != 7 || field.type != RLX_WIRE_LEN)
            continue;
        *out_graph = field.bytes;
        n_graphs++;
    }
    if (reader.bad)
        return rlx_onnx_malformed(diag, "the file");
    if (n_graphs != 1)
        return rlx_fail(diag, RLX_E_ONNX_MALFORMED, "the file holds %d graphs; a model has one", n_graphs);
    return RLX_OK;
}

rlx_status_t rlx_onnx_graph_parse(rlx_graph_t *memory, rlx_onnx_bytes_t bytes, int64_t *node_budget, rlx_onnx_model_t *out_model,
                                  rlx_diag_t *diag)
{
    out_model->graph_name = "";
    RLX_TRY(inits_parse(memory, bytes, out_model, diag));
    RLX_TRY(ports_parse(memory, bytes, 11, "graph inputs", &out_model->inputs, &out_model->n_inputs, diag));
    RLX_TRY(ports_parse(memory, bytes, 12, "graph outputs", &out_model->outputs, &out_model->n_outputs, diag));
    return nodes_parse(memory, bytes, 1, node_budget, &out_model->nodes, &out_model->n_nodes, diag);
}

rlx_status_t rlx_onnx_model_parse(rlx_graph_t *memory, rlx_onnx_bytes_t bytes, rlx_onnx_model_t *out_model, rlx_diag_t *diag)
{
    rlx_onnx_bytes_t graph = {0};
    int64_t node_budget = RLX_ONNX_NODES_MAX;

    memset(out_model, 0, sizeof *out_model);
    RLX_TRY(graph_find(bytes, &graph, diag));
    RLX_TRY(opsets_parse(memory, bytes, 8, &out_model->opsets, &out_model->n_opsets, diag));
    RLX_TRY(functions_parse(memory, bytes, &node_budget, out_model, diag));
    return rlx_onnx_graph_parse(memory, graph, &node_budget, out_model, diag);
}
