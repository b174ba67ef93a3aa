/* The scan bounds the depth before jansson recurses over it. */
#include "daemon/rest/body.h"

#include "daemon/json/scan.h"

rlx_status_t rlx_rest_body_parse(const rlx_http_exchange_t *exchange, json_t **out_root, rlx_diag_t *diag)
{
    size_t bytes;
    const char *body = rlx_http_body(exchange, &bytes);
    static rlx_json_scan_t scan; /* 4 KiB of cuts; loop thread */
    json_error_t error;
    rlx_status_t status;

    *out_root = NULL;
    if (bytes == 0)
        return RLX_OK;
    if (bytes > RLX_REST_BODY_MAX)
        return rlx_fail(diag, RLX_E_REQUEST_LARGE, "the body of this call has %zu bytes, the limit is %zu", bytes, RLX_REST_BODY_MAX);
    rlx_json_scan_init(&scan);
    rlx_json_scan_begin(&scan, body, bytes);
    status = rlx_json_scan_step(&scan, bytes, diag);
    rlx_json_scan_fini(&scan);
    RLX_TRY(status);
    *out_root = json_loadb(body, bytes, JSON_REJECT_DUPLICATES, &error);
    if (*out_root == NULL)
        return rlx_fail(diag, RLX_E_REQUEST_MALFORMED, "the body is no JSON: %s (line %d)", error.text, error.line);
    return RLX_OK;
}
