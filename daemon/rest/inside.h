/* Inside of the HTTP/1.1 front end, shared by daemon/rest/. Loop thread only. */
#ifndef RLX_DAEMON_REST_INSIDE_H
#define RLX_DAEMON_REST_INSIDE_H

#include "base/text.h"
#include "daemon/json/write.h"
#include "daemon/node/infer.h"
#include "daemon/rest/rest.h"

#define RLX_REST_TEXT_MAX ((size_t)16 << 20) /* of answers without tensors */

typedef struct rlx_rest_infer rlx_rest_infer_t;

struct rlx_rest {
    rlx_rest_options_t options;
    rlx_node_t *node;
    const rlx_rpc_server_t *server;
    const rlx_http_t *http;
    const rlx_handover_t *handover;
    uint64_t start_ns;
    int64_t start_s; /* since 1970 */
    uv_idle_t idle;  /* active while jobs wait */
    rlx_rest_infer_t *jobs, *jobs_last; /* inferences with work left, in turn */
    rlx_rest_infer_t *kept;             /* free list */
    int n_kept;
    uint64_t json_read, json_written;   /* bytes of JSON tensors */
    void (*done)(void *context);
    void *done_context;
};

/* What a route found in the path. */
typedef struct rlx_rest_path {
    char name[RLX_INFER_NAME_MAX], version[32]; /* "" where the route has none */
} rlx_rest_path_t;

typedef void rlx_rest_fn_t(rlx_rest_t *rest, rlx_http_exchange_t *exchange, const rlx_rest_path_t *path);

typedef enum rlx_rest_shape { RLX_ROUTE_EXACT, RLX_ROUTE_NAME, RLX_ROUTE_MODEL } rlx_rest_shape_t;
typedef struct rlx_rest_route {
    const char *method;
    rlx_rest_shape_t shape; /* the path is `before`; `before` NAME `after`; or `before` NAME [/versions/VERSION] `after` */
    const char *before, *after;
    rlx_rest_fn_t *run;
} rlx_rest_route_t;
/* The route of a request, and its path's parts. NULL: out_allowed names the methods that the path has ("": no such path). */
const rlx_rest_route_t *rlx_rest_route_find(const char *method, const char *path, rlx_rest_path_t *out_path, char out_allowed[32]);
/* The list for people. */
void rlx_rest_routes_text(rlx_text_t *text);

/* Answers (reply.c). */
int rlx_rest_code(const rlx_diag_t *diag); /* HTTP's for a diagnosis */
/* `text` is moved. NULL diag pointers are not taken: a failed answer has a reason. */
void rlx_rest_reply_text(rlx_http_exchange_t *exchange, int code, const char *type, rlx_text_t *text);
void rlx_rest_reply_json(rlx_http_exchange_t *exchange, int code, rlx_json_t *json);
void rlx_rest_reply_error(rlx_http_exchange_t *exchange, const rlx_diag_t *diag);
void rlx_rest_reply_empty(rlx_http_exchange_t *exchange, int code);
/* A JSON text that begins with '{'. The text must be given to rlx_rest_reply_json. */
void rlx_rest_json_begin(rlx_json_t *json, rlx_text_t *text);

/* Routes, by file. */
rlx_rest_fn_t rlx_rest_infer_route;                                                              /* infer.c */
rlx_rest_fn_t rlx_rest_server, rlx_rest_live, rlx_rest_ready, rlx_rest_health, rlx_rest_alive;   /* server.c */
rlx_rest_fn_t rlx_rest_unsupported;
rlx_rest_fn_t rlx_rest_model, rlx_rest_model_ready, rlx_rest_model_config;                       /* models.c */
rlx_rest_fn_t rlx_rest_model_stats, rlx_rest_all_stats;                                          /* stats.c */
rlx_rest_fn_t rlx_rest_index, rlx_rest_load, rlx_rest_unload;                                    /* repository.c */
rlx_rest_fn_t rlx_rest_regions_status, rlx_rest_region_register, rlx_rest_region_unregister;     /* regions.c */
rlx_rest_fn_t rlx_rest_metrics;                                                                  /* metrics.c */
rlx_rest_fn_t rlx_rest_page, rlx_rest_status;                                                    /* status.c */
rlx_rest_fn_t rlx_rest_admin_status, rlx_rest_admin_requests, rlx_rest_admin_stacks, rlx_rest_admin_drain;             /* admin.c */

/* The whole state as JSON (open object): the page's and rlxctl's. */
void rlx_rest_status_write(rlx_rest_t *rest, rlx_json_t *json);

/* "workers": what each runs now. */
void rlx_rest_workers_write(rlx_rest_t *rest, rlx_json_t *json);

/* What the process uses. */
typedef struct rlx_rest_process {
    double cpu_s;
    uint64_t resident_bytes, virtual_bytes;
    uint32_t fds, fds_max;
} rlx_rest_process_t;
void rlx_rest_process_look(rlx_rest_process_t *out_process);

/* Inferences (infer.c). */
void rlx_rest_infer_gone(rlx_rest_infer_t *request);
bool rlx_rest_infer_step(rlx_rest_infer_t *request); /* one piece of work; true: there is more */
void rlx_rest_infer_destroy(rlx_rest_infer_t *request);
/* Gives the request a turn later (rest.c). */
void rlx_rest_job_add(rlx_rest_t *rest, rlx_rest_infer_t *request);
void rlx_rest_job_remove(rlx_rest_t *rest, rlx_rest_infer_t *request);

#endif
