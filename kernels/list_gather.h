/* Kernels of the gather family: see kernels/kernel_list.h. */
RLX_KERNEL(gather, 40, 0)
RLX_KERNEL(gather_elements, 41, 0)
RLX_KERNEL(gather_nd, 42, 0)
RLX_KERNEL(scatter_elements, 43, 0)
RLX_KERNEL(scatter_nd, 44, 0)
RLX_KERNEL(one_hot, 45, 0)
RLX_KERNEL(tensor_scatter, 46, 0)
