/* Kernels of the norm family: see kernels/kernel_list.h. */
