/* Kernels of the norm family: see kernels/kernel_list.h. */
RLX_KERNEL(norm, 90, 0)
RLX_KERNEL(norm_f32, 91, 0)
RLX_KERNEL(batch_norm, 92, 0)
RLX_KERNEL(batch_norm_train, 93, 0)
RLX_KERNEL(lrn, 94, 0)
RLX_KERNEL(lrn_c16, 121, 0)
