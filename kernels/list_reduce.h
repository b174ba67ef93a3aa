/* Kernels of the reduce family: see kernels/kernel_list.h. */
