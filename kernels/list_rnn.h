/* Kernels of the rnn family: see kernels/kernel_list.h. */
RLX_KERNEL(rnn_plain, 150, 0)
RLX_KERNEL(rnn_fast, 151, RLX_KERNEL_JOINT)
RLX_KERNEL(qlstm_plain, 152, 0)
RLX_KERNEL(qlstm, 153, RLX_KERNEL_JOINT)
RLX_KERNEL(qlstm_vnni, 154, RLX_KERNEL_JOINT)
