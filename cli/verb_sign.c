/* rlx sign: a bundle, in place or to another file; or a source, in a file of its own beside it. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/compile_job.h"
#include "ir/source_digest.h"

typedef struct sign_request {
    const char *bundle, *model, *key, *output;
} sign_request_t;

void rlx_cli_signed_print(const char *path, const rlx_public_key_t *key)
{
    char id[RLX_KEY_ID_TEXT];

    rlx_key_id(key->key, id);
    printf("%s: signed by key %s%s%s\n", path, id, key->comment[0] != '\0' ? ", " : "", key->comment);
}

static rlx_status_t request_parse(int argc, char **argv, sign_request_t *request, rlx_diag_t *diag)
{
    static const struct option options[] = {
        {"model", required_argument, NULL, 'm'}, {"key", required_argument, NULL, 'k'}, {"output", required_argument, NULL, 'o'}, {0}};

    *request = (sign_request_t){0};
    for (int option; (option = rlx_cli_option_next(argc, argv, options, diag)) != -1;)
        switch (option) {
        case 'm': request->model = optarg; break;
        case 'k': request->key = optarg; break;
        case 'o': request->output = optarg; break;
        default: return diag->status;
        }
    request->bundle = request->model;
    RLX_TRY(rlx_cli_operand(argc, argv, "FILE.rlxb, or --model FILE,", &request->bundle, diag));
    if (request->key == NULL) {
        rlx_fail(diag, RLX_E_USAGE, "sign: --key NAME.key is missing");
        return rlx_diag_hint(diag, "`rlx keygen` makes one.");
    }
    if (request->model == NULL && !rlx_cli_ends_with(request->bundle, ".rlxb")) {
        rlx_fail(diag, RLX_E_USAGE, "sign: '%s' is no bundle by its name", request->bundle);
        return rlx_diag_hint(diag, "A source is signed with --model FILE, a bundle is named FILE.rlxb.");
    }
    return RLX_OK;
}

static rlx_status_t source_sign(const char *model, const char *path, const rlx_secret_key_t *key, rlx_diag_t *diag)
{
    rlx_source_signatures_t signatures = {0};
    uint8_t digest[RLX_BUNDLE_DIGEST];
    rlx_graph_t *graph;
    rlx_diag_t why = {0};
    rlx_status_t status;

    RLX_TRY(rlx_model_load_file(model, &graph, diag));
    status = rlx_graph_source_digest(graph, digest, diag);
    rlx_graph_destroy(graph);
    RLX_TRY(status);
    if (access(path, F_OK) == 0 && rlx_source_signatures_read(path, digest, &signatures, &why) != RLX_OK) {
        if (why.code != RLX_E_BUNDLE_SIGNATURE) {
            *diag = why;
            return diag->status;
        }
        printf("%s: older signatures are of another source, or do not fit, and go\n", path);
        signatures.n = 0;
    }
    RLX_TRY(rlx_source_signatures_add(&signatures, digest, key, diag));
    RLX_TRY(rlx_source_signatures_write(path, digest, &signatures, diag));
    rlx_cli_signed_print(path, &key->public_key);
    return RLX_OK;
}

static rlx_status_t model_sign(const sign_request_t *request, const rlx_secret_key_t *key, rlx_diag_t *diag)
{
    char *path;
    rlx_status_t status;

    if (request->output != NULL)
        return source_sign(request->model, request->output, key, diag);
    if (asprintf(&path, "%s.sig", request->model) < 0)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    status = source_sign(request->model, path, key, diag);
    free(path);
    return status;
}

static rlx_status_t sign_run(int argc, char **argv, rlx_diag_t *diag)
{
    sign_request_t request;
    rlx_secret_key_t key;
    rlx_status_t status;
    int n;

    RLX_TRY(request_parse(argc, argv, &request, diag));
    RLX_TRY(rlx_secret_key_read(request.key, &key, diag));
    if (rlx_cli_ends_with(request.bundle, ".rlxb")) {
        const char *to = request.output != NULL ? request.output : request.bundle;

        status = rlx_bundle_sign(request.bundle, to, &key, &n, diag);
        if (status == RLX_OK)
            rlx_cli_signed_print(to, &key.public_key);
        if (status == RLX_OK && n > 1)
            printf("it has %d signatures now\n", n);
    } else {
        status = model_sign(&request, &key, diag);
    }
    rlx_secret_key_wipe(&key);
    return status;
}

const rlx_verb_t rlx_verb_sign = {
    .name = "sign",
    .summary = "sign a bundle, or the source of one",
    .help = "rlx sign FILE.rlxb --key NAME.key [-o OUT.rlxb]\n"
            "rlx sign --model FILE --key NAME.key [-o FILE.sig]\n"
            "\n"
            "A bundle is verified, then signed: the signature covers every byte of it. It is put into the file itself, by rename. Signatures of\n"
            "other keys stay, up to 16.\n"
            "\n"
            "A source (ONNX, or the text of the IR) is signed over its canonical form, into FILE.sig beside it. `rlx compile` verifies that\n"
            "file and carries the signatures into the bundle. Signatures of other keys stay, unless the source was changed since.\n"
            "\n"
            "Options:\n"
            "  --key FILE         the secret key (`rlx keygen` makes one)\n"
            "  --model FILE       the source to sign\n"
            "  -o, --output FILE  where the signed bundle, or the signature, goes\n"
            "\n"
            "Example: rlx sign model.rlxb --key release.key && rlx verify model.rlxb --trusted keys\n",
    .run = sign_run,
};
