/* Inside of reading: one event of a trace. docs/PROFILING.md says what they are. */
#ifndef RLX_CLI_PROFILE_EVENT_H
#define RLX_CLI_PROFILE_EVENT_H

#include <jansson.h>

#include "cli/profile/profile.h"

/* Takes what the event says into the profile. Returns NULL, or why it is no event of a trace of RLX. `first`: it must say whose
 * trace this is. */
const char *rlx_profile_event(rlx_profile_t *profile, const json_t *event, bool first);
/* After the last event: requests that never ended go, spans are put in order. False: no memory. */
bool rlx_profile_settle(rlx_profile_t *profile);

#endif
