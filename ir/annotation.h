/* What the author of a text says about memory, devices and schedules. Hung on values and ops (`annotation`, NULL: nothing was said); passes carry
 * it where the value or op survives, and read it: a schedule is obeyed or refused, an affinity decides fusion and synchronisation.
 *
 * Owned by the graph. Strings are never NULL where the field was given; NULL or 0 means not given. */
#ifndef RLX_IR_ANNOTATION_H
#define RLX_IR_ANNOTATION_H

#include "base/diag_list.h"
#include "ir/graph.h"

#define RLX_ANNOTATION_NAMES_MAX 16

/* memory_affinity: where a tensor's bytes live, and what that memory can do. */
typedef struct rlx_affinity {
    const char *location;  /* HBM, DDR, SRAM ..., or with a generation: DDR5 */
    int64_t bandwidth;     /* bytes per second */
    int64_t latency_ps;
    const char *coherence; /* MESI, MOESI, none ...; "none": a consumer on another device needs a sync */
} rlx_affinity_t;

typedef enum rlx_sharing { RLX_SHARING_UNSAID, RLX_SHARING_NONE, RLX_SHARING_SHM, RLX_SHARING_DMA_BUF, RLX_SHARING_CUDA_IPC,
                           RLX_SHARING_P2P_DMA } rlx_sharing_t;

typedef struct rlx_value_annotation {
    rlx_affinity_t affinity;
    const char *device;    /* "gpu:0" */
    const char *layout;    /* "NHWC", "HWIO", "NCHW16c": the physical order that the author fixed; shapes stay logical */
    const char *content;   /* "image" */
    bool lossy;            /* an image may travel as JPEG */
    rlx_sharing_t sharing; /* buffer_sharing_capability */
    rlx_span_t layout_span, affinity_span; /* where the text says so; line 0: it does not */
} rlx_value_annotation_t;

typedef struct rlx_names {
    int n;
    const char *name[RLX_ANNOTATION_NAMES_MAX];
} rlx_names_t;

/* A tile's extents as written, in logical order or the operand's layout's; n 0: not given. */
typedef struct rlx_tile {
    int n;
    int64_t extent[RLX_RANK_MAX];
    int64_t logical[RLX_RANK_MAX]; /* the same in logical order, where the text has been checked (ir/text/build_tile.c) */
} rlx_tile_t;

typedef struct rlx_tile_layout {
    rlx_tile_t input, weight, output;
} rlx_tile_layout_t;

typedef struct rlx_compute_schedule {
    rlx_names_t parallel_dims, loop_order;
    const char *vectorize_dim;
    rlx_names_t unroll_dims;
    int64_t unroll[RLX_ANNOTATION_NAMES_MAX]; /* by unroll_dims */
} rlx_compute_schedule_t;

typedef enum rlx_sync_mode { RLX_SYNC_UNSAID, RLX_SYNC_BARRIER, RLX_SYNC_ASYNC_BARRIER, RLX_SYNC_STREAM_ORDERED } rlx_sync_mode_t;
typedef enum rlx_sharding { RLX_SHARDING_UNSAID, RLX_SHARDING_DATA, RLX_SHARDING_TENSOR, RLX_SHARDING_PIPELINE } rlx_sharding_t;

/* remote_call: what the link does and costs. */
typedef struct rlx_transfer {
    bool given;
    int64_t bandwidth; /* bytes per second */
    int64_t latency_ps;
    double cost_per_gb;
} rlx_transfer_t;

typedef struct rlx_op_annotation {
    rlx_tile_layout_t tile_layout;
    rlx_compute_schedule_t schedule;
    const char *coalesce;    /* memory_coalesce */
    rlx_names_t devices;     /* target_device_set */
    rlx_sharding_t sharding; /* sharding_strategy */
    rlx_sync_mode_t sync_mode;
    rlx_transfer_t transfer;
    const char *fallback;    /* remote_call: the light function */
    double max_step_size, error_tolerance; /* custom_op: stability_requirement */
    rlx_span_t tile_span, schedule_span, coalesce_span, devices_span, sharding_span, sync_span; /* where the text says so; line 0: it does not */
    int custom_kernel;       /* custom_op: the kernel of its code (ir/custom.h); 0: not assigned. This and the next two are not written */
    bool custom_split;       /* its rows may be computed apart */
    int step_operand;        /* the operand that max_step_size limits, or -1 */
} rlx_op_annotation_t;

/* Made on first use, zeroed. */
rlx_value_annotation_t *rlx_value_annotate(rlx_graph_t *graph, rlx_value_t *value);
rlx_op_annotation_t *rlx_op_annotate(rlx_graph_t *graph, rlx_op_t *op);

/* The word of a sync mode and so on, or NULL for UNSAID and numbers outside. The parse functions give UNSAID for an unknown word. */
const char *rlx_sync_mode_name(rlx_sync_mode_t mode);
rlx_sync_mode_t rlx_sync_mode_parse(const char *word);
const char *rlx_sharding_name(rlx_sharding_t sharding);
rlx_sharding_t rlx_sharding_parse(const char *word);
const char *rlx_sharing_name(rlx_sharing_t sharing);
rlx_sharing_t rlx_sharing_parse(const char *word);

/* Warnings about what the author asked for and this compilation does not do: schedules and layouts below the `opt_level` that follows them,
 * memories that the target does not have. One for each kind, at its first place. Silent where the compiler does so anyway. ir/annotation_unfollowed.c */
void rlx_annotations_unfollowed(const rlx_graph_t *graph, int opt_level, rlx_diag_list_t *findings);

/* What this version cannot execute: the first op that asks for several devices, sharding or another cluster. RLX_OK where there is
 * none; else RLX_E_NOT_YET at the op's source. `rlx compile` asks before the passes. */
rlx_status_t rlx_graph_executable(const rlx_graph_t *graph, rlx_diag_t *diag);

#endif
