/* Kernels of the reduce family: see kernels/kernel_list.h. */
RLX_KERNEL(reduce, 70, 0)
RLX_KERNEL(reduce_f32, 71, 0)
RLX_KERNEL(reduce_c16, 72, 0)
RLX_KERNEL(arg_reduce, 73, 0)
RLX_KERNEL(top_k, 74, 0)
RLX_KERNEL(cumulate, 75, 0)
RLX_KERNEL(softmax, 76, 0)
RLX_KERNEL(softmax_f32, 77, 0)
