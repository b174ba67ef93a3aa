/* Disks: two generations of a replica's snapshot, the older one overwritten; a node's incarnation. A write takes a while; a process that dies
 * in it leaves half of it; a full disk takes nothing. */
#include <stdlib.h>
#include <string.h>

#include "gss/core/snapshot.h"
#include "sim/cluster.h"

#define SNAPSHOT_MAX ((size_t)64 << 20)

void cluster_disk_lose(cluster_disk_t *disk)
{
    free(disk->generations[0]);
    free(disk->generations[1]);
    *disk = (cluster_disk_t){.full = disk->full};
}

bool cluster_disk_has(const cluster_disk_t *disk, const char *bytes, size_t n)
{
    uint32_t last = 1 - disk->next;

    return disk->bytes[last] > 0 && memmem(disk->generations[last], disk->bytes[last], bytes, n) != NULL;
}

static void write_generation(cluster_t *cluster, uint32_t index, rlx_text_t *text)
{
    cluster_proc_t *proc = &cluster->procs[index];
    cluster_disk_t *disk = &proc->disk;
    size_t half = text->bytes / 2;

    /* Half of it lies there until the write ends. */
    free(disk->generations[disk->next]);
    disk->generations[disk->next] = text->data;
    disk->bytes[disk->next] = text->bytes;
    disk->generations[disk->next][half] ^= 0x55;
    *text = (rlx_text_t){0};
}

void cluster_persist(cluster_t *cluster, uint32_t index, const rlx_gss_effect_t *effect)
{
    cluster_proc_t *proc = &cluster->procs[index];
    uint64_t ok = !proc->disk.full;

    if (proc->is_replica) {
        rlx_text_t text;
        rlx_text_init(&text, SNAPSHOT_MAX);
        if (!sim_check(cluster->world, rlx_gss_replica_snapshot(proc->replica, &text), "a snapshot can be written", index, text.bytes))
            ok = 0;
        if (ok)
            write_generation(cluster, index, &text);
        rlx_text_fini(&text);
    } else if (ok) {
        proc->disk.incarnation = effect->incarnation;
    }
    if (!ok)
        sim_reach(cluster->world, CLUSTER_N_PERSIST_FAILED);
    sim_schedule(cluster->world, rlx_prng_between(&cluster->net, 2, 40) * SIM_MS, (sim_event_t){CLUSTER_EV_DISK, index, proc->life, ok});
}

void cluster_disk_done(cluster_t *cluster, const sim_event_t *event)
{
    cluster_proc_t *proc = &cluster->procs[event->a];
    rlx_gss_event_t done = {.kind = RLX_GSS_EVENT_PERSISTED, .ok = event->c};

    if (proc->life != event->b)
        return;
    if (proc->is_replica && event->c) {
        cluster_disk_t *disk = &proc->disk;
        disk->generations[disk->next][disk->bytes[disk->next] / 2] ^= 0x55;
        disk->next = 1 - disk->next;
    }
    cluster_event(cluster, (uint32_t)event->a, &done);
}

const char *cluster_disk_read(cluster_t *cluster, cluster_disk_t *disk, size_t *out_bytes)
{
    uint64_t generation;
    int which = rlx_gss_snapshot_pick(disk->generations[0], disk->bytes[0], disk->generations[1], disk->bytes[1], NULL);

    for (int i = 0; i < 2; i++)
        if (disk->bytes[i] > 0 && rlx_gss_snapshot_check(disk->generations[i], disk->bytes[i], &generation, NULL) != RLX_OK)
            sim_reach(cluster->world, CLUSTER_N_BAD_SNAPSHOT);
    *out_bytes = which < 0 ? 0 : disk->bytes[which];
    disk->next = which < 0 ? 0 : (uint32_t)(1 - which);
    return which < 0 ? NULL : disk->generations[which];
}
