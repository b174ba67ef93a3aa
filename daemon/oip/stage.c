/* The sum is one of capacities, since it is memory that is bounded. A stage that has to grow is judged by twice its need: what it may
 * take while it moves. */
#include "daemon/oip/stage.h"

#include "base/assert.h"

static void sum_update(rlx_oip_stage_t *stage)
{
    RLX_ASSERT(*stage->sum >= stage->counted);
    *stage->sum = *stage->sum - stage->counted + stage->bytes.capacity;
    stage->counted = stage->bytes.capacity;
}

void rlx_oip_stage_init(rlx_oip_stage_t *stage, size_t *sum)
{
    rlx_text_init(&stage->bytes, RLX_OIP_STAGE_MAX);
    stage->sum = sum;
    stage->counted = 0;
}

void rlx_oip_stage_clear(rlx_oip_stage_t *stage, bool keep)
{
    rlx_text_clear(&stage->bytes);
    if (!keep || stage->bytes.capacity > RLX_OIP_STAGE_KEEP_MAX)
        rlx_text_fini(&stage->bytes);
    sum_update(stage);
}

rlx_status_t rlx_oip_stage_add(rlx_oip_stage_t *stage, const void *data, size_t bytes, rlx_diag_t *diag)
{
    rlx_text_t *text = &stage->bytes;

    if (text->bytes + bytes > text->capacity && *stage->sum - stage->counted + 2 * (text->bytes + bytes) > RLX_OIP_STAGE_ALL_MAX) {
        rlx_fail(diag, RLX_E_SERVER_MEMORY, "requests whose bytes have no place yet hold %zu of %zu bytes", *stage->sum,
                 RLX_OIP_STAGE_ALL_MAX);
        return rlx_diag_hint(diag, "Send tensors as raw_input_contents, after `inputs`: those go straight to their place.");
    }
    rlx_text_add(text, data, bytes);
    sum_update(stage);
    if (!text->full)
        return RLX_OK;
    rlx_fail(diag, RLX_E_SERVER_MEMORY, "typed contents, or raw contents before `inputs`, take more than %zu bytes", RLX_OIP_STAGE_MAX);
    return rlx_diag_hint(diag, "Send tensors as raw_input_contents, after `inputs`: those go straight to their place.");
}
