/* rlxctl: asks a running rlxd, over its port (plain or TLS) or its Unix socket. A table of commands; answers as table, JSON or YAML.
 *
 * Exit codes: 0 well, 1 the daemon said no (or is not ready, for health), 2 command line, 3 the daemon cannot be reached. In JSON and YAML
 * what the daemon answered stands on standard output in every case; words for people go to standard error. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/ctl/http.h"
#include "cli/ctl/show.h"
#include "cli/version.h"

enum { EXIT_WELL = 0, EXIT_REFUSED = 1, EXIT_USAGE = 2, EXIT_UNREACHABLE = 3 };
enum { WORDS_MAX = 4, PATH_BYTES = 1024 };

typedef struct ctl {
    rlx_ctl_server_t server;
    rlx_ctl_form_t form;
    const char *words[WORDS_MAX]; /* command and its arguments */
    int n_words;
} ctl_t;

typedef struct command {
    const char *words[2];  /* "models", "load" */
    const char *argument;  /* name of the one argument, or NULL */
    const char *method, *path; /* %s: the argument, percent-encoded */
    const char *body;
    int (*finish)(ctl_t *ctl, const rlx_ctl_reply_t *reply, json_t *answer); /* NULL: show it */
    const char *help;
} command_t;

static int fail(const rlx_diag_t *diag)
{
    rlx_diag_print(diag, stderr);
    return diag->code == RLX_E_USAGE || diag->code == RLX_E_ENDPOINT                   ? EXIT_USAGE
           : diag->code == RLX_E_CONNECT || diag->code == RLX_E_CLIENT_TIMEOUT || diag->code == RLX_E_TLS ? EXIT_UNREACHABLE
                                                                               : EXIT_REFUSED;
}

/* What the daemon said when it said no. */
static int refusal_show(const ctl_t *ctl, const rlx_ctl_reply_t *reply, const json_t *answer)
{
    const char *reason = json_string_value(json_object_get(answer, "error"));

    if (answer != NULL && ctl->form != RLX_CTL_TABLE)
        rlx_ctl_show(answer, ctl->form, stdout);
    if (reason != NULL) {
        fputs("rlxctl: ", stderr);
        for (; *reason != '\0'; reason++)
            fputc((unsigned char)*reason < 0x20 || *reason == 0x7f ? '?' : *reason, stderr);
        fputc('\n', stderr);
    } else
        fprintf(stderr, "rlxctl: %s answers %d, and not as rlxd does; is it the right address (--url, --unix or RLX_URL)?\n",
                ctl->server.text, reply->code);
    return EXIT_REFUSED;
}

/* Ready and live: the codes carry the answer. */
static int health_finish(ctl_t *ctl, const rlx_ctl_reply_t *reply, json_t *answer)
{
    json_t *health;
    const char *reason = json_string_value(json_object_get(answer, "error"));

    if (reply->code != 200 && reply->code != 503)
        return refusal_show(ctl, reply, answer);
    health = json_pack("{s:b, s:b}", "live", 1, "ready", reply->code == 200);
    if (reply->code != 200 && reason == NULL && answer == NULL)
        reason = reply->body; /* in plain words */
    if (reply->code != 200 && reason != NULL)
        json_object_set_new(health, "reason", json_stringn(reason, strcspn(reason, "\n")));
    rlx_ctl_show(health, ctl->form, stdout);
    json_decref(health);
    return reply->code == 200 ? EXIT_WELL : EXIT_REFUSED;
}

static bool is_request(const json_t *row, const char *wanted)
{
    static const char *const keys[] = {"request", "id"};
    char text[32];

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const json_t *value = json_object_get(row, keys[i]);

        snprintf(text, sizeof text, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        if (json_is_string(value) ? strcmp(json_string_value(value), wanted) == 0 : json_is_integer(value) && strcmp(text, wanted) == 0)
            return true;
    }
    return false;
}

/* The one request of the list. */
static int trace_finish(ctl_t *ctl, const rlx_ctl_reply_t *reply, json_t *answer)
{
    const json_t *rows = json_is_array(answer) ? answer : json_object_get(answer, "requests");
    const char *wanted = ctl->words[ctl->n_words - 1];
    size_t index;
    json_t *row;

    (void)reply;
    json_array_foreach((json_t *)rows, index, row)
        if (is_request(row, wanted)) {
            rlx_ctl_show(row, ctl->form, stdout);
            return EXIT_WELL;
        }
    fprintf(stderr, "rlxctl: no request %s is in the server; `rlxctl requests` lists those that are\n", wanted);
    return EXIT_REFUSED;
}

/* Waits until the last accepted request is answered. */
static int drain_finish(ctl_t *ctl, const rlx_ctl_reply_t *reply, json_t *answer)
{
    static const struct timespec pause = {.tv_nsec = 100000000};
    rlx_diag_t diag = {0};
    rlx_ctl_reply_t again;
    json_t *state = json_incref(answer);

    (void)reply;
    while (json_integer_value(json_object_get(state, "requests")) > 0) {
        json_decref(state);
        nanosleep(&pause, NULL);
        if (rlx_ctl_call(&ctl->server, "POST", "/v1/drain", "", &again, &diag) != RLX_OK)
            return fail(&diag);
        state = json_loads(again.body, 0, NULL);
        rlx_ctl_reply_fini(&again);
    }
    rlx_ctl_show(state, ctl->form, stdout);
    json_decref(state);
    return EXIT_WELL;
}

static const command_t commands[] = {
    {{"status"}, NULL, "GET", "/v1/status", NULL, NULL, "the whole state: models, requests, counters"},
    {{"health"}, NULL, "GET", "/readyz", NULL, health_finish, "ready or not; exit code 0 only when ready"},
    {{"stacks"}, NULL, "GET", "/v1/stacks", NULL, NULL, "what every worker does and where every request is"},
    {{"requests"}, NULL, "GET", "/v1/requests", NULL, NULL, "the requests in the server"},
    {{"trace"}, "REQUEST", "GET", "/v1/requests", NULL, trace_finish, "one request of them"},
    {{"models", "list"}, NULL, "POST", "/v2/repository/index", "{}", NULL, "models and versions, their state and why"},
    {{"models", "load"}, "NAME", "POST", "/v2/repository/models/%s/load", "{}", NULL, "load or replace a model of the repository"},
    {{"models", "unload"}, "NAME", "POST", "/v2/repository/models/%s/unload", "{}", NULL, "take a model out of service"},
    {{"drain"}, NULL, "POST", "/v1/drain", "", drain_finish, "refuse new requests and wait for those that were accepted"},
};
#define N_COMMANDS (sizeof commands / sizeof *commands)

static void help_print(FILE *out)
{
    char words[64];

    fputs("rlxctl [--url URL | --unix PATH] [--output table|json|yaml] COMMAND\n\nCommands:\n", out);
    for (size_t i = 0; i < N_COMMANDS; i++) {
        const command_t *command = &commands[i];

        snprintf(words, sizeof words, "%s%s%s%s%s", command->words[0], command->words[1] != NULL ? " " : "",
                 command->words[1] != NULL ? command->words[1] : "", command->argument != NULL ? " " : "",
                 command->argument != NULL ? command->argument : "");
        fprintf(out, "  %-22s %s\n", words, command->help);
    }
    fputs("\nOptions:\n"
          "  --url URL              http://HOST:PORT or https://HOST:PORT; without it RLX_URL, or http://127.0.0.1:8080\n"
          "  --unix PATH            the daemon's socket on this machine\n"
          "  --ca FILE              https: authorities that are trusted (PEM); without it the system's\n"
          "  --certificate FILE     https: our own certificate, where the daemon asks for one (server.tls.client_ca)\n"
          "  --key FILE             https: its key\n"
          "  --server-name NAME     https: that the daemon's certificate must carry; without it the host of the URL\n"
          "  --insecure             https: any certificate will do\n"
          "  --output FORM          table, json or yaml\n"
          "  --timeout SECONDS      for connecting and for every silence (default 10)\n"
          "\nExit codes: 0 well, 1 the daemon said no or is not ready, 2 command line, 3 the daemon cannot be reached.\n", out);
}

static rlx_status_t usage(rlx_diag_t *diag, const char *format, const char *word)
{
    rlx_fail(diag, RLX_E_USAGE, format, word);
    return rlx_diag_hint(diag, "`rlxctl --help` lists commands and options.");
}

static rlx_status_t form_parse(const char *text, rlx_ctl_form_t *out_form, rlx_diag_t *diag)
{
    static const char *const names[] = {"table", "json", "yaml"};

    for (int i = 0; i < 3; i++)
        if (strcmp(names[i], text) == 0) {
            *out_form = (rlx_ctl_form_t)i;
            return RLX_OK;
        }
    return usage(diag, "--output: '%s' is none of: table, json, yaml", text);
}

static rlx_status_t timeout_parse(const char *text, int *out_ms, rlx_diag_t *diag)
{
    char *end;
    double seconds = strtod(text, &end);

    if (end == text || *end != '\0' || !(seconds > 0) || seconds > 86400)
        return usage(diag, "--timeout: '%s' is no number of seconds above 0", text);
    *out_ms = (int)(seconds * 1000) + 1;
    return RLX_OK;
}

static rlx_status_t server_parse(const char *url, ctl_t *ctl, rlx_diag_t *diag)
{
    const rlx_rpc_client_tls_t *tls = &ctl->server.tls;

    RLX_TRY(rlx_rpc_endpoint_parse(url, &ctl->server.endpoint, diag));
    ctl->server.text = url;
    if ((tls->certificate == NULL) != (tls->key == NULL))
        return usage(diag, "%s go together", "--certificate and --key");
    if (ctl->server.endpoint.kind != RLX_RPC_TLS && (tls->ca != NULL || tls->key != NULL || tls->server_name != NULL || tls->insecure))
        return usage(diag, "options of TLS need a URL with https://, not '%s'", url);
    return RLX_OK;
}

/* 0: go on; else 1 + exit code. */
static int options_parse(int argc, char **argv, ctl_t *ctl, rlx_diag_t *diag)
{
    static const struct option options[] = {
        {"url", required_argument, NULL, 'u'},     {"unix", required_argument, NULL, 'x'}, {"output", required_argument, NULL, 'o'},
        {"timeout", required_argument, NULL, 't'}, {"help", no_argument, NULL, 'h'},       {"version", no_argument, NULL, 'v'},
        {"ca", required_argument, NULL, 'a'},      {"key", required_argument, NULL, 'k'},  {"certificate", required_argument, NULL, 'c'},
        {"insecure", no_argument, NULL, 'i'},      {"server-name", required_argument, NULL, 'n'},
        {0},
    };
    static char unix_url[PATH_BYTES];
    const char *url = getenv("RLX_URL") != NULL ? getenv("RLX_URL") : "http://127.0.0.1:8080";
    rlx_status_t status = RLX_OK;

    ctl->server.timeout_ms = 10000;
    opterr = 0;
    for (int option; status == RLX_OK && (option = getopt_long(argc, argv, ":o:h", options, NULL)) != -1;)
        switch (option) {
        case 'u': url = optarg; break;
        case 'x': snprintf(unix_url, sizeof unix_url, "unix:%s", optarg); url = unix_url; break;
        case 'o': status = form_parse(optarg, &ctl->form, diag); break;
        case 't': status = timeout_parse(optarg, &ctl->server.timeout_ms, diag); break;
        case 'a': ctl->server.tls.ca = optarg; break;
        case 'c': ctl->server.tls.certificate = optarg; break;
        case 'k': ctl->server.tls.key = optarg; break;
        case 'n': ctl->server.tls.server_name = optarg; break;
        case 'i': ctl->server.tls.insecure = true; break;
        case 'h': help_print(stdout); return 1 + EXIT_WELL;
        case 'v': printf("rlxctl %s (commit: %s)\n", RLX_VERSION, RLX_COMMIT); return 1 + EXIT_WELL;
        case ':': status = usage(diag, "option %s needs a value", argv[optind - 1]); break;
        default: status = usage(diag, "unknown option %s", argv[optind - 1]); break;
        }
    if (status == RLX_OK)
        status = server_parse(url, ctl, diag);
    for (; status == RLX_OK && optind < argc; optind++) {
        if (ctl->n_words == WORDS_MAX)
            status = usage(diag, "unexpected argument '%s'", argv[optind]);
        else
            ctl->words[ctl->n_words++] = argv[optind];
    }
    return status == RLX_OK ? 0 : 1 + fail(diag);
}

static bool command_fits(const command_t *command, const ctl_t *ctl)
{
    if (strcmp(command->words[0], ctl->words[0]) != 0)
        return false;
    return command->words[1] == NULL || (ctl->n_words > 1 && strcmp(command->words[1], ctl->words[1]) == 0);
}

static rlx_status_t command_find(const ctl_t *ctl, const command_t **out_command, rlx_diag_t *diag)
{
    if (ctl->n_words == 0)
        return usage(diag, "a command is missing%s", "");
    for (size_t i = 0; i < N_COMMANDS; i++) {
        const command_t *command = &commands[i];
        int n = command->words[1] != NULL ? 2 : 1;

        if (!command_fits(command, ctl))
            continue;
        if (ctl->n_words < n + (command->argument != NULL))
            return usage(diag, "%s is missing", command->argument);
        if (ctl->n_words > n + (command->argument != NULL))
            return usage(diag, "unexpected argument '%s'", ctl->words[ctl->n_words - 1]);
        *out_command = command;
        return RLX_OK;
    }
    if (ctl->n_words == 1 && strcmp(ctl->words[0], "models") == 0)
        return usage(diag, "%s: list, load or unload is missing", ctl->words[0]);
    return usage(diag, "there is no command '%s'", ctl->words[0]);
}

/* The path with the argument in it; what has a meaning in paths is percent-encoded, '/' inside of names stays. */
static rlx_status_t path_make(const command_t *command, const char *argument, char *out, size_t bytes, rlx_diag_t *diag)
{
    const char *hole = strstr(command->path, "%s");
    size_t used = hole != NULL ? (size_t)(hole - command->path) : strlen(command->path);

    memcpy(out, command->path, used);
    for (; hole != NULL && *argument != '\0'; argument++) {
        bool plain = strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/", *argument) != NULL;

        if (used + strlen(hole) + 4 > bytes)
            return usage(diag, "%s is too long", command->argument);
        used += (size_t)sprintf(out + used, plain ? "%c" : "%%%02X", (unsigned char)*argument);
    }
    strcpy(out + used, hole != NULL ? hole + 2 : "");
    return RLX_OK;
}

static int command_run(ctl_t *ctl, const command_t *command)
{
    char path[PATH_BYTES];
    rlx_diag_t diag = {0};
    rlx_ctl_reply_t reply;
    json_t *answer;
    int code;

    if (path_make(command, ctl->words[ctl->n_words - 1], path, sizeof path, &diag) != RLX_OK ||
        rlx_ctl_call(&ctl->server, command->method, path, command->body, &reply, &diag) != RLX_OK)
        return fail(&diag);
    answer = reply.bytes > 0 ? json_loadb(reply.body, reply.bytes, 0, NULL) : NULL;
    if (command->finish == health_finish)
        code = health_finish(ctl, &reply, answer);
    else if (reply.code < 200 || reply.code > 299)
        code = refusal_show(ctl, &reply, answer);
    else if (command->finish != NULL)
        code = command->finish(ctl, &reply, answer);
    else {
        if (answer == NULL && ctl->form != RLX_CTL_TABLE) /* an answer without words is an empty map */
            answer = json_object();
        if (answer != NULL)
            rlx_ctl_show(answer, ctl->form, stdout);
        code = EXIT_WELL;
    }
    json_decref(answer);
    rlx_ctl_reply_fini(&reply);
    return code;
}

int main(int argc, char **argv)
{
    static ctl_t ctl;
    rlx_diag_t diag = {0};
    const command_t *command;
    int stop = options_parse(argc, argv, &ctl, &diag);

    if (stop != 0)
        return stop - 1;
    if (command_find(&ctl, &command, &diag) != RLX_OK)
        return fail(&diag);
    stop = command_run(&ctl, command);
    return fflush(stdout) == 0 ? stop : EXIT_REFUSED;
}
