/* Running a verb, and finding the programs that are installed together. */
#include "cli/program.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/report.h"
#include "cli/version.h"

const char *rlx_cli_version(void) { return RLX_VERSION; }
const char *rlx_cli_commit(void) { return RLX_COMMIT; }

static bool asks_help(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

/* Does not come back if the other program starts. */
static rlx_status_t program_become(const rlx_verb_t *verb, const char *program, char **argv, rlx_diag_t *diag)
{
    char path[4096];

    RLX_TRY(rlx_cli_program_find(verb->name, program, program, path, sizeof path, diag));
    execv(path, argv);
    return rlx_fail(diag, RLX_E_FILE_OPEN, "%s: cannot start %s: %s", verb->name, path, strerror(errno));
}

static rlx_status_t verb_work(const rlx_verb_t *verb, int argc, char **argv, rlx_cli_report_t *report, rlx_diag_t *diag)
{
    const char *program = verb->program != NULL ? verb->program(argc, argv) : NULL;

    if (program != NULL)
        return program_become(verb, program, argv, diag);
    RLX_TRY(rlx_cli_report_options(&argc, argv, report, diag));
    rlx_diag_list_init(diag->list, report->errors_max);
    return verb->run(argc, argv, diag);
}

int rlx_cli_verb_run(const rlx_verb_t *verb, int argc, char **argv)
{
    rlx_diag_list_t list;
    rlx_diag_t diag = {.list = &list};
    rlx_cli_report_t report = {.format = rlx_diag_format_for(stderr)};
    rlx_status_t status;

    if (asks_help(argc, argv)) {
        fputs(verb->help, stdout);
        return RLX_EXIT_DONE;
    }
    rlx_diag_list_init(&list, 0);
    status = verb_work(verb, argc, argv, &report, &diag);
    rlx_cli_progress(NULL, NULL);
    if (status != RLX_OK && diag.code == RLX_E_NONE)
        rlx_fail(&diag, RLX_E_INTERNAL, "failed with status %s and no diagnosis", rlx_status_name(status));
    if (status == RLX_OK && fflush(stdout) != 0)
        status = rlx_fail(&diag, RLX_E_FILE_WRITE, "cannot write to standard output");
    rlx_cli_report(&list, status == RLX_OK ? NULL : &diag, report.format);
    rlx_diag_list_fini(&list);
    if (status == RLX_OK)
        return RLX_EXIT_DONE;
    return diag.code == RLX_E_USAGE ? RLX_EXIT_USAGE : RLX_EXIT_REFUSED;
}

rlx_status_t rlx_cli_program_find(const char *for_verb, const char *name, const char *built, char *out_path, size_t bytes, rlx_diag_t *diag)
{
    const char *places[] = {name, built};
    char self[2048];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    char *slash;

    self[n > 0 ? n : 0] = '\0';
    slash = strrchr(self, '/');
    for (size_t i = 0; slash != NULL && i < sizeof places / sizeof *places; i++) {
        snprintf(out_path, bytes, "%.*s/%s", (int)(slash - self), self, places[i]);
        if (access(out_path, X_OK) == 0)
            return RLX_OK;
    }
    rlx_fail(diag, RLX_E_FILE_OPEN, "%s: there is no %s beside %s", for_verb, name, self[0] != '\0' ? self : "this program");
    return rlx_diag_hint(diag, "Install %s into the same folder.", name);
}
