/* Kernels of the elementwise family: see kernels/kernel_list.h. */
RLX_KERNEL(elementwise, 1, 0)
