/* Annotations as attributes (ir/text/exporter.h). The builder reads the same names: ir/text/build_annotation.c. */
#include "ir/text/exporter.h"

#include "ir/annotation.h"
#include "ir/text/units.h"

static const rlx_span_t nowhere = {0, 0, 0};

static void string_add(rlx_exporter_t *exporter, rlx_syntax_statement_t *statement, const char *name, const char *text)
{
    if (text != NULL)
        rlx_export_attribute(exporter, statement, name, rlx_export_string(exporter, text));
}

static rlx_syntax_value_t *dict_make(rlx_exporter_t *exporter) { return rlx_syntax_value(exporter->syntax, RLX_SYNTAX_DICT, nowhere); }

static void entry_add(rlx_exporter_t *exporter, rlx_syntax_value_t *dict, const char *name, rlx_syntax_value_t *value)
{
    rlx_syntax_field_add(exporter->syntax, &dict->fields, &dict->n_fields, name, nowhere, value);
}

static void quantity_add(rlx_exporter_t *exporter, rlx_syntax_value_t *dict, const char *name, int64_t value,
                         void (*print)(int64_t value, char out[RLX_UNIT_TEXT_MAX]))
{
    char text[RLX_UNIT_TEXT_MAX] = "";

    if (value == 0)
        return;
    print(value, text);
    entry_add(exporter, dict, name, rlx_export_string(exporter, rlx_syntax_printf(exporter->syntax, "%s", text)));
}

static void double_add(rlx_exporter_t *exporter, rlx_syntax_value_t *dict, const char *name, double value)
{
    rlx_syntax_value_t *number = rlx_syntax_value(exporter->syntax, RLX_SYNTAX_FLOAT, nowhere);

    number->f = value;
    if (value != 0)
        entry_add(exporter, dict, name, number);
}

static void dict_add(rlx_exporter_t *exporter, rlx_syntax_statement_t *statement, const char *name, rlx_syntax_value_t *dict)
{
    if (dict->n_fields > 0)
        rlx_export_attribute(exporter, statement, name, dict);
}

static void affinity_export(rlx_exporter_t *exporter, rlx_syntax_statement_t *statement, const rlx_affinity_t *affinity)
{
    rlx_syntax_value_t *dict = dict_make(exporter);

    if (affinity->location != NULL)
        entry_add(exporter, dict, "location", rlx_export_string(exporter, affinity->location));
    quantity_add(exporter, dict, "bandwidth", affinity->bandwidth, rlx_bandwidth_print);
    quantity_add(exporter, dict, "latency", affinity->latency_ps, rlx_latency_print);
    if (affinity->coherence != NULL)
        entry_add(exporter, dict, "coherence", rlx_export_string(exporter, affinity->coherence));
    dict_add(exporter, statement, "memory_affinity", dict);
}

void rlx_export_value_annotation(rlx_exporter_t *exporter, rlx_syntax_statement_t *statement, const rlx_value_t *value)
{
    const rlx_value_annotation_t *annotation = value->annotation;

    if (annotation == NULL)
        return;
    string_add(exporter, statement, "device", annotation->device);
    string_add(exporter, statement, "layout", annotation->layout);
    affinity_export(exporter, statement, &annotation->affinity);
    string_add(exporter, statement, "buffer_sharing_capability", rlx_sharing_name(annotation->sharing));
    string_add(exporter, statement, "content", annotation->content);
    if (annotation->lossy) {
        rlx_syntax_value_t *yes = rlx_syntax_value(exporter->syntax, RLX_SYNTAX_BOOL, nowhere);

        yes->i = 1;
        rlx_export_attribute(exporter, statement, "lossy", yes);
    }
}

static rlx_syntax_value_t *names_export(rlx_exporter_t *exporter, const rlx_names_t *names)
{
    rlx_syntax_value_t *list = rlx_export_list(exporter);

    for (int i = 0; i < names->n; i++)
        rlx_syntax_value_add(exporter->syntax, list, rlx_export_string(exporter, names->name[i]));
    return list;
}

static void tile_add(rlx_exporter_t *exporter, rlx_syntax_value_t *dict, const char *name, const rlx_tile_t *tile)
{
    rlx_syntax_value_t *list = rlx_export_list(exporter);

    for (int i = 0; i < tile->n; i++)
        rlx_syntax_value_add(exporter->syntax, list, rlx_export_int(exporter, tile->extent[i]));
    if (tile->n > 0)
        entry_add(exporter, dict, name, list);
}

static void schedule_export(rlx_exporter_t *exporter, rlx_syntax_statement_t *statement, const rlx_compute_schedule_t *schedule)
{
    rlx_syntax_value_t *dict = dict_make(exporter), *unroll = dict_make(exporter);

    if (schedule->loop_order.n > 0)
        entry_add(exporter, dict, "loop_order", names_export(exporter, &schedule->loop_order));
    if (schedule->parallel_dims.n > 0)
        entry_add(exporter, dict, "parallel_dims", names_export(exporter, &schedule->parallel_dims));
    if (schedule->vectorize_dim != NULL)
        entry_add(exporter, dict, "vectorize_dim", rlx_export_string(exporter, schedule->vectorize_dim));
    for (int i = 0; i < schedule->unroll_dims.n; i++)
        entry_add(exporter, unroll, schedule->unroll_dims.name[i], rlx_export_int(exporter, schedule->unroll[i]));
    if (unroll->n_fields > 0)
        entry_add(exporter, dict, "unroll", unroll);
    dict_add(exporter, statement, "compute_schedule", dict);
}

static void foreign_export(rlx_exporter_t *exporter, rlx_syntax_statement_t *statement, const rlx_op_annotation_t *annotation)
{
    rlx_syntax_value_t *transfer = dict_make(exporter), *stability = dict_make(exporter);

    quantity_add(exporter, transfer, "bandwidth", annotation->transfer.bandwidth, rlx_bandwidth_print);
    quantity_add(exporter, transfer, "latency", annotation->transfer.latency_ps, rlx_latency_print);
    double_add(exporter, transfer, "cost_per_gb", annotation->transfer.cost_per_gb);
    dict_add(exporter, statement, "data_transfer", transfer);
    string_add(exporter, statement, "fallback", annotation->fallback);
    double_add(exporter, stability, "max_step_size", annotation->max_step_size);
    double_add(exporter, stability, "error_tolerance", annotation->error_tolerance);
    dict_add(exporter, statement, "stability_requirement", stability);
}

void rlx_export_op_annotation(rlx_exporter_t *exporter, rlx_syntax_statement_t *statement, const rlx_op_t *op)
{
    const rlx_op_annotation_t *annotation = op->annotation;
    rlx_syntax_value_t *tiles = dict_make(exporter);

    if (annotation == NULL)
        return;
    tile_add(exporter, tiles, "input", &annotation->tile_layout.input);
    tile_add(exporter, tiles, "weight", &annotation->tile_layout.weight);
    tile_add(exporter, tiles, "output", &annotation->tile_layout.output);
    dict_add(exporter, statement, "tile_layout", tiles);
    schedule_export(exporter, statement, &annotation->schedule);
    string_add(exporter, statement, "memory_coalesce", annotation->coalesce);
    if (annotation->devices.n > 0)
        rlx_export_attribute(exporter, statement, "target_device_set", names_export(exporter, &annotation->devices));
    string_add(exporter, statement, "sharding_strategy", rlx_sharding_name(annotation->sharding));
    string_add(exporter, statement, "sync_mode", rlx_sync_mode_name(annotation->sync_mode));
    foreign_export(exporter, statement, annotation);
}
