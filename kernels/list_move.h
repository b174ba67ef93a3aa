/* Kernels of the move family: see kernels/kernel_list.h. */
