/* Tensors whose outermost dimension is an array of row pointers (requests batched without a copy), and plain ones, behind one view. */
#ifndef RLX_EXEC_ROWS_H
#define RLX_EXEC_ROWS_H

#include <stdbool.h>

#include "kernels/abi.h"

/* Copies `rows` rows of `row_bytes` each; either side may be rows or plain. The sides do not overlap, or are equal. */
void rlx_rows_copy(const rlx_operand_t *to, const rlx_operand_t *from, int64_t rows, int64_t row_bytes);
/* Every row starts at a multiple of `align` (a power of two). */
bool rlx_rows_aligned(const rlx_operand_t *operand, int64_t rows, size_t align);
/* No row pointer is NULL. */
bool rlx_rows_present(const rlx_operand_t *operand, int64_t rows);

#endif
