/* The table of options. An option with a key sets it; `value` is what a flag means. */
#include "daemon/config/options.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

typedef struct option_row {
    const char *name, *argument; /* argument NULL: a flag */
    const char *key, *value;
    const char *help;
} option_row_t;

enum { WORD_CONFIG, WORD_NODE, WORD_MODEL, WORD_DEVICES, WORD_HOST, WORD_PORT, WORD_SET, WORD_CHECK, WORD_HELP, WORD_HELP_CONFIG,
      WORD_VERSION, N_WORDS };

static const option_row_t rows[] = {
    [WORD_CONFIG] = {"config", "FILE", NULL, NULL, "configuration (YAML); without it: this machine by itself on 127.0.0.1:8080"},
    [WORD_NODE] = {"node", "ID", NULL, NULL, "which entry of nodes is this machine; without it: found by host name"},
    [WORD_MODEL] = {"model", "[NAME=]FILE", NULL, NULL, "a bundle to serve; may be repeated"},
    [WORD_DEVICES] = {"devices", "auto", NULL, NULL, "what the machine has, in place of the entry's list"},
    [WORD_HOST] = {"host", "HOST", NULL, NULL, "address to listen on, in place of the entry's"},
    [WORD_PORT] = {"port", "PORT", NULL, NULL, "port to listen on, in place of the entry's; 0: any free one"},
    [WORD_SET] = {"set", "KEY=VALUE", NULL, NULL, "any key: --set server.limits.streams=64; may be repeated"},
    [WORD_CHECK] = {"check", NULL, NULL, NULL, "check configuration, devices, TLS files and bundles, and end"},
    [WORD_HELP] = {"help", NULL, NULL, NULL, "this text"},
    [WORD_HELP_CONFIG] = {"help-config", NULL, NULL, NULL, "all keys of the configuration"},
    [WORD_VERSION] = {"version", NULL, NULL, NULL, "the version"},
    {"models", "DIR", "models.repository", NULL, "serve what the folder holds: NAME.rlxb, NAME/VERSION/*.rlxb"},
    {"store", "DIR", "models.store", NULL, "keep own read-only copies of bundles there"},
    {"verify-signature", NULL, "models.verify_signature", "true", "refuse bundles without a signature of a trusted key"},
    {"trusted-keys", "DIR", "models.trusted_keys", NULL, "folder of public keys"},
    {"listen", "HOST:PORT", "server.listen", NULL, "address to listen on"},
    {"unix", "PATH", "server.unix", NULL, "gRPC socket for clients of this machine"},
    {"memory-socket", "PATH", "server.memory_socket", NULL, "where clients of this machine hand memory over"},
    {"tls-certificate", "FILE", "server.tls.certificate", NULL, "serve TLS"},
    {"tls-key", "FILE", "server.tls.key", NULL, "its key"},
    {"tls-client-ca", "FILE", "server.tls.client_ca", NULL, "clients need a certificate that it signed"},
    {"workers", "N", "scheduling.workers", NULL, "kernel threads"},
    {"queue", "N", "scheduling.queue", NULL, "requests waiting per model"},
    {"batch-delay-us", "US", "scheduling.batch_delay_us", NULL, "a request waits at most this for companions"},
    {"drain-timeout", "TIME", "server.drain_timeout", NULL, "for accepted requests when stopping"},
    {"log-level", "LEVEL", "logging.level", NULL, "error, warning, info or debug"},
    {"profiling", "FILE", "profiling.file", NULL, "write a trace of every run"},
    {"standalone", NULL, "cluster.mode", "standalone", "serve alone, whatever cluster.mode says"},
    {"heartbeat-interval", "MS", "network.heartbeat_interval", NULL, "between reports to the state service"},
    {"health-check-timeout", "MS", "network.health_check_timeout", NULL, "until a silent peer is suspected"},
    {"enable-rdma", NULL, "network.rdma", "true", "use RDMA between nodes"},
    {"enable-prefetch", NULL, "network.prefetch", "true", "fetch tensors of later fragments early"},
    {"vulkan-driver", "NAME", "drivers.vulkan_driver", NULL, "which Vulkan driver"},
};
#define N_ROWS (sizeof rows / sizeof *rows)

static rlx_status_t usage_fail(rlx_diag_t *diag, const char *format, const char *text)
{
    rlx_fail(diag, RLX_E_USAGE, format, text);
    return rlx_diag_hint(diag, "`rlxd --help` lists the options.");
}

static rlx_status_t model_check(const rlxd_options_t *options, const rlxd_model_t *model, rlx_diag_t *diag)
{
    if (model->name[0] == '\0' || model->path[0] == '\0')
        return usage_fail(diag, "--model: a name or a file is missing in '%s'", optarg);
    for (const rlxd_model_t *other = options->models; other != model; other++)
        if (strcmp(other->name, model->name) == 0) {
            rlx_fail(diag, RLX_E_USAGE, "--model: '%s' and '%s' would both be model '%s'", other->path, model->path, model->name);
            return rlx_diag_hint(diag, "Give one another name: --model NAME=FILE.");
        }
    return RLX_OK;
}

/* NAME=FILE, or the file's name without folder and ".rlxb". A '=' behind a '/' belongs to the path. */
static rlx_status_t model_add(rlxd_options_t *options, const char *text, rlx_diag_t *diag)
{
    const char *equals = strchr(text, '='), *slash = strchr(text, '/');
    rlxd_model_t *model = &options->models[options->n_models];
    size_t n;

    if (options->n_models == RLXD_MODELS_MAX)
        return rlx_fail(diag, RLX_E_USAGE, "--model: more than %d; serve a folder with --models", RLXD_MODELS_MAX);
    if (equals != NULL && (slash == NULL || equals < slash)) {
        model->name = strndup(text, (size_t)(equals - text));
        model->path = equals + 1;
    } else {
        slash = strrchr(text, '/');
        model->path = text;
        text = slash != NULL ? slash + 1 : text;
        n = strlen(text);
        model->name = strndup(text, n > 5 && strcmp(text + n - 5, ".rlxb") == 0 ? n - 5 : n);
    }
    if (model->name == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    options->n_models++;
    return model_check(options, model, diag);
}

static rlx_status_t setting_add(rlxd_options_t *options, const char *key, const char *value, const char *source, rlx_diag_t *diag)
{
    if (options->n_settings == RLXD_OPTIONS_MAX)
        return rlx_fail(diag, RLX_E_USAGE, "more than %d options", RLXD_OPTIONS_MAX);
    options->settings[options->n_settings++] = (rlxd_setting_t){key, value, source};
    return RLX_OK;
}

/* "KEY=VALUE", cut in place. */
static rlx_status_t pair_add(rlxd_options_t *options, char *text, rlx_diag_t *diag)
{
    char *equals = strchr(text, '=');

    if (equals == NULL || equals == text)
        return usage_fail(diag, "--set: '%s' is no KEY=VALUE", text);
    *equals = '\0';
    return setting_add(options, text, equals + 1, "--set", diag);
}

static rlx_status_t word_apply(rlxd_options_t *options, int word, char *text, rlx_diag_t *diag)
{
    static const rlxd_action_t actions[N_WORDS] = {[WORD_CHECK] = RLXD_CHECK, [WORD_HELP] = RLXD_HELP,
                                                   [WORD_HELP_CONFIG] = RLXD_HELP_CONFIG,
                                                   [WORD_VERSION] = RLXD_VERSION};

    switch (word) {
    case WORD_CONFIG: options->config = text; return RLX_OK;
    case WORD_NODE: options->node = text; return RLX_OK;
    case WORD_HOST: options->host = text; return RLX_OK;
    case WORD_PORT: options->port = text; return RLX_OK;
    case WORD_MODEL: return model_add(options, text, diag);
    case WORD_SET: return pair_add(options, text, diag);
    case WORD_DEVICES:
        options->devices_auto = strcmp(text, "auto") == 0;
        if (options->devices_auto)
            return RLX_OK;
        return usage_fail(diag, "--devices: '%s' is not auto; list devices in the configuration", text);
    default: options->action = actions[word]; return RLX_OK;
    }
}

static void table_make(struct option *table, char sources[][32])
{
    for (size_t i = 0; i < N_ROWS; i++) {
        snprintf(sources[i], sizeof sources[i], "--%s", rows[i].name);
        table[i] = (struct option){rows[i].name, rows[i].argument != NULL ? required_argument : no_argument, NULL, (int)i};
    }
    table[N_ROWS] = (struct option){0};
}

/* A word without an option. */
static rlx_status_t stray_fail(const char *word, rlx_diag_t *diag)
{
    size_t n = strlen(word);

    if (n <= 5 || strcmp(word + n - 5, ".rlxb") != 0)
        return usage_fail(diag, "unexpected argument '%s'", word);
    rlx_fail(diag, RLX_E_USAGE, "unexpected argument '%s'", word);
    return rlx_diag_hint(diag, "Name a bundle with --model FILE, a folder of bundles with --models DIR.");
}

rlx_status_t rlxd_options_parse(int argc, char **argv, rlxd_options_t *out_options, rlx_diag_t *diag)
{
    static char sources[N_ROWS][32];
    struct option table[N_ROWS + 1];

    memset(out_options, 0, sizeof *out_options);
    table_make(table, sources);
    opterr = 0;
    for (int row; (row = getopt_long(argc, argv, ":", table, NULL)) != -1;) {
        if (row == '?')
            return usage_fail(diag, "unknown option %s", argv[optind - 1]);
        if (row == ':')
            return usage_fail(diag, "option %s needs a value", argv[optind - 1]);
        if (row < N_WORDS)
            RLX_TRY(word_apply(out_options, row, optarg, diag));
        else
            RLX_TRY(setting_add(out_options, rows[row].key, rows[row].value != NULL ? rows[row].value : optarg, sources[row], diag));
    }
    return optind == argc ? RLX_OK : stray_fail(argv[optind], diag);
}

void rlxd_options_fini(rlxd_options_t *options)
{
    for (int i = 0; i < options->n_models; i++)
        free(options->models[i].name);
}

rlx_status_t rlxd_options_config(const rlxd_options_t *options, rlx_config_t *out_config, rlx_diag_t *diag)
{
    const char *level = getenv("RLX_LOG_LEVEL");
    rlx_config_t config;
    rlx_status_t status = RLX_OK;

    RLX_TRY(rlx_config_read(options->config, &config, diag));
    config.devices_auto = options->devices_auto;
    if (level != NULL && level[0] != '\0')
        status = rlx_config_set(&config, "logging.level", level, "RLX_LOG_LEVEL", diag);
    for (int i = 0; status == RLX_OK && i < options->n_settings; i++)
        status = rlx_config_set(&config, options->settings[i].key, options->settings[i].value, options->settings[i].source, diag);
    if (status == RLX_OK)
        status = rlx_config_check(&config, diag);
    if (status == RLX_OK)
        *out_config = config;
    else
        rlx_config_fini(&config);
    return status;
}

void rlxd_options_help(FILE *out)
{
    char name[64];

    fputs("rlxd --config FILE [options]\nrlxd --models DIR [options]\n\n"
          "Serves bundles to clients of the Open Inference Protocol, gRPC and REST on one port.\n\nOptions:\n", out);
    for (size_t i = 0; i < N_ROWS; i++) {
        snprintf(name, sizeof name, "--%s%s%s", rows[i].name, rows[i].argument != NULL ? " " : "",
                 rows[i].argument != NULL ? rows[i].argument : "");
        fprintf(out, "  %-26s %s\n", name, rows[i].help);
    }
    fputs("\nRLX_LOG_LEVEL in the environment sets logging.level over the file.\n"
          "SIGTERM: finish what was accepted and end; SIGHUP: read the configuration and the models' folder again.\n"
          "Exit codes: 0 done, 1 cannot serve, 2 command line, 4 requests were cut off, 78 configuration.\n", out);
}

int rlxd_exit_code(const rlx_diag_t *diag)
{
    if (diag->code == RLX_E_USAGE)
        return RLXD_EXIT_USAGE;
    return (diag->code >= RLX_E_CONFIG_SYNTAX && diag->code < 1600) || diag->code == RLX_E_TLS ? RLXD_EXIT_CONFIG : RLXD_EXIT_FAILED;
}
