/* Target: rlx_profile_parse, and what follows it. The answer is a page's data, always valid JSON, or a diagnosis with its place. */
#include <jansson.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/profile/profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

const char *rlx_cli_version(void) { return "0"; }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    rlx_profile_t profile;
    rlx_diag_t diag = {0};
    rlx_text_t text;
    json_t *json;

    if (rlx_profile_parse((const char *)data, bytes, "trace.json", &profile, &diag) != RLX_OK) {
        if (diag.code != RLX_E_TRACE_MALFORMED || diag.message[0] == '\0' || diag.where[0] == '\0')
            abort();
        return 0;
    }
    if (rlx_profile_judge(&profile, &diag) != RLX_OK)
        abort();
    rlx_text_init(&text, 64 << 20);
    rlx_profile_data_add(&text, &profile);
    json = json_loadb(text.data, text.bytes, JSON_DECODE_INT_AS_REAL, NULL);
    if (text.full || json == NULL)
        abort();
    json_decref(json);
    rlx_text_fini(&text);
    rlx_profile_free(&profile);
    return 0;
}
