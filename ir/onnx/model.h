/* A parsed ONNX model: plain structs over borrowed bytes. Names are C strings (no NUL inside, at most RLX_ONNX_NAME_MAX bytes); tensors
 * keep their wire bytes and are decoded when a constant is made. Subgraphs stay wire bytes until a branch is taken.
 *
 * Memory: everything lives as long as the graph that rlx_onnx_model_parse was given; the file's bytes are borrowed. */
#ifndef RLX_IR_ONNX_MODEL_H
#define RLX_IR_ONNX_MODEL_H

#include "base/diag.h"
#include "ir/graph.h"
#include "ir/onnx/wire.h"

#define RLX_ONNX_NAME_MAX 4096
#define RLX_ONNX_NODES_MAX RLX_GRAPH_OPS_MAX
#define RLX_ONNX_TENSORS_MAX 200000
#define RLX_ONNX_PORTS_MAX 65535 /* inputs or outputs of a node */
#define RLX_ONNX_GRAPH_PORTS_MAX 4096 /* of the graph */
#define RLX_ONNX_ATTRS_MAX 256   /* attributes of a node */
#define RLX_ONNX_FUNCTIONS_MAX 4096
#define RLX_ONNX_CONST_BYTES_MAX (INT64_C(8) << 30)
#define RLX_ONNX_OPSET_MIN 6 /* 6 differs from 7 by the broadcast attributes only, which are refused */
#define RLX_ONNX_OPSET_MAX 26

/* TensorProto.DataType, those that have names in messages or in code. */
enum {
    RLX_ONNX_FLOAT = 1, RLX_ONNX_UINT8 = 2, RLX_ONNX_INT8 = 3, RLX_ONNX_UINT16 = 4, RLX_ONNX_INT16 = 5, RLX_ONNX_INT32 = 6,
    RLX_ONNX_INT64 = 7, RLX_ONNX_STRING = 8, RLX_ONNX_BOOL = 9, RLX_ONNX_FLOAT16 = 10, RLX_ONNX_DOUBLE = 11, RLX_ONNX_UINT32 = 12,
    RLX_ONNX_UINT64 = 13, RLX_ONNX_BFLOAT16 = 16,
};

typedef struct rlx_onnx_tensor {
    const char *name;
    int64_t data_type;
    int rank;
    int64_t dims[RLX_RANK_MAX];
    rlx_onnx_bytes_t message;  /* the whole TensorProto: typed fields are read from it */
    rlx_onnx_bytes_t raw;
    bool has_raw, has_typed, is_external, has_segment;
    const char *location;      /* external data */
    uint64_t offset, length;
    bool has_length;
} rlx_onnx_tensor_t;

/* AttributeProto.AttributeType. */
typedef enum rlx_onnx_attr_type {
    RLX_ONNX_ATTR_UNDEFINED = 0, RLX_ONNX_ATTR_FLOAT = 1, RLX_ONNX_ATTR_INT = 2, RLX_ONNX_ATTR_STRING = 3, RLX_ONNX_ATTR_TENSOR = 4,
    RLX_ONNX_ATTR_GRAPH = 5, RLX_ONNX_ATTR_FLOATS = 6, RLX_ONNX_ATTR_INTS = 7, RLX_ONNX_ATTR_STRINGS = 8, RLX_ONNX_ATTR_TENSORS = 9,
    RLX_ONNX_ATTR_GRAPHS = 10, RLX_ONNX_ATTR_SPARSE_TENSOR = 11,
} rlx_onnx_attr_type_t;

typedef struct rlx_onnx_attr {
    const char *name;
    rlx_onnx_attr_type_t type;
    const char *ref;           /* in a function body: the function's attribute that stands here; else NULL */
    float f;
    int64_t i;
    const char *s;             /* NULL when it holds a NUL byte or is too long */
    rlx_onnx_tensor_t *tensor;
    rlx_onnx_bytes_t graph;    /* a subgraph's wire bytes: rlx_onnx_graph_parse */
    int n;                     /* floats, ints, strings */
    const float *floats;
    const int64_t *ints;
    const char **strings;
} rlx_onnx_attr_t;

typedef struct rlx_onnx_node {
    const char *name, *op_type, *domain;
    int n_in, n_out, n_attrs;
    const char **in, **out;    /* "" for absent */
    rlx_onnx_attr_t *attrs;
} rlx_onnx_node_t;

typedef struct rlx_onnx_dim {
    bool known;
    int64_t value;
    const char *param;         /* "" when unnamed */
} rlx_onnx_dim_t;

typedef struct rlx_onnx_port {
    const char *name;
    const char *kind;          /* "tensor", "sequence", "map", "optional", "sparse tensor", "opaque", or "" when no type is given */
    int64_t elem_type;
    bool has_shape;
    int rank;
    rlx_onnx_dim_t dims[RLX_RANK_MAX];
} rlx_onnx_port_t;

typedef struct rlx_onnx_opset {
    const char *domain;        /* "" for ai.onnx */
    int64_t version;
} rlx_onnx_opset_t;

typedef struct rlx_onnx_function {
    const char *name, *domain;
    int n_in, n_out, n_attr_names, n_attrs, n_nodes, n_opsets;
    const char **in, **out, **attr_names;
    rlx_onnx_attr_t *attrs;    /* with default values */
    rlx_onnx_node_t *nodes;
    rlx_onnx_opset_t *opsets;
    bool use_known;            /* shape_use.c: inputs that decide shapes */
    unsigned use_mask;
} rlx_onnx_function_t;

typedef struct rlx_onnx_model {
    int n_opsets, n_functions, n_nodes, n_inits, n_inputs, n_outputs;
    rlx_onnx_opset_t *opsets;
    rlx_onnx_function_t *functions;
    const char *graph_name;
    rlx_onnx_node_t *nodes;
    rlx_onnx_tensor_t *inits;
    rlx_onnx_port_t *inputs, *outputs;
    bool has_sparse;
} rlx_onnx_model_t;

/* The graph's part of a model, or a branch of If: nodes, initializers, inputs and outputs. `node_budget` is lowered by the nodes found. */
rlx_status_t rlx_onnx_graph_parse(rlx_graph_t *memory, rlx_onnx_bytes_t bytes, int64_t *node_budget, rlx_onnx_model_t *out_model,
                                  rlx_diag_t *diag);
/* Parses and checks counts, names and lengths; what the operators mean is not looked at. */
rlx_status_t rlx_onnx_model_parse(rlx_graph_t *memory, rlx_onnx_bytes_t bytes, rlx_onnx_model_t *out_model, rlx_diag_t *diag);
rlx_status_t rlx_onnx_tensor_parse(rlx_graph_t *memory, rlx_onnx_bytes_t bytes, rlx_onnx_tensor_t *out_tensor, rlx_diag_t *diag);
rlx_status_t rlx_onnx_node_parse(rlx_graph_t *memory, rlx_onnx_bytes_t bytes, rlx_onnx_node_t *out_node, rlx_diag_t *diag);
rlx_status_t rlx_onnx_attr_parse(rlx_graph_t *memory, rlx_onnx_bytes_t bytes, rlx_onnx_attr_t *out_attr, rlx_diag_t *diag);
/* A name as a C string; "" when empty. */
rlx_status_t rlx_onnx_name_parse(rlx_graph_t *memory, const rlx_wire_field_t *field, const char **out_name, rlx_diag_t *diag);
/* How often field `number` stands in a message (elements, for packed fields, when `packed_type` >= 0). */
rlx_status_t rlx_onnx_count(rlx_onnx_bytes_t message, uint32_t number, int packed_type, int64_t cap, const char *what, int64_t *out_count,
                            rlx_diag_t *diag);
rlx_status_t rlx_onnx_malformed(rlx_diag_t *diag, const char *what);

/* RLX_DTYPE_NONE for types that RLX does not compute with. */
rlx_dtype_t rlx_onnx_dtype(int64_t data_type);
const char *rlx_onnx_dtype_name(int64_t data_type);

/* Decodes a tensor's elements into memory that lives as long as `memory`; `dir_fd` < 0 refuses external data. `budget`: bytes of constants
 * still allowed, lowered by what this tensor takes. */
rlx_status_t rlx_onnx_tensor_decode(rlx_graph_t *memory, const rlx_onnx_tensor_t *tensor, int dir_fd, int64_t *budget,
                                    rlx_tensor_t *out_tensor, rlx_diag_t *diag);
/* Reads `bytes` bytes of the file `location` below `dir_fd` at `offset`. ir/onnx/external.c. */
rlx_status_t rlx_onnx_external_read(int dir_fd, const char *location, uint64_t offset, void *out, size_t bytes, rlx_diag_t *diag);

#endif
