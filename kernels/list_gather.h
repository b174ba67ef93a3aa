/* Kernels of the gather family: see kernels/kernel_list.h. */
