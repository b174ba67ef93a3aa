/* rlx_program_check: a good program passes; each broken rule is refused with its own words; damaged bytes never crash it. */
#include "tests/exec/program_builder.h"
#include "tests/unit/check.h"

enum { KERNEL = 240 };

static pb_t pb;

/* y[n] from x[n] through t, with one computed slot. */
static size_t build(void)
{
    const rlx_ref_t dims[1] = {pb_slot(0)};
    uint32_t bytes, x, t, y;
    size_t size;

    pb_init(&pb);
    pb_symbol(&pb, "n", RLX_SYMBOL_INPUT_AXIS, 0, 0, 1, 100);
    bytes = pb_scale(&pb, 0, 4);
    x = pb_value(&pb, RLX_VALUE_INPUT, "x", RLX_F32, 1, dims, pb_number(0), pb_slot(bytes));
    t = pb_value(&pb, RLX_VALUE_ARENA, "t", RLX_F32, 1, dims, pb_number(0), pb_slot(bytes));
    y = pb_value(&pb, RLX_VALUE_OUTPUT, "y", RLX_F32, 1, dims, pb_number(0), pb_slot(bytes));
    pb_value(&pb, RLX_VALUE_CONST, "c", RLX_F32, 0, NULL, pb_number(0), pb_number(4));
    pb_step(&pb, KERNEL, 1, 1, (uint32_t[]){x, t}, pb_slot(0));
    pb_param(&pb, pb_slot(bytes));
    pb_step(&pb, KERNEL, 1, 1, (uint32_t[]){t, y}, pb_number(1));
    pb_finish(&pb, pb_slot(bytes), &size);
    return size;
}

static void a_good_program_passes(void **state)
{
    size_t size = build();

    (void)state;
    assert_ok(rlx_program_check(pb.blob, size, 64, &diag));
}

#define HEADER ((rlx_program_header_t *)pb.blob)
#define TABLE(type, field) ((type *)(pb.blob + HEADER->field.offset))

#define REFUSED(change, word)                                                                                                             \
    do {                                                                                                                                  \
        size_t size = build();                                                                                                            \
        change;                                                                                                                           \
        assert_refused(rlx_program_check(pb.blob, size, 64, &diag), RLX_E_BUNDLE_MALFORMED, word);                                        \
    } while (0)

static void broken_tables_are_refused(void **state)
{
    (void)state;
    REFUSED(HEADER->magic++, "no program header");
    REFUSED(HEADER->bytes++, "segment has");
    REFUSED(HEADER->values.count = 1u << 30, "table values lies outside");
    REFUSED(HEADER->steps.offset = 4, "table steps lies outside");
    REFUSED(HEADER->refs.offset = UINT64_MAX - 7, "table refs lies outside");
    REFUSED(HEADER->strings.count = 0, "strings do not");
    REFUSED(TABLE(char, strings)[HEADER->strings.count - 1] = 'x', "strings do not");
    REFUSED(HEADER->regions.count = 0, "0 regions");
    REFUSED(HEADER->costs.count = 1, "costs and steps differ");
    REFUSED(TABLE(rlx_program_cost_t, costs)[1].scale = RLX_COST_SCALE_MAX + 1, "scaled beyond all measure");
    REFUSED(HEADER->n_slots = UINT32_MAX, "slots");
    REFUSED(HEADER->inputs.count = 0, "an input value is not listed");
}

static void broken_code_is_refused(void **state)
{
    (void)state;
    REFUSED(TABLE(int64_t, code)[0] = 99, "unknown or lacks operands");
    REFUSED(TABLE(int64_t, code)[0] = RLX_CODE_ADD, "unknown or lacks operands");
    REFUSED(TABLE(int64_t, code)[1] = 1, "out of range");
    REFUSED(TABLE(int64_t, code)[1] = -1, "out of range");
    REFUSED(TABLE(int64_t, code)[6] = 2, "out of range");
    REFUSED(TABLE(int64_t, code)[5] = RLX_CODE_CHECK, "the code writes 1 slots of 2");
    REFUSED(TABLE(rlx_program_region_t, regions)->n_code = 6, "is out of range");
}

static void broken_references_are_refused(void **state)
{
    (void)state;
    REFUSED(TABLE(rlx_ref_t, refs)->slot = 2, "dimension 0 uses a slot");
    REFUSED(TABLE(rlx_program_value_t, values)[1].kind = 9, "kind, name or region");
    REFUSED(TABLE(rlx_program_value_t, values)[1].dtype = 0, "element type, rank or layout");
    REFUSED(TABLE(rlx_program_value_t, values)[1].rank = 9, "element type, rank or layout");
    REFUSED(TABLE(rlx_program_value_t, values)[1].dims = 1u << 31, "dimensions out of range");
    REFUSED(TABLE(rlx_program_value_t, values)[3].offset.value = 128, "constant outside");
    REFUSED(TABLE(rlx_program_value_t, values)[3].offset.value = 4, "constant outside");
    REFUSED(TABLE(rlx_program_value_t, values)[3].bytes.value = 65, "constant outside");
    REFUSED(TABLE(rlx_program_value_t, values)[3].bytes.value = -1, "constant outside");
    REFUSED(TABLE(uint32_t, operands)[1] = 3, "may not be written");
    REFUSED(TABLE(uint32_t, operands)[1] = 0, "may not be written");
    REFUSED(TABLE(uint32_t, operands)[0] = 77, "operand 0 out of range");
    REFUSED(TABLE(rlx_program_patch_t, patches)->slot = 2, "patch 0 out of range");
    REFUSED(TABLE(rlx_program_patch_t, patches)->index = 1, "patch 0 out of range");
    REFUSED(TABLE(rlx_program_step_t, steps)->kernel = 256, "kernel or name");
    REFUSED(TABLE(rlx_program_step_t, steps)->n_in = UINT32_MAX, "too many operands");
    REFUSED(TABLE(rlx_program_step_t, steps)->tiles.slot = 5, "tiles or scratch");
    REFUSED(TABLE(rlx_program_symbol_t, symbols)->index = 1, "source does not fit");
    REFUSED(TABLE(rlx_program_symbol_t, symbols)->min = 101, "minimum above maximum");
    REFUSED(TABLE(rlx_program_symbol_t, symbols)->value = 2, "source does not fit");
    REFUSED(TABLE(rlx_program_region_t, regions)->n_steps = 1, "outside every region");
    REFUSED(TABLE(uint32_t, outputs)[0] = 4, "no row-major value");
    REFUSED(TABLE(rlx_program_value_t, values)[0].batch_symbol = RLX_BATCH_FREE - 1, "batch symbol out of range");
}

/* y[n] = x[n], run by a branch or the other. */
static size_t build_call(void)
{
    static pb_t inner;
    static char body[65536];
    const rlx_ref_t dims[1] = {pb_number(4)};
    uint32_t c, x, y;
    size_t bytes, size;

    pb_init(&inner);
    x = pb_value(&inner, RLX_VALUE_INPUT, "x", RLX_F32, 1, dims, pb_number(0), pb_number(16));
    y = pb_value(&inner, RLX_VALUE_OUTPUT, "y", RLX_F32, 1, dims, pb_number(0), pb_number(16));
    pb_step(&inner, KERNEL, 1, 1, (uint32_t[]){x, y}, pb_number(1));
    pb_finish(&inner, pb_number(0), &bytes);
    memcpy(body, inner.blob, bytes);
    pb_init(&pb);
    c = pb_value(&pb, RLX_VALUE_INPUT, "c", RLX_BOOL, 0, NULL, pb_number(0), pb_number(1));
    x = pb_value(&pb, RLX_VALUE_INPUT, "x", RLX_F32, 1, dims, pb_number(0), pb_number(16));
    y = pb_value(&pb, RLX_VALUE_OUTPUT, "y", RLX_F32, 1, dims, pb_number(0), pb_number(16));
    pb_step(&pb, RLX_CALL_IF, 3, 1, (uint32_t[]){c, x, x, y}, pb_number(1));
    pb_param(&pb, pb_number(pb_body(&pb, body, bytes)));
    pb_param(&pb, pb_number(pb_body(&pb, body, bytes)));
    pb_finish(&pb, pb_number(0), &size);
    return size;
}

#define CALL_REFUSED(change, word)                                                                                                        \
    do {                                                                                                                                  \
        size_t size = build_call();                                                                                                       \
        change;                                                                                                                           \
        assert_refused(rlx_program_check(pb.blob, size, 0, &diag), RLX_E_BUNDLE_MALFORMED, word);                                         \
    } while (0)

static void a_call_fits_its_bodies(void **state)
{
    size_t size = build_call();

    (void)state;
    assert_ok(rlx_program_check(pb.blob, size, 0, &diag));
    assert_int_equal(rlx_program_steps_total(HEADER), 3);
    CALL_REFUSED(TABLE(int64_t, params)[0] = 2, "its body does not exist");
    CALL_REFUSED(TABLE(int64_t, params)[1] = -1, "its body does not exist");
    CALL_REFUSED(TABLE(rlx_program_step_t, steps)->n_params = 1, "two constant parameters");
    CALL_REFUSED(TABLE(rlx_program_step_t, steps)->n_in = 2, "may not be written");
    CALL_REFUSED(TABLE(rlx_program_step_t, steps)->kernel = RLX_CALL_LOOP, "do not fit the loop's body");
    CALL_REFUSED(TABLE(rlx_program_step_t, steps)->kernel = RLX_CALL_LOOP + 1, "kernel or name");
    CALL_REFUSED(TABLE(uint32_t, operands)[0] = 1, "do not fit the branches");
    CALL_REFUSED(TABLE(uint32_t, operands)[1] = 0, "does not fit its body");
    CALL_REFUSED(TABLE(rlx_program_value_t, values)[2].kind = RLX_VALUE_DYNAMIC, "dynamic value in region 0");
}

static void bodies_lie_inside_and_apart(void **state)
{
    (void)state;
    CALL_REFUSED(TABLE(rlx_program_body_t, bodies)[0].offset += 4, "body 0 lies outside");
    CALL_REFUSED(TABLE(rlx_program_body_t, bodies)[0].offset = 0, "body 0 lies outside");
    CALL_REFUSED(TABLE(rlx_program_body_t, bodies)[1].offset = TABLE(rlx_program_body_t, bodies)[0].offset, "body 1 lies outside, or over");
    CALL_REFUSED(TABLE(rlx_program_body_t, bodies)[1].bytes += 8, "body 1 lies outside");
    CALL_REFUSED(TABLE(rlx_program_body_t, bodies)[1].bytes -= 8, "header says");
    CALL_REFUSED(HEADER->bodies.count = 1u << 30, "table bodies lies outside");
    CALL_REFUSED(((rlx_program_header_t *)(pb.blob + TABLE(rlx_program_body_t, bodies)[0].offset))->magic++, "no program header");
}

/* Each level is the one before with a header around it. */
static void bodies_nest_so_deep_and_no_deeper(void **state)
{
    static pb_t level;
    static char body[65536];
    size_t bytes = 0;

    (void)state;
    for (int depth = 0; depth <= RLX_PROGRAM_DEPTH_MAX + 1; depth++) {
        pb_init(&level);
        if (depth > 0)
            pb_body(&level, body, bytes);
        pb_finish(&level, pb_number(0), &bytes);
        memcpy(body, level.blob, bytes);
        if (depth <= RLX_PROGRAM_DEPTH_MAX)
            assert_ok(rlx_program_check(level.blob, bytes, 0, &diag));
        else
            assert_refused(rlx_program_check(level.blob, bytes, 0, &diag), RLX_E_BUNDLE_MALFORMED, "nest more than");
    }
}

static void another_version_is_named(void **state)
{
    size_t size = build();

    (void)state;
    HEADER->major = 2;
    HEADER->minor = 0;
    assert_refused(rlx_program_check(pb.blob, size, 64, &diag), RLX_E_BUNDLE_VERSION, "version 2.0");
}

static void damaged_bytes_never_crash(void **state)
{
    size_t (*const builds[])(void) = {build, build_call};

    (void)state;
    for (int i = 0; i < 2; i++) {
        size_t size = builds[i]();

        for (size_t at = 0; at < size; at++) {
            for (int bit = 0; bit < 8; bit++) {
                pb.blob[at] ^= (char)(1 << bit);
                rlx_program_check(pb.blob, size, 64, NULL);
                pb.blob[at] ^= (char)(1 << bit);
            }
            rlx_program_check(pb.blob, at / 8 * 8, 64, NULL);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_program_passes),    cmocka_unit_test(broken_tables_are_refused),
        cmocka_unit_test(broken_code_is_refused),   cmocka_unit_test(broken_references_are_refused),
        cmocka_unit_test(a_call_fits_its_bodies),   cmocka_unit_test(bodies_lie_inside_and_apart),
        cmocka_unit_test(bodies_nest_so_deep_and_no_deeper),
        cmocka_unit_test(another_version_is_named), cmocka_unit_test(damaged_bytes_never_crash),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
