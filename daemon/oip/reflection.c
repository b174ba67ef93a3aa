/* Server reflection. One handler serves v1 and v1alpha: the messages are the same. Answers come from the descriptors that protoc wrote
 * when this program was built; they are walked for each question, since questions are rare. */
#include <stdlib.h>
#include <string.h>

#include "daemon/oip/handlers.h"
#include "proto/descriptors.h"
#include "proto/reflection.pb-c.h"
#include "proto/wire.h"

enum { FILE_ITEM = 1, NAME, PACKAGE, SCOPE, SERVICE, METHOD };

#define STRING(n, t) {.number = n, .kind = RLX_GUARD_KIND_BYTES, .tag = t}
#define MESSAGE(n, t, of) {.number = n, .kind = RLX_GUARD_KIND_MESSAGE, .message = of, .tag = t}
#define COUNT(array) (int)(sizeof(array) / sizeof(array)[0])

/* google/protobuf/descriptor.proto, as far as names go. */
static const rlx_guard_message_t type_message;
static const rlx_guard_field_t named_fields[] = {STRING(1, NAME)};
static const rlx_guard_message_t named_message = {"named", named_fields, COUNT(named_fields)};
static const rlx_guard_field_t type_fields[] = {STRING(1, NAME), MESSAGE(3, SCOPE, &type_message), MESSAGE(4, SCOPE, &named_message)};
static const rlx_guard_message_t type_message = {"DescriptorProto", type_fields, COUNT(type_fields)};
static const rlx_guard_field_t service_fields[] = {STRING(1, NAME), MESSAGE(2, METHOD, &named_message)};
static const rlx_guard_message_t service_message = {"ServiceDescriptorProto", service_fields, COUNT(service_fields)};
static const rlx_guard_field_t file_fields[] = {STRING(1, NAME), STRING(2, PACKAGE), MESSAGE(4, SCOPE, &type_message),
                                                MESSAGE(5, SCOPE, &named_message), MESSAGE(6, SERVICE, &service_message)};
static const rlx_guard_message_t file_message = {"FileDescriptorProto", file_fields, COUNT(file_fields)};
static const rlx_guard_field_t set_fields[] = {MESSAGE(1, FILE_ITEM, &file_message)};
static const rlx_guard_message_t set_message = {"FileDescriptorSet", set_fields, COUNT(set_fields)};
static const rlx_guard_limits_t limits = {
    .depth_max = 16, .fields_max = 1 << 20, .broken = RLX_E_INTERNAL, .above = RLX_E_INTERNAL};

#define SYMBOL_MAX 512

typedef struct rlx_symbol {
    int kind;         /* NAME for a file's path; SCOPE, SERVICE, METHOD */
    char name[SYMBOL_MAX]; /* full */
    const uint8_t *file; /* its descriptor */
    size_t file_bytes;
} rlx_symbol_t;

/* Where the walk is: the full name of each scope is a prefix of `symbol.name`. */
typedef struct rlx_symbol_walk {
    rlx_guard_t guard;
    const uint8_t *data;
    rlx_symbol_t symbol;
    size_t length[16]; /* of the name at each depth */
    int kinds[16];
} rlx_symbol_walk_t;

static void walk_start(rlx_symbol_walk_t *walk)
{
    size_t bytes;

    memset(walk, 0, sizeof *walk);
    walk->data = rlx_proto_descriptors(&bytes);
    rlx_guard_init(&walk->guard, &set_message, &limits, bytes);
    rlx_guard_feed(&walk->guard, walk->data, bytes);
}

/* "package.Outer" and name -> "package.Outer.Inner". False where it would be too long: then the symbol is not found. */
static bool name_extend(rlx_symbol_walk_t *walk, int depth, const rlx_guard_item_t *item)
{
    size_t at = walk->length[depth - 1];

    if (at + 1 + item->bytes >= SYMBOL_MAX)
        return false;
    if (at > 0)
        walk->symbol.name[at++] = '.';
    memcpy(walk->symbol.name + at, item->data, item->bytes);
    walk->length[depth] = at + item->bytes;
    walk->symbol.name[walk->length[depth]] = '\0';
    return true;
}

/* The next file path or symbol, in the set's order. */
static bool walk_next(rlx_symbol_walk_t *walk)
{
    rlx_guard_item_t item;

    for (;;) {
        switch (rlx_guard_next(&walk->guard, &item, NULL)) {
        case RLX_GUARD_ENTER:
            if (item.field == NULL)
                break;
            walk->kinds[item.depth + 1] = item.field->tag;
            walk->length[item.depth + 1] = walk->length[item.depth];
            if (item.field->tag == FILE_ITEM) {
                walk->symbol.file = walk->data + item.offset;
                walk->symbol.file_bytes = item.total;
                walk->length[item.depth + 1] = 0;
            }
            break;
        case RLX_GUARD_BYTES:
            if (item.field == NULL)
                break;
            if (item.field->tag == PACKAGE) { /* a file's name is its path, and no scope */
                (void)name_extend(walk, item.depth, &item);
                break;
            }
            walk->symbol.kind = walk->kinds[item.depth] == FILE_ITEM ? NAME : walk->kinds[item.depth];
            if (!name_extend(walk, item.depth, &item))
                break;
            if (walk->symbol.kind == NAME)
                walk->length[item.depth] = 0;
            return true;
        case RLX_GUARD_SCALAR:
        case RLX_GUARD_LEAVE: break;
        default: return false;
        }
    }
}

static void file_answer(rlx_oip_unary_t *unary, bool is_path, const char *name)
{
    rlx_symbol_walk_t walk;
    size_t at;

    walk_start(&walk);
    while (walk_next(&walk)) {
        if ((walk.symbol.kind == NAME) != is_path || strcmp(walk.symbol.name, name) != 0)
            continue;
        at = rlx_wire_open(&unary->out, 4);
        rlx_wire_bytes(&unary->out, 1, walk.symbol.file, walk.symbol.file_bytes);
        rlx_wire_close(&unary->out, at);
        return;
    }
    at = rlx_wire_open(&unary->out, 7);
    rlx_wire_uint(&unary->out, 1, RLX_NOT_FOUND);
    rlx_wire_string(&unary->out, 2, is_path ? "RLX-1611: no such file. list_services tells what there is." :
                                              "RLX-1611: no such symbol. list_services tells what there is.");
    rlx_wire_close(&unary->out, at);
}

static void services_answer(rlx_oip_unary_t *unary)
{
    size_t list = rlx_wire_open(&unary->out, 6), at;
    rlx_symbol_walk_t walk;

    walk_start(&walk);
    while (walk_next(&walk)) {
        if (walk.symbol.kind != SERVICE)
            continue;
        at = rlx_wire_open(&unary->out, 1);
        rlx_wire_string(&unary->out, 1, walk.symbol.name);
        rlx_wire_close(&unary->out, at);
    }
    rlx_wire_close(&unary->out, list);
}

/* proto3 without extensions. */
static void extensions_answer(rlx_oip_unary_t *unary, const char *what)
{
    size_t at = rlx_wire_open(&unary->out, 7);

    rlx_wire_uint(&unary->out, 1, RLX_NOT_FOUND);
    rlx_wire_string(&unary->out, 2, what);
    rlx_wire_close(&unary->out, at);
}

void rlx_oip_reflection(rlx_oip_unary_t *unary, const ProtobufCMessage *message)
{
    const Grpc__Reflection__V1__ServerReflectionRequest *request = (const void *)message;

    rlx_wire_string(&unary->out, 1, request->host);
    rlx_wire_bytes(&unary->out, 2, unary->message.bytes.data, unary->message.bytes.bytes);
    switch (request->message_request_case) {
    case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_BY_FILENAME:
        file_answer(unary, true, request->file_by_filename);
        break;
    case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_CONTAINING_SYMBOL:
        file_answer(unary, false, request->file_containing_symbol);
        break;
    case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_LIST_SERVICES: services_answer(unary); break;
    case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_CONTAINING_EXTENSION:
    case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_ALL_EXTENSION_NUMBERS_OF_TYPE:
        extensions_answer(unary, "RLX-1611: the services here have no extensions.");
        break;
    default: extensions_answer(unary, "RLX-1609: the request asks for nothing. Set one of its fields."); break;
    }
    rlx_oip_unary_send(unary);
}
