/* The YAML that people write configuration in: maps, lists and scalars; a tree of nodes that know their line and column.
 *
 * Parsed by libyaml behind caps, since configuration may come from anywhere: at most 256 KiB, 32 levels, 32,768 nodes, 1,024 keys in a map.
 * Anchors, aliases, tags, duplicate keys, keys that are no scalars, NUL characters and a second document are refused: each has been a way
 * to read one thing and run another. Every refusal names line and column.
 *
 * The tree lives in one arena that `rlx_yaml_destroy` gives back; nodes and texts are borrowed from it. Any thread, one at a time. */
#ifndef RLX_BASE_YAML_H
#define RLX_BASE_YAML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

#define RLX_YAML_BYTES_MAX ((size_t)256 << 10)
#define RLX_YAML_DEPTH_MAX 32
#define RLX_YAML_NODES_MAX 32768
#define RLX_YAML_KEYS_MAX 1024

typedef enum rlx_yaml_kind { RLX_YAML_SCALAR, RLX_YAML_LIST, RLX_YAML_MAP } rlx_yaml_kind_t;

typedef struct rlx_yaml_node rlx_yaml_node_t;
struct rlx_yaml_node {
    rlx_yaml_kind_t kind;
    bool quoted;                     /* a scalar in quotes or a block: text, whatever it looks like */
    uint32_t line, column;           /* from 1; an empty value: where it would stand */
    const char *key;                 /* in a map: its key; else NULL */
    uint32_t key_line, key_column;
    const char *text;                /* scalar; NUL-terminated UTF-8 */
    uint32_t n_children;
    const rlx_yaml_node_t *children; /* the first child of a list or map, or NULL */
    const rlx_yaml_node_t *next;     /* the next child of the same parent, or NULL */
};

typedef struct rlx_yaml rlx_yaml_t;

/* `name` stands in front of line and column in a diagnosis. An empty document has an empty map as root. */
rlx_status_t rlx_yaml_parse(const void *text, size_t bytes, const char *name, rlx_yaml_t **out_yaml, rlx_diag_t *diag);
void rlx_yaml_destroy(rlx_yaml_t *yaml); /* NULL is fine */
const rlx_yaml_node_t *rlx_yaml_root(const rlx_yaml_t *yaml);
const char *rlx_yaml_name(const rlx_yaml_t *yaml);
/* The value of `key` in a map, or NULL. */
const rlx_yaml_node_t *rlx_yaml_find(const rlx_yaml_node_t *map, const char *key);
/* "map", "list" or "scalar" (what stands there, for a diagnosis). */
const char *rlx_yaml_kind_name(rlx_yaml_kind_t kind);
/* Zeroed memory that lives as long as the tree, or NULL; for what a reader makes of it. */
void *rlx_yaml_allocate(rlx_yaml_t *yaml, size_t bytes);

#endif
