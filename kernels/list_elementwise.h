/* Kernels of the elementwise family: see kernels/kernel_list.h. */
