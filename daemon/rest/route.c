/* Which route a path is. Names of models may hold '/', so a path is matched from both ends; where a path could be two routes, the longer
 * ending wins: /v2/models/a/ready asks for the readiness of "a". */
#include <stdio.h>
#include <string.h>

#include "daemon/rest/inside.h"

static const rlx_rest_route_t routes[] = {
    {"GET", RLX_ROUTE_EXACT, "/", "", rlx_rest_page},
    {"GET", RLX_ROUTE_EXACT, "/status.json", "", rlx_rest_status},
    {"GET", RLX_ROUTE_EXACT, "/healthz", "", rlx_rest_alive},
    {"GET", RLX_ROUTE_EXACT, "/readyz", "", rlx_rest_health},
    {"GET", RLX_ROUTE_EXACT, "/metrics", "", rlx_rest_metrics},
    {"GET", RLX_ROUTE_EXACT, "/v1/status", "", rlx_rest_admin_status},
    {"GET", RLX_ROUTE_EXACT, "/v1/requests", "", rlx_rest_admin_requests},
    {"GET", RLX_ROUTE_EXACT, "/v1/stacks", "", rlx_rest_admin_stacks},
    {"POST", RLX_ROUTE_EXACT, "/v1/drain", "", rlx_rest_admin_drain},
    {"GET", RLX_ROUTE_EXACT, "/v2", "", rlx_rest_server},
    {"GET", RLX_ROUTE_EXACT, "/v2/", "", rlx_rest_server},
    {"GET", RLX_ROUTE_EXACT, "/v2/health/live", "", rlx_rest_live},
    {"GET", RLX_ROUTE_EXACT, "/v2/health/ready", "", rlx_rest_ready},
    {"GET", RLX_ROUTE_EXACT, "/v2/models/stats", "", rlx_rest_all_stats},
    {"POST", RLX_ROUTE_MODEL, "/v2/models/", "/infer", rlx_rest_infer_route},
    {"GET", RLX_ROUTE_MODEL, "/v2/models/", "/ready", rlx_rest_model_ready},
    {"GET", RLX_ROUTE_MODEL, "/v2/models/", "/config", rlx_rest_model_config},
    {"GET", RLX_ROUTE_MODEL, "/v2/models/", "/stats", rlx_rest_model_stats},
    {"POST", RLX_ROUTE_MODEL, "/v2/models/", "/generate", rlx_rest_unsupported},
    {"POST", RLX_ROUTE_MODEL, "/v2/models/", "/generate_stream", rlx_rest_unsupported},
    {"GET", RLX_ROUTE_NAME, "/v2/models/", "/trace/setting", rlx_rest_unsupported},
    {"POST", RLX_ROUTE_NAME, "/v2/models/", "/trace/setting", rlx_rest_unsupported},
    {"GET", RLX_ROUTE_MODEL, "/v2/models/", "", rlx_rest_model},
    {"POST", RLX_ROUTE_EXACT, "/v2/repository/index", "", rlx_rest_index},
    {"POST", RLX_ROUTE_NAME, "/v2/repository/models/", "/load", rlx_rest_load},
    {"POST", RLX_ROUTE_NAME, "/v2/repository/models/", "/unload", rlx_rest_unload},
    {"GET", RLX_ROUTE_EXACT, "/v2/systemsharedmemory/status", "", rlx_rest_regions_status},
    {"GET", RLX_ROUTE_NAME, "/v2/systemsharedmemory/region/", "/status", rlx_rest_regions_status},
    {"POST", RLX_ROUTE_NAME, "/v2/systemsharedmemory/region/", "/register", rlx_rest_region_register},
    {"POST", RLX_ROUTE_NAME, "/v2/systemsharedmemory/region/", "/unregister", rlx_rest_region_unregister},
    {"POST", RLX_ROUTE_EXACT, "/v2/systemsharedmemory/unregister", "", rlx_rest_region_unregister},
    {"GET", RLX_ROUTE_EXACT, "/v2/cudasharedmemory/status", "", rlx_rest_unsupported},
    {"POST", RLX_ROUTE_EXACT, "/v2/cudasharedmemory/unregister", "", rlx_rest_unsupported},
    {"GET", RLX_ROUTE_NAME, "/v2/cudasharedmemory/region/", "/status", rlx_rest_unsupported},
    {"POST", RLX_ROUTE_NAME, "/v2/cudasharedmemory/region/", "/register", rlx_rest_unsupported},
    {"POST", RLX_ROUTE_NAME, "/v2/cudasharedmemory/region/", "/unregister", rlx_rest_unsupported},
    {"GET", RLX_ROUTE_EXACT, "/v2/trace/setting", "", rlx_rest_unsupported},
    {"POST", RLX_ROUTE_EXACT, "/v2/trace/setting", "", rlx_rest_unsupported},
    {"GET", RLX_ROUTE_EXACT, "/v2/logging", "", rlx_rest_unsupported},
    {"POST", RLX_ROUTE_EXACT, "/v2/logging", "", rlx_rest_unsupported},
};
#define N_ROUTES (sizeof routes / sizeof *routes)

static bool text_keep(char *to, size_t size, const char *from, size_t bytes)
{
    if (bytes == 0 || bytes >= size)
        return false;
    memcpy(to, from, bytes);
    to[bytes] = '\0';
    return true;
}

/* NAME, or NAME/versions/VERSION. */
static bool name_split(const char *name, size_t bytes, bool versioned, rlx_rest_path_t *out_path)
{
    static const char word[] = "/versions/";
    size_t slash = bytes, word_bytes = sizeof word - 1;

    while (slash > 0 && name[slash - 1] != '/')
        slash--;
    if (versioned && slash > word_bytes && slash < bytes && memcmp(name + slash - word_bytes, word, word_bytes) == 0)
        return text_keep(out_path->name, sizeof out_path->name, name, slash - word_bytes) &&
               text_keep(out_path->version, sizeof out_path->version, name + slash, bytes - slash);
    return text_keep(out_path->name, sizeof out_path->name, name, bytes);
}

static bool route_fits(const rlx_rest_route_t *route, const char *path, rlx_rest_path_t *out_path)
{
    size_t bytes = strlen(path), before = strlen(route->before), after = strlen(route->after);

    *out_path = (rlx_rest_path_t){0};
    if (route->shape == RLX_ROUTE_EXACT)
        return strcmp(path, route->before) == 0;
    if (bytes <= before + after || memcmp(path, route->before, before) != 0 || memcmp(path + bytes - after, route->after, after) != 0)
        return false;
    return name_split(path + before, bytes - before - after, route->shape == RLX_ROUTE_MODEL, out_path);
}

const rlx_rest_route_t *rlx_rest_route_find(const char *method, const char *path, rlx_rest_path_t *out_path, char out_allowed[32])
{
    const rlx_rest_route_t *other = NULL;

    if (strcmp(method, "HEAD") == 0)
        method = "GET";
    out_allowed[0] = '\0';
    for (size_t i = 0; i < N_ROUTES; i++) {
        if (!route_fits(&routes[i], path, out_path))
            continue;
        if (strcmp(routes[i].method, method) == 0 && (other == NULL || strcmp(other->after, routes[i].after) == 0))
            return &routes[i];
        if (other == NULL || strcmp(other->after, routes[i].after) == 0) {
            snprintf(out_allowed + strlen(out_allowed), 32 - strlen(out_allowed), "%s%s", other != NULL ? ", " : "", routes[i].method);
            other = &routes[i];
        }
    }
    return NULL;
}

void rlx_rest_routes_text(rlx_text_t *text)
{
    for (size_t i = 0; i < N_ROUTES; i++) {
        const rlx_rest_route_t *route = &routes[i];

        if (route->run == rlx_rest_unsupported)
            continue;
        rlx_text_printf(text, "%s %s %s%s%s%s", i > 0 ? "," : "", route->method, route->before,
                        route->shape != RLX_ROUTE_EXACT ? "NAME" : "", route->shape == RLX_ROUTE_MODEL ? "[/versions/VERSION]" : "",
                        route->after);
    }
}
