/* grpc.health.v1. Service "" and "inference.GRPCInferenceService" are the server; any other is a model's name.
 *
 * Watchers are asked anew every WATCH_MS: what makes a model or the server ready has many causes, and a watcher wants the state, not them.
 * The timer lives as long as there is a watcher. */
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "daemon/oip/handlers.h"
#include "proto/health.pb-c.h"
#include "proto/wire.h"

#define WATCH_MS 200

typedef Grpc__Health__V1__HealthCheckResponse__ServingStatus rlx_health_t;
#define SERVING GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVING
#define NOT_SERVING GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__NOT_SERVING
#define SERVICE_UNKNOWN GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVICE_UNKNOWN

typedef struct rlx_oip_watcher {
    rlx_oip_unary_t *unary;
    struct rlx_oip_watcher *next, *previous;
    rlx_health_t told;
    char service[]; /* as asked for */
} rlx_oip_watcher_t;

static rlx_health_t health_of(rlx_node_t *node, const char *service, rlx_diag_t *diag)
{
    rlx_served_t *served;
    const char *reason;
    rlx_status_t status;

    if (service[0] == '\0' || strcmp(service, RLX_OIP_SERVICE) == 0)
        return rlx_node_ready(node, &reason) ? SERVING : NOT_SERVING;
    status = rlx_models_find(rlx_node_models(node), service, "", &served, diag);
    return status == RLX_OK ? SERVING : status == RLX_UNAVAILABLE ? NOT_SERVING : SERVICE_UNKNOWN;
}

void rlx_oip_health_check(rlx_oip_unary_t *unary, const ProtobufCMessage *message)
{
    const Grpc__Health__V1__HealthCheckRequest *request = (const void *)message;
    rlx_diag_t diag = {0};
    rlx_health_t health = health_of(unary->node, request->service, &diag);

    if (health == SERVICE_UNKNOWN) {
        rlx_oip_unary_fail(unary, &diag);
        return;
    }
    rlx_wire_uint(&unary->out, 1, health);
    rlx_oip_unary_reply(unary);
}

static void watcher_tell(rlx_oip_watcher_t *watcher)
{
    rlx_diag_t diag = {0};
    rlx_health_t health = health_of(watcher->unary->node, watcher->service, &diag);

    if (health == watcher->told)
        return;
    watcher->told = health;
    rlx_wire_uint(&watcher->unary->out, 1, health);
    rlx_oip_unary_send(watcher->unary);
}

static void timer_tick(uv_timer_t *handle)
{
    const rlx_oip_t *oip = handle->data;
    rlx_oip_watcher_t *next;

    for (rlx_oip_watcher_t *watcher = oip->watchers; watcher != NULL; watcher = next) {
        next = watcher->next;
        watcher_tell(watcher);
    }
}

static void timer_freed(uv_handle_t *handle) { free(handle); }

static void watcher_closed(rlx_oip_unary_t *unary)
{
    rlx_oip_watcher_t *watcher = unary->keeps;
    rlx_oip_t *oip = unary->oip;

    if (watcher->previous != NULL)
        watcher->previous->next = watcher->next;
    else
        oip->watchers = watcher->next;
    if (watcher->next != NULL)
        watcher->next->previous = watcher->previous;
    free(watcher);
    if (oip->watchers == NULL) {
        uv_close((uv_handle_t *)oip->watch_timer, timer_freed);
        oip->watch_timer = NULL;
    }
}

static bool timer_run(rlx_oip_t *oip)
{
    uv_timer_t *timer;

    if (oip->watch_timer != NULL)
        return true;
    if ((timer = malloc(sizeof *timer)) == NULL)
        return false;
    RLX_ASSERT(uv_timer_init(rlx_node_loop(oip->node), timer) == 0);
    RLX_ASSERT(uv_timer_start(timer, timer_tick, WATCH_MS, WATCH_MS) == 0);
    uv_unref((uv_handle_t *)timer);
    timer->data = oip;
    oip->watch_timer = timer;
    return true;
}

/* An unknown service is no error here: it may come. */
void rlx_oip_health_watch(rlx_oip_unary_t *unary, const ProtobufCMessage *message)
{
    const Grpc__Health__V1__HealthCheckRequest *request = (const void *)message;
    rlx_oip_watcher_t *watcher = calloc(1, sizeof *watcher + strlen(request->service) + 1);
    rlx_diag_t diag = {0};

    if (watcher == NULL || !timer_run(unary->oip)) {
        free(watcher);
        rlx_fail(&diag, RLX_E_NO_MEMORY, "no memory for a watcher");
        rlx_oip_unary_fail(unary, &diag);
        return;
    }
    strcpy(watcher->service, request->service);
    watcher->unary = unary;
    watcher->next = unary->oip->watchers;
    if (watcher->next != NULL)
        watcher->next->previous = watcher;
    unary->oip->watchers = watcher;
    unary->keeps = watcher;
    unary->closed = watcher_closed;
    watcher_tell(watcher);
}
