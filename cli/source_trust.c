/* Signatures of what is compiled: those beside the model, and whether one of them is trusted. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bundle/trust.h"
#include "cli/compile_job.h"
#include "ir/source_digest.h"
#include "ir/text/load.h"

rlx_status_t rlx_compile_job_signatures(const char *model, const uint8_t digest[RLX_BUNDLE_DIGEST], rlx_source_signatures_t *out_signatures,
                                        rlx_diag_t *diag)
{
    rlx_status_t status = RLX_OK;
    char *path;

    out_signatures->n = 0;
    if (asprintf(&path, "%s.sig", model) < 0)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    if (access(path, F_OK) == 0)
        status = rlx_source_signatures_read(path, digest, out_signatures, diag);
    free(path);
    return status;
}

rlx_status_t rlx_cli_source_untrusted(const char *model, const rlx_trust_t *trust, rlx_diag_t *diag)
{
    rlx_fail(diag, RLX_E_BUNDLE_UNTRUSTED, "the source is signed by none of the %d trusted keys in %s", rlx_trust_count(trust),
             rlx_trust_folder(trust));
    rlx_diag_hint(diag, "`rlx sign --model %.200s --key NAME.key` signs it.", model);
    return rlx_diag_at(diag, "%s", model);
}

static rlx_status_t source_read(const char *model, rlx_source_signatures_t *out_signatures, rlx_diag_t *diag)
{
    uint8_t digest[RLX_BUNDLE_DIGEST];
    rlx_graph_t *graph;
    rlx_status_t status;

    RLX_TRY(rlx_model_load_file(model, &graph, diag));
    status = rlx_graph_source_digest(graph, digest, diag);
    rlx_graph_destroy(graph);
    RLX_TRY(status);
    return rlx_compile_job_signatures(model, digest, out_signatures, diag);
}

rlx_status_t rlx_cli_source_trusted(const char *model, const char *trusted_keys, rlx_diag_t *diag)
{
    rlx_source_signatures_t signatures;
    rlx_trust_t *trust;
    bool trusted = false;
    rlx_status_t status;

    RLX_TRY(rlx_trust_read(trusted_keys, &trust, diag));
    status = source_read(model, &signatures, diag);
    for (int i = 0; status == RLX_OK && i < signatures.n; i++)
        trusted |= rlx_trust_find(trust, signatures.items[i].key) != NULL;
    if (status == RLX_OK && !trusted)
        status = rlx_cli_source_untrusted(model, trust, diag);
    rlx_trust_free(trust);
    return status;
}
