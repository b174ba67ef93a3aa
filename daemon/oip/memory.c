/* System shared memory: register, unregister, status. The rules are those of daemon/memory/regions.h. */
#include <string.h>

#include "daemon/oip/handlers.h"
#include "proto/oip.pb-c.h"
#include "proto/wire.h"

/* map<string, RegionStatus> */
static void region_encode(rlx_text_t *out, const rlx_region_view_t *region)
{
    size_t entry = rlx_wire_open(out, 1), value;

    rlx_wire_string(out, 1, region->name);
    value = rlx_wire_open(out, 2);
    rlx_wire_string(out, 1, region->name);
    rlx_wire_string(out, 2, region->key);
    rlx_wire_uint(out, 3, region->offset);
    rlx_wire_uint(out, 4, region->bytes);
    rlx_wire_close(out, value);
    rlx_wire_close(out, entry);
}

void rlx_oip_memory_status(rlx_oip_unary_t *unary, const ProtobufCMessage *message)
{
    const Inference__SystemSharedMemoryStatusRequest *request = (const void *)message;
    bool all = request->name[0] == '\0', found = false;
    rlx_region_view_t region;
    rlx_diag_t diag = {0};
    int cursor = 0;

    while (rlx_regions_next(rlx_node_regions(unary->node), &cursor, &region)) {
        if (region.key[0] == '\0' || (!all && strcmp(region.name, request->name) != 0)) /* memfds belong to their connection */
            continue;
        found = true;
        region_encode(&unary->out, &region);
    }
    if (found || all) {
        rlx_oip_unary_reply(unary);
        return;
    }
    rlx_fail(&diag, RLX_E_REGION_UNKNOWN, "no system shared-memory region is registered as '%.200s'", request->name);
    rlx_oip_unary_fail(unary, &diag);
}

void rlx_oip_memory_register(rlx_oip_unary_t *unary, const ProtobufCMessage *message)
{
    const Inference__SystemSharedMemoryRegisterRequest *request = (const void *)message;
    rlx_diag_t diag = {0};

    if (rlx_regions_add_system(rlx_node_regions(unary->node), request->name, request->key, request->offset, request->byte_size, &diag) ==
        RLX_OK)
        rlx_oip_unary_reply(unary);
    else
        rlx_oip_unary_fail(unary, &diag);
}

void rlx_oip_memory_unregister(rlx_oip_unary_t *unary, const ProtobufCMessage *message)
{
    const Inference__SystemSharedMemoryUnregisterRequest *request = (const void *)message;
    rlx_regions_t *regions = rlx_node_regions(unary->node);
    rlx_diag_t diag = {0};

    if (request->name[0] == '\0') {
        rlx_regions_remove_system(regions);
        rlx_oip_unary_reply(unary);
    } else if (rlx_regions_remove(regions, request->name, &diag) == RLX_OK) {
        rlx_oip_unary_reply(unary);
    } else {
        rlx_oip_unary_fail(unary, &diag);
    }
}
