/* Kernels of the rnn family: see kernels/kernel_list.h. */
