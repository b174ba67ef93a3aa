/* Answers without tensors. The text is freed when its bytes have left. */
#include <stdlib.h>
#include <string.h>

#include "daemon/node/error_text.h"
#include "daemon/rest/inside.h"

/* What cannot succeed however often it is tried is no 429. */
static bool too_large(rlx_error_code_t code)
{
    return code == RLX_E_REQUEST_LARGE || code == RLX_E_INPUT_MAXIMUM || code == RLX_E_ARENA_LIMIT;
}

int rlx_rest_code(const rlx_diag_t *diag)
{
    switch (diag->status) {
    case RLX_OK: return 200;
    case RLX_CANCELLED: return 499;
    case RLX_INVALID_ARGUMENT:
    case RLX_OUT_OF_RANGE: return 400;
    case RLX_DEADLINE_EXCEEDED: return 504;
    case RLX_NOT_FOUND: return 404;
    case RLX_ALREADY_EXISTS:
    case RLX_FAILED_PRECONDITION: return 409;
    case RLX_RESOURCE_EXHAUSTED: return too_large(diag->code) ? 413 : 429;
    case RLX_UNIMPLEMENTED: return 501;
    case RLX_UNAVAILABLE: return 503;
    default: return 500;
    }
}

void rlx_rest_reply_empty(rlx_http_exchange_t *exchange, int code) { rlx_http_reply(exchange, code, NULL, 0, NULL, 0, NULL, NULL); }

void rlx_rest_reply_text(rlx_http_exchange_t *exchange, int code, const char *type, rlx_text_t *text)
{
    rlx_http_field_t fields[] = {{"Content-Type", type}, {"Cache-Control", "no-store"}, {"Retry-After", "1"}};
    rlx_rpc_slice_t slice = {text->data, text->bytes};

    if (text->full) {
        rlx_text_fini(text);
        rlx_rest_reply_empty(exchange, 500);
        return;
    }
    rlx_http_reply(exchange, code, fields, code == 429 || code == 503 ? 3 : 2, &slice, 1, free, text->data);
}

void rlx_rest_json_begin(rlx_json_t *json, rlx_text_t *text)
{
    rlx_text_init(text, RLX_REST_TEXT_MAX);
    *json = (rlx_json_t){.text = text};
    rlx_json_open(json, NULL, '{');
}

void rlx_rest_reply_json(rlx_http_exchange_t *exchange, int code, rlx_json_t *json)
{
    rlx_rest_reply_text(exchange, code, "application/json", json->text);
}

void rlx_rest_reply_error(rlx_http_exchange_t *exchange, const rlx_diag_t *diag)
{
    char message[RLX_ERROR_TEXT_MAX];
    rlx_text_t text;
    rlx_json_t json;

    rlx_error_text(diag, message, sizeof message);
    rlx_rest_json_begin(&json, &text);
    rlx_json_string(&json, "error", message);
    rlx_json_close(&json, '}');
    rlx_rest_reply_json(exchange, rlx_rest_code(diag), &json);
}
