/* The table of methods, and what the small ones' messages look like to the guard. Schemas are by form, not by name: (name, version) and
 * the like are the same on the wire. */
#include "daemon/oip/service.h"

#include "daemon/oip/handlers.h"
#include "daemon/oip/methods.h"
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

const rlx_rpc_method_t *rlx_oip_methods(int *out_count)
{
    static rlx_rpc_method_t methods[N_METHODS];
    int n = 0;

    methods[n++] = rlx_oip_model_infer;
    methods[n++] = rlx_oip_model_stream_infer;
#define RLX_OIP_CALL(id, service, method, request, schema, handler, streams)                                                          \
    methods[n++] = (rlx_rpc_method_t){"/" service "/" #method,   id##_open, rlx_oip_unary_message, rlx_oip_unary_data,                 \
                                      rlx_oip_unary_message_end, rlx_oip_unary_half_close, rlx_oip_unary_closed};
    RLX_OIP_SMALL_CALLS(RLX_OIP_CALL)
#undef RLX_OIP_CALL
    *out_count = n;
    return methods;
}
