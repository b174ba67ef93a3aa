/* rlxd's command line: most options are another way to set a key of the configuration. Words point into argv. */
#ifndef RLX_DAEMON_CONFIG_OPTIONS_H
#define RLX_DAEMON_CONFIG_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>

#include "base/diag.h"
#include "daemon/config/config.h"

#define RLXD_OPTIONS_MAX 256
#define RLXD_MODELS_MAX 256

/* What the process ends with. Units and scripts rely on them (docs/SERVING.md). */
enum {
    RLXD_EXIT_DONE = 0,
    RLXD_EXIT_FAILED = 1,  /* could not serve: address in use, a model given by --model that does not load */
    RLXD_EXIT_USAGE = 2,   /* command line not understood */
    RLXD_EXIT_CUT = 4,     /* stopped with requests unanswered: the drain deadline passed, or a second signal came */
    RLXD_EXIT_CONFIG = 78, /* configuration refused: starting again does not help */
};

typedef enum rlxd_action { RLXD_SERVE, RLXD_CHECK, RLXD_HELP, RLXD_HELP_CONFIG, RLXD_VERSION } rlxd_action_t;

/* One key to set over the file's. */
typedef struct rlxd_setting {
    const char *key, *value, *source;
} rlxd_setting_t;

/* A bundle to serve besides the repository's: NAME=FILE, or FILE under its own name. */
typedef struct rlxd_model {
    char *name; /* owned */
    const char *path;
} rlxd_model_t;

typedef struct rlxd_options {
    rlxd_action_t action;
    const char *config, *node, *host, *port;
    bool devices_auto;
    rlxd_setting_t settings[RLXD_OPTIONS_MAX];
    int n_settings;
    rlxd_model_t models[RLXD_MODELS_MAX];
    int n_models;
} rlxd_options_t;

/* On failure, too, `out_options` may be given back. */
rlx_status_t rlxd_options_parse(int argc, char **argv, rlxd_options_t *out_options, rlx_diag_t *diag);
void rlxd_options_fini(rlxd_options_t *options);
/* The file's configuration with the settings over it, checked. Again at every reload. */
rlx_status_t rlxd_options_config(const rlxd_options_t *options, rlx_config_t *out_config, rlx_diag_t *diag);
void rlxd_options_help(FILE *out);
int rlxd_exit_code(const rlx_diag_t *diag);

#endif
