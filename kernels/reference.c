/* Table from kernel id to the host-compiled kernel. Stateless. */
#include "kernels/reference.h"

#define RLX_KERNEL(id, number, flags) void rlx_kernel_##id(const rlx_kernel_args_t *args, int64_t tile_begin, int64_t tile_end);
#include "kernels/kernel_list.h"
#undef RLX_KERNEL

static const struct {
    rlx_kernel_fn_t *fn;
    const char *name;
    unsigned flags;
} kernel_table[RLX_K_END] = {
#define RLX_KERNEL(id, number, flag_bits) [number] = {rlx_kernel_##id, #id, flag_bits},
#include "kernels/kernel_list.h"
#undef RLX_KERNEL
};

rlx_kernel_fn_t *rlx_reference_kernel(rlx_kernel_id_t id) { return (unsigned)id < RLX_K_END ? kernel_table[id].fn : NULL; }
const char *rlx_kernel_name(rlx_kernel_id_t id) { return (unsigned)id < RLX_K_END ? kernel_table[id].name : NULL; }
unsigned rlx_kernel_flags(rlx_kernel_id_t id) { return (unsigned)id < RLX_K_END ? kernel_table[id].flags : 0; }
