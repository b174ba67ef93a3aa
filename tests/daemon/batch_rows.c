/* Is a run of several requests, handed over as scattered rows, bit for bit what each gives alone?
 *
 *     batch_rows BUNDLE [SYMBOL=VALUE ...]
 *
 * Prints "independent SYMBOL: equal, N copies" and exits 0; "none" and exits 3 when the bundle has no independent symbol; else exits 1.
 * Open extents other than the independent one are 8 unless given. Inputs are small pseudo-random numbers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/load.h"

#define PORTS_MAX 64
#define ROWS_TOTAL 6

static const int64_t parts[] = {1, 3, 2};
#define N_PARTS 3

static const rlx_program_header_t *program;
static int64_t extents[256];
static uint64_t random_state = 88172645463325252u;

static uint64_t random_next(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    return random_state ^= random_state << 17;
}

static const rlx_program_value_t *port_value(bool output, int index)
{
    const uint32_t *ids = output ? RLX_PROGRAM_TABLE(uint32_t, program, outputs) : RLX_PROGRAM_TABLE(uint32_t, program, inputs);

    return &RLX_PROGRAM_TABLE(rlx_program_value_t, program, values)[ids[index]];
}

static size_t count_of(const rlx_tensor_t *tensor)
{
    int64_t count = 0;

    (void)rlx_dims_count(tensor->dims, tensor->rank, &count);
    return (size_t)count;
}

static void input_shape(int index, int64_t rows, rlx_tensor_t *out)
{
    const rlx_program_value_t *value = port_value(false, index);
    const rlx_ref_t *dims = RLX_PROGRAM_TABLE(rlx_ref_t, program, refs) + value->dims;

    *out = (rlx_tensor_t){.dtype = (rlx_dtype_t)value->dtype, .rank = (int)value->rank};
    for (uint32_t i = 0; i < value->rank; i++)
        out->dims[i] = i == 0 ? rows : dims[i].slot == RLX_NO_INDEX ? dims[i].value : extents[dims[i].slot];
}

static void input_fill(rlx_tensor_t *tensor)
{
    size_t count = count_of(tensor), size = rlx_dtype_size(tensor->dtype);
    char *data = tensor->data = malloc(count * size + 1);

    for (size_t i = 0; i < count; i++) {
        float number = (float)(random_next() % 2001) / 1000.0f - 1.0f;
        int64_t integer = (int64_t)(random_next() % 2);

        if (tensor->dtype == RLX_F32)
            memcpy(data + i * size, &number, size);
        else if (tensor->dtype == RLX_F64)
            memcpy(data + i * size, &(double){number}, size);
        else
            memcpy(data + i * size, &integer, size);
    }
}

static void fail(const char *what, const rlx_diag_t *diag)
{
    printf("%s: %s\n", what, diag->message);
    exit(1);
}

static void run(rlx_model_t *model, const rlx_io_t *inputs, rlx_io_t *outputs, rlx_run_stats_t *stats)
{
    rlx_diag_t diag = {0};
    rlx_plan_t *plan;

    if (rlx_plan_get(model, inputs, &plan, &diag) != RLX_OK || rlx_run(plan, NULL, inputs, outputs, NULL, stats, &diag) != RLX_OK)
        fail("run", &diag);
    rlx_plan_release(plan);
}

/* The rows of part after part. */
static void **rows_of(const rlx_io_t *io, size_t stride, int port, char *const *memory)
{
    void **rows = malloc(ROWS_TOTAL * sizeof *rows);
    int at = 0;

    for (int p = 0; p < N_PARTS; p++) {
        const rlx_tensor_t *tensor = &io[(size_t)p * stride + (size_t)port].tensor;
        size_t bytes = count_of(tensor) * rlx_dtype_size(tensor->dtype) / (size_t)parts[p];

        for (int64_t r = 0; r < parts[p]; r++)
            rows[at++] = (memory != NULL ? memory[p] : (char *)tensor->data) + (size_t)r * bytes;
    }
    return rows;
}

static uint32_t independent(int n_in, int n_out)
{
    uint32_t symbol = n_in > 0 ? port_value(false, 0)->batch_symbol : RLX_NO_INDEX;

    for (int i = 0; i < n_in; i++)
        if (port_value(false, i)->batch_symbol != symbol)
            return RLX_NO_INDEX;
    for (int i = 0; i < n_out; i++)
        if (port_value(true, i)->batch_symbol != symbol)
            return RLX_NO_INDEX;
    return symbol;
}

static void extents_read(const rlx_model_t *model, int argc, char **argv)
{
    const rlx_program_symbol_t *symbols = RLX_PROGRAM_TABLE(rlx_program_symbol_t, program, symbols);

    for (uint64_t i = 0; i < program->symbols.count && i < 256; i++) {
        const char *name = rlx_model_string(model, symbols[i].name);

        extents[i] = symbols[i].min > 8 ? symbols[i].min : 8;
        for (int a = 2; a < argc; a++)
            if (strncmp(argv[a], name, strlen(name)) == 0 && argv[a][strlen(name)] == '=')
                extents[i] = atoll(argv[a] + strlen(name) + 1);
    }
}

int main(int argc, char **argv)
{
    static rlx_io_t inputs[N_PARTS][PORTS_MAX], outputs[N_PARTS][PORTS_MAX], all_in[PORTS_MAX], all_out[PORTS_MAX];
    rlx_run_stats_t stats = {0};
    rlx_diag_t diag = {0};
    rlx_model_t *model;
    uint32_t symbol;
    int n_in, n_out;

    if (argc < 2)
        return 2;
    if (rlx_model_open(argv[1], 0, &model, &diag) != RLX_OK)
        fail("open", &diag);
    program = rlx_model_program(model);
    n_in = (int)program->inputs.count;
    n_out = (int)program->outputs.count;
    symbol = independent(n_in, n_out);
    if (symbol == RLX_NO_INDEX || n_in > PORTS_MAX || n_out > PORTS_MAX) {
        puts("none");
        return 3;
    }
    extents_read(model, argc, argv);
    for (int p = 0; p < N_PARTS; p++) {
        for (int i = 0; i < n_in; i++) {
            input_shape(i, parts[p], &inputs[p][i].tensor);
            input_fill(&inputs[p][i].tensor);
        }
        run(model, inputs[p], outputs[p], NULL);
    }
    for (int i = 0; i < n_in; i++) {
        all_in[i].tensor = inputs[0][i].tensor;
        all_in[i].tensor.dims[0] = ROWS_TOTAL;
        all_in[i].tensor.data = NULL;
        all_in[i].rows = rows_of(inputs[0], PORTS_MAX, i, NULL);
    }
    static char *memory[PORTS_MAX][N_PARTS];
    for (int i = 0; i < n_out; i++) {
        for (int p = 0; p < N_PARTS; p++)
            memory[i][p] = malloc(count_of(&outputs[p][i].tensor) * rlx_dtype_size(outputs[p][i].tensor.dtype) + 1);
        all_out[i].tensor = outputs[0][i].tensor;
        all_out[i].tensor.dims[0] = ROWS_TOTAL;
        all_out[i].tensor.data = NULL;
        all_out[i].rows = rows_of(outputs[0], PORTS_MAX, i, memory[i]);
    }
    run(model, all_in, all_out, &stats);
    for (int i = 0; i < n_out; i++)
        for (int p = 0; p < N_PARTS; p++)
            if (memcmp(memory[i][p], outputs[p][i].tensor.data,
                       count_of(&outputs[p][i].tensor) * rlx_dtype_size(outputs[p][i].tensor.dtype)) != 0) {
                printf("output %d of part %d differs\n", i, p);
                return 1;
            }
    printf("independent %s: equal, %d copies\n",
           rlx_model_string(model, RLX_PROGRAM_TABLE(rlx_program_symbol_t, program, symbols)[symbol].name), (int)stats.input_copies);
    return 0;
}
