/* rlx verify: is every byte as it was written, and who signed it? */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bundle/trust.h"
#include "cli/cli.h"
#include "cli/compile_job.h"
#include "cli/verify_check.h"
#include "ir/source_digest.h"
#include "ir/text/load.h"

typedef struct verify_request {
    const char *bundle, *model, *trusted;
    rlx_trust_t *trust; /* NULL without `trusted` */
    rlx_cli_checks_t checks;
} verify_request_t;

static rlx_status_t request_parse(int argc, char **argv, verify_request_t *request, rlx_diag_t *diag)
{
    static const struct option options[] = {{"model", required_argument, NULL, 'm'}, {"trusted", required_argument, NULL, 't'},
                                            {"trusted-keys", required_argument, NULL, 't'},
                                            {"check", required_argument, NULL, 'c'}, {0}};

    *request = (verify_request_t){0};
    for (int option; (option = rlx_cli_option_next(argc, argv, options, diag)) != -1;)
        switch (option) {
        case 'm': request->model = optarg; break;
        case 't': request->trusted = optarg; break;
        case 'c': RLX_TRY(rlx_cli_checks_parse(optarg, &request->checks, diag)); break;
        default: return diag->status;
        }
    request->bundle = request->model;
    RLX_TRY(rlx_cli_operand(argc, argv, "FILE.rlxb, or --model FILE,", &request->bundle, diag));
    if (request->trusted == NULL)
        return RLX_OK;
    RLX_TRY(rlx_trust_read(request->trusted, &request->trust, diag));
    if (rlx_trust_left_out(request->trust)[0] != '\0')
        fprintf(stderr, "left out: %s\n", rlx_trust_left_out(request->trust));
    return RLX_OK;
}

/* "  signed by key 8f3a0c1b2d4e5f60: trusted, releases of the vision team". True: trusted. */
static bool signature_print(const verify_request_t *request, const char *what, const uint8_t *key, bool fits)
{
    const rlx_public_key_t *known = request->trust != NULL ? rlx_trust_find(request->trust, key) : NULL;
    char id[RLX_KEY_ID_TEXT];

    rlx_key_id(key, id);
    printf("  %s by key %s%s", what, id, !fits ? ": does not fit" : known != NULL ? ": trusted" : request->trust != NULL ? ": not trusted" : "");
    printf("%s%s\n", known != NULL && known->comment[0] != '\0' ? ", " : "", known != NULL ? known->comment : "");
    return fits && known != NULL;
}

static rlx_status_t bundle_print(const verify_request_t *request, const rlx_bundle_t *bundle, rlx_diag_t *diag)
{
    const uint8_t *source = rlx_bundle_source_digest(bundle);
    const rlx_bundle_segment_t *segments;
    const rlx_bundle_signature_t *signatures;
    char hex[2 * RLX_BUNDLE_DIGEST + 1];
    bool fit = true;
    int n;

    segments = rlx_bundle_segments(bundle, &n);
    printf("%s: whole; model '%s' by %s, manifest and %d segments (", request->bundle, rlx_bundle_name(bundle), rlx_bundle_compiler(bundle), n);
    for (int i = 0; i < n; i++)
        printf("%s%s%s%s", i > 0 ? ", " : "", segments[i].kind, segments[i].isa[0] != '\0' ? " " : "", segments[i].isa);
    rlx_digest_hex(rlx_bundle_manifest_digest(bundle), RLX_BUNDLE_DIGEST, hex);
    printf(")\n  manifest %s\n", hex);
    rlx_digest_hex(source, RLX_BUNDLE_DIGEST, hex);
    printf("  source   %s\n", hex);
    signatures = rlx_bundle_source_signatures(bundle, &n);
    for (int i = 0; i < n; i++) {
        bool fits = rlx_source_signature_fits(source, &signatures[i]);

        (void)signature_print(request, "source signed", signatures[i].key, fits);
        fit = fit && fits;
    }
    signatures = rlx_bundle_signatures(bundle, &n);
    for (int i = 0; i < n; i++)
        (void)signature_print(request, "signed", signatures[i].key, true);
    if (n == 0)
        printf("  not signed\n");
    if (!fit)
        return rlx_fail(diag, RLX_E_BUNDLE_SIGNATURE, "a signature of the source does not fit the source that the bundle names");
    return request->trust != NULL ? rlx_bundle_trusted(bundle, request->trust, diag) : RLX_OK;
}

static rlx_status_t bundle_verify(const verify_request_t *request, rlx_diag_t *diag)
{
    rlx_bundle_t *bundle;
    rlx_status_t status;

    RLX_TRY(rlx_bundle_open(request->bundle, RLX_BUNDLE_NO_STAMP | RLX_BUNDLE_SKIP_CODE, &bundle, diag));
    status = bundle_print(request, bundle, diag);
    rlx_bundle_close(bundle);
    return status == RLX_OK ? RLX_OK : rlx_diag_at(diag, "%s", request->bundle);
}

static rlx_status_t source_verify(const verify_request_t *request, rlx_diag_t *diag)
{
    rlx_source_signatures_t signatures;
    uint8_t digest[RLX_BUNDLE_DIGEST];
    char hex[2 * RLX_BUNDLE_DIGEST + 1];
    rlx_graph_t *graph;
    rlx_status_t status;
    bool trusted = false;

    RLX_TRY(rlx_model_load_file(request->model, &graph, diag));
    status = rlx_graph_source_digest(graph, digest, diag);
    if (status == RLX_OK)
        status = rlx_cli_checks_make(&request->checks, request->model, graph, diag);
    rlx_graph_destroy(graph);
    RLX_TRY(status);
    rlx_digest_hex(digest, sizeof digest, hex);
    printf("%s: source %s\n", request->model, hex);
    RLX_TRY(rlx_compile_job_signatures(request->model, digest, &signatures, diag));
    for (int i = 0; i < signatures.n; i++)
        trusted |= signature_print(request, "signed", signatures.items[i].key, true);
    if (signatures.n == 0)
        printf("  not signed\n");
    if (request->trust == NULL || trusted)
        return RLX_OK;
    return rlx_cli_source_untrusted(request->model, request->trust, diag);
}

/* Its text is what the passes made of the model: the statements that the checks are about may be fused away. */
static rlx_status_t check_refuse(const verify_request_t *request, rlx_diag_t *diag)
{
    rlx_fail(diag, RLX_E_USAGE, "verify: --check reads a source (.rlx, .rlxir, .onnx), and %s is a bundle: the IR as passes left it",
             request->bundle);
    return rlx_diag_hint(diag, "Check the source: `rlx verify --check all SOURCE` prints its digest, `rlx verify BUNDLE` that of the source it was made from.");
}

static rlx_status_t verify_run(int argc, char **argv, rlx_diag_t *diag)
{
    verify_request_t request;
    rlx_status_t status;

    RLX_TRY(request_parse(argc, argv, &request, diag));
    if (request.model == NULL && rlx_path_is_text(request.bundle))
        request.model = request.bundle;
    if ((request.checks.coherence || request.checks.distribution) && (request.model == NULL || rlx_cli_ends_with(request.model, ".rlxb")))
        status = check_refuse(&request, diag);
    else if (request.model != NULL && !rlx_cli_ends_with(request.model, ".rlxb"))
        status = source_verify(&request, diag);
    else
        status = bundle_verify(&request, diag);
    rlx_trust_free(request.trust);
    return status;
}

const rlx_verb_t rlx_verb_verify = {
    .name = "verify",
    .summary = "check every byte of a bundle, and who signed it",
    .help = "rlx verify FILE.rlxb [--trusted DIR]\n"
            "rlx verify FILE.rlx|FILE.rlxir|--model FILE [--trusted DIR] [--check WHAT]\n"
            "\n"
            "Hashes all of a bundle, whatever was hashed before, and prints whose signatures stand in it. What was changed is named: header,\n"
            "signature block, manifest, segment with its MiB, code image, gap or length. Of a model: that it is well formed, whose signatures\n"
            "stand in the file of its name and .sig, and that they fit it.\n"
            "\n"
            "Options:\n"
            "  --trusted DIR  a folder of public keys, NAME.pub; without a signature of one of them the bundle, or source, is refused\n"
            "  --check WHAT   of a source: memory_coherence (an operator that reads incoherent memory without a sync; copies between devices that\n"
            "                 nothing announces), distributed_scheduling (devices, sync modes and sharding that contradict each other), or all\n"
            "\n"
            "Exit codes: 0 whole (and trusted), 1 refused, 2 command line not understood.\n",
    .run = verify_run,
};
