/* Bytes of a request that cannot go to their place yet: typed contents, raw contents that come before the inputs, messages of a stream
 * that waits. Growing buffers with two bounds, one for each and one for all together, so that many small hoards are no large one.
 *
 * When either is reached: RESOURCE_EXHAUSTED, with the number. Loop thread only. */
#ifndef RLX_DAEMON_OIP_STAGE_H
#define RLX_DAEMON_OIP_STAGE_H

#include "base/diag.h"
#include "base/text.h"

#define RLX_OIP_STAGE_MAX ((size_t)16 << 20)     /* one stage */
#define RLX_OIP_STAGE_ALL_MAX ((size_t)64 << 20) /* all of them */
#define RLX_OIP_STAGE_KEEP_MAX ((size_t)16 << 10) /* memory that an emptied stage keeps for the next request */

typedef struct rlx_oip_stage {
    rlx_text_t bytes;
    size_t *sum;    /* of the capacities of all stages that share it; borrowed */
    size_t counted; /* of its capacity, in the sum */
} rlx_oip_stage_t;

void rlx_oip_stage_init(rlx_oip_stage_t *stage, size_t *sum);
/* Memory goes back; a small buffer stays when `keep`. */
void rlx_oip_stage_clear(rlx_oip_stage_t *stage, bool keep);
rlx_status_t rlx_oip_stage_add(rlx_oip_stage_t *stage, const void *data, size_t bytes, rlx_diag_t *diag);

#endif
