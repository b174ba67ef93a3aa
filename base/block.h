/* Memory for one large array, from malloc; where it holds huge pages, the system is asked to use them: a fault each instead of 512. Aligned to
 * 64 bytes at least, not cleared. NULL when there is none. Owned by the caller (free). Any thread. */
#ifndef RLX_BASE_BLOCK_H
#define RLX_BASE_BLOCK_H

#include <stddef.h>

void *rlx_block_alloc(size_t bytes);

#endif
