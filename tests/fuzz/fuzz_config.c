/* Target: rlx_config_parse (and so base/yaml). The answer is a configuration that can be compared and checked, or a diagnosis. */
#include <stdint.h>
#include <stdlib.h>

#include "daemon/config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void count_changed(void *context, const char *key, bool live)
{
    (void)key;
    (void)live;
    ++*(int *)context;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const rlx_config_machine_t machine = {.host = "gpu-node-01.internal", .cores = 4, .memory_bytes = 1 << 30};
    const rlx_config_node_t *node;
    rlx_config_t config;
    rlx_diag_t diag = {0};
    int changes = 0, cores;

    if (rlx_config_parse((const char *)data, bytes, "conf/f.yaml", &config, &diag) != RLX_OK) {
        if (diag.code == RLX_E_NONE || diag.message[0] == '\0' || diag.where[0] == '\0')
            abort();
        return 0;
    }
    rlx_config_compare(&config, &config, count_changed, &changes);
    if (changes != 0)
        abort();
    if (rlx_config_check(&config, &diag) == RLX_OK && rlx_config_select(&config, NULL, &machine, &node, &diag) == RLX_OK)
        (void)rlx_config_devices(&config, node, &machine, &cores, &diag);
    rlx_config_fini(&config);
    return 0;
}
