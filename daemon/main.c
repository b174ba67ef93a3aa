/* rlxd: reads the command line and the configuration, finds this machine's entry and devices, and serves. */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "cli/version.h"
#include "daemon/check.h"
#include "daemon/config/options.h"
#include "daemon/config/scalar.h"
#include "daemon/serve.h"

/* The entry with --host and --port over it. */
static rlx_status_t entry_override(const rlxd_options_t *words, const rlx_config_node_t *entry, rlx_config_node_t *out_node,
                                   rlx_diag_t *diag)
{
    int port = (int)entry->port;

    if (words->port != NULL && !rlx_config_port(words->port, &port)) {
        rlx_fail(diag, RLX_E_USAGE, "--port: '%s' is no port from 0 to 65535", words->port);
        return rlx_diag_hint(diag, "0 takes any free one.");
    }
    *out_node = *entry;
    out_node->port = port;
    if (words->host != NULL)
        out_node->host = words->host;
    return RLX_OK;
}

/* Everything that can be wrong before anything is opened. */
static rlx_status_t prepare(const rlxd_options_t *words, rlx_config_t *config, rlx_config_node_t *out_node, int *out_workers,
                            rlx_diag_t *diag)
{
    const rlx_config_node_t *entry;
    rlx_config_machine_t machine;

    RLX_TRY(rlxd_options_config(words, config, diag));
    rlx_log_configure((rlx_log_level_t)config->logging.level, (rlx_log_format_t)config->logging.format);
    rlx_config_machine_probe(&machine);
    RLX_TRY(rlx_config_select(config, words->node, &machine, &entry, diag));
    RLX_TRY(rlx_config_supported(config, diag));
    RLX_TRY(rlx_config_devices(config, entry, &machine, out_workers, diag));
    if (config->scheduling.workers > 0)
        *out_workers = (int)config->scheduling.workers;
    return entry_override(words, entry, out_node, diag);
}

static int run(const rlxd_options_t *words, rlx_diag_t *diag)
{
    rlx_config_t config = {0};
    rlx_config_node_t node;
    int workers = 0, code;

    if (prepare(words, &config, &node, &workers, diag) != RLX_OK) {
        rlx_diag_print(diag, stderr);
        /* A file that is named and cannot be read is a configuration that does not work. */
        code = diag->code == RLX_E_FILE_OPEN ? RLXD_EXIT_CONFIG : rlxd_exit_code(diag);
    } else {
        rlx_serve_options_t options = {words, &config, &node, workers};

        code = words->action == RLXD_CHECK ? rlxd_check(&options) : rlx_serve(&options);
    }
    rlx_config_fini(&config);
    return code;
}

int main(int argc, char **argv)
{
    static rlxd_options_t words;
    rlx_diag_t diag = {0};
    int code = RLXD_EXIT_DONE;

    if (rlxd_options_parse(argc, argv, &words, &diag) != RLX_OK) {
        rlx_diag_print(&diag, stderr);
        code = RLXD_EXIT_USAGE;
    } else if (words.action == RLXD_HELP)
        rlxd_options_help(stdout);
    else if (words.action == RLXD_HELP_CONFIG)
        rlx_config_help(stdout);
    else if (words.action == RLXD_VERSION)
        printf("rlxd %s (commit: %s)\n", RLX_VERSION, RLX_COMMIT);
    else
        code = run(&words, &diag);
    rlxd_options_fini(&words);
    return code;
}
