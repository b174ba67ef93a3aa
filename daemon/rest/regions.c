/* System shared memory: status, register, unregister. Memory that was handed over on the Unix socket is not listed: its names are its
 * connection's. */
#include <string.h>

#include "daemon/rest/body.h"
#include "daemon/rest/inside.h"

void rlx_rest_regions_status(rlx_rest_t *rest, rlx_http_exchange_t *exchange, const rlx_rest_path_t *path)
{
    rlx_region_view_t view;
    int cursor = 0, n = 0;
    rlx_diag_t diag = {0};
    rlx_text_t text;
    rlx_json_t json = {.text = &text};

    rlx_text_init(&text, RLX_REST_TEXT_MAX);
    rlx_json_open(&json, NULL, '[');
    while (rlx_regions_next(rlx_node_regions(rest->node), &cursor, &view)) {
        if (view.key[0] == '\0' || (path->name[0] != '\0' && strcmp(path->name, view.name) != 0))
            continue;
        n++;
        rlx_json_open(&json, NULL, '{');
        rlx_json_string(&json, "name", view.name);
        rlx_json_string(&json, "key", view.key);
        rlx_json_unsigned(&json, "offset", view.offset);
        rlx_json_unsigned(&json, "byte_size", view.bytes);
        rlx_json_unsigned(&json, "users", view.users);
        rlx_json_close(&json, '}');
    }
    rlx_json_close(&json, ']');
    if (n > 0 || path->name[0] == '\0') {
        rlx_rest_reply_json(exchange, 200, &json);
        return;
    }
    rlx_text_fini(&text);
    rlx_fail(&diag, RLX_E_REGION_UNKNOWN, "there is no system shared-memory region '%.128s'", path->name);
    rlx_rest_reply_error(exchange, &diag);
}

static rlx_status_t number_get(const json_t *root, const char *key, bool required, uint64_t *out_value, rlx_diag_t *diag)
{
    json_t *value = json_object_get(root, key);

    *out_value = 0;
    if (value == NULL && !required)
        return RLX_OK;
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return rlx_fail(diag, RLX_E_REQUEST_MALFORMED, "'%s' is %s, a whole number of 0 or more is expected", key,
                        value == NULL ? "missing" : "something else");
    *out_value = (uint64_t)json_integer_value(value);
    return RLX_OK;
}

static rlx_status_t region_register(rlx_rest_t *rest, const json_t *root, const char *name, rlx_diag_t *diag)
{
    const char *key = json_string_value(json_object_get(root, "key"));
    uint64_t offset, bytes;

    if (key == NULL)
        return rlx_fail(diag, RLX_E_REQUEST_MALFORMED, "'key', the name of the shared-memory object, is missing or no string");
    RLX_TRY(number_get(root, "offset", false, &offset, diag));
    RLX_TRY(number_get(root, "byte_size", true, &bytes, diag));
    return rlx_regions_add_system(rlx_node_regions(rest->node), name, key, offset, bytes, diag);
}

void rlx_rest_region_register(rlx_rest_t *rest, rlx_http_exchange_t *exchange, const rlx_rest_path_t *path)
{
    rlx_diag_t diag = {0};
    json_t *root;
    rlx_status_t status = rlx_rest_body_parse(exchange, &root, &diag);

    if (status == RLX_OK)
        status = region_register(rest, root, path->name, &diag);
    json_decref(root);
    if (status == RLX_OK)
        rlx_rest_reply_empty(exchange, 200);
    else
        rlx_rest_reply_error(exchange, &diag);
}

void rlx_rest_region_unregister(rlx_rest_t *rest, rlx_http_exchange_t *exchange, const rlx_rest_path_t *path)
{
    rlx_diag_t diag = {0};

    if (path->name[0] == '\0')
        rlx_regions_remove_system(rlx_node_regions(rest->node));
    else if (rlx_regions_remove(rlx_node_regions(rest->node), path->name, &diag) != RLX_OK) {
        rlx_rest_reply_error(exchange, &diag);
        return;
    }
    rlx_rest_reply_empty(exchange, 200);
}
