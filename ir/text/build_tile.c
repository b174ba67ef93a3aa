/* Tiles against the tensors that they cut, and against each other (ir/text/note.h).
 *
 * Sizes stand in logical order, or in the order of the tensor's layout: the one in which every size fits its extent; where both do, logical. An
 * open extent fits any size. Tiles have no halo: an output tile of 8 at stride 2 goes with an input tile of 16. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ir/text/note.h"

/* A tile in logical order. */
typedef struct tile {
    const rlx_syntax_value_t *list; /* NULL: not given */
    const rlx_value_t *value;
    int64_t size[RLX_RANK_MAX], extent[RLX_RANK_MAX]; /* extent -1: open */
} tile_t;

/* The axis that a letter of the layout stands for, or -1: its place among the logical letters. */
static int axis_of(const char *layout, int rank, char letter)
{
    static const char *const orders[] = {"NCDHW", "OIDHW", "IODHW"};

    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        char logical[8];
        int n = 0;

        for (const char *at = orders[i]; *at != '\0'; at++)
            if (memchr(layout, *at, (size_t)rank) != NULL)
                logical[n++] = *at;
        if (n == rank && memchr(logical, letter, (size_t)n) != NULL)
            return (int)((char *)memchr(logical, letter, (size_t)n) - logical);
    }
    return -1;
}

static bool fits(const rlx_tile_t *written, tile_t *tile, const char *layout)
{
    for (int i = 0; i < written->n; i++) {
        int axis = layout == NULL ? i : axis_of(layout, written->n, layout[i]);

        if (axis < 0 || (tile->extent[axis] >= 0 && written->extent[i] > tile->extent[axis]))
            return false;
        tile->size[axis] = written->extent[i];
    }
    return true;
}

static void extents_print(const tile_t *tile, int rank, char *out, size_t bytes)
{
    out[0] = '\0';
    for (int i = 0; i < rank; i++) {
        size_t n = strlen(out);

        if (tile->extent[i] >= 0)
            snprintf(out + n, bytes - n, "%s%" PRId64, i > 0 ? ", " : "", tile->extent[i]);
        else
            snprintf(out + n, bytes - n, "%s?", i > 0 ? ", " : "");
    }
}

/* Reads one tile into logical order. */
static bool tile_take(rlx_text_builder_t *builder, const rlx_syntax_field_t *field, rlx_tile_t *written, const rlx_value_t *value, tile_t *out)
{
    const char *layout = value->annotation != NULL ? value->annotation->layout : NULL;
    rlx_finding_t *finding;
    char extents[192];

    out->list = field->value;
    out->value = value;
    for (int i = 0; i < value->rank; i++)
        if (!rlx_expr_is_const(builder->graph->exprs, value->dims[i], &out->extent[i]))
            out->extent[i] = -1;
    if (written->n != value->rank) {
        finding = rlx_report(builder->findings, RLX_E_SCHEDULE_TEXT, field->value->span, "the tile of '%s' has %d size%s, the tensor has rank %d",
                             field->name, written->n, written->n == 1 ? "" : "s", value->rank);
        rlx_finding_expected(finding, "%d sizes", value->rank);
        return false;
    }
    if (fits(written, out, NULL) || (layout != NULL && fits(written, out, layout))) {
        memcpy(written->logical, out->size, sizeof written->logical);
        return true;
    }
    extents_print(out, value->rank, extents, sizeof extents);
    finding = rlx_report(builder->findings, RLX_E_SCHEDULE_TEXT, field->value->span, "the tile of '%s' is larger than the tensor", field->name);
    rlx_finding_expected(finding, layout != NULL ? "at most [%s], or the same in the order of layout %s" : "at most [%s]", extents, layout);
    rlx_finding_hint(finding, "Sizes stand in logical order%s.", layout != NULL ? " or in the layout's" : ", N,C,H,W; or give the tensor a layout");
    return false;
}

static bool fit_report(rlx_text_builder_t *builder, const tile_t *at, const tile_t *other, const char *message, int64_t found, const char *what,
                       int64_t wanted)
{
    rlx_finding_t *finding = rlx_report(builder->findings, RLX_E_SCHEDULE_TEXT, at->list->span, message, found);

    rlx_finding_expected(finding, "%s%" PRId64, what, wanted);
    rlx_finding_note(finding, other->list->span, "to go with this tile");
    return false;
}

/* A window's input and output: batch and space. */
static bool window_check(rlx_text_builder_t *builder, const rlx_op_t *op, const tile_t *in, const tile_t *out)
{
    bool up = op->kind == RLX_OP_conv_transpose;

    if (in->size[0] != out->size[0])
        return fit_report(builder, in, out, "the input tile has %" PRId64 " images", in->size[0], "", out->size[0]);
    for (int i = 2; i < in->value->rank; i++) {
        int64_t stride = rlx_op_ints_at(op, "strides", i - 2, 1);
        int64_t wanted = up ? (out->size[i] + stride - 1) / stride : out->size[i] * stride;
        bool whole = in->size[i] == in->extent[i] && out->size[i] == out->extent[i];

        if (in->size[i] != wanted && !whole)
            return fit_report(builder, in, out, i == in->value->rank - 1 ? "the input tile is %" PRId64 " wide; tiles have no halo"
                                                : i == in->value->rank - 2 ? "the input tile is %" PRId64 " high; tiles have no halo"
                                                                           : "the input tile is %" PRId64 " deep; tiles have no halo",
                              in->size[i], "", wanted);
    }
    return true;
}

/* The weight's tile is the inner block: tiles of input and output are whole numbers of it. */
static bool weight_check(rlx_text_builder_t *builder, const rlx_op_t *op, const tile_t *in, const tile_t *weight, const tile_t *out)
{
    if (op->kind != RLX_OP_conv || rlx_op_int(op, "group") != 1 || weight->list == NULL)
        return true;
    if (out->list != NULL && out->size[1] % weight->size[0] != 0)
        return fit_report(builder, weight, out, "the weight tile has %" PRId64 " output channels, which do not divide the output tile's",
                          weight->size[0], "a divisor of ", out->size[1]);
    if (in->list != NULL && in->size[1] % weight->size[1] != 0)
        return fit_report(builder, weight, in, "the weight tile has %" PRId64 " input channels, which do not divide the input tile's",
                          weight->size[1], "a divisor of ", in->size[1]);
    return true;
}

static bool is_window(const rlx_op_t *op)
{
    return op->kind == RLX_OP_conv || op->kind == RLX_OP_conv_transpose || op->kind == RLX_OP_max_pool || op->kind == RLX_OP_avg_pool ||
           op->kind == RLX_OP_lp_pool;
}

bool rlx_text_tiles_check(rlx_text_builder_t *builder, const rlx_op_t *op, const rlx_syntax_statement_t *statement)
{
    const rlx_syntax_field_t *field = rlx_text_field(statement, "tile_layout");
    tile_t in = {0}, weight = {0}, out = {0};
    bool done = true;

    for (int i = 0; field != NULL && i < field->value->n_fields; i++) {
        const rlx_syntax_field_t *entry = &field->value->fields[i];
        rlx_tile_layout_t *tiles = &op->annotation->tile_layout;
        bool is_out = entry->name[0] == 'o', is_in = entry->name[0] == 'i';
        const rlx_value_t *value = is_out ? op->out[0] : rlx_op_in(op, is_in ? 0 : 1);

        if (value == NULL || value->rank < 0) {
            rlx_finding_hint(rlx_report(builder->findings, RLX_E_SCHEDULE_TEXT, entry->name_span, "%s has no '%s' to tile", statement->callee,
                                        entry->name), "Leave it out.");
            done = false;
            continue;
        }
        done = tile_take(builder, entry, is_out ? &tiles->output : is_in ? &tiles->input : &tiles->weight, value,
                         is_out ? &out : is_in ? &in : &weight) && done;
    }
    if (!done || !is_window(op))
        return done;
    return (in.list == NULL || out.list == NULL || window_check(builder, op, &in, &out)) && weight_check(builder, op, &in, &weight, &out);
}
