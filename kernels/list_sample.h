/* Kernels of the sample family: see kernels/kernel_list.h. */
