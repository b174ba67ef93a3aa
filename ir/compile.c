/* The pipeline: import -> canonicalise -> algorithm -> schedule -> fuse -> layout -> lower -> emit, with the verifier after every pass. */
#include "ir/compile.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "ir/pass/affinity.h"
#include "ir/annotation.h"
#include "ir/pass/batch.h"
#include "ir/pass/bind.h"
#include "ir/builder.h"
#include "ir/dump/explain.h"
#include "ir/dump/explain_kernel.h"
#include "ir/flow.h"
#include "ir/pass.h"
#include "ir/text/load.h"

typedef rlx_status_t pass_fn_t(rlx_graph_t *graph, rlx_diag_t *diag);

typedef struct pass_entry {
    const char *name; /* what --after takes */
    int level;        /* runs from this optimisation level on */
    pass_fn_t *run;
    bool nests;       /* it goes into bodies itself */
} pass_entry_t;

static rlx_status_t fold(rlx_graph_t *graph, rlx_diag_t *diag)
{
    RLX_TRY(rlx_pass_fold(graph, diag));
    RLX_TRY(rlx_graph_bind_known(graph, diag));
    rlx_pass_dead_code(graph);
    return RLX_OK;
}

static rlx_status_t canonicalise(rlx_graph_t *graph, rlx_diag_t *diag);

/* Bodies see as constants what is constant around them; what they do not need any more dies here. */
static rlx_status_t canonicalise_bodies(rlx_graph_t *graph, rlx_diag_t *diag)
{
    for (rlx_op_t *op = graph->first; op != NULL; op = op->next) {
        if (!rlx_op_is_flow(op))
            continue;
        RLX_TRY(rlx_flow_sink(graph, op, diag));
        for (int i = 0; i < op->n_bodies; ++i)
            if (canonicalise(op->bodies[i], diag) != RLX_OK)
                return rlx_diag_at(diag, "%s", op->source);
        rlx_flow_prune(op);
    }
    rlx_pass_dead_code(graph);
    return RLX_OK;
}

static rlx_status_t canonicalise(rlx_graph_t *graph, rlx_diag_t *diag)
{
    RLX_TRY(rlx_pass_quantise(graph, diag));
    RLX_TRY(fold(graph, diag));
    RLX_TRY(rlx_pass_canonicalise(graph, diag));
    RLX_TRY(fold(graph, diag));
    RLX_TRY(rlx_pass_canonicalise(graph, diag));
    RLX_TRY(rlx_pass_subpixel(graph, diag));
    RLX_TRY(canonicalise_bodies(graph, diag));
    return rlx_pass_outputs(graph, diag);
}

static rlx_status_t canonicalise_all(rlx_graph_t *graph, rlx_diag_t *diag)
{
    RLX_TRY(canonicalise(graph, diag));
    rlx_batch_mark(graph);
    return RLX_OK;
}

static rlx_status_t fuse(rlx_graph_t *graph, rlx_diag_t *diag)
{
    RLX_TRY(rlx_pass_fuse_transpose(graph, diag));
    RLX_TRY(rlx_pass_fuse_attention(graph, diag));
    RLX_TRY(rlx_pass_fuse(graph, diag));
    return rlx_pass_sync(graph, diag);
}

/* Runs a pass on the bodies, and theirs. */
static rlx_status_t on_bodies(pass_fn_t *pass, rlx_graph_t *graph, rlx_diag_t *diag)
{
    for (rlx_op_t *op = graph->first; op != NULL; op = op->next)
        for (int i = 0; i < op->n_bodies; ++i) {
            RLX_TRY(pass(op->bodies[i], diag));
            RLX_TRY(on_bodies(pass, op->bodies[i], diag));
        }
    return RLX_OK;
}

static const pass_entry_t pass_table[] = {
    {"canonicalise", 1, canonicalise_all, true},
    {"algorithm", 1, rlx_pass_algorithm, false},
    {"schedule", RLX_SCHEDULE_LEVEL, rlx_pass_demand, false},
    {"fuse", 2, fuse, false},
    {"layout", RLX_SCHEDULE_LEVEL, rlx_pass_layout, false},
};

static rlx_status_t dump_after(const rlx_graph_t *graph, const rlx_compile_options_t *options, const char *pass, rlx_diag_t *diag)
{
    if (options->dump_after == NULL || strcmp(options->dump_after, pass) != 0)
        return RLX_OK;
    if (options->dump_path != NULL)
        return rlx_graph_text_write(graph, options->dump_path, diag);
    if (options->dump_out != NULL)
        (options->dump != NULL ? options->dump : rlx_graph_dump)(graph, options->dump_out);
    return RLX_OK;
}

static void report(const rlx_compile_options_t *options, const char *phase)
{
    if (options->progress != NULL)
        options->progress(options->progress_context, phase);
}

static rlx_status_t run_passes(rlx_graph_t *graph, const rlx_compile_options_t *options, rlx_diag_t *diag)
{
    RLX_TRY(rlx_graph_verify(graph, diag));
    RLX_TRY(dump_after(graph, options, "import", diag));
    RLX_TRY(rlx_graph_executable(graph, diag));
    RLX_TRY(rlx_custom_assign(graph, options->custom, diag));
    for (size_t i = 0; i < sizeof pass_table / sizeof *pass_table; ++i) {
        if (options->opt_level < pass_table[i].level)
            continue;
        report(options, pass_table[i].name);
        RLX_TRY(pass_table[i].run(graph, diag));
        if (!pass_table[i].nests)
            RLX_TRY(on_bodies(pass_table[i].run, graph, diag));
        if (rlx_graph_verify(graph, diag) != RLX_OK)
            return rlx_diag_at(diag, "after pass '%s'", pass_table[i].name);
        RLX_TRY(dump_after(graph, options, pass_table[i].name, diag));
    }
    return RLX_OK;
}

static rlx_status_t apply_maxima(rlx_graph_t *graph, const rlx_compile_options_t *options, rlx_diag_t *diag)
{
    for (int i = 0; i < options->n_maxima; ++i) {
        bool found = false;

        for (int k = 0; k < graph->n_symbols; ++k) {
            if (strcmp(graph->symbols[k].name, options->maxima[i].symbol) != 0)
                continue;
            graph->symbols[k].max = options->maxima[i].max;
            graph->symbols[k].declared = found = true;
        }
        if (!found) {
            rlx_fail(diag, RLX_E_USAGE, "--max names '%s', which is no symbol of this model", options->maxima[i].symbol);
            return rlx_diag_hint(diag, "`rlx dump MODEL` shows the symbols in the inputs' shapes.");
        }
    }
    return RLX_OK;
}

/* A bound symbol keeps its place and can take one value only. */
static rlx_status_t apply_shapes(rlx_graph_t *graph, const rlx_compile_options_t *options, rlx_diag_t *diag)
{
    int64_t *values = rlx_graph_alloc(graph, (size_t)(graph->n_symbols + 1) * sizeof *values);
    bool *bound = rlx_graph_alloc(graph, (size_t)(graph->n_symbols + 1) * sizeof *bound);

    if (options->n_shapes == 0)
        return RLX_OK;
    for (int i = 0; i < options->n_shapes; ++i)
        RLX_TRY(rlx_graph_bind_shape(graph, options->shapes[i].input, options->shapes[i].rank, options->shapes[i].dims, values, bound, diag));
    RLX_TRY(rlx_graph_bind(graph, values, bound, diag));
    for (int i = 0; i < graph->n_symbols; ++i)
        if (bound[i])
            graph->symbols[i].min = graph->symbols[i].max = values[i];
    return RLX_OK;
}

static int64_t count_reorders(const rlx_graph_t *graph)
{
    int64_t count = 0;

    for (const rlx_op_t *op = graph->first; op != NULL; op = op->next)
        count += op->kind == RLX_OP_reorder;
    return count;
}

static char *independent_name(const rlx_graph_t *graph)
{
    char *name = NULL;

    for (int i = 0; i < graph->n_symbols && name == NULL; i++)
        if (graph->symbols[i].independent) {
            name = strdup(graph->symbols[i].name);
            RLX_ASSERT(name != NULL);
        }
    return name;
}

static rlx_status_t keep_text(const rlx_graph_t *graph, rlx_compiled_t *out, rlx_diag_t *diag)
{
    FILE *stream = open_memstream(&out->ir_text, &out->ir_text_bytes);

    if (stream == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "the IR text could not be written");
    rlx_graph_dump(graph, stream);
    fclose(stream);
    return RLX_OK;
}

static void accuracy_set(rlx_graph_t *graph, rlx_accuracy_t accuracy)
{
    graph->accuracy = accuracy;
    for (rlx_graph_t *child = graph->first_child; child != NULL; child = child->next_child)
        accuracy_set(child, accuracy);
}

static rlx_step_key_t *keys_take(const rlx_builder_t *builder)
{
    rlx_step_key_t *keys = calloc((size_t)builder->n_steps + 1, sizeof *keys);

    RLX_ASSERT(keys != NULL);
    for (int i = 0; i < builder->n_steps; i++) {
        const rlx_op_t *op = builder->steps[i]->op;
        const rlx_schedule_t *sched = op->sched;

        keys[i] = (rlx_step_key_t){.index = builder->steps[i]->index, .kind = op->kind};
        keys[i].key = strdup(sched != NULL && sched->key != NULL ? sched->key : "");
        RLX_ASSERT(keys[i].key != NULL);
    }
    return keys;
}

rlx_status_t rlx_compile_graph(rlx_graph_t *graph, const rlx_compile_options_t *options, rlx_compiled_t *out_compiled, rlx_diag_t *diag)
{
    rlx_compiled_t out = {0};
    rlx_emitted_t emitted = {0};
    rlx_builder_t builder;
    rlx_status_t status;

    accuracy_set(graph, options->accuracy != RLX_ACCURACY_DEFAULT ? options->accuracy : graph->accuracy);
    graph->constraint = options->constraint;
    if (options->explain != NULL)
        rlx_explain_begin(options->explain, graph);
    rlx_conv_mark_open(graph);
    RLX_TRY(apply_shapes(graph, options, diag));
    RLX_TRY(apply_maxima(graph, options, diag));
    RLX_TRY(run_passes(graph, options, diag));
    if (options->tuning != NULL)
        rlx_pass_tune(graph, options->tuning);
    rlx_explain_graph(graph);
    out.n_reorders = count_reorders(graph);
    RLX_TRY(keep_text(graph, &out, diag));
    report(options, "lower");
    rlx_builder_init(&builder, graph, options->opt_level);
    status = rlx_builder_lower_graph(&builder, diag);
    if (status == RLX_OK) {
        rlx_explain_program(&builder);
        report(options, "emit");
        status = rlx_emit_program(&builder, &emitted, diag);
    }
    out.n_steps = builder.n_steps;
    out.step_keys = options->tuning != NULL ? keys_take(&builder) : NULL;
    rlx_builder_fini(&builder);
    if (status != RLX_OK) {
        rlx_compiled_fini(&out);
        return status;
    }
    out.name = strdup(graph->name);
    RLX_ASSERT(out.name != NULL);
    out.independent = independent_name(graph);
    out.checkpoint_steps = rlx_custom_interval(graph);
    out.program = emitted.program;
    out.program_bytes = emitted.program_bytes;
    out.constants = emitted.constants;
    out.constants_bytes = emitted.constants_bytes;
    *out_compiled = out;
    return RLX_OK;
}

void rlx_compiled_fini(rlx_compiled_t *compiled)
{
    for (int64_t i = 0; compiled->step_keys != NULL && i < compiled->n_steps; i++)
        free(compiled->step_keys[i].key);
    free(compiled->step_keys);
    free(compiled->name);
    free(compiled->independent);
    free(compiled->program);
    free(compiled->constants);
    free(compiled->ir_text);
    *compiled = (rlx_compiled_t){0};
}
