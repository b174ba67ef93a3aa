/* Register tiles of conv_width. The compiler checks what a text asks for by the same numbers. */
#ifndef RLX_KERNELS_CONV_WIDTH_H
#define RLX_KERNELS_CONV_WIDTH_H

/* Vectors of 16 pixels of a register tile of 1 to 4 outputs that every CPU target has registers for. */
enum { RLX_WIDTH_OUTPUTS_MOST = 4, RLX_WIDTH_VECTORS_1 = 5, RLX_WIDTH_VECTORS_2 = 3, RLX_WIDTH_VECTORS_3 = 2, RLX_WIDTH_VECTORS_4 = 1 };

#endif
