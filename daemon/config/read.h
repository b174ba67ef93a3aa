/* How a value of the configuration is read: the row of a key, and the readers of each kind. Shared by daemon/config/ only. */
#ifndef RLX_DAEMON_CONFIG_READ_H
#define RLX_DAEMON_CONFIG_READ_H

#include "daemon/config/config.h"

typedef enum rlx_config_kind {
    RLX_CONFIG_INT,      /* int64_t */
    RLX_CONFIG_SIZE,     /* int64_t bytes */
    RLX_CONFIG_MS,       /* int64_t milliseconds */
    RLX_CONFIG_US,       /* int64_t microseconds */
    RLX_CONFIG_BOOL,     /* bool */
    RLX_CONFIG_TEXT,     /* const char * */
    RLX_CONFIG_PATH,     /* const char *: made relative to the file's folder */
    RLX_CONFIG_CHOICE,   /* int64_t: index into `choices` */
    RLX_CONFIG_ENDPOINTS, /* rlx_config_texts_t of http://HOST:PORT */
    RLX_CONFIG_LISTEN,   /* rlx_config_texts_t of HOST:PORT; a single text is a list of one */
    RLX_CONFIG_SECTION,  /* `fields` */
    RLX_CONFIG_NODES,    /* nodes and n_nodes */
    RLX_CONFIG_DEVICES,  /* devices of a node: a list, or auto */
} rlx_config_kind_t;

/* One key. A table of them ends with key NULL. Defaults: `initial` for numbers, bools and choices; texts and lists begin empty. */
typedef struct rlx_config_field rlx_config_field_t;
struct rlx_config_field {
    const char *key;
    rlx_config_kind_t kind;
    size_t offset; /* in the struct that the table describes; of a section's fields too */
    int64_t initial, min, max;
    const char *const *choices;
    const rlx_config_field_t *fields;
    bool live, required;
    const char *help;
};

extern const rlx_config_field_t rlx_config_fields[];        /* of rlx_config_t */
extern const rlx_config_field_t rlx_config_node_fields[];   /* of rlx_config_node_t */
extern const rlx_config_field_t rlx_config_device_fields[]; /* of rlx_config_device_t */

/* What a reader needs besides the value. */
typedef struct rlx_config_reader {
    rlx_config_t *config;
    const char *source;     /* "--port" for a value of the command line; NULL: the file */
    rlx_diag_t *diag;
} rlx_config_reader_t;

void rlx_config_defaults(void *base, const rlx_config_field_t *fields);
/* Reads map `node` into `base`. `path` ("server.limits") is where the map stands, "" at the top. */
rlx_status_t rlx_config_read_map(rlx_config_reader_t *reader, const rlx_yaml_node_t *node, const char *path,
                                 const rlx_config_field_t *fields, void *base);
rlx_status_t rlx_config_read_value(rlx_config_reader_t *reader, const rlx_yaml_node_t *node, const char *path,
                                   const rlx_config_field_t *field, void *base);
/* Fails at `node`: "PATH: MESSAGE" with the place. Returns the failure. */
rlx_status_t rlx_config_refuse(rlx_config_reader_t *reader, const rlx_yaml_node_t *node, const char *path, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void *rlx_config_allocate(rlx_config_reader_t *reader, size_t bytes); /* NULL with the failure set */

/* nodes.c */
rlx_status_t rlx_config_read_nodes(rlx_config_reader_t *reader, const rlx_yaml_node_t *node, const char *path, rlx_config_t *config);
rlx_status_t rlx_config_read_devices(rlx_config_reader_t *reader, const rlx_yaml_node_t *node, const char *path, rlx_config_node_t *entry);

#endif
