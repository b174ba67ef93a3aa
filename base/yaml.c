/* From libyaml's events to a tree.
 *
 * libyaml keeps a list of open flow levels and walks it for every token, so deep nesting costs quadratic time (100 KB of '[' take half a
 * minute). It never reads more than 1,024 characters ahead of the event it hands out, and the depth is checked at every event: such a
 * document is refused after a thousand tokens. The tree is built without recursion. */
#include "base/yaml.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#define CHUNK_BYTES ((size_t)16 << 10)

typedef struct chunk {
    struct chunk *next;
    size_t used, bytes;
    _Alignas(16) char data[];
} chunk_t;

struct rlx_yaml {
    chunk_t *chunks;
    const rlx_yaml_node_t *root;
    const char *name;
};

/* A map or list that is being filled. */
typedef struct level {
    rlx_yaml_node_t *node, *last;
    /* In a map, between a key and its value. */
    const char *key;
    uint32_t key_line, key_column;
} level_t;

typedef struct builder {
    rlx_yaml_t *yaml;
    yaml_parser_t parser;
    level_t levels[RLX_YAML_DEPTH_MAX];
    int depth, documents;
    uint32_t nodes;
    rlx_diag_t *diag;
} builder_t;

void *rlx_yaml_allocate(rlx_yaml_t *yaml, size_t bytes)
{
    chunk_t *chunk = yaml->chunks;
    void *memory;

    bytes = (bytes + 15) & ~(size_t)15;
    if (chunk == NULL || chunk->bytes - chunk->used < bytes) {
        size_t size = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;

        chunk = calloc(1, sizeof *chunk + size);
        if (chunk == NULL)
            return NULL;
        chunk->bytes = size;
        chunk->next = yaml->chunks;
        yaml->chunks = chunk;
    }
    memory = chunk->data + chunk->used;
    chunk->used += bytes;
    return memory;
}

void rlx_yaml_destroy(rlx_yaml_t *yaml)
{
    chunk_t *chunk = yaml != NULL ? yaml->chunks : NULL;

    while (chunk != NULL) {
        chunk_t *next = chunk->next;

        free(chunk);
        chunk = next;
    }
    free(yaml);
}

const rlx_yaml_node_t *rlx_yaml_root(const rlx_yaml_t *yaml) { return yaml->root; }
const char *rlx_yaml_name(const rlx_yaml_t *yaml) { return yaml->name; }

const rlx_yaml_node_t *rlx_yaml_find(const rlx_yaml_node_t *map, const char *key)
{
    for (const rlx_yaml_node_t *child = map->children; child != NULL; child = child->next)
        if (child->key != NULL && strcmp(child->key, key) == 0)
            return child;
    return NULL;
}

const char *rlx_yaml_kind_name(rlx_yaml_kind_t kind)
{
    static const char *const names[] = {"scalar", "list", "map"};

    return names[kind];
}

/* Adds where a refusal is, and what libyaml does not say in a hint. */
static rlx_status_t refuse_at(builder_t *builder, yaml_mark_t mark, const char *hint)
{
    rlx_diag_at(builder->diag, "%s:%zu:%zu", builder->yaml->name, mark.line + 1, mark.column + 1);
    return hint != NULL ? rlx_diag_hint(builder->diag, "%s", hint) : rlx_diag_at(builder->diag, "%s", "");
}

static rlx_status_t memory_fail(builder_t *builder) { return rlx_fail(builder->diag, RLX_E_NO_MEMORY, "out of memory"); }

static char *text_copy(builder_t *builder, const void *text, size_t bytes)
{
    char *copy = rlx_yaml_allocate(builder->yaml, bytes + 1);

    if (copy != NULL)
        memcpy(copy, text, bytes);
    return copy;
}

static level_t *level_top(builder_t *builder) { return builder->depth > 0 ? &builder->levels[builder->depth - 1] : NULL; }

/* A new node, hung into the list or map that is being filled. */
static rlx_status_t node_add(builder_t *builder, rlx_yaml_kind_t kind, yaml_mark_t mark, rlx_yaml_node_t **out_node)
{
    level_t *level = level_top(builder);
    rlx_yaml_node_t *node;

    if (builder->nodes == RLX_YAML_NODES_MAX) {
        rlx_fail(builder->diag, RLX_E_CONFIG_SYNTAX, "more than %d values", RLX_YAML_NODES_MAX);
        return refuse_at(builder, mark, NULL);
    }
    node = rlx_yaml_allocate(builder->yaml, sizeof *node);
    if (node == NULL)
        return memory_fail(builder);
    builder->nodes++;
    *node = (rlx_yaml_node_t){.kind = kind, .line = (uint32_t)mark.line + 1, .column = (uint32_t)mark.column + 1};
    if (level == NULL)
        builder->yaml->root = node;
    else {
        node->key = level->key;
        node->key_line = level->key_line;
        node->key_column = level->key_column;
        level->key = NULL;
        if (level->last == NULL)
            level->node->children = node;
        else
            level->last->next = node;
        level->last = node;
        level->node->n_children++;
    }
    *out_node = node;
    return RLX_OK;
}

static bool awaits_key(const level_t *level) { return level != NULL && level->node->kind == RLX_YAML_MAP && level->key == NULL; }

static rlx_status_t key_take(builder_t *builder, level_t *level, const yaml_event_t *event)
{
    const char *key = (const char *)event->data.scalar.value;
    const rlx_yaml_node_t *twin = rlx_yaml_find(level->node, key);

    if (twin != NULL) {
        rlx_fail(builder->diag, RLX_E_CONFIG_SYNTAX, "key '%s' stands twice in one map: first in line %u", key, twin->key_line);
        return refuse_at(builder, event->start_mark, "Remove one of them.");
    }
    if (level->node->n_children == RLX_YAML_KEYS_MAX) {
        rlx_fail(builder->diag, RLX_E_CONFIG_SYNTAX, "more than %d keys in one map", RLX_YAML_KEYS_MAX);
        return refuse_at(builder, event->start_mark, NULL);
    }
    level->key = text_copy(builder, key, event->data.scalar.length);
    level->key_line = (uint32_t)event->start_mark.line + 1;
    level->key_column = (uint32_t)event->start_mark.column + 1;
    return level->key != NULL ? RLX_OK : memory_fail(builder);
}

static rlx_status_t scalar_take(builder_t *builder, const yaml_event_t *event)
{
    level_t *level = level_top(builder);
    rlx_yaml_node_t *node;

    if (memchr(event->data.scalar.value, 0, event->data.scalar.length) != NULL) {
        rlx_fail(builder->diag, RLX_E_CONFIG_SYNTAX, "text with a NUL character");
        return refuse_at(builder, event->start_mark, "Remove it: no value needs one.");
    }
    if (awaits_key(level))
        return key_take(builder, level, event);
    RLX_TRY(node_add(builder, RLX_YAML_SCALAR, event->start_mark, &node));
    node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    node->text = text_copy(builder, event->data.scalar.value, event->data.scalar.length);
    return node->text != NULL ? RLX_OK : memory_fail(builder);
}

static rlx_status_t level_open(builder_t *builder, rlx_yaml_kind_t kind, yaml_mark_t mark)
{
    rlx_yaml_node_t *node;

    if (awaits_key(level_top(builder))) {
        rlx_fail(builder->diag, RLX_E_CONFIG_SYNTAX, "a %s stands where a key belongs", rlx_yaml_kind_name(kind));
        return refuse_at(builder, mark, "Keys are plain words.");
    }
    if (builder->depth == RLX_YAML_DEPTH_MAX) {
        rlx_fail(builder->diag, RLX_E_CONFIG_SYNTAX, "nested more than %d levels deep", RLX_YAML_DEPTH_MAX);
        return refuse_at(builder, mark, NULL);
    }
    RLX_TRY(node_add(builder, kind, mark, &node));
    builder->levels[builder->depth++] = (level_t){.node = node};
    return RLX_OK;
}

static rlx_status_t feature_refuse(builder_t *builder, const yaml_event_t *event, const char *what)
{
    rlx_fail(builder->diag, RLX_E_CONFIG_SYNTAX, "%s are not used in configuration", what);
    return refuse_at(builder, event->start_mark, "Write the value itself.");
}

/* Anchors and tags of any event. */
static rlx_status_t decoration_check(builder_t *builder, const yaml_event_t *event)
{
    const yaml_char_t *anchor = NULL, *tag = NULL;

    switch (event->type) {
    case YAML_SCALAR_EVENT: anchor = event->data.scalar.anchor, tag = event->data.scalar.tag; break;
    case YAML_SEQUENCE_START_EVENT: anchor = event->data.sequence_start.anchor, tag = event->data.sequence_start.tag; break;
    case YAML_MAPPING_START_EVENT: anchor = event->data.mapping_start.anchor, tag = event->data.mapping_start.tag; break;
    case YAML_ALIAS_EVENT: return feature_refuse(builder, event, "aliases (*name)");
    default: break;
    }
    if (anchor != NULL)
        return feature_refuse(builder, event, "anchors (&name)");
    return tag == NULL ? RLX_OK : feature_refuse(builder, event, "tags (!name)");
}

static rlx_status_t document_check(builder_t *builder, const yaml_event_t *event)
{
    if (event->data.document_start.tag_directives.start != event->data.document_start.tag_directives.end)
        return feature_refuse(builder, event, "%TAG directives");
    if (builder->documents++ == 0)
        return RLX_OK;
    rlx_fail(builder->diag, RLX_E_CONFIG_SYNTAX, "a second document begins");
    return refuse_at(builder, event->start_mark, "One file holds one document: remove the '---' and what follows.");
}

static rlx_status_t event_take(builder_t *builder, const yaml_event_t *event)
{
    RLX_TRY(decoration_check(builder, event));
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT: return document_check(builder, event);
    case YAML_SCALAR_EVENT: return scalar_take(builder, event);
    case YAML_SEQUENCE_START_EVENT: return level_open(builder, RLX_YAML_LIST, event->start_mark);
    case YAML_MAPPING_START_EVENT: return level_open(builder, RLX_YAML_MAP, event->start_mark);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT: builder->depth--; return RLX_OK;
    default: return RLX_OK;
    }
}

static rlx_status_t parser_fail(builder_t *builder)
{
    const yaml_parser_t *parser = &builder->parser;

    if (parser->error == YAML_MEMORY_ERROR)
        return memory_fail(builder);
    if (parser->error == YAML_READER_ERROR) {
        rlx_fail(builder->diag, RLX_E_CONFIG_SYNTAX, "%s (byte %zu)", parser->problem, parser->problem_offset);
        return rlx_diag_at(builder->diag, "%s", builder->yaml->name);
    }
    rlx_fail(builder->diag, RLX_E_CONFIG_SYNTAX, "%s%s%s", parser->problem != NULL ? parser->problem : "cannot be read",
             parser->context != NULL ? " " : "", parser->context != NULL ? parser->context : "");
    return refuse_at(builder, parser->problem_mark, "Check indentation (spaces only), quotes and brackets around there.");
}

static rlx_status_t events_take(builder_t *builder)
{
    rlx_status_t status = RLX_OK;
    bool ended = false;

    while (status == RLX_OK && !ended) {
        yaml_event_t event;

        if (!yaml_parser_parse(&builder->parser, &event))
            return parser_fail(builder);
        ended = event.type == YAML_STREAM_END_EVENT;
        status = event_take(builder, &event);
        yaml_event_delete(&event);
    }
    return status;
}

/* A document of nothing but comments, and one that is a single empty scalar, read as an empty map. */
static rlx_status_t root_complete(builder_t *builder)
{
    const rlx_yaml_node_t *root = builder->yaml->root;
    rlx_yaml_node_t *empty;

    if (root != NULL && (root->kind != RLX_YAML_SCALAR || root->quoted || root->text[0] != '\0'))
        return RLX_OK;
    return node_add(builder, RLX_YAML_MAP, (yaml_mark_t){0}, &empty);
}

static rlx_status_t yaml_build(rlx_yaml_t *yaml, const void *text, size_t bytes, rlx_diag_t *diag)
{
    builder_t builder = {.yaml = yaml, .diag = diag};
    rlx_status_t status;

    if (!yaml_parser_initialize(&builder.parser))
        return memory_fail(&builder);
    yaml_parser_set_encoding(&builder.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&builder.parser, text, bytes);
    status = events_take(&builder);
    if (status == RLX_OK)
        status = root_complete(&builder);
    yaml_parser_delete(&builder.parser);
    return status;
}

rlx_status_t rlx_yaml_parse(const void *text, size_t bytes, const char *name, rlx_yaml_t **out_yaml, rlx_diag_t *diag)
{
    rlx_yaml_t *yaml;
    char *copy;
    rlx_status_t status;

    if (bytes > RLX_YAML_BYTES_MAX) {
        rlx_fail(diag, RLX_E_CONFIG_SYNTAX, "%zu bytes; at most %zu are read", bytes, RLX_YAML_BYTES_MAX);
        return rlx_diag_at(diag, "%s", name);
    }
    yaml = calloc(1, sizeof *yaml);
    copy = yaml != NULL ? rlx_yaml_allocate(yaml, strlen(name) + 1) : NULL;
    if (copy == NULL) {
        free(yaml);
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    }
    yaml->name = strcpy(copy, name);
    status = yaml_build(yaml, text, bytes, diag);
    if (status == RLX_OK)
        *out_yaml = yaml;
    else
        rlx_yaml_destroy(yaml);
    return status;
}
