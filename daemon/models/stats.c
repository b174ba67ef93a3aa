/* Statistics outlive the bundle that is served: a version's record holds them, and so does every bundle that serves, or still finishes
 * requests, as that version. */
#include <stdlib.h>

#include "base/assert.h"
#include "daemon/models/inside.h"

rlx_stats_box_t *rlx_stats_create(void)
{
    rlx_stats_box_t *box = calloc(1, sizeof *box);

    if (box != NULL)
        box->refs = 1;
    return box;
}

rlx_stats_box_t *rlx_stats_retain(rlx_stats_box_t *box)
{
    box->refs++;
    return box;
}

void rlx_stats_release(rlx_stats_box_t *box)
{
    if (box == NULL)
        return;
    RLX_ASSERT(box->refs > 0);
    if (--box->refs == 0)
        free(box);
}
