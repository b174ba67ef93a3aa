/* Annotations of operators: tiles, schedules, devices, synchronisation, transfers (ir/text/builder.h). */
#include <string.h>

#include "ir/annotation.h"
#include "ir/text/builder.h"
#include "ir/text/note.h"

static bool tile_read(rlx_text_builder_t *builder, const rlx_syntax_field_t *field, rlx_tile_t *out)
{
    const rlx_syntax_value_t *list = field->value;

    if (list->kind != RLX_SYNTAX_LIST || list->n_items < 1 || list->n_items > RLX_RANK_MAX)
        return rlx_text_wrong(builder, list, field->name, "a list of 1 to 8 sizes");
    *out = (rlx_tile_t){0};
    for (int i = 0; i < list->n_items; i++) {
        rlx_syntax_field_t item = {.name = field->name, .value = list->items[i]};

        if (!rlx_text_int(builder, &item, 1, INT32_MAX, &out->extent[out->n]))
            return false;
        out->n++;
    }
    return true;
}

static bool tiles_read(rlx_text_builder_t *builder, const rlx_syntax_field_t *field, rlx_tile_layout_t *out)
{
    if (!rlx_note_dict(builder, field))
        return false;
    for (int i = 0; i < field->value->n_fields; i++) {
        const rlx_syntax_field_t *entry = &field->value->fields[i];
        rlx_tile_t *tile = strcmp(entry->name, "input") == 0    ? &out->input
                           : strcmp(entry->name, "weight") == 0 ? &out->weight
                           : strcmp(entry->name, "output") == 0 ? &out->output
                                                                : NULL;

        if (tile == NULL)
            return rlx_note_unknown(builder, RLX_E_SCHEDULE_TEXT, entry, "tile_layout", "input, weight or output");
        if (!tile_read(builder, entry, tile))
            return false;
    }
    return true;
}

static bool unroll_read(rlx_text_builder_t *builder, const rlx_syntax_field_t *field, rlx_compute_schedule_t *out)
{
    const rlx_syntax_value_t *dict = field->value;

    if (!rlx_note_dict(builder, field))
        return false;
    if (dict->n_fields > RLX_ANNOTATION_NAMES_MAX)
        return rlx_text_wrong(builder, dict, field->name, "at most 16 dimensions");
    out->unroll_dims = (rlx_names_t){0};
    for (int i = 0; i < dict->n_fields; i++) {
        if (!rlx_text_int(builder, &dict->fields[i], 1, 1024, &out->unroll[i]))
            return false;
        out->unroll_dims.name[out->unroll_dims.n++] = rlx_graph_strdup(builder->graph, dict->fields[i].name);
    }
    return true;
}

static bool schedule_read(rlx_text_builder_t *builder, const rlx_syntax_field_t *field, rlx_compute_schedule_t *out)
{
    bool done = rlx_note_dict(builder, field);

    for (int i = 0; done && i < field->value->n_fields; i++) {
        const rlx_syntax_field_t *entry = &field->value->fields[i];

        if (strcmp(entry->name, "parallel_dims") == 0)
            done = rlx_note_names(builder, entry, &out->parallel_dims);
        else if (strcmp(entry->name, "loop_order") == 0)
            done = rlx_note_names(builder, entry, &out->loop_order);
        else if (strcmp(entry->name, "vectorize_dim") == 0)
            done = rlx_note_string(builder, entry, &out->vectorize_dim);
        else if (strcmp(entry->name, "unroll") == 0)
            done = unroll_read(builder, entry, out);
        else
            done = rlx_note_unknown(builder, RLX_E_SCHEDULE_TEXT, entry, "compute_schedule", "parallel_dims, vectorize_dim, loop_order or unroll");
    }
    return done;
}

static bool coalesce_read(rlx_text_builder_t *builder, const rlx_syntax_field_t *field, const char **out)
{
    static const char *const words[] = {"auto", "none", "vector", "row", "block"};

    return rlx_note_string(builder, field, out) &&
           rlx_note_word(builder, RLX_E_SCHEDULE_TEXT, field, *out, words, (int)(sizeof words / sizeof words[0]));
}

static bool devices_read(rlx_text_builder_t *builder, const rlx_syntax_field_t *field, rlx_names_t *out)
{
    if (!rlx_note_names(builder, field, out))
        return false;
    for (int i = 0; i < out->n; i++) {
        rlx_syntax_field_t item = {.name = field->name, .value = field->value->items[i]};

        if (!rlx_note_device(builder, &item, out->name[i]))
            return false;
        for (int k = 0; k < i; k++)
            if (strcmp(out->name[i], out->name[k]) == 0)
                return rlx_note_wrong(builder, RLX_E_DEVICE_TEXT, &item, out->name[i], "each device once");
    }
    return true;
}

static bool sync_read(rlx_text_builder_t *builder, const rlx_syntax_field_t *field, rlx_sync_mode_t *out)
{
    const char *word;

    if (!rlx_text_string(builder, field, &word))
        return false;
    *out = rlx_sync_mode_parse(word);
    return *out != RLX_SYNC_UNSAID || rlx_note_wrong(builder, RLX_E_SYNC_MODE, field, word, "barrier, async_barrier or stream_ordered");
}

static bool sharding_read(rlx_text_builder_t *builder, const rlx_syntax_field_t *field, rlx_sharding_t *out)
{
    const char *word;

    if (!rlx_text_string(builder, field, &word))
        return false;
    *out = rlx_sharding_parse(word);
    return *out != RLX_SHARDING_UNSAID ||
           rlx_note_wrong(builder, RLX_E_DEVICE_TEXT, field, word, "data_parallel, tensor_parallel or pipeline_parallel");
}

static bool transfer_read(rlx_text_builder_t *builder, const rlx_syntax_field_t *field, rlx_transfer_t *out)
{
    bool done = rlx_note_dict(builder, field);

    out->given = true;
    for (int i = 0; done && i < field->value->n_fields; i++) {
        const rlx_syntax_field_t *entry = &field->value->fields[i];

        if (strcmp(entry->name, "bandwidth") == 0)
            done = rlx_note_bandwidth(builder, entry, &out->bandwidth);
        else if (strcmp(entry->name, "latency") == 0)
            done = rlx_note_latency(builder, entry, &out->latency_ps);
        else if (strcmp(entry->name, "cost_per_gb") == 0)
            done = rlx_text_double(builder, entry, &out->cost_per_gb);
        else
            done = rlx_note_unknown(builder, RLX_E_ARG_UNKNOWN, entry, "data_transfer", "bandwidth, latency or cost_per_gb");
    }
    return done;
}

static bool stability_read(rlx_text_builder_t *builder, const rlx_syntax_field_t *field, rlx_op_annotation_t *out)
{
    bool done = rlx_note_dict(builder, field);

    for (int i = 0; done && i < field->value->n_fields; i++) {
        const rlx_syntax_field_t *entry = &field->value->fields[i];
        double *place = strcmp(entry->name, "max_step_size") == 0     ? &out->max_step_size
                        : strcmp(entry->name, "error_tolerance") == 0 ? &out->error_tolerance
                                                                      : NULL;

        if (place == NULL)
            return rlx_note_unknown(builder, RLX_E_ARG_UNKNOWN, entry, "stability_requirement", "max_step_size or error_tolerance");
        done = rlx_text_double(builder, entry, place);
        if (done && !(*place > 0))
            done = rlx_note_wrong(builder, RLX_E_ARG_VALUE, entry, "not positive", "a positive number");
    }
    return done;
}

bool rlx_text_op_note(rlx_text_builder_t *builder, rlx_op_t *op, const rlx_syntax_field_t *field)
{
    rlx_op_annotation_t *note = rlx_op_annotate(builder->graph, op);

    if (strcmp(field->name, "tile_layout") == 0) {
        note->tile_span = field->name_span;
        return tiles_read(builder, field, &note->tile_layout);
    }
    if (strcmp(field->name, "compute_schedule") == 0) {
        note->schedule_span = field->name_span;
        return schedule_read(builder, field, &note->schedule);
    }
    if (strcmp(field->name, "memory_coalesce") == 0) {
        note->coalesce_span = field->name_span;
        return coalesce_read(builder, field, &note->coalesce);
    }
    if (strcmp(field->name, "target_device_set") == 0) {
        note->devices_span = field->name_span;
        return devices_read(builder, field, &note->devices);
    }
    if (strcmp(field->name, "sharding_strategy") == 0) {
        note->sharding_span = field->name_span;
        return sharding_read(builder, field, &note->sharding);
    }
    if (strcmp(field->name, "sync_mode") == 0) {
        note->sync_span = field->name_span;
        return sync_read(builder, field, &note->sync_mode);
    }
    if (strcmp(field->name, "data_transfer") == 0)
        return transfer_read(builder, field, &note->transfer);
    if (strcmp(field->name, "fallback") == 0)
        return rlx_note_string(builder, field, &note->fallback);
    return stability_read(builder, field, note);
}

/* The first operand on another device than the op's own, or NULL. */
static const rlx_value_t *foreign_operand(const rlx_op_t *op)
{
    const char *device = op->out[0] != NULL && op->out[0]->annotation != NULL ? op->out[0]->annotation->device : NULL;

    for (int i = 0; i < op->n_in; i++) {
        const char *from = op->in[i] != NULL && op->in[i]->annotation != NULL ? op->in[i]->annotation->device : NULL;

        if (from != NULL && device != NULL && strcmp(from, device) != 0)
            return op->in[i];
        device = device != NULL ? device : from;
    }
    return NULL;
}

static bool sync_check(rlx_text_builder_t *builder, const rlx_op_t *op, const rlx_syntax_statement_t *statement)
{
    const rlx_op_annotation_t *note = op->annotation;
    const rlx_value_t *foreign = foreign_operand(op);
    bool several = note != NULL && note->devices.n > 1;
    rlx_finding_t *finding;

    if ((!several && foreign == NULL) || (note != NULL && note->sync_mode != RLX_SYNC_UNSAID))
        return true;
    if (several)
        finding = rlx_report(builder->findings, RLX_E_SYNC_MODE, statement->callee_span, "%s runs on several devices and has no sync_mode",
                             statement->callee);
    else
        finding = rlx_report(builder->findings, RLX_E_SYNC_MODE, statement->callee_span, "%s takes '%s' from another device and has no sync_mode",
                             statement->callee, foreign->name);
    rlx_finding_expected(finding, "sync_mode = \"barrier\", \"async_barrier\" or \"stream_ordered\"");
    return false;
}

/* A strategy without devices splits over nothing. */
static bool sharding_check(rlx_text_builder_t *builder, const rlx_op_t *op, const rlx_syntax_statement_t *statement)
{
    const rlx_syntax_field_t *field = rlx_text_field(statement, "sharding_strategy");

    if (field == NULL || op->annotation->devices.n > 0)
        return true;
    rlx_finding_expected(rlx_report(builder->findings, RLX_E_DEVICE_TEXT, field->name_span, "%s has a sharding_strategy and no devices",
                                    statement->callee), "target_device_set = [\"gpu:0\", \"gpu:1\"]");
    return false;
}

bool rlx_text_op_notes_check(rlx_text_builder_t *builder, const rlx_op_t *op, const rlx_syntax_statement_t *statement)
{
    bool done = sync_check(builder, op, statement);

    if (op->annotation == NULL)
        return done;
    done = sharding_check(builder, op, statement) && done;
    return rlx_text_schedule_check(builder, op, statement) && done;
}
