/* Target: the files of keys and signatures. What is taken prints as a file that is taken again, and is the same; what is refused says why. */
#include <stdlib.h>
#include <string.h>

#include "bundle/sign.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void refusal_check(const rlx_diag_t *diag)
{
    if (diag->code == RLX_E_NONE || diag->message[0] == '\0')
        abort();
}

static void public_try(const char *text, size_t bytes)
{
    rlx_public_key_t key, again;
    rlx_diag_t diag = {0};
    rlx_text_t out;

    if (rlx_public_key_parse("key", text, bytes, &key, &diag) != RLX_OK) {
        refusal_check(&diag);
        return;
    }
    rlx_text_init(&out, RLX_KEY_FILE_MAX);
    rlx_public_key_print(&key, &out);
    if (out.full || rlx_public_key_parse("key", out.data, out.bytes, &again, &diag) != RLX_OK || memcmp(key.key, again.key, sizeof key.key) != 0 ||
        strcmp(key.comment, again.comment) != 0)
        abort();
    rlx_text_fini(&out);
}

static void secret_try(const char *text, size_t bytes)
{
    rlx_secret_key_t key, again;
    rlx_diag_t diag = {0};
    rlx_text_t out;

    if (rlx_secret_key_parse("key", text, bytes, &key, &diag) != RLX_OK) {
        refusal_check(&diag);
        return;
    }
    rlx_text_init(&out, RLX_KEY_FILE_MAX);
    rlx_secret_key_print(&key, &out);
    if (out.full || rlx_secret_key_parse("key", out.data, out.bytes, &again, &diag) != RLX_OK ||
        memcmp(key.expanded, again.expanded, sizeof key.expanded) != 0)
        abort();
    rlx_text_fini(&out);
}

static void signatures_try(const char *text, size_t bytes)
{
    static const uint8_t digest[RLX_BUNDLE_DIGEST] = {1}; /* the corpus's */
    rlx_source_signatures_t signatures;
    rlx_diag_t diag = {0};

    if (rlx_source_signatures_parse("sig", text, bytes, digest, &signatures, &diag) != RLX_OK)
        refusal_check(&diag);
    else if (signatures.n < 1 || signatures.n > RLX_BUNDLE_SIGNATURES_MAX)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char *text = malloc(bytes + 1); /* exactly so many, so that a sanitizer sees a step beyond */

    if (text == NULL)
        return 0;
    memcpy(text, data, bytes);
    public_try(text, bytes);
    secret_try(text, bytes);
    signatures_try(text, bytes);
    free(text);
    return 0;
}
