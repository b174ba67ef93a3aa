/* Kernels of the move family: see kernels/kernel_list.h. */
RLX_KERNEL(copy, 10, 0)
RLX_KERNEL(strided_copy, 11, RLX_KERNEL_ROWS)
RLX_KERNEL(pad, 12, 0)
RLX_KERNEL(reverse_sequence, 13, 0)
RLX_KERNEL(trilu, 14, 0)
RLX_KERNEL(to_c16, 15, RLX_KERNEL_ROWS)
RLX_KERNEL(from_c16, 16, RLX_KERNEL_ROWS)
RLX_KERNEL(channels_c16, 17, 0)
