/* Kernels of the matmul family: see kernels/kernel_list.h. */
RLX_KERNEL(matmul_plain, 130, 0)
RLX_KERNEL(gemm, 131, RLX_KERNEL_ROWS)
RLX_KERNEL(einsum, 132, 0)
RLX_KERNEL(det, 133, 0)
RLX_KERNEL(attention, 134, 0)
