/* Kernels of the make family: see kernels/kernel_list.h. */
RLX_KERNEL(fill, 60, 0)
RLX_KERNEL(range, 61, 0)
RLX_KERNEL(eye, 62, 0)
RLX_KERNEL(signal_window, 63, 0)
RLX_KERNEL(mel_weights, 64, 0)
RLX_KERNEL(store_elements, 65, 0)
