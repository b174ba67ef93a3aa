/* Memory shared with an rlxd on this machine. All under `memory_mutex`, which may be held while the daemon answers (at most some seconds).
 *
 * The daemon forgets regions when the connection that brought them ends. So the connection stays open, and when it turns out to be closed
 * (the daemon was restarted), everything is handed over again before a region is used. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "rpc/local/handover.h"
#include "sdk/c/client.h"

/* A client of several endpoints shares memory with the first that is on this machine. */
static rlx_status_t endpoint_find(rlx_client_t *client, rlx_diag_t *diag)
{
    for (int i = 0; i < client->n_endpoints && client->memory_endpoint < 0; i++)
        if (client->endpoints[i].local)
            client->memory_endpoint = i;
    if (client->memory_endpoint >= 0)
        return RLX_OK;
    rlx_fail(diag, RLX_E_ENDPOINT, "shared memory needs an endpoint on this machine, and this client has none");
    return rlx_diag_hint(diag, "Name it as unix:PATH, localhost or 127.0.0.1.");
}

static rlx_status_t memory_ready(rlx_client_t *client, rlx_diag_t *diag)
{
    rlx_status_t status = RLX_OK;

    if (client->memory_fd >= 0 && rlx_handover_alive(client->memory_fd))
        return RLX_OK;
    if (client->memory_fd >= 0)
        close(client->memory_fd);
    client->memory_fd = -1;
    RLX_TRY(rlx_handover_connect(client->memory_socket, &client->memory_fd, diag));
    for (rlx_client_memory_t *memory = client->memories; memory != NULL && status == RLX_OK; memory = memory->next)
        status = rlx_handover_call(client->memory_fd, RLX_HANDOVER_GIVE, memory->name, memory->fd, diag);
    if (status != RLX_OK) {
        close(client->memory_fd);
        client->memory_fd = -1;
    }
    return status;
}

rlx_status_t rlx_sdk_memory_use(rlx_client_memory_t *memory, uint64_t offset, uint64_t bytes, int *out_endpoint, rlx_diag_t *diag)
{
    rlx_client_t *client = memory->client;
    rlx_status_t status;

    if (offset > memory->bytes || bytes > memory->bytes - offset)
        return rlx_fail(diag, RLX_E_REGION_RANGE, "%llu bytes at %llu do not lie inside the memory of %llu bytes",
                        (unsigned long long)bytes, (unsigned long long)offset, (unsigned long long)memory->bytes);
    pthread_mutex_lock(&client->memory_mutex);
    status = memory_ready(client, diag);
    pthread_mutex_unlock(&client->memory_mutex);
    if (status == RLX_OK)
        *out_endpoint = client->memory_endpoint;
    return status;
}

/* Unique on this machine, also across processes that were forked or restarted. */
static void name_make(rlx_client_t *client, rlx_client_memory_t *memory)
{
    uint64_t salt = 0;

    if (getrandom(&salt, sizeof salt, GRND_NONBLOCK) != sizeof salt)
        salt = uv_hrtime();
    snprintf(memory->name, sizeof memory->name, "librlx-%d-%u-%016llx", (int)getpid(), client->memory_number++, (unsigned long long)salt);
}

static rlx_status_t memory_give(rlx_client_t *client, rlx_client_memory_t *memory, rlx_diag_t *diag)
{
    RLX_TRY(endpoint_find(client, diag));
    RLX_TRY(memory_ready(client, diag));
    name_make(client, memory);
    RLX_TRY(rlx_handover_memory(memory->name, memory->bytes, &memory->fd, &memory->address, diag));
    if (rlx_handover_call(client->memory_fd, RLX_HANDOVER_GIVE, memory->name, memory->fd, diag) != RLX_OK) {
        munmap(memory->address, memory->bytes);
        close(memory->fd);
        return diag->status;
    }
    memory->next = client->memories;
    client->memories = memory;
    return RLX_OK;
}

int rlx_client_memory_create(rlx_client_t *client, uint64_t bytes, rlx_client_memory_t **out_memory, rlx_client_error_t *error)
{
    rlx_client_memory_t *memory = calloc(1, sizeof *memory);
    rlx_diag_t diag = {0};
    rlx_status_t status;

    if (memory == NULL)
        return rlx_sdk_error(error, rlx_fail(&diag, RLX_E_NO_MEMORY, "out of memory"), &diag);
    memory->client = client;
    memory->bytes = bytes;
    pthread_mutex_lock(&client->memory_mutex);
    status = memory_give(client, memory, &diag);
    pthread_mutex_unlock(&client->memory_mutex);
    if (status != RLX_OK) {
        free(memory);
        return rlx_sdk_error(error, status, &diag);
    }
    atomic_fetch_add(&client->references, 1);
    *out_memory = memory;
    return 0;
}

void *rlx_client_memory_address(const rlx_client_memory_t *memory) { return memory->address; }

void rlx_client_memory_free(rlx_client_memory_t *memory)
{
    rlx_client_t *client;
    rlx_diag_t diag = {0};

    if (memory == NULL)
        return;
    client = memory->client;
    pthread_mutex_lock(&client->memory_mutex);
    for (rlx_client_memory_t **at = &client->memories; *at != NULL; at = &(*at)->next)
        if (*at == memory) {
            *at = memory->next;
            break;
        }
    /* A daemon that is gone has let go of it anyway. */
    if (client->memory_fd >= 0 && rlx_handover_alive(client->memory_fd))
        (void)rlx_handover_call(client->memory_fd, RLX_HANDOVER_RELEASE, memory->name, -1, &diag);
    pthread_mutex_unlock(&client->memory_mutex);
    munmap(memory->address, memory->bytes);
    close(memory->fd);
    free(memory);
    rlx_sdk_client_release(client);
}

void rlx_sdk_memory_fini(rlx_client_t *client)
{
    if (client->memory_fd >= 0)
        close(client->memory_fd);
}
