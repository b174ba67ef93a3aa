/* Kernels of the matmul family: see kernels/kernel_list.h. */
