/* Speed of the convolution kernels: GF/s and the fraction of this core's measured FMA peak, layer by layer, per ISA.
 *
 *   bench_conv [--isa v3|v4] [--cold] [--seconds S] [--algorithm A] [FILTER]
 *
 * Each layer is lowered by the compiler (packing and blocking included) and its steps are run on one thread; the least time counts.
 * --cold walks through a large buffer before each run, so that weights come from memory as they do inside a network. --algorithm
 * F(2,3) or F(4,3) leaves only the layers that Winograd can compute, and runs them so; GF/s are those of a direct convolution. FILTER
 * selects layers by substring. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "bench/kernels/fma_peak.h"
#include "ir/builder.h"
#include "ir/cost/conv_algorithm.h"
#include "ir/lower/dispatch.h"
#include "ir/pass/layout_support.h"
#include "kernels/image.h"

#define FLUSH_BYTES (40 << 20)

typedef struct layer {
    const char *name;
    rlx_op_kind_t kind;
    int c, o, group, size, kernel, stride, pad;
    int resnet50; /* times it stands in ResNet-50 */
} layer_t;

#define CONV(name, c, o, size, kernel, stride, pad, times) {name, RLX_OP_conv, c, o, 1, size, kernel, stride, pad, times}
#define GROUPED(name, c, o, group, size, kernel) {name, RLX_OP_conv, c, o, group, size, kernel, 1, (kernel) / 2, 0}
#define DEPTHWISE(name, c, size, kernel, stride) {name, RLX_OP_conv, c, c, c, size, kernel, stride, (kernel) / 2, 0}

static const layer_t layers[] = {
    CONV("3->64 7x7 s2 @224", 3, 64, 224, 7, 2, 3, 1),
    CONV("64->64 1x1 @56", 64, 64, 56, 1, 1, 0, 1),
    CONV("64->64 3x3 @56", 64, 64, 56, 3, 1, 1, 3),
    CONV("64->256 1x1 @56", 64, 256, 56, 1, 1, 0, 4),
    CONV("256->64 1x1 @56", 256, 64, 56, 1, 1, 0, 2),
    CONV("256->128 1x1 @56", 256, 128, 56, 1, 1, 0, 1),
    CONV("128->128 3x3 s2 @56", 128, 128, 56, 3, 2, 1, 1),
    CONV("128->512 1x1 @28", 128, 512, 28, 1, 1, 0, 4),
    CONV("256->512 1x1 s2 @56", 256, 512, 56, 1, 2, 0, 1),
    CONV("512->128 1x1 @28", 512, 128, 28, 1, 1, 0, 3),
    CONV("128->128 3x3 @28", 128, 128, 28, 3, 1, 1, 3),
    CONV("512->256 1x1 @28", 512, 256, 28, 1, 1, 0, 1),
    CONV("256->256 3x3 s2 @28", 256, 256, 28, 3, 2, 1, 1),
    CONV("256->1024 1x1 @14", 256, 1024, 14, 1, 1, 0, 6),
    CONV("512->1024 1x1 s2 @28", 512, 1024, 28, 1, 2, 0, 1),
    CONV("1024->256 1x1 @14", 1024, 256, 14, 1, 1, 0, 5),
    CONV("256->256 3x3 @14", 256, 256, 14, 3, 1, 1, 5),
    CONV("1024->512 1x1 @14", 1024, 512, 14, 1, 1, 0, 1),
    CONV("512->512 3x3 s2 @14", 512, 512, 14, 3, 2, 1, 1),
    CONV("512->2048 1x1 @7", 512, 2048, 7, 1, 1, 0, 3),
    CONV("1024->2048 1x1 s2 @14", 1024, 2048, 14, 1, 2, 0, 1),
    CONV("2048->512 1x1 @7", 2048, 512, 7, 1, 1, 0, 2),
    CONV("512->512 3x3 @7", 512, 512, 7, 3, 1, 1, 2),
    CONV("3->32 3x3 s2 @224", 3, 32, 224, 3, 2, 1, 0),
    CONV("3->64 3x3 @224", 3, 64, 224, 3, 1, 1, 0),
    CONV("64->64 3x3 @224", 64, 64, 224, 3, 1, 1, 0),
    CONV("512->512 3x3 @28", 512, 512, 28, 3, 1, 1, 0),
    CONV("16->16 3x3 @160", 16, 16, 160, 3, 1, 1, 0),
    CONV("16->32 3x3 @80", 16, 32, 80, 3, 1, 1, 0),
    CONV("24->24 3x3 @80", 24, 24, 80, 3, 1, 1, 0),
    CONV("32->32 3x3 @80", 32, 32, 80, 3, 1, 1, 0),
    CONV("64->64 3x3 @40", 64, 64, 40, 3, 1, 1, 0),
    CONV("64->64 3x3 @20", 64, 64, 20, 3, 1, 1, 0),
    CONV("96->24 3x3 @160", 96, 24, 160, 3, 1, 1, 0),
    CONV("128->128 3x3 @20", 128, 128, 20, 3, 1, 1, 0),
    CONV("256->64 3x3 @20", 256, 64, 20, 3, 1, 1, 0),
    CONV("64->256 3x3 @13", 64, 256, 13, 3, 1, 1, 0),
    CONV("48->192 3x3 @27", 48, 192, 27, 3, 1, 1, 0),
    CONV("16->64 3x3 @55", 16, 64, 55, 3, 1, 1, 0),
    CONV("512->512 3x3 @14", 512, 512, 14, 3, 1, 1, 0),
    CONV("256->256 3x3 @56", 256, 256, 56, 3, 1, 1, 0),
    CONV("128->128 3x3 @112", 128, 128, 112, 3, 1, 1, 0),
    CONV("16->32 3x3 s2 @320", 16, 32, 320, 3, 2, 1, 0),
    CONV("32->64 3x3 s2 @160", 32, 64, 160, 3, 2, 1, 0),
    CONV("64->128 3x3 s2 @56", 64, 128, 56, 3, 2, 1, 0),
    CONV("64->64 3x3 s2 @80", 64, 64, 80, 3, 2, 1, 0),
    CONV("256->512 3x3 s2 @14", 256, 512, 14, 3, 2, 1, 0),
    CONV("512->512 3x3 @4", 512, 512, 4, 3, 1, 1, 0),
    CONV("128->128 3x3 @7", 128, 128, 7, 3, 1, 1, 0),
    CONV("32->16 1x1 @112", 32, 16, 112, 1, 1, 0, 0),
    CONV("16->96 1x1 @112", 16, 96, 112, 1, 1, 0, 0),
    CONV("96->24 1x1 @56", 96, 24, 56, 1, 1, 0, 0),
    CONV("24->144 1x1 @56", 24, 144, 56, 1, 1, 0, 0),
    CONV("144->24 1x1 @56", 144, 24, 56, 1, 1, 0, 0),
    CONV("384->64 1x1 @14", 384, 64, 14, 1, 1, 0, 0),
    CONV("320->1280 1x1 @7", 320, 1280, 7, 1, 1, 0, 0),
    DEPTHWISE("depthwise 32 3x3 @112", 32, 112, 3, 1),
    DEPTHWISE("depthwise 96 3x3 s2 @112", 96, 112, 3, 2),
    DEPTHWISE("depthwise 144 3x3 @56", 144, 56, 3, 1),
    DEPTHWISE("depthwise 144 3x3 s2 @56", 144, 56, 3, 2),
    DEPTHWISE("depthwise 192 3x3 @28", 192, 28, 3, 1),
    DEPTHWISE("depthwise 384 3x3 @14", 384, 14, 3, 1),
    DEPTHWISE("depthwise 576 3x3 s2 @14", 576, 14, 3, 2),
    DEPTHWISE("depthwise 960 3x3 @7", 960, 7, 3, 1),
    DEPTHWISE("depthwise 240 5x5 @28", 240, 28, 5, 1),
    DEPTHWISE("depthwise 672 5x5 s2 @14", 672, 14, 5, 2),
    GROUPED("272->68 in 4 1x1 @28", 272, 68, 4, 28, 1),
    GROUPED("136->544 in 4 1x1 @14", 136, 544, 4, 14, 1),
    GROUPED("1088->272 in 4 1x1 @7", 1088, 272, 4, 7, 1),
    GROUPED("128->128 in 32 3x3 @56", 128, 128, 32, 56, 3),
    {"transposed 64->64 2x2 s2 @80", RLX_OP_conv_transpose, 64, 64, 1, 80, 2, 2, 0, 0},
    {"transposed 128->64 4x4 s2 @28", RLX_OP_conv_transpose, 128, 64, 1, 28, 4, 2, 1, 0},
    {"max 64 3x3 s2 @112", RLX_OP_max_pool, 64, 64, 1, 112, 3, 2, 1, 0},
    {"average 256 3x3 @28", RLX_OP_avg_pool, 256, 256, 1, 28, 3, 1, 1, 0},
};

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static float *floats(int64_t n)
{
    size_t bytes = ((size_t)n * 4 + (2 << 20)) & ~(((size_t)2 << 20) - 1);
    float *x = aligned_alloc(2 << 20, bytes);

    madvise(x, bytes, MADV_HUGEPAGE);
    for (size_t i = 0; i < bytes / 4; i++)
        x[i] = (float)((int)(i * 2654435761u >> 20 & 255) - 128) / 128;
    return x;
}

static rlx_op_t *layer_op(rlx_graph_t *graph, const layer_t *l)
{
    bool weighted = l->kind == RLX_OP_conv || l->kind == RLX_OP_conv_transpose;
    int64_t x[4] = {1, l->c, l->size, l->size}, w[4] = {l->o, l->c / l->group, l->kernel, l->kernel}, pair[2] = {l->stride, l->stride};
    int64_t kernel[2] = {l->kernel, l->kernel}, outputs = l->o;
    rlx_expr_t dims[4];
    rlx_value_t *in[3], *out = rlx_graph_value(graph, "y", RLX_F32);
    rlx_diag_t diag = {0};
    rlx_op_t *op;

    for (int i = 0; i < 4; i++)
        dims[i] = rlx_expr_const(graph->exprs, x[i]);
    if (l->kind == RLX_OP_conv_transpose)
        w[0] = l->c, w[1] = l->o;
    in[0] = rlx_graph_input(graph, "x", RLX_F32, 4, dims);
    if (weighted) {
        in[1] = rlx_graph_const(graph, "w", RLX_F32, 4, w, floats(w[0] * w[1] * w[2] * w[3]), true);
        in[2] = rlx_graph_const(graph, "b", RLX_F32, 1, &outputs, floats(outputs), true);
    }
    op = rlx_graph_op(graph, NULL, l->kind, l->name, weighted ? 3 : 1, in, 1, &out);
    op->source = l->name;
    rlx_op_set_ints(graph, op, "strides", pair, 2);
    if (weighted)
        rlx_op_set_int(graph, op, "group", l->group);
    else
        rlx_op_set_ints(graph, op, "kernel", kernel, 2);
    op->pads = rlx_graph_alloc(graph, 4 * sizeof *op->pads);
    for (int i = 0; i < 4; i++)
        op->pads[i] = rlx_expr_const(graph->exprs, l->pad);
    if (rlx_op_infer(graph, op, &diag) != RLX_OK) {
        rlx_diag_print(&diag, stderr);
        exit(1);
    }
    return op;
}

typedef struct bench {
    const rlx_kernel_image_t *image;
    char *code;
    double peak, seconds;
    char *flush;
    const char *algorithm;
} bench_t;

static rlx_kernel_fn_t *kernel_find(const bench_t *bench, rlx_kernel_id_t id)
{
    union { char *data; rlx_kernel_fn_t *fn; } entry = {NULL};

    for (uint32_t i = 0; i < bench->image->n_entries; i++)
        if (bench->image->entries[i].kernel == (uint32_t)id)
            entry.data = bench->code + bench->image->entries[i].offset;
    return entry.fn;
}

#define STEPS_MAX 2

/* A lowered step with its memory. */
typedef struct call {
    rlx_kernel_fn_t *fn;
    rlx_operand_t in[4], out;
    int64_t params[RLX_PARAM_MAX], tiles;
    uint32_t error;
    rlx_kernel_args_t args;
} call_t;

/* `between` holds what one step hands to the next. */
static void call_make(call_t *call, const bench_t *bench, const rlx_graph_t *graph, const rlx_op_t *op, const rlx_step_t *step,
                      float *x, float *y,
                      float **between)
{
    int64_t scratch = 0, count = 0;

    for (int i = 0; i < step->n_in && i < 4; i++)
        call->in[i].base = step->in[i] == NULL ? NULL : step->in[i] == op->in[0] ? x : (void *)(uintptr_t)step->in[i]->data;
    if (step->in[0] != op->in[0])
        call->in[0].base = *between;
    if (step->out[0] != op->out[0]) {
        rlx_expr_is_const(graph->exprs, rlx_value_count(graph, step->out[0]), &count);
        *between = floats(count);
    }
    call->out.base = step->out[0] == op->out[0] ? y : *between;
    for (int i = 0; i < step->n_params; i++)
        rlx_expr_is_const(graph->exprs, step->params[i], &call->params[i]);
    rlx_expr_is_const(graph->exprs, step->tiles, &call->tiles);
    rlx_expr_is_const(graph->exprs, step->scratch, &scratch);
    call->fn = kernel_find(bench, step->kernel);
    call->args = (rlx_kernel_args_t){.in = call->in, .out = &call->out, .param = call->params, .error = &call->error,
                                     .scratch = floats(scratch / 4 + 16)};
}

/* Least seconds of the op's steps together. */
static double steps_time(const bench_t *bench, rlx_graph_t *graph, const rlx_op_t *op, const rlx_builder_t *builder, float *x, float *y)
{
    static call_t calls[STEPS_MAX];
    double best = 1e9, begin = now();
    float *between = NULL;

    for (int i = 0; i < builder->n_steps && i < STEPS_MAX; i++)
        call_make(&calls[i], bench, graph, op, builder->steps[i], x, y, &between);
    for (int run = 0; run < 3 || now() - begin < bench->seconds; run++) {
        double t;

        for (size_t i = 0; bench->flush != NULL && i < FLUSH_BYTES; i += 64)
            bench->flush[i]++;
        t = now();
        for (int i = 0; i < builder->n_steps && i < STEPS_MAX; i++)
            calls[i].fn(&calls[i].args, 0, calls[i].tiles);
        best = fmin(best, now() - t);
    }
    for (int i = 0; i < builder->n_steps && i < STEPS_MAX; i++)
        free(calls[i].args.scratch);
    free(between);
    return best;
}

/* Runs one layer; adds its share of ResNet-50 to the sums. */
static void layer_run(const bench_t *bench, const layer_t *l, double *sum_seconds, double *sum_flops)
{
    rlx_graph_t *graph = rlx_graph_create("bench");
    rlx_op_t *op = layer_op(graph, l);
    rlx_builder_t builder;
    rlx_diag_t diag = {0};
    bool row_major = false, wants = rlx_conv_wants_c16(graph, op, &row_major);
    int64_t out[4] = {0}, flops;
    float *x = floats((int64_t)(l->c + 15) / 16 * 16 * l->size * l->size), *y;
    rlx_conv_algorithm_t algorithm = RLX_CONV_ALGORITHM_DIRECT;
    double seconds;

    if (bench->algorithm != NULL && (!rlx_conv_algorithm_parse(bench->algorithm, &algorithm) || !rlx_conv_winograd_fits(graph, op, algorithm))) {
        rlx_graph_destroy(graph);
        free(x);
        return;
    }
    if (bench->algorithm != NULL)
        rlx_op_set_string(graph, op, "algorithm", bench->algorithm);
    rlx_value_dims_const(graph, op->out[0], out);
    flops = 2ll * l->kernel * l->kernel * (l->c / l->group) * l->o * (l->kind == RLX_OP_conv_transpose ? l->size * l->size
                                                                      : out[2] * out[3]);
    y = floats((out[1] + 15) / 16 * 16 * out[2] * out[3]);
    op->in[0]->layout = wants && !row_major ? RLX_LAYOUT_C16 : RLX_LAYOUT_ROW_MAJOR;
    op->out[0]->layout = wants ? RLX_LAYOUT_C16 : RLX_LAYOUT_ROW_MAJOR;
    rlx_builder_init(&builder, graph, 3);
    if (rlx_lower_conv(&builder, op, &diag) != RLX_OK) {
        rlx_diag_print(&diag, stderr);
        exit(1);
    }
    seconds = steps_time(bench, graph, op, &builder, x, y);
    if (l->kind == RLX_OP_conv || l->kind == RLX_OP_conv_transpose)
        printf("%-30s %9.4f ms %8.1f GF/s %6.1f %%\n", l->name, seconds * 1e3, (double)flops / seconds * 1e-9,
               (double)flops / seconds * 1e-7 / bench->peak);
    else
        printf("%-30s %9.4f ms\n", l->name, seconds * 1e3);
    *sum_seconds += seconds * l->resnet50;
    *sum_flops += (double)flops * l->resnet50;
    rlx_builder_fini(&builder);
    free((void *)(uintptr_t)(op->n_in > 1 ? op->in[1]->data : NULL));
    free((void *)(uintptr_t)(op->n_in > 2 ? op->in[2]->data : NULL));
    rlx_graph_destroy(graph);
    free(x);
    free(y);
}

static void image_run(bench_t *bench, const char *filter)
{
    double seconds = 0, flops = 0;

    bench->code = mmap(NULL, bench->image->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(bench->code, bench->image->data, bench->image->bytes);
    mprotect(bench->code, bench->image->bytes, PROT_READ | PROT_EXEC);
    bench->peak = bench_fma_peak(strcmp(bench->image->isa, "x86-64-v4") == 0);
    printf("%s, FMA peak %.1f GF/s%s\n", bench->image->isa, bench->peak, bench->flush != NULL ? ", cold" : "");
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        if (filter == NULL || strstr(layers[i].name, filter) != NULL)
            layer_run(bench, &layers[i], &seconds, &flops);
    if (seconds > 0)
        printf("ResNet-50's layers among these together: %.2f ms, %.1f GF/s, %.1f %%\n", seconds * 1e3, flops / seconds * 1e-9,
               flops / seconds * 1e-7 / bench->peak);
    munmap(bench->code, bench->image->bytes);
}

int main(int argc, char **argv)
{
    const char *isa = "", *filter = NULL;
    int n_images;
    const rlx_kernel_image_t *images = rlx_kernel_images(&n_images);
    bench_t bench = {.seconds = 0.1};

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--isa") == 0 && i + 1 < argc)
            isa = argv[++i];
        else if (strcmp(argv[i], "--algorithm") == 0 && i + 1 < argc)
            bench.algorithm = argv[++i];
        else if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc)
            bench.seconds = atof(argv[++i]);
        else if (strcmp(argv[i], "--cold") == 0)
            bench.flush = (char *)floats(FLUSH_BYTES / 4);
        else
            filter = argv[i];
    }
    for (int i = 0; i < n_images; i++) {
        bool wide = strcmp(images[i].isa, "x86-64-v4") == 0;

        if ((wide && !__builtin_cpu_supports("avx512f")) || strstr(images[i].isa, isa) == NULL)
            continue;
        bench.image = &images[i];
        image_run(&bench, filter);
    }
    free(bench.flush);
    return 0;
}
