/* Between the executor and user code: argument blocks become tensors. Compiled by `rlx compile` with the user's source. */
#include "rlx_custom.h"

#include "kernels/abi.h"
#include "kernels/params_custom.h"

typedef void rlx_custom_fn_t(const rlx_custom_tensor_t *in, int n_in, const rlx_custom_tensor_t *out, int n_out, const rlx_custom_info_t *info);

static double f64_of(int64_t bits)
{
    union { int64_t i; double d; } v = {.i = bits};

    return v.d;
}

static void tensors_fill(const rlx_kernel_args_t *args, const rlx_custom_params_t *params, rlx_custom_tensor_t *tensors)
{
    const rlx_custom_operand_t *operands = (const rlx_custom_operand_t *)(params + 1);

    for (int64_t i = 0; i < params->n_in + params->n_out; i++) {
        tensors[i].data = (i < params->n_in ? &args->in[i] : &args->out[i - params->n_in])->base;
        tensors[i].dtype = (int32_t)operands[i].dtype;
        tensors[i].rank = (int32_t)operands[i].rank;
        for (int k = 0; k < 8; k++)
            tensors[i].dims[k] = operands[i].dims[k];
    }
}

static void run(rlx_custom_fn_t *function, const rlx_kernel_args_t *args, int64_t begin, int64_t end)
{
    const rlx_custom_params_t *params = (const rlx_custom_params_t *)args->param;
    rlx_custom_tensor_t tensors[RLX_OPERAND_MAX];
    const rlx_custom_tensor_t *out = tensors + params->n_in;
    rlx_custom_info_t info = {begin, end, f64_of(params->step_max), f64_of(params->tolerance)};

    if (params->step >= 0) {
        double step = *(const double *)args->in[params->step].base;

        if (!(step >= -info.max_step_size && step <= info.max_step_size)) { /* NaN is none, either */
            rlx_kernel_error(args, RLX_KERR_STEP);
            return;
        }
    }
    tensors_fill(args, params, tensors);
    if (!params->split) {
        info.row_begin = 0;
        info.row_end = params->n_out > 0 && out->rank > 0 ? out->dims[0] : 1;
    }
    function(tensors, (int)params->n_in, out, (int)params->n_out, &info);
}

#define CUSTOM(number, name)                                                                                  \
    rlx_custom_fn_t name;                                                                                     \
    __attribute__((visibility("default"), used)) void rlx_custom_entry_##number(const rlx_kernel_args_t *args, \
                                                                              int64_t begin, int64_t end);    \
    void rlx_custom_entry_##number(const rlx_kernel_args_t *args, int64_t begin, int64_t end) { run(name, args, begin, end); }

@FUNCTIONS@
