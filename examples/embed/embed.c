/* Runs a compiled model inside your own program, with librlx_exec and nothing else.
 *
 *     rlx compile --model model.onnx --target x86_64 --output model.rlxb
 *     cc embed.c $(pkg-config --cflags --libs rlx_exec) -o embed
 *     ./embed model.rlxb [extent for open dimensions]
 *
 * Every input is filled with a fixed pattern; for every output the shape and a few values are printed. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rlx_exec.h"

static size_t type_bytes(int32_t type)
{
    static const size_t bytes[] = {[RLX_EXEC_F32] = 4, [RLX_EXEC_F64] = 8, [RLX_EXEC_F16] = 2, [RLX_EXEC_BF16] = 2, [RLX_EXEC_I8] = 1,
                                   [RLX_EXEC_I16] = 2, [RLX_EXEC_I32] = 4, [RLX_EXEC_I64] = 8, [RLX_EXEC_U8] = 1,   [RLX_EXEC_U16] = 2,
                                   [RLX_EXEC_U32] = 4, [RLX_EXEC_U64] = 8, [RLX_EXEC_BOOL] = 1};

    return bytes[type];
}

static int64_t elements(const rlx_exec_tensor_t *tensor)
{
    int64_t n = 1;

    for (int i = 0; i < tensor->rank; i++)
        n *= tensor->dims[i];
    return n;
}

/* Floats get a ramp, other types zeros. Open dimensions get `extent`. */
static int input_fill(rlx_exec_tensor_t *input, int64_t extent)
{
    int64_t n;

    for (int i = 0; i < input->rank; i++)
        if (input->dims[i] < 0)
            input->dims[i] = extent;
    n = elements(input);
    input->data = calloc((size_t)n + 1, type_bytes(input->type));
    if (input->data == NULL)
        return -1;
    for (int64_t i = 0; i < n && input->type == RLX_EXEC_F32; i++)
        ((float *)input->data)[i] = (float)(i % 256) / 255.0f;
    return 0;
}

static void output_print(const char *name, const rlx_exec_tensor_t *output)
{
    int64_t n = elements(output);

    printf("%s: [", name);
    for (int i = 0; i < output->rank; i++)
        printf("%s%" PRId64, i > 0 ? "," : "", output->dims[i]);
    printf("]");
    for (int64_t i = 0; i < n && i < 8 && output->type == RLX_EXEC_F32; i++)
        printf(" %g", ((const float *)output->data)[i]);
    printf("%s\n", n > 8 ? " ..." : "");
}

static int model_run(rlx_exec_t *exec, int64_t extent)
{
    int n_inputs = rlx_exec_input_count(exec), n_outputs = rlx_exec_output_count(exec), status = 1;
    rlx_exec_tensor_t *inputs = calloc((size_t)n_inputs + 1, sizeof *inputs), *outputs = calloc((size_t)n_outputs + 1, sizeof *outputs),
                      shape;
    rlx_exec_error_t error;

    if (inputs == NULL || outputs == NULL)
        goto done;
    for (int i = 0; i < n_inputs; i++) {
        rlx_exec_input(exec, i, &inputs[i]);
        if (input_fill(&inputs[i], extent) != 0)
            goto done;
    }
    status = rlx_exec_run(exec, inputs, outputs, &error);
    if (status != 0)
        fprintf(stderr, "RLX-%d: %s\n", (int)error.code, error.text);
    for (int i = 0; i < n_outputs && status == 0; i++)
        output_print(rlx_exec_output(exec, i, &shape), &outputs[i]);
done:
    for (int i = 0; inputs != NULL && i < n_inputs; i++)
        free(inputs[i].data);
    for (int i = 0; outputs != NULL && i < n_outputs; i++)
        rlx_exec_free(&outputs[i]);
    free(inputs);
    free(outputs);
    return status;
}

int main(int argc, char **argv)
{
    rlx_exec_error_t error;
    rlx_exec_t *exec;
    int status;

    if (argc < 2) {
        fprintf(stderr, "usage: embed MODEL.rlxb [extent for open dimensions]\n");
        return 2;
    }
    if (rlx_exec_open(argv[1], 0, &exec, &error) != 0) {
        fprintf(stderr, "RLX-%d: %s\n", (int)error.code, error.text);
        return 1;
    }
    printf("code: %s\n", rlx_exec_target(exec));
    status = model_run(exec, argc > 2 ? atoll(argv[2]) : 1);
    rlx_exec_close(exec);
    return status != 0;
}
