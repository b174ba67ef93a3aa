/* Bundle files: what was written comes back; the same parts give the same bytes; any damaged byte is found; stamps. */
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include "base/digest.h"
#include "base/file.h"
#include "bundle/format.h"
#include "exec/load.h"
#include "tests/exec/program_builder.h"
#include "tests/unit/check.h"

static pb_t pb;

/* Code for kernel 240: writes 42 to the first int32 of its output, in x86-64 machine code. */
static const uint8_t code[] = {
    0x48, 0x8b, 0x47, 0x08,             /* mov rax, [rdi + 8]   args->out */
    0x48, 0x8b, 0x00,                   /* mov rax, [rax]       out[0].base */
    0xc7, 0x00, 0x2a, 0x00, 0x00, 0x00, /* mov dword [rax], 42 */
    0xc3,                               /* ret */
};
static const rlx_bundle_entry_t entries[] = {{240, 0}};
static uint8_t constants[5000];

static void parts_fill(rlx_bundle_parts_t *parts)
{
    static const rlx_bundle_option_t options[] = {{"opt-level", "2"}, {"max", "n=8"}};
    static const rlx_bundle_image_t images[] = {
        {"x86-64-v3", code, sizeof code, entries, 1},
        {"x86-64-v4", code, sizeof code, entries, 1},
    };
    const rlx_ref_t dims[1] = {pb_number(1)};
    uint32_t y;
    size_t size;

    pb_init(&pb);
    y = pb_value(&pb, RLX_VALUE_OUTPUT, "y", RLX_I32, 1, dims, pb_number(0), pb_number(4));
    pb_step(&pb, 240, 0, 1, &y, pb_number(1));
    pb_finish(&pb, pb_number(0), &size);
    for (size_t i = 0; i < sizeof constants; i++)
        constants[i] = (uint8_t)(i * 7);
    *parts = (rlx_bundle_parts_t){.name = "tiny",
                                  .compiler = "rlx test",
                                  .kernel_abi = RLX_KERNEL_ABI,
                                  .program = pb.blob,
                                  .program_bytes = size,
                                  .constants = constants,
                                  .constants_bytes = sizeof constants,
                                  .ir_text = "graph tiny\n",
                                  .ir_text_bytes = 11,
                                  .options = options,
                                  .n_options = 2,
                                  .images = images,
                                  .n_images = 2};
}

static char path[256];

static void file_make(void)
{
    rlx_bundle_parts_t parts;

    parts_fill(&parts);
    assert_ok(rlx_bundle_write(path, &parts, &diag));
}

static void what_was_written_comes_back(void **state)
{
    rlx_bundle_t *bundle;
    const rlx_bundle_option_t *options;
    uint8_t digest[32];
    size_t bytes;
    int n;

    (void)state;
    file_make();
    assert_ok(rlx_bundle_open(path, 0, &bundle, &diag));
    assert_string_equal(rlx_bundle_name(bundle), "tiny");
    assert_string_equal(rlx_bundle_compiler(bundle), "rlx test");
    assert_int_equal(rlx_bundle_program(bundle)->steps.count, 1);
    assert_memory_equal(rlx_bundle_constants(bundle, &bytes), constants, sizeof constants);
    assert_int_equal(bytes, sizeof constants);
    assert_memory_equal(rlx_bundle_ir_text(bundle, &bytes), "graph tiny\n", 11);
    rlx_digest_blake2b("graph tiny\n", 11, digest);
    assert_memory_equal(rlx_bundle_source_digest(bundle), digest, 32);
    options = rlx_bundle_options(bundle, &n);
    assert_int_equal(n, 2);
    assert_string_equal(options[0].key, "max");
    (void)rlx_bundle_signatures(bundle, &n);
    assert_int_equal(n, 0);
    rlx_bundle_segments(bundle, &n);
    assert_int_equal(n, 6);
    rlx_bundle_close(bundle);
}

static void code_runs_from_the_bundle(void **state)
{
    rlx_model_t *model;
    rlx_plan_t *plan;
    rlx_io_t output = {0};

    (void)state;
    file_make();
    assert_ok(rlx_model_open(path, 0, &model, &diag));
    assert_ok(rlx_plan_get(model, NULL, &plan, &diag));
    assert_ok(rlx_run(plan, NULL, NULL, &output, NULL, NULL, &diag));
    assert_int_equal(*(int32_t *)output.tensor.data, 42);
    free(output.tensor.data);
    rlx_plan_release(plan);
    rlx_model_release(model);
}

static void the_isa_can_be_chosen(void **state)
{
    rlx_bundle_t *bundle;

    (void)state;
    file_make();
    setenv("RLX_ISA", "x86-64-v3", 1);
    assert_ok(rlx_bundle_open(path, 0, &bundle, &diag));
    assert_string_equal(rlx_bundle_code(bundle)->isa, "x86-64-v3");
    rlx_bundle_close(bundle);
    setenv("RLX_ISA", "x86-64-v9", 1);
    assert_refused(rlx_bundle_open(path, 0, &bundle, &diag), RLX_E_BUNDLE_TARGET, "RLX_ISA asks for x86-64-v9");
    assert_ok(rlx_bundle_open(path, RLX_BUNDLE_SKIP_CODE, &bundle, &diag));
    assert_null(rlx_bundle_code(bundle));
    rlx_bundle_close(bundle);
    unsetenv("RLX_ISA");
}

static void the_same_parts_give_the_same_bytes(void **state)
{
    void *first, *second;
    size_t n_first, n_second;

    (void)state;
    file_make();
    assert_ok(rlx_file_read(path, 1 << 20, &first, &n_first, &diag));
    file_make();
    assert_ok(rlx_file_read(path, 1 << 20, &second, &n_second, &diag));
    assert_int_equal(n_first, n_second);
    assert_memory_equal(first, second, n_first);
    free(first);
    free(second);
}

static void byte_flip(int fd, off_t at)
{
    uint8_t byte;

    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 0x10;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
}

static void any_damaged_byte_is_found(void **state)
{
    struct stat info;
    int fd;

    (void)state;
    file_make();
    fd = open(path, O_RDWR);
    assert_int_equal(fstat(fd, &info), 0);
    for (off_t at = 0; at < info.st_size; at += at % 4096 < 700 ? 1 : 97) {
        rlx_bundle_t *bundle;
        rlx_diag_t diag = {0};

        byte_flip(fd, at);
        if (rlx_bundle_open(path, RLX_BUNDLE_NO_STAMP, &bundle, &diag) == RLX_OK)
            fail_msg("byte %ld may be changed", (long)at);
        byte_flip(fd, at);
    }
    close(fd);
}

static void a_cut_or_longer_file_is_refused(void **state)
{
    rlx_bundle_t *bundle;
    struct stat info;

    (void)state;
    file_make();
    assert_int_equal(stat(path, &info), 0);
    for (off_t size = info.st_size + 1; size > 0; size = size > 5000 ? size - 3001 : size - 1001) {
        if (size == info.st_size)
            continue;
        file_make();
        assert_int_equal(truncate(path, size), 0);
        assert_int_not_equal(rlx_bundle_open(path, 0, &bundle, NULL), RLX_OK);
    }
    assert_refused(rlx_bundle_open("/", 0, &bundle, &diag), RLX_E_FILE_OPEN, "not a regular file");
    assert_refused(rlx_bundle_open("/nowhere/x.rlxb", 0, &bundle, &diag), RLX_E_FILE_OPEN, "No such file");
}

static void a_newer_major_version_is_named(void **state)
{
    rlx_bundle_t *bundle;
    uint16_t major = 3;
    int fd;

    (void)state;
    file_make();
    fd = open(path, O_RDWR);
    assert_int_equal(pwrite(fd, &major, 2, 8), 2);
    close(fd);
    assert_refused(rlx_bundle_open(path, 0, &bundle, &diag), RLX_E_BUNDLE_VERSION, "format 3.1, this program reads 1.x");
}

static bool opens_stamped(unsigned flags)
{
    rlx_bundle_t *bundle;
    bool stamped;

    assert_ok(rlx_bundle_open(path, flags, &bundle, &diag));
    stamped = rlx_bundle_stamped(bundle);
    rlx_bundle_close(bundle);
    return stamped;
}

static void cache_begin(char folder[300])
{
    snprintf(folder, 300, "%s-cache", path);
    setenv("RLX_CACHE_DIR", folder, 1);
}

static void cache_end(void)
{
    char command[320];

    unsetenv("RLX_CACHE_DIR");
    snprintf(command, sizeof command, "rm -rf '%s-cache'", path);
    assert_int_equal(system(command), 0);
}

static void whoever_writes_a_bundle_leaves_its_stamp(void **state)
{
    char folder[300];

    (void)state;
    cache_begin(folder);
    file_make();
    assert_true(opens_stamped(0)); /* at once: nothing to wait for */
    assert_false(opens_stamped(RLX_BUNDLE_NO_STAMP));
    assert_true(opens_stamped(0));
    cache_end();
    assert_false(opens_stamped(0));
}

/* Every byte, right after the file was written and right after it was stamped: no moment is too short for a change to be seen. */
static void a_stamp_ends_with_any_change(void **state)
{
    char folder[300];
    struct stat info;
    int fd;

    (void)state;
    cache_begin(folder);
    file_make();
    assert_int_equal(stat(path, &info), 0);
    for (off_t at = 0; at < info.st_size; at += info.st_size / 40) {
        rlx_bundle_t *bundle;

        file_make();
        fd = open(path, O_RDWR);
        byte_flip(fd, at);
        assert_int_not_equal(rlx_bundle_open(path, 0, &bundle, NULL), RLX_OK);
        byte_flip(fd, at);
        for (int settle = 0; settle < 100 && !opens_stamped(0); settle++) /* hashed, then stamped once the clock has ticked */
            usleep(1000);
        assert_true(opens_stamped(0));
        byte_flip(fd, at);
        assert_int_not_equal(rlx_bundle_open(path, 0, &bundle, NULL), RLX_OK);
        close(fd);
    }
    cache_end();
}

static void a_copy_has_no_stamp_until_it_was_hashed(void **state)
{
    char folder[300], command[1200];

    (void)state;
    cache_begin(folder);
    file_make();
    snprintf(command, sizeof command, "cp '%s' '%s.copy' && mv '%s.copy' '%s'", path, path, path, path);
    assert_int_equal(system(command), 0);
    usleep(20000);
    assert_false(opens_stamped(0));
    assert_true(opens_stamped(0));
    cache_end();
}

static void a_cache_folder_that_others_may_write_is_not_trusted(void **state)
{
    char folder[300];

    (void)state;
    cache_begin(folder);
    file_make();
    assert_true(opens_stamped(0));
    assert_int_equal(chmod(folder, 0777), 0);
    assert_false(opens_stamped(0));
    assert_false(opens_stamped(0));
    cache_end();
}

static void the_digest_tree_does_not_depend_on_threads(void **state)
{
    size_t bytes = 5 * RLX_BUNDLE_LEAF + 17;
    uint8_t *data = calloc(1, bytes), one[32], many[32], shorter[32];

    (void)state;
    data[3 * RLX_BUNDLE_LEAF] = 1;
    assert_true(rlx_bundle_digest_tree(data, bytes, 1, one));
    for (int threads = 2; threads < 9; threads++) {
        assert_true(rlx_bundle_digest_tree(data, bytes, threads, many));
        assert_memory_equal(one, many, 32);
    }
    assert_true(rlx_bundle_digest_tree(data, bytes - 1, 4, shorter));
    assert_memory_not_equal(one, shorter, 32);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_comes_back),
        cmocka_unit_test(code_runs_from_the_bundle),
        cmocka_unit_test(the_isa_can_be_chosen),
        cmocka_unit_test(the_same_parts_give_the_same_bytes),
        cmocka_unit_test(any_damaged_byte_is_found),
        cmocka_unit_test(a_cut_or_longer_file_is_refused),
        cmocka_unit_test(a_newer_major_version_is_named),
        cmocka_unit_test(whoever_writes_a_bundle_leaves_its_stamp),
        cmocka_unit_test(a_stamp_ends_with_any_change),
        cmocka_unit_test(a_copy_has_no_stamp_until_it_was_hashed),
        cmocka_unit_test(a_cache_folder_that_others_may_write_is_not_trusted),
        cmocka_unit_test(the_digest_tree_does_not_depend_on_threads),
    };
    int failed;

    snprintf(path, sizeof path, "%s", scratch_path("bundle.rlxb"));
    unsetenv("RLX_CACHE_DIR");
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}
