/* Kernels of the make family: see kernels/kernel_list.h. */
