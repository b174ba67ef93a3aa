/* The elementwise kernel: runs a chain of operations over an index space, one instruction on one block of elements at a time.
 *
 * Between instructions a block stays in L1; results of native dtypes are written straight to the output. Every element goes through the
 * same operations whatever the blocks are, so tiles and fusion do not change a bit. */
#include "kernels/elementwise_read.h"

typedef struct machine {
    const rlx_elementwise_params_t *p;
    const rlx_elementwise_input_t *inputs;
    const int64_t *out_dtypes;
    const rlx_elementwise_code_t *code;
    char *scratch;
    void *slot[RLX_ELEMENTWISE_SLOTS];
    uint32_t error;
} machine_t;

static char *machine_slot(const machine_t *m, int64_t slot) { return m->scratch + slot * RLX_ELEMENTWISE_SLOT_BYTES; }

static void run_unary(int64_t op, int64_t class_, void *y, const void *x, int64_t n, const rlx_elementwise_code_t *code)
{
    if (class_ == RLX_MAP_F32)
        rlx_map_unary_f32(op, y, x, n, rlx_param_f32(code->a), rlx_param_f32(code->b));
    else if (class_ == RLX_MAP_F64)
        rlx_map_unary_f64(op, y, x, n, rlx_param_f64(code->a), rlx_param_f64(code->b));
    else if (class_ == RLX_MAP_I32)
        rlx_map_unary_i32(op, y, x, n);
    else if (class_ == RLX_MAP_I64)
        rlx_map_unary_i64(op, y, x, n);
    else
        rlx_map_unary_u64(op, y, x, n);
}

static uint32_t run_binary(int64_t op, int64_t class_, void *y, const void *x0, const void *x1, int64_t n)
{
    if (class_ == RLX_MAP_F32)
        rlx_map_binary_f32(op, y, x0, x1, n);
    else if (class_ == RLX_MAP_F64)
        rlx_map_binary_f64(op, y, x0, x1, n);
    else if (class_ == RLX_MAP_I32)
        return rlx_map_binary_i32(op, y, x0, x1, n);
    else if (class_ == RLX_MAP_I64)
        return rlx_map_binary_i64(op, y, x0, x1, n);
    else
        return rlx_map_binary_u64(op, y, x0, x1, n);
    return 0;
}

static void run_code(machine_t *m, const rlx_elementwise_code_t *code, int64_t n)
{
    int64_t op = code->word & 0xff, class_ = code->word >> 8 & 0xff;
    void *y = m->slot[code->word >> 16 & 0xff];
    const void *x = m->slot[code->word >> 24 & 0xff], *x1 = m->slot[code->word >> 32 & 0xff], *x2 = m->slot[code->word >> 40 & 0xff];

    if (op < RLX_MAP_first_binary || op == RLX_MAP_bit_not || op == RLX_MAP_copy)
        run_unary(op, class_, y, x, n, code);
    else if (op < RLX_MAP_first_compare)
        m->error |= run_binary(op, class_, y, x, x1, n);
    else if (op < RLX_MAP_not)
        rlx_map_compare(op, class_, y, x, x1, n);
    else if (op < RLX_MAP_where)
        rlx_map_classify(op, class_, y, x, n, code->a, code->b);
    else if (op == RLX_MAP_where)
        rlx_map_where(class_, y, x, x1, x2, n);
    else if (op == RLX_MAP_clip)
        rlx_map_clip(class_, y, x, x1, x2, n);
    else if (op == RLX_MAP_convert)
        rlx_map_convert(code->a, code->b, y, x, n);
    else
        rlx_map_wrap(code->b, y, x, n);
}

static void run_block(machine_t *m, walk_t *walk, const rlx_kernel_args_t *args, int64_t at, int64_t n)
{
    const rlx_elementwise_params_t *p = m->p;

    for (int k = 0; k < p->n_in; k++)
        m->slot[k] = (void *)walk_read(walk, k, m->inputs[k].dtype, args->in[k].base, at, n, machine_slot(m, k),
                                       machine_slot(m, p->n_slots));
    for (int k = 0; k < p->n_out; k++)
        if (rlx_map_is_native(m->out_dtypes[k]))
            m->slot[p->n_in + k] = (char *)args->out[k].base + at * rlx_number_bytes(m->out_dtypes[k]);
    for (int i = 0; i < p->n_code; i++)
        run_code(m, &m->code[i], n);
    for (int k = 0; k < p->n_out; k++)
        if (!rlx_map_is_native(m->out_dtypes[k]))
            rlx_map_store(m->out_dtypes[k], (char *)args->out[k].base + at * rlx_number_bytes(m->out_dtypes[k]), m->slot[p->n_in + k], n);
}

RLX_KERNEL_ENTRY(elementwise)
{
    const rlx_elementwise_params_t *p = (const rlx_elementwise_params_t *)args->param;
    machine_t m = {.p = p, .inputs = (const rlx_elementwise_input_t *)(p + 1), .scratch = args->scratch};
    walk_t walk;
    int64_t at, end;

    m.out_dtypes = (const int64_t *)(m.inputs + p->n_in);
    m.code = (const rlx_elementwise_code_t *)(m.out_dtypes + p->n_out);
    if (p->count == 0)
        return;
    walk_init(&walk, p, m.inputs);
    for (int64_t k = p->n_in; k < p->n_slots; k++)
        m.slot[k] = machine_slot(&m, k);
    at = walk_boundary(&walk, tile_begin * p->per_tile, p->count);
    end = walk_boundary(&walk, tile_end * p->per_tile, p->count);
    while (at < end) {
        int64_t n = walk_block(&walk, at, end);

        run_block(&m, &walk, args, at, n);
        at += n;
    }
    if (m.error)
        rlx_kernel_error(args, m.error);
}
