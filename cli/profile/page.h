/* Inside of making the page. */
#ifndef RLX_CLI_PROFILE_PAGE_H
#define RLX_CLI_PROFILE_PAGE_H

#include "base/json_quote.h"
#include "base/text.h"
#include "cli/profile/profile.h"

/* cli/profile/latency.c: ,"latency":[...]: per model and phase the percentiles of all requests. */
void rlx_profile_latency_add(rlx_text_t *out, const rlx_profile_t *profile);

#endif
