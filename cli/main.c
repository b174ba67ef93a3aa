/* `rlx VERB ...`: finds the verb in the table, prints help and version, and turns the verb's status into the exit code. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/program.h"

static const rlx_verb_t *const verbs[] = {
    &rlx_verb_init,  &rlx_verb_compile, &rlx_verb_run,    &rlx_verb_infer, &rlx_verb_bench,   &rlx_verb_profile,
    &rlx_verb_dump,  &rlx_verb_keygen,  &rlx_verb_sign,   &rlx_verb_verify, &rlx_verb_validate, &rlx_verb_explain,
};
#define N_VERBS (sizeof verbs / sizeof *verbs)

/* Verbs of later versions: named, so that nobody looks for a spelling mistake. */
static const char *const later[] = {"bundle", "nodes"};
/* This program under another name is a verb. */
static const char *const programs[][2] = {{"rlx-ir-dump", "dump"}, {"rlx-ir-validate", "validate"}};

static const char overview[] =
    "rlx compiles a trained model once, offline, into one file of native code (a bundle), and runs it:\n"
    "\n"
    "  rlx compile --model model.onnx --target x86_64 --output model.rlxb\n"
    "  rlx infer model.rlxb --input in.npz --output out.npz\n"
    "  rlx run --model model.rlxb --port 8080              serves it (Open Inference Protocol, gRPC and REST)\n"
    "\n"
    "Verbs:\n";

static const rlx_verb_t *verb_find(const char *name)
{
    for (size_t i = 0; i < N_VERBS; i++)
        if (strcmp(verbs[i]->name, name) == 0 || (verbs[i]->alias != NULL && strcmp(verbs[i]->alias, name) == 0))
            return verbs[i];
    return NULL;
}

static void overview_print(FILE *out)
{
    fputs(overview, out);
    for (size_t i = 0; i < N_VERBS; i++)
        fprintf(out, "  %-9s %s\n", verbs[i]->name, verbs[i]->summary);
    fputs("\nEvery verb has --diagnostics text|json (how errors are printed) and --max-errors N (how many of one text, 20).\n"
          "`rlx help VERB` tells more; `rlx --version` prints the version. `rlx init NAME` makes a project that works at once.\n"
          "Exit codes: 0 done, 1 refused, 2 command line not understood.\n", out);
}

static int usage_fail(const char *format, const char *text)
{
    rlx_diag_t diag = {0};

    rlx_fail(&diag, RLX_E_USAGE, format, text);
    rlx_diag_hint(&diag, "`rlx help` lists the verbs.");
    rlx_diag_print(&diag, stderr);
    return RLX_EXIT_USAGE;
}

/* Says that there is no such verb, or not yet. */
static int verb_refuse(const char *name)
{
    for (size_t i = 0; i < sizeof later / sizeof *later; i++)
        if (strcmp(later[i], name) == 0)
            return usage_fail("rlx %s comes with a later version; this one does not have it", name);
    return usage_fail(name[0] == '-' ? "unknown option %s" : "there is no verb '%s'", name);
}

static int help_run(const char *name)
{
    const rlx_verb_t *verb = name != NULL ? verb_find(name) : NULL;

    if (name == NULL)
        overview_print(stdout);
    else if (verb == NULL)
        return verb_refuse(name);
    else
        fputs(verb->help, stdout);
    return RLX_EXIT_DONE;
}

/* The verb that this program's name stands for, or NULL. */
static const char *program_verb(const char *program)
{
    const char *slash = strrchr(program, '/'), *name = slash != NULL ? slash + 1 : program;

    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        if (strcmp(programs[i][0], name) == 0)
            return programs[i][1];
    return NULL;
}

/* RLX_CACHE_DIR for this process and what it starts: as given, else the user's cache folder. Without any, nothing is kept. */
static void cache_choose(void)
{
    const char *own = getenv("RLX_CACHE_DIR"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    bool user = xdg == NULL || xdg[0] != '/';
    const char *base = user ? home : xdg;
    char path[4096];

    if ((own != NULL && own[0] != '\0') || base == NULL || base[0] != '/')
        return;
    if (snprintf(path, sizeof path, "%s%s", base, user ? "/.cache" : "") >= (int)sizeof path - 5)
        return;
    mkdir(path, 0700); /* it may exist */
    if (access(path, W_OK) != 0)
        return; /* a home that is not there is not made */
    strcat(path, "/rlx");
    setenv("RLX_CACHE_DIR", path, 1);
}

int main(int argc, char **argv)
{
    const char *named = argc > 0 ? program_verb(argv[0]) : NULL;
    const rlx_verb_t *verb;

    cache_choose();
    if (named != NULL)
        return verb_find(named) != NULL ? rlx_cli_verb_run(verb_find(named), argc, argv) : verb_refuse(named);
    if (argc < 2) {
        overview_print(stderr);
        return RLX_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "version") == 0) {
        printf("rlx %s (commit: %s)\n", rlx_cli_version(), rlx_cli_commit());
        return RLX_EXIT_DONE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0)
        return help_run(argc > 2 ? argv[2] : NULL);
    verb = verb_find(argv[1]);
    if (verb == NULL)
        return verb_refuse(argv[1]);
    return rlx_cli_verb_run(verb, argc - 1, argv + 1);
}
