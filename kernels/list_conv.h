/* Kernels of the conv family: see kernels/kernel_list.h. */
