/* In the order in which it is read: code, place, what is wrong, what to do. */
#include "daemon/node/error_text.h"

#include <string.h>

void rlx_error_text(const rlx_diag_t *diag, char *out, size_t size)
{
    const rlx_error_info_t *info = rlx_error_find((int)diag->code);
    const char *hint = diag->hint[0] != '\0' ? diag->hint : info != NULL ? info->fix : "";
    size_t length = strlen(diag->message);
    bool ended = length > 0 && strchr(".!?", diag->message[length - 1]) != NULL;

    snprintf(out, size, "RLX-%d: %s%s%s%s%s%s", (int)diag->code, diag->where, diag->where[0] != '\0' ? ": " : "", diag->message,
             ended ? "" : ".", hint[0] != '\0' ? " " : "", hint);
}
