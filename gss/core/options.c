/* See options.h. */
#include "gss/core/options.h"

#define HOUR_MS (3600ull * 1000)

rlx_gss_options_t rlx_gss_options_default(uint32_t heartbeat_ms, uint32_t nodes_max)
{
    uint32_t suspect_ms = 4 * heartbeat_ms > 2000 ? 4 * heartbeat_ms : 2000;

    return (rlx_gss_options_t){
        .heartbeat_ms = heartbeat_ms, .suspect_ms = 2000, .suspect_beats = 4, .evict_ms = suspect_ms + 4000, .evict_share = 8,
        .exchange_ms = 200, .push_ms = 20, .refill_ms = 3000, .answer_ms = 2000, .snapshot_ms = 5000, .tombstone_ms = 72 * HOUR_MS,
        .tombstones_max = 4 * nodes_max + 1024, .nodes_max = nodes_max, .intents_max = 2 * nodes_max + 4096,
    };
}
