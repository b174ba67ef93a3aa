/* Definitions of the tests' kernels. */
#include "tests/exec/test_kernels.h"

#include <string.h>

#define KERNEL(name) static void name(const rlx_kernel_args_t *args, int64_t tile_begin, int64_t tile_end)
#define EACH_TILE(i) for (int64_t i = tile_begin; i < tile_end; i++)

KERNEL(add)
{
    const float *a = args->in[0].base, *b = args->in[1].base;
    float *out = args->out[0].base;

    EACH_TILE(i) out[i] = a[i] + b[i];
}

KERNEL(scale)
{
    const float *in = args->in[0].base;
    float *out = args->out[0].base;

    EACH_TILE(i) out[i] = in[i] * (float)args->param[0];
}

KERNEL(count)
{
    int32_t *out = args->out[0].base;

    EACH_TILE(i) out[i] += 1;
}

KERNEL(bad) { EACH_TILE(i) if (i == args->param[0]) rlx_kernel_error(args, RLX_KERR_INDEX); }

KERNEL(scratch)
{
    int32_t *out = args->out[0].base;
    volatile int64_t *mine = args->scratch;

    EACH_TILE(i)
    {
        for (int k = 0; k < 32; k++)
            mine[k] = i * 100 + k;
        out[i] = 1;
        for (int k = 0; k < 32; k++)
            if (mine[k] != i * 100 + k)
                out[i] = 0;
    }
}

KERNEL(length)
{
    const int32_t *in = args->in[0].base;
    int64_t n = 0;

    (void)tile_begin;
    (void)tile_end;
    for (int64_t i = 0; i < args->param[0]; i++)
        n += in[i] != 0;
    *(int64_t *)args->out[0].base = n;
}

KERNEL(iota)
{
    int32_t *out = args->out[0].base;

    EACH_TILE(i) out[i] = (int32_t)i;
}

KERNEL(denormal)
{
    const float *in = args->in[0].base;
    float *out = args->out[0].base;

    EACH_TILE(i) out[i] = in[i] * 0.5f;
}

KERNEL(row_add)
{
    EACH_TILE(i)
    {
        const float *in = rlx_operand_row(&args->in[0], i);
        float *out = rlx_operand_row(&args->out[0], i);

        for (int64_t k = 0; k < args->param[0]; k++)
            out[k] = in[k] + 1.0f;
    }
}

KERNEL(add_each)
{
    const int32_t *a = args->in[0].base, *b = args->in[1].base;
    int32_t *out = args->out[0].base;

    EACH_TILE(i) out[i] = a[i] + b[i % args->param[0]];
}

void tk_table(rlx_kernel_table_t *out_table)
{
    memset(out_table, 0, sizeof *out_table);
    out_table->target = "test";
    out_table->entry[TK_ADD] = add;
    out_table->entry[TK_SCALE] = scale;
    out_table->entry[TK_COUNT] = count;
    out_table->entry[TK_BAD] = bad;
    out_table->entry[TK_SCRATCH] = scratch;
    out_table->entry[TK_LENGTH] = length;
    out_table->entry[TK_IOTA] = iota;
    out_table->entry[TK_DENORMAL] = denormal;
    out_table->entry[TK_ROW_ADD] = row_add;
    out_table->entry[TK_ADD_EACH] = add_each;
}
