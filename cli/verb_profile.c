/* rlx profile: a trace made by --profiling, turned into a page that explains it. */
#include <stdio.h>

#include "cli/cli.h"
#include "cli/profile/profile.h"

typedef struct profile_request {
    const char *trace, *output;
} profile_request_t;

static rlx_status_t request_parse(int argc, char **argv, profile_request_t *request, rlx_diag_t *diag)
{
    static const struct option options[] = {{"output", required_argument, NULL, 'o'}, {0}};

    *request = (profile_request_t){0};
    for (int option; (option = rlx_cli_option_next(argc, argv, options, diag)) != -1;)
        switch (option) {
        case 'o': request->output = optarg; break;
        default: return diag->status;
        }
    RLX_TRY(rlx_cli_operand(argc, argv, "TRACE", &request->trace, diag));
    if (request->output != NULL)
        return RLX_OK;
    rlx_fail(diag, RLX_E_USAGE, "%s: --output PAGE.html is missing", argv[0]);
    return rlx_diag_hint(diag, "`rlx help profile` shows how it is called.");
}

static void summary_print(const rlx_profile_t *profile, const char *output)
{
    const rlx_judgement_t *overall = &profile->judgement;

    printf("%s: %s. %s\n", profile->path, rlx_verdict_name(overall->verdict), overall->why);
    if (overall->knob[0] != '\0')
        printf("  %s\n", overall->knob);
    if (profile->note[0] != '\0')
        printf("  %s\n", profile->note);
    printf("%llu runs, %u requests, %u kernels, %u steps -> %s\n", (unsigned long long)profile->n_runs, profile->requests.n,
           profile->kernels.n, profile->steps.n, output);
}

static rlx_status_t profile_run(int argc, char **argv, rlx_diag_t *diag)
{
    profile_request_t request;
    rlx_profile_t profile;
    rlx_status_t status;

    RLX_TRY(request_parse(argc, argv, &request, diag));
    rlx_cli_progress(NULL, "reading the trace");
    RLX_TRY(rlx_profile_read(request.trace, &profile, diag));
    rlx_cli_progress(NULL, NULL);
    status = rlx_profile_judge(&profile, diag);
    if (status == RLX_OK)
        status = rlx_profile_page(&profile, request.output, diag);
    if (status == RLX_OK)
        summary_print(&profile, request.output);
    rlx_profile_free(&profile);
    return status;
}

const rlx_verb_t rlx_verb_profile = {
    .name = "profile",
    .alias = "profile-viewer",
    .summary = "turn a trace of --profiling into a page that explains it",
    .help = "rlx profile TRACE --output PAGE.html\n"
            "\n"
            "Reads a trace that `rlxd`, `rlx infer` or `rlx bench` wrote with --profiling, and writes one page that needs no other\n"
            "file: what limits every kernel and the whole, the roofline, a flame chart, and where requests spent their time. A trace that\n"
            "ends early (the program was killed) is shown as far as it goes. The trace opens in https://ui.perfetto.dev and\n"
            "chrome://tracing, too.\n"
            "\n"
            "Options:\n"
            "  -o, --output FILE  the page\n",
    .run = profile_run,
};
