/* Row by row only where one side is rows; plain to plain is one copy. */
#include "exec/rows.h"

#include <string.h>

static void *row_at(const rlx_operand_t *operand, int64_t row, int64_t row_bytes)
{
    return operand->rows != NULL ? operand->rows[row] : (char *)operand->base + row * row_bytes;
}

void rlx_rows_copy(const rlx_operand_t *to, const rlx_operand_t *from, int64_t rows, int64_t row_bytes)
{
    if (rows == 0 || row_bytes == 0)
        return;
    if (to->rows == NULL && from->rows == NULL) {
        if (to->base != from->base)
            memcpy(to->base, from->base, (size_t)(rows * row_bytes));
        return;
    }
    for (int64_t i = 0; i < rows; i++)
        if (row_at(to, i, row_bytes) != row_at(from, i, row_bytes))
            memcpy(row_at(to, i, row_bytes), row_at(from, i, row_bytes), (size_t)row_bytes);
}

bool rlx_rows_aligned(const rlx_operand_t *operand, int64_t rows, size_t align)
{
    if (operand->rows == NULL)
        return ((uintptr_t)operand->base & (align - 1)) == 0;
    for (int64_t i = 0; i < rows; i++)
        if (((uintptr_t)operand->rows[i] & (align - 1)) != 0)
            return false;
    return true;
}

bool rlx_rows_present(const rlx_operand_t *operand, int64_t rows)
{
    if (operand->rows == NULL)
        return operand->base != NULL;
    for (int64_t i = 0; i < rows; i++)
        if (operand->rows[i] == NULL)
            return false;
    return true;
}
