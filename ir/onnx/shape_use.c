/* Which graph inputs decide shapes by their data: one sweep over the nodes from the last to the first. An operand in a shape-like place is
 * marked; where a marked name comes out of integer arithmetic or movement, its operands are marked too. Too many marks cost plans, too few
 * refuse a model: this errs on the side of few. */
#include "ir/onnx/import.h"

#include <string.h>

/* Bit i: operand i decides a shape (`direct`), or carries one through (`through`). */
static const struct use {
    const char *op;
    unsigned direct, through;
} uses[] = {
    {"Reshape", 2, 1},       {"Slice", 30, 1},         {"Pad", 10, 1},          {"Expand", 2, 1},        {"Tile", 2, 1},
    {"TopK", 2, 0},          {"Range", 7, 0},          {"ConstantOfShape", 1, 0}, {"ReduceSum", 2, 1},   {"ReduceMean", 2, 0},
    {"ReduceMax", 2, 1},     {"ReduceMin", 2, 1},      {"ReduceProd", 2, 1},    {"ReduceL1", 2, 0},      {"ReduceL2", 2, 0},
    {"ReduceLogSum", 2, 0},  {"ReduceLogSumExp", 2, 0}, {"ReduceSumSquare", 2, 0}, {"Squeeze", 2, 1},    {"Unsqueeze", 2, 1},
    {"Resize", 12, 0},       {"Upsample", 2, 0},       {"Split", 2, 1},         {"OneHot", 2, 4},        {"CumSum", 2, 1},
    {"CumProd", 2, 1},       {"Trilu", 2, 0},          {"NonMaxSuppression", 4, 0}, {"Col2Im", 6, 0},    {"CenterCropPad", 2, 1},
    {"AffineGrid", 2, 0},    {"MaxUnpool", 4, 0},      {"DFT", 6, 0},           {"STFT", 10, 0},         {"HannWindow", 1, 0},
    {"HammingWindow", 1, 0}, {"BlackmanWindow", 1, 0}, {"MelWeightMatrix", 7, 0}, {"Cast", 0, 1},        {"CastLike", 0, 1},
    {"Identity", 0, 1},      {"Flatten", 0, 1},        {"Concat", 0, ~0u},      {"Gather", 0, 3},        {"GatherElements", 0, 1},
    {"GatherND", 0, 1},      {"Add", 0, 3},            {"Sub", 0, 3},           {"Mul", 0, 3},           {"Div", 0, 3},
    {"Mod", 0, 3},           {"Min", 0, ~0u},          {"Max", 0, ~0u},         {"Sum", 0, ~0u},         {"Neg", 0, 1},
    {"Abs", 0, 1},           {"Sign", 0, 1},           {"Where", 0, 7},         {"Equal", 0, 3},         {"Less", 0, 3},
    {"Greater", 0, 3},       {"LessOrEqual", 0, 3},    {"GreaterOrEqual", 0, 3}, {"Transpose", 0, 1},
};

static const struct use *use_find(const char *op)
{
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++)
        if (strcmp(uses[i].op, op) == 0)
            return &uses[i];
    return NULL;
}

static void sweep(const rlx_onnx_import_t *import, const rlx_onnx_node_t *nodes, int n, rlx_onnx_names_t *marks);

/* Inputs of a function that decide shapes inside it; worked out once. A function inside itself counts as none: it is refused later. */
static unsigned function_mask(const rlx_onnx_import_t *import, rlx_onnx_function_t *function)
{
    rlx_onnx_names_t marks;

    if (function->use_known)
        return function->use_mask;
    function->use_known = true;
    rlx_onnx_names_init(&marks);
    sweep(import, function->nodes, function->n_nodes, &marks);
    for (int i = 0; i < function->n_in && i < 32; i++)
        if (rlx_onnx_names_get(&marks, function->in[i]) != NULL)
            function->use_mask |= 1u << i;
    rlx_onnx_names_fini(&marks);
    return function->use_mask;
}

static bool results_marked(const rlx_onnx_node_t *node, const rlx_onnx_names_t *marks)
{
    for (int i = 0; i < node->n_out; i++)
        if (rlx_onnx_names_get(marks, node->out[i]) != NULL)
            return true;
    return false;
}

static void sweep(const rlx_onnx_import_t *import, const rlx_onnx_node_t *nodes, int n, rlx_onnx_names_t *marks)
{
    static char mark;

    for (int k = n - 1; k >= 0; k--) {
        const rlx_onnx_node_t *node = &nodes[k];
        rlx_onnx_function_t *function = rlx_onnx_function_find(import, node->domain, node->op_type);
        const struct use *use = function == NULL && node->domain[0] == '\0' ? use_find(node->op_type) : NULL;
        unsigned mask = function != NULL ? function_mask(import, function) : use != NULL ? use->direct : 0;

        if (use != NULL && results_marked(node, marks))
            mask |= use->through;
        for (int i = 0; i < node->n_in; i++)
            if (mask >> (i < 31 ? i : 31) & 1 && node->in[i][0] != '\0')
                rlx_onnx_names_add(marks, node->in[i], &mark);
    }
}

void rlx_onnx_shape_use(rlx_onnx_import_t *import, rlx_onnx_names_t *out_names)
{
    sweep(import, import->model->nodes, import->model->n_nodes, out_names);
}
