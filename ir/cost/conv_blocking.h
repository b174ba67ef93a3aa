/* How the fast convolutions cut their work: output rows per block, output-channel blocks per range, scratch. Expressions, since
 * extents may be symbolic; constants fold. The rules follow kernels/conv_gather.h. Blocking changes speed, never bits. Internal to
 * ir/. */
#ifndef RLX_IR_CONV_BLOCKING_H
#define RLX_IR_CONV_BLOCKING_H

#include "ir/operator/conv_geometry.h"

typedef struct rlx_conv_blocking {
    rlx_expr_t rows;    /* output rows per row block; conv_transpose_c16: rows of q */
    rlx_expr_t blocks;  /* row blocks per image */
    int64_t range;      /* output-channel blocks per range */
    int64_t ranges;     /* per group */
    rlx_expr_t scratch; /* bytes per worker */
    bool gathered;      /* direct: the input is gathered by a step of its own */
    rlx_expr_t lines;   /* gathered rows per input block */
    rlx_expr_t floats;  /* gathered floats per image and group */
} rlx_conv_blocking_t;

/* `channels` and `outputs` per group. `geometry` is of rank 2 (rlx_conv_geometry_plane). */
rlx_conv_blocking_t rlx_conv_blocking_direct(rlx_graph_t *graph, const rlx_conv_geometry_t *geometry, int64_t channels, int64_t outputs);
rlx_conv_blocking_t rlx_conv_blocking_first(rlx_graph_t *graph, const rlx_conv_geometry_t *geometry, int64_t channels, int64_t outputs);
/* `channels` of all groups, here and for depthwise ones. */
rlx_conv_blocking_t rlx_conv_blocking_group(rlx_graph_t *graph, const rlx_conv_geometry_t *geometry, int64_t channels);
rlx_conv_blocking_t rlx_conv_blocking_depthwise(rlx_graph_t *graph, const rlx_conv_geometry_t *geometry, int64_t channels);
rlx_conv_blocking_t rlx_conv_blocking_transpose(rlx_graph_t *graph, const rlx_conv_geometry_t *geometry, int64_t channels, int64_t outputs);
/* Whether a convolution reads its input as it lies: 1x1, stride 1, no padding. */
bool rlx_conv_in_place(const rlx_graph_t *graph, const rlx_conv_geometry_t *geometry);
/* Such a convolution with all pixels in one column, so that rows are pixels. */
rlx_conv_geometry_t rlx_conv_geometry_column(const rlx_graph_t *graph, const rlx_conv_geometry_t *geometry);
/* ir/cost/winograd_blocking.c: of conv_winograd_c16. */
typedef struct rlx_winograd_blocking {
    rlx_expr_t patches;      /* of a block */
    rlx_expr_t blocks;       /* of all images */
    int64_t range, ranges;   /* output-channel blocks per range, ranges */
    bool transformed;        /* the input is transformed by a step of its own */
    rlx_expr_t block_floats; /* transformed input of a block */
    rlx_expr_t scratch;      /* bytes per worker */
} rlx_winograd_blocking_t;

/* Patches of m x m outputs in `batch` images. */
rlx_expr_t rlx_winograd_patches(rlx_graph_t *graph, const rlx_conv_geometry_t *geometry, int m, rlx_expr_t batch);
rlx_winograd_blocking_t rlx_winograd_blocking(rlx_graph_t *graph, const rlx_conv_geometry_t *geometry, int m, rlx_expr_t batch,
                                              int64_t channels, int64_t outputs);

/* ir/cost/width_blocking.c: of conv_width; `channels` and `outputs` of a group. */
typedef struct rlx_width_blocking {
    rlx_expr_t piece, pieces;  /* output rows of a work tile, work tiles of an image */
    rlx_expr_t rows, columns;  /* of a gathered tile */
    int64_t range, ranges;     /* outputs of a work tile, and how many such ranges a group has */
    int64_t block;             /* outputs of a weight block */
    rlx_expr_t across;         /* floats of scratch for results that run on across rows */
    rlx_expr_t scratch;        /* bytes per worker */
} rlx_width_blocking_t;
rlx_width_blocking_t rlx_conv_blocking_width(rlx_graph_t *graph, const rlx_conv_geometry_t *geometry, int64_t group, int64_t channels,
                                             int64_t outputs, const rlx_demand_t *demand);

/* A geometry of spatial rank 1 as rank 2 with height 1. */
rlx_conv_geometry_t rlx_conv_geometry_plane(const rlx_graph_t *graph, const rlx_conv_geometry_t *geometry);

#endif
