/* librlx_exec as a program sees it: describe, run in place or allocated, errors with a number. */
#include "bundle/bundle.h"
#include "exec/rlx_exec.h"
#include "kernels/abi.h"
#include "tests/exec/program_builder.h"
#include "tests/unit/check.h"

static pb_t pb;
static char path[256];

/* Kernel 240: copies one int32 of in[0] to out[0], plus one. */
static const uint8_t code[] = {
    0x48, 0x8b, 0x07, 0x48, 0x8b, 0x00, /* mov rax, [rdi]; mov rax, [rax]       in[0].base */
    0x8b, 0x08, 0xff, 0xc1,             /* mov ecx, [rax]; inc ecx */
    0x48, 0x8b, 0x47, 0x08,             /* mov rax, [rdi + 8] */
    0x48, 0x8b, 0x00, 0x89, 0x08, 0xc3, /* mov rax, [rax]; mov [rax], ecx; ret */
};

static void bundle_make(void)
{
    const rlx_bundle_entry_t entry = {240, 0};
    const rlx_bundle_image_t image = {"x86-64-v3", code, sizeof code, &entry, 1};
    const rlx_ref_t dims[1] = {pb_slot(0)};
    rlx_bundle_parts_t parts = {
        .name = "inc", .compiler = "test", .kernel_abi = RLX_KERNEL_ABI, .ir_text = "", .images = &image, .n_images = 1};
    uint32_t bytes, x, y;

    pb_init(&pb);
    pb_symbol(&pb, "n", RLX_SYMBOL_INPUT_AXIS, 0, 0, 1, 1);
    bytes = pb_scale(&pb, 0, 4);
    x = pb_value(&pb, RLX_VALUE_INPUT, "x", RLX_I32, 1, dims, pb_number(0), pb_slot(bytes));
    y = pb_value(&pb, RLX_VALUE_OUTPUT, "y", RLX_I32, 1, dims, pb_number(0), pb_slot(bytes));
    pb_step(&pb, 240, 1, 1, (uint32_t[]){x, y}, pb_number(1));
    parts.program = pb_finish(&pb, pb_number(0), &parts.program_bytes);
    assert_ok(rlx_bundle_write(path, &parts, &diag));
}

static void a_model_runs_through_the_public_api(void **state)
{
    int32_t in = 41, out = 0;
    rlx_exec_tensor_t input = {RLX_EXEC_I32, 1, {1}, &in}, output = {RLX_EXEC_I32, 1, {1}, &out}, open = {0}, shape;
    rlx_exec_error_t error;
    rlx_exec_t *exec;

    (void)state;
    bundle_make();
    assert_int_equal(rlx_exec_open(path, 2, &exec, &error), 0);
    assert_string_equal(rlx_exec_target(exec), "x86-64-v3");
    assert_int_equal(rlx_exec_input_count(exec), 1);
    assert_string_equal(rlx_exec_input(exec, 0, &shape), "x");
    assert_int_equal(shape.type, RLX_EXEC_I32);
    assert_int_equal(shape.dims[0], -1);
    assert_string_equal(rlx_exec_output(exec, 0, &shape), "y");
    assert_null(rlx_exec_output(exec, 1, &shape));
    assert_int_equal(rlx_exec_run(exec, &input, &output, &error), 0);
    assert_int_equal(out, 42);
    assert_int_equal(rlx_exec_run(exec, &input, &open, NULL), 0);
    assert_int_equal(*(int32_t *)open.data, 42);
    assert_int_equal(open.dims[0], 1);
    rlx_exec_free(&open);
    assert_null(open.data);
    rlx_exec_close(exec);
}

static void errors_have_a_number_and_a_text(void **state)
{
    int32_t in[2] = {0};
    rlx_exec_tensor_t input = {RLX_EXEC_I32, 1, {2}, in}, output = {0};
    rlx_exec_error_t error;
    rlx_exec_t *exec;

    (void)state;
    bundle_make();
    assert_int_equal(rlx_exec_open(path, 1, &exec, &error), 0);
    assert_int_not_equal(rlx_exec_run(exec, &input, &output, &error), 0);
    assert_int_equal(error.code, 1404);
    assert_non_null(strstr(error.text, "input 'x' axis 0 is 2"));
    assert_null(output.data);
    input.type = 99;
    assert_int_not_equal(rlx_exec_run(exec, &input, &output, &error), 0);
    assert_int_equal(error.code, 1403);
    input = (rlx_exec_tensor_t){RLX_EXEC_I32, -7, {0}, in};
    assert_int_not_equal(rlx_exec_run(exec, &input, &output, &error), 0);
    rlx_exec_close(exec);
    assert_int_not_equal(rlx_exec_open("/nowhere", 1, &exec, &error), 0);
    assert_int_equal(error.code, 1002);
    assert_int_not_equal(rlx_exec_open(path, -1, &exec, &error), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_runs_through_the_public_api),
        cmocka_unit_test(errors_have_a_number_and_a_text),
    };
    int failed;

    snprintf(path, sizeof path, "%s", scratch_path("api.rlxb"));
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}
