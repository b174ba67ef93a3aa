/* Kernels of the elementwise family: see kernels/kernel_list.h. */
RLX_KERNEL(elementwise, 1, 0)
RLX_KERNEL(affine_c16, 123, 0)
