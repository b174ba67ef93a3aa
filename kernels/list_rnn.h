/* Kernels of the rnn family: see kernels/kernel_list.h. */
RLX_KERNEL(rnn_plain, 150, 0)
RLX_KERNEL(rnn_fast, 151, RLX_KERNEL_JOINT)
