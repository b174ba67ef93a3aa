/* How bundle files lie in memory: written and copied so that huge pages can serve them, mapped so that they do; and that nothing else follows
 * from it: same bytes, same checks, on file systems without huge pages too. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/file.h"
#include "bundle/format.h"
#include "kernels/abi.h"
#include "tests/exec/program_builder.h"
#include "tests/unit/check.h"

#define HUGE_PAGE ((size_t)2 << 20)
#define CONSTANTS (9 * HUGE_PAGE / 2)

static pb_t pb;
static uint8_t constants[CONSTANTS];
static char path[256], copy[256];

/* A program that reads nothing of the constants: this is about the file. */
static void file_make(const char *to)
{
    const rlx_ref_t dims[1] = {pb_number(1)};
    rlx_bundle_parts_t parts = {.name = "large", .compiler = "rlx test", .kernel_abi = RLX_KERNEL_ABI, .constants = constants,
                                .constants_bytes = sizeof constants, .ir_text = "graph large\n", .ir_text_bytes = 12};
    uint32_t y;

    pb_init(&pb);
    y = pb_value(&pb, RLX_VALUE_OUTPUT, "y", RLX_I32, 1, dims, pb_number(0), pb_number(4));
    pb_step(&pb, 240, 0, 1, &y, pb_number(1));
    pb_finish(&pb, pb_number(0), &parts.program_bytes);
    parts.program = pb.blob;
    for (size_t i = 0; i < sizeof constants; i++)
        constants[i] = (uint8_t)(i * 7 + (i >> 12));
    assert_ok(rlx_bundle_write(to, &parts, &diag));
}

static rlx_bundle_t *opened(const char *from)
{
    rlx_bundle_t *bundle = NULL;

    assert_ok(rlx_bundle_open(from, RLX_BUNDLE_SKIP_CODE, &bundle, &diag));
    return bundle;
}

static uint64_t constants_offset(const rlx_bundle_t *bundle)
{
    int n;
    const rlx_bundle_segment_t *segments = rlx_bundle_segments(bundle, &n);

    for (int i = 0; i < n; i++)
        if (strcmp(segments[i].kind, "constants") == 0)
            return segments[i].offset;
    fail_msg("no constants");
    return 0;
}

/* Does this system map a file of this folder in huge pages, when all is done for it? */
static bool system_maps_huge(void)
{
    char probe[300];
    const volatile uint8_t *map;
    bool huge = false;
    int fd;

    snprintf(probe, sizeof probe, "%s.probe", path);
    assert_ok(rlx_file_write(probe, constants, 2 * HUGE_PAGE, &diag));
    fd = open(probe, O_RDONLY | O_CLOEXEC);
    map = rlx_bundle_file_map(fd, 2 * HUGE_PAGE);
    if (map != NULL && map[0] == constants[0])
        huge = rlx_bundle_file_huge((const void *)map, 2 * HUGE_PAGE) > 0;
    munmap((void *)(uintptr_t)map, 2 * HUGE_PAGE);
    close(fd);
    unlink(probe);
    return huge;
}

static void addresses_and_offsets_agree_modulo_a_huge_page(void **state)
{
    rlx_bundle_t *bundle;

    (void)state;
    file_make(path);
    for (int times = 0; times < 3; times++) {
        rlx_bundle_t *other = opened(path);

        bundle = opened(path);
        assert_int_equal(((uintptr_t)rlx_bundle_constants(bundle, NULL) - constants_offset(bundle)) % HUGE_PAGE, 0);
        assert_memory_equal(rlx_bundle_constants(bundle, NULL), constants, sizeof constants);
        rlx_bundle_close(other);
        rlx_bundle_close(bundle);
    }
}

/* All whole huge pages of the file, the first among them, which holds header, manifest, text and program too. Whoever asks for them may find
 * memory in pieces just then; not ten times. */
static void written_and_copied_files_are_mapped_in_huge_pages(void **state)
{
    const size_t whole = CONSTANTS / HUGE_PAGE * HUGE_PAGE;
    size_t written = 0, copied = 0;

    (void)state;
    if (!system_maps_huge())
        skip();
    for (int times = 0; times < 10 && (written < whole || copied < whole); times++) {
        rlx_bundle_t *bundle;

        file_make(path);
        bundle = opened(path); /* hashed, so every page is mapped */
        written = rlx_bundle_huge_bytes(bundle);
        rlx_bundle_close(bundle);
        assert_ok(rlx_bundle_copy(path, copy, &bundle, &diag));
        copied = rlx_bundle_huge_bytes(bundle);
        rlx_bundle_close(bundle);
    }
    assert_int_equal(written, whole);
    assert_int_equal(copied, whole);
}

static void a_file_system_of_small_pages_serves_the_same_bytes(void **state)
{
    rlx_bundle_t *bundle;
    char memory[300];

    (void)state;
    snprintf(memory, sizeof memory, "/dev/shm/rlx-test-%ld.rlxb", (long)getpid());
    if (access("/dev/shm", W_OK) != 0)
        skip();
    file_make(memory);
    bundle = opened(memory);
    assert_memory_equal(rlx_bundle_constants(bundle, NULL), constants, sizeof constants);
    rlx_bundle_close(bundle);
    unlink(memory);
}

static bool files_equal(const char *a, const char *b)
{
    rlx_bytes_t x, y;
    bool equal;

    assert_ok(rlx_file_map(a, &x, &diag));
    assert_ok(rlx_file_map(b, &y, &diag));
    equal = x.bytes == y.bytes && memcmp(x.data, y.data, x.bytes) == 0;
    rlx_file_unmap(&x);
    rlx_file_unmap(&y);
    return equal;
}

static void byte_flip(const char *file, off_t at)
{
    int fd = open(file, O_RDWR | O_CLOEXEC);
    uint8_t byte;

    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 1;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

/* With a stamp of the original and without: the copy's bytes are the original's, and it has a stamp of its own. */
static void a_copy_is_the_original_byte_for_byte(void **state)
{
    char folder[300];
    rlx_bundle_t *bundle;

    (void)state;
    for (int stamped = 0; stamped < 2; stamped++) {
        snprintf(folder, sizeof folder, "%s-cache%d", path, stamped);
        setenv("RLX_CACHE_DIR", folder, 1);
        file_make(path);
        if (!stamped)
            byte_flip(path, 9000), byte_flip(path, 9000); /* another ctime: its stamp is void */
        assert_ok(rlx_bundle_copy(path, copy, &bundle, &diag));
        rlx_bundle_close(bundle);
        assert_true(files_equal(path, copy));
        bundle = opened(copy);
        assert_true(rlx_bundle_stamped(bundle));
        rlx_bundle_close(bundle);
    }
    unsetenv("RLX_CACHE_DIR");
}

/* Anywhere, right after a stamp was left: the change voids it, the copy is hashed, found damaged, and the target stays. */
static void an_altered_file_is_not_copied_in_spite_of_its_old_stamp(void **state)
{
    char folder[300];
    struct stat info;

    (void)state;
    snprintf(folder, sizeof folder, "%s-cache2", path);
    setenv("RLX_CACHE_DIR", folder, 1);
    assert_ok(rlx_file_write(copy, "what was there", 14, &diag));
    file_make(path);
    assert_int_equal(stat(path, &info), 0);
    for (off_t at = 1; at < info.st_size; at += info.st_size / 9) {
        rlx_bundle_t *bundle;
        rlx_bytes_t left;

        file_make(path);
        byte_flip(path, at);
        assert_int_not_equal(rlx_bundle_copy(path, copy, &bundle, NULL), RLX_OK);
        assert_ok(rlx_file_map(copy, &left, &diag));
        assert_int_equal(left.bytes, 14);
        rlx_file_unmap(&left);
    }
    unsetenv("RLX_CACHE_DIR");
}

static int files_remove(void **state)
{
    char command[900];

    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s' '%s'-cache? '%s'", path, path, copy);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_and_offsets_agree_modulo_a_huge_page),
        cmocka_unit_test(written_and_copied_files_are_mapped_in_huge_pages),
        cmocka_unit_test(a_file_system_of_small_pages_serves_the_same_bytes),
        cmocka_unit_test(a_copy_is_the_original_byte_for_byte),
        cmocka_unit_test(an_altered_file_is_not_copied_in_spite_of_its_old_stamp),
    };

    snprintf(path, sizeof path, "%s", scratch_path("large.rlxb"));
    snprintf(copy, sizeof copy, "%s", scratch_path("copy.rlxb"));
    return cmocka_run_group_tests(tests, NULL, files_remove);
}
