/* The table of methods, and what the small ones' messages look like to the guard. Schemas are by form, not by name: (name, version) and
 * the like are the same on the wire. */
#include "daemon/oip/service.h"

#include <stdlib.h>

#include "base/assert.h"
#include "daemon/oip/handlers.h"
#include "daemon/oip/inside.h"
#include "daemon/oip/methods.h"
#include "daemon/oip/request.h"
#include "proto/health.pb-c.h"
#include "proto/oip.pb-c.h"
#include "proto/reflection.pb-c.h"

#define COUNT(array) (int)(sizeof(array) / sizeof(array)[0])
#define STRING(n) {.number = n, .kind = RLX_GUARD_KIND_BYTES, .bytes_max = 4096}
#define BYTES(n) {.number = n, .kind = RLX_GUARD_KIND_BYTES}
#define NUMBER(n) {.number = n, .kind = RLX_GUARD_KIND_SCALAR}
#define MESSAGE(n, of) {.number = n, .kind = RLX_GUARD_KIND_MESSAGE, .message = of}
#define SCHEMA(id, ...)                                     \
    static const rlx_guard_field_t id##_fields[] = {__VA_ARGS__}; \
    static const rlx_guard_message_t id##_schema = {#id, id##_fields, COUNT(id##_fields)}

static const rlx_guard_message_t empty_schema = {"empty", NULL, 0};
SCHEMA(strings, STRING(1), STRING(2));
SCHEMA(index, STRING(1), NUMBER(2));
SCHEMA(load_value, NUMBER(1), NUMBER(2), BYTES(3), BYTES(4));
SCHEMA(load_parameter, STRING(1), MESSAGE(2, &load_value_schema));
SCHEMA(load, STRING(1), STRING(2), MESSAGE(3, &load_parameter_schema));
SCHEMA(region, STRING(1), STRING(2), NUMBER(3), NUMBER(4));
SCHEMA(setting, STRING(1), BYTES(2));
SCHEMA(settings, MESSAGE(1, &setting_schema), STRING(2));
SCHEMA(extension, STRING(1), NUMBER(2));
SCHEMA(reflection, STRING(1), STRING(3), STRING(4), MESSAGE(5, &extension_schema), STRING(6), STRING(7));

#define RLX_OIP_CALL(id, service, method, request, schema, handler, streams)                                                            \
    static const rlx_oip_unary_ops_t id##_ops = {#method, &request##__descriptor, &schema##_schema, handler, streams};                    \
    static void id##_open(rlx_rpc_call_t *call, void *node) { rlx_oip_unary_open(call, node, &id##_ops); }
RLX_OIP_SMALL_CALLS(RLX_OIP_CALL)
#undef RLX_OIP_CALL

void rlx_oip_unary_lacks(rlx_oip_unary_t *unary, const char *what, const char *instead)
{
    rlx_diag_t diag = {0};

    rlx_fail(&diag, RLX_E_PROTOCOL_PART, "%s: %s", unary->ops->name, what);
    rlx_diag_hint(&diag, "%s", instead);
    rlx_oip_unary_fail(unary, &diag);
}

#define SMALL_CALLS_COUNT(...) +1
enum { N_METHODS = 2 RLX_OIP_SMALL_CALLS(SMALL_CALLS_COUNT) };

static void methods_fill(rlx_oip_t *oip)
{
    rlx_rpc_method_t *methods = oip->methods;
    int n = 0;

    methods[n++] = rlx_oip_model_infer;
    methods[n++] = rlx_oip_model_stream_infer;
#define RLX_OIP_CALL(id, service, method, request, schema, handler, streams)                                                          \
    methods[n++] = (rlx_rpc_method_t){"/" service "/" #method,   id##_open, rlx_oip_unary_message, rlx_oip_unary_data,                 \
                                      rlx_oip_unary_message_end, rlx_oip_unary_half_close, rlx_oip_unary_closed};
    RLX_OIP_SMALL_CALLS(RLX_OIP_CALL)
#undef RLX_OIP_CALL
    oip->n_methods = n;
}

rlx_status_t rlx_oip_create(rlx_node_t *node, rlx_oip_t **out_oip, rlx_diag_t *diag)
{
    rlx_oip_t *oip = calloc(1, sizeof *oip + N_METHODS * sizeof *oip->methods);

    if (oip == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for the gRPC services");
    oip->node = node;
    methods_fill(oip);
    *out_oip = oip;
    return RLX_OK;
}

const rlx_rpc_method_t *rlx_oip_methods(const rlx_oip_t *oip, int *out_count)
{
    *out_count = oip->n_methods;
    return oip->methods;
}

void rlx_oip_destroy(rlx_oip_t *oip)
{
    RLX_ASSERT(oip->watchers == NULL);
    rlx_oip_requests_free(oip);
    RLX_ASSERT(oip->staged == 0); /* no call is left */
    free(oip);
}
