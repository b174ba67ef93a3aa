/* Writes ONNX by hand: protobuf is little more than tagged lengths. Messages are built inside out, each in its own memory stream. */
#include "cli/onnx_sample.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

#define CHANNELS 8
#define CLASSES 10
#define FEATURES (CHANNELS * RLX_SAMPLE_SIDE / 2 * RLX_SAMPLE_SIDE / 2)

/* Field numbers of onnx.proto. */
enum { MODEL_IR_VERSION = 1, MODEL_PRODUCER = 2, MODEL_GRAPH = 7, MODEL_OPSET = 8, OPSET_VERSION = 2 };
enum { GRAPH_NODE = 1, GRAPH_NAME = 2, GRAPH_INITIALIZER = 5, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12 };
enum { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, NODE_OP_TYPE = 4, NODE_ATTRIBUTE = 5 };
enum { ATTR_NAME = 1, ATTR_I = 3, ATTR_INTS = 8, ATTR_TYPE = 20, ATTR_TYPE_INT = 2, ATTR_TYPE_INTS = 7 };
enum { TENSOR_DIMS = 1, TENSOR_TYPE = 2, TENSOR_NAME = 8, TENSOR_RAW = 9, TYPE_FLOAT = 1 };
enum { INFO_NAME = 1, INFO_TYPE = 2, TYPE_TENSOR = 1, TENSOR_ELEM = 1, TENSOR_SHAPE = 2, SHAPE_DIM = 1, DIM_VALUE = 1, DIM_PARAM = 2 };

typedef struct message {
    FILE *out;
    char *data;
    size_t bytes;
} message_t;

static void message_begin(message_t *message)
{
    message->out = open_memstream(&message->data, &message->bytes);
    RLX_ASSERT(message->out != NULL);
}

static void put_varint(message_t *message, uint64_t value)
{
    for (; value >= 128; value >>= 7)
        fputc((int)(value & 127) | 128, message->out);
    fputc((int)value, message->out);
}

static void put_int(message_t *message, int field, uint64_t value)
{
    put_varint(message, (uint64_t)field << 3);
    put_varint(message, value);
}

static void put_bytes(message_t *message, int field, const void *data, size_t bytes)
{
    put_varint(message, (uint64_t)field << 3 | 2);
    put_varint(message, bytes);
    fwrite(data, 1, bytes, message->out);
}

static void put_text(message_t *message, int field, const char *text) { put_bytes(message, field, text, strlen(text)); }

/* Ends `inner` and makes it a field of `outer`. */
static void put_message(message_t *outer, int field, message_t *inner)
{
    RLX_ASSERT(fclose(inner->out) == 0);
    put_bytes(outer, field, inner->data, inner->bytes);
    free(inner->data);
}

static void put_node(message_t *graph, const char *name, const char *op, const char *const *inputs, const char *output,
                     message_t *attributes)
{
    message_t node;

    message_begin(&node);
    for (int i = 0; inputs[i] != NULL; i++)
        put_text(&node, NODE_INPUT, inputs[i]);
    put_text(&node, NODE_OUTPUT, output);
    put_text(&node, NODE_NAME, name);
    put_text(&node, NODE_OP_TYPE, op);
    if (attributes != NULL) {
        RLX_ASSERT(fclose(attributes->out) == 0);
        fwrite(attributes->data, 1, attributes->bytes, node.out);
        free(attributes->data);
    }
    put_message(graph, GRAPH_NODE, &node);
}

static void put_ints(message_t *attributes, const char *name, int n, int64_t value)
{
    message_t attribute;

    message_begin(&attribute);
    put_text(&attribute, ATTR_NAME, name);
    for (int i = 0; i < n; i++)
        put_int(&attribute, ATTR_INTS, (uint64_t)value);
    put_int(&attribute, ATTR_TYPE, ATTR_TYPE_INTS);
    put_message(attributes, NODE_ATTRIBUTE, &attribute);
}

static void put_attr_int(message_t *attributes, const char *name, int64_t value)
{
    message_t attribute;

    message_begin(&attribute);
    put_text(&attribute, ATTR_NAME, name);
    put_int(&attribute, ATTR_I, (uint64_t)value);
    put_int(&attribute, ATTR_TYPE, ATTR_TYPE_INT);
    put_message(attributes, NODE_ATTRIBUTE, &attribute);
}

/* Weights in [-scale, scale), from the splitmix64 sequence. */
static void put_weights(message_t *graph, const char *name, int rank, const int64_t *dims, float scale, uint64_t *state)
{
    message_t tensor;
    int64_t count = 1;
    float *data;

    message_begin(&tensor);
    for (int i = 0; i < rank; i++) {
        put_int(&tensor, TENSOR_DIMS, (uint64_t)dims[i]);
        count *= dims[i];
    }
    put_int(&tensor, TENSOR_TYPE, TYPE_FLOAT);
    put_text(&tensor, TENSOR_NAME, name);
    data = calloc((size_t)count, sizeof *data);
    RLX_ASSERT(data != NULL);
    for (int64_t i = 0; i < count; i++) {
        uint64_t z = *state += 0x9e3779b97f4a7c15u;

        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        data[i] = ((float)(z >> 40) / 8388608.0f - 1.0f) * scale;
    }
    put_bytes(&tensor, TENSOR_RAW, data, (size_t)count * sizeof *data);
    free(data);
    put_message(graph, GRAPH_INITIALIZER, &tensor);
}

/* f32, first axis named "batch". */
static void put_info(message_t *graph, int field, const char *name, int rank, const int64_t *dims)
{
    message_t info, type, tensor, shape, dim;

    message_begin(&shape);
    for (int i = 0; i < rank; i++) {
        message_begin(&dim);
        if (i == 0)
            put_text(&dim, DIM_PARAM, "batch");
        else
            put_int(&dim, DIM_VALUE, (uint64_t)dims[i]);
        put_message(&shape, SHAPE_DIM, &dim);
    }
    message_begin(&tensor);
    put_int(&tensor, TENSOR_ELEM, TYPE_FLOAT);
    put_message(&tensor, TENSOR_SHAPE, &shape);
    message_begin(&type);
    put_message(&type, TYPE_TENSOR, &tensor);
    message_begin(&info);
    put_text(&info, INFO_NAME, name);
    put_message(&info, INFO_TYPE, &type);
    put_message(graph, field, &info);
}

static void put_graph(message_t *model)
{
    uint64_t seed = 1;
    message_t graph, attributes;

    message_begin(&graph);
    message_begin(&attributes);
    put_ints(&attributes, "kernel_shape", 2, 3);
    put_ints(&attributes, "pads", 4, 1);
    put_node(&graph, "conv", "Conv", (const char *const[]){RLX_SAMPLE_INPUT, "conv.weight", "conv.bias", NULL}, "features", &attributes);
    put_node(&graph, "relu", "Relu", (const char *const[]){"features", NULL}, "active", NULL);
    message_begin(&attributes);
    put_ints(&attributes, "kernel_shape", 2, 2);
    put_ints(&attributes, "strides", 2, 2);
    put_node(&graph, "pool", "MaxPool", (const char *const[]){"active", NULL}, "pooled", &attributes);
    put_node(&graph, "flatten", "Flatten", (const char *const[]){"pooled", NULL}, "flat", NULL);
    put_node(&graph, "classify", "Gemm", (const char *const[]){"flat", "classify.weight", "classify.bias", NULL}, "scores", NULL);
    message_begin(&attributes);
    put_attr_int(&attributes, "axis", 1);
    put_node(&graph, "softmax", "Softmax", (const char *const[]){"scores", NULL}, "probabilities", &attributes);
    put_text(&graph, GRAPH_NAME, "tiny");
    put_weights(&graph, "conv.weight", 4, (int64_t[]){CHANNELS, 1, 3, 3}, 0.5f, &seed);
    put_weights(&graph, "conv.bias", 1, (int64_t[]){CHANNELS}, 0.1f, &seed);
    put_weights(&graph, "classify.weight", 2, (int64_t[]){FEATURES, CLASSES}, 0.2f, &seed);
    put_weights(&graph, "classify.bias", 1, (int64_t[]){CLASSES}, 0.1f, &seed);
    put_info(&graph, GRAPH_INPUT, RLX_SAMPLE_INPUT, 4, (int64_t[]){0, 1, RLX_SAMPLE_SIDE, RLX_SAMPLE_SIDE});
    put_info(&graph, GRAPH_OUTPUT, "probabilities", 2, (int64_t[]){0, CLASSES});
    put_message(model, MODEL_GRAPH, &graph);
}

void *rlx_onnx_sample(size_t *out_bytes)
{
    message_t model, opset;

    message_begin(&model);
    put_int(&model, MODEL_IR_VERSION, 8);
    put_text(&model, MODEL_PRODUCER, "rlx init");
    put_graph(&model);
    message_begin(&opset);
    put_int(&opset, OPSET_VERSION, 17);
    put_message(&model, MODEL_OPSET, &opset);
    RLX_ASSERT(fclose(model.out) == 0);
    *out_bytes = model.bytes;
    return model.data;
}
