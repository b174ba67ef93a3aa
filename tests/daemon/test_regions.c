/* Regions: what is refused, what is counted, and clients that cut, grow or take away what they registered. */
#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "daemon/memory/regions.h"
#include "tests/unit/check.h"

#define BYTES 8192

static char key[64];

static int shared_make(off_t bytes)
{
    int fd;

    snprintf(key, sizeof key, "/rlx-test-regions-%d", (int)getpid());
    shm_unlink(key);
    fd = shm_open(key, O_RDWR | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, bytes), 0);
    return fd;
}

static int memfd_make(off_t bytes, int seals)
{
    int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, bytes), 0);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
    return fd;
}

static bool fd_is_open(int fd) { return fcntl(fd, F_GETFD) >= 0; }

static void offsets_count_once_and_do_not_wrap(void **state)
{
    rlx_regions_t *regions = rlx_regions_create();
    rlx_region_t *region;
    uint32_t words[BYTES / 4], read[16];
    int fd = shared_make(BYTES);

    (void)state;
    for (uint32_t i = 0; i < BYTES / 4; i++)
        words[i] = i;
    assert_int_equal(pwrite(fd, words, BYTES, 0), BYTES);
    assert_ok(rlx_regions_add_system(regions, "r", key, 4096, 4096, &diag));
    assert_ok(rlx_regions_use(regions, "r", 0, 4096, &region, &diag));
    assert_null(rlx_region_address(region, 0));
    assert_ok(rlx_region_read(region, 64, read, sizeof read, &diag));
    assert_int_equal(read[0], (4096 + 64) / 4);
    read[0] = 77;
    assert_ok(rlx_region_write(region, 4092, read, 4, &diag));
    assert_int_equal(pread(fd, words, 4, BYTES - 4), 4);
    assert_int_equal(words[0], 77);
    rlx_region_drop(region);
    assert_refused(rlx_regions_use(regions, "r", 1, 4096, &region, &diag), RLX_E_REGION_RANGE, "4096 bytes at offset 1");
    assert_refused(rlx_regions_use(regions, "r", UINT64_MAX - 1023, 2048, &region, &diag), RLX_E_REGION_RANGE, "do not lie in region 'r'");
    assert_refused(rlx_regions_use(regions, "r", 0, UINT64_MAX, &region, &diag), RLX_E_REGION_RANGE, "of 4096 bytes");
    assert_ok(rlx_regions_use(regions, "r", 4096, 0, &region, &diag)); /* an empty tensor at the end */
    rlx_region_drop(region);
    assert_ok(rlx_regions_remove(regions, "r", &diag));
    rlx_regions_destroy(regions);
    close(fd);
    shm_unlink(key);
}

static void registrations_larger_than_the_object_are_refused(void **state)
{
    rlx_regions_t *regions = rlx_regions_create();
    int fd = shared_make(BYTES);

    (void)state;
    assert_refused(rlx_regions_add_system(regions, "r", key, 0, BYTES + 1, &diag), RLX_E_REGION_FILE, "wants 8193 bytes");
    assert_refused(rlx_regions_add_system(regions, "r", key, BYTES, 1, &diag), RLX_E_REGION_FILE, "which has 8192");
    assert_refused(rlx_regions_add_system(regions, "r", key, UINT64_MAX, 2, &diag), RLX_E_REGION_FILE, "offset 18446744073709551615");
    assert_refused(rlx_regions_add_system(regions, "r", key, 0, 0, &diag), RLX_E_REGION_FILE, "wants 0 bytes");
    assert_refused(rlx_regions_add_system(regions, "r", "/nobody-made-this", 0, 1, &diag), RLX_E_REGION_FILE, "cannot be opened");
    assert_refused(rlx_regions_add_system(regions, "r", "/../etc/passwd", 0, 1, &diag), RLX_E_REGION_FILE, "no key");
    assert_refused(rlx_regions_add_system(regions, "r", "", 0, 1, &diag), RLX_E_REGION_FILE, "no key");
    assert_refused(rlx_regions_add_system(regions, "", key, 0, 1, &diag), RLX_E_REGION_RANGE, "1 to 255 bytes");
    assert_refused(rlx_regions_add_system(regions, "a\nb", key, 0, 1, &diag), RLX_E_REGION_RANGE, "control character");
    assert_ok(rlx_regions_add_system(regions, "r", key, 0, BYTES, &diag));
    assert_refused(rlx_regions_add_system(regions, "r", key, 0, BYTES, &diag), RLX_E_REGION_EXISTS, "'r'");
    rlx_regions_destroy(regions);
    close(fd);
    shm_unlink(key);
}

static void a_client_that_cuts_its_object_gets_an_error(void **state)
{
    rlx_regions_t *regions = rlx_regions_create();
    rlx_region_t *region;
    static char bytes[BYTES];
    struct stat info;
    int fd = shared_make(BYTES);

    (void)state;
    assert_ok(rlx_regions_add_system(regions, "r", key, 0, BYTES, &diag));
    assert_ok(rlx_regions_use(regions, "r", 0, BYTES, &region, &diag));
    assert_int_equal(ftruncate(fd, 100), 0);
    assert_refused(rlx_region_read(region, 0, bytes, BYTES, &diag), RLX_E_REGION_FILE, "shorter than registered");
    assert_refused(rlx_region_write(region, 0, bytes, BYTES, &diag), RLX_E_REGION_FILE, "shorter than registered");
    assert_int_equal(fstat(fd, &info), 0);
    assert_int_equal(info.st_size, 100); /* we did not make it grow */
    assert_ok(rlx_region_read(region, 0, bytes, 100, &diag));
    rlx_region_drop(region);
    rlx_regions_destroy(regions);
    close(fd);
    shm_unlink(key);
}

static void regions_in_use_stay(void **state)
{
    rlx_regions_t *regions = rlx_regions_create();
    rlx_region_t *one, *two;
    rlx_region_view_t view;
    int cursor = 0, fd = shared_make(BYTES);

    (void)state;
    assert_ok(rlx_regions_add_system(regions, "b", key, 0, BYTES, &diag));
    assert_ok(rlx_regions_add_system(regions, "a", key, 0, 16, &diag));
    assert_ok(rlx_regions_use(regions, "b", 0, 1, &one, &diag));
    assert_ok(rlx_regions_use(regions, "b", 0, 1, &two, &diag));
    assert_refused(rlx_regions_remove(regions, "b", &diag), RLX_E_REGION_BUSY, "2 requests");
    assert_refused(rlx_regions_remove(regions, "c", &diag), RLX_E_REGION_UNKNOWN, "'c'");
    assert_true(rlx_regions_next(regions, &cursor, &view));
    assert_string_equal(view.name, "a");
    assert_int_equal(view.users, 0);
    assert_true(rlx_regions_next(regions, &cursor, &view));
    assert_string_equal(view.name, "b");
    assert_string_equal(view.key, key);
    assert_int_equal(view.users, 2);
    assert_false(rlx_regions_next(regions, &cursor, &view));
    rlx_regions_remove_system(regions); /* those that are not in use */
    cursor = 0;
    assert_true(rlx_regions_next(regions, &cursor, &view));
    assert_string_equal(view.name, "b");
    rlx_region_drop(one);
    rlx_region_drop(two);
    assert_ok(rlx_regions_remove(regions, "b", &diag));
    rlx_regions_destroy(regions);
    close(fd);
    shm_unlink(key);
}

static void memfds_must_be_sealed(void **state)
{
    rlx_regions_t *regions = rlx_regions_create();
    int fd, shared = shared_make(BYTES);

    (void)state;
    fd = memfd_make(BYTES, F_SEAL_GROW);
    assert_refused(rlx_regions_add_memfd(regions, "m", fd, 1, &diag), RLX_E_REGION_FILE, "F_SEAL_SHRINK");
    assert_false(fd_is_open(fd));
    fd = memfd_make(BYTES, F_SEAL_SHRINK);
    assert_refused(rlx_regions_add_memfd(regions, "m", fd, 1, &diag), RLX_E_REGION_FILE, "F_SEAL_GROW");
    fd = memfd_make(BYTES, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
    assert_refused(rlx_regions_add_memfd(regions, "m", fd, 1, &diag), RLX_E_REGION_FILE, "sealed against writing");
    fd = memfd_make(0, F_SEAL_SHRINK | F_SEAL_GROW);
    assert_refused(rlx_regions_add_memfd(regions, "m", fd, 1, &diag), RLX_E_REGION_FILE, "is empty");
    assert_refused(rlx_regions_add_memfd(regions, "m", shared, 1, &diag), RLX_E_REGION_FILE, ""); /* a file is no memfd */
    assert_false(fd_is_open(shared));
    fd = open("/dev/null", O_RDWR);
    assert_refused(rlx_regions_add_memfd(regions, "m", fd, 1, &diag), RLX_E_REGION_FILE, "no memfd");
    assert_false(fd_is_open(fd));
    rlx_regions_destroy(regions);
    shm_unlink(key);
}

static void a_memfd_is_used_in_place_until_its_last_user(void **state)
{
    rlx_regions_t *regions = rlx_regions_create();
    rlx_region_t *region;
    char *mine, *theirs;
    int fd = memfd_make(BYTES, F_SEAL_SHRINK | F_SEAL_GROW), keep = dup(fd);

    (void)state;
    mine = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, keep, 0);
    assert_ok(rlx_regions_add_memfd(regions, "m", fd, 7, &diag));
    assert_false(fd_is_open(fd)); /* moved */
    assert_ok(rlx_regions_use(regions, "m", 4096, 4096, &region, &diag));
    theirs = rlx_region_address(region, 4096);
    mine[4096] = 42;
    assert_int_equal(theirs[0], 42);
    theirs[1] = 43;
    assert_int_equal(mine[4097], 43);
    assert_int_not_equal(ftruncate(keep, 0), 0); /* the seal holds */
    assert_refused(rlx_regions_remove(regions, "m", &diag), RLX_E_REGION_UNKNOWN, "'m'"); /* not a system region */
    assert_refused(rlx_regions_remove_owned(regions, "m", 8, &diag), RLX_E_REGION_UNKNOWN, "by this connection");
    assert_refused(rlx_regions_remove_owned(regions, "m", 7, &diag), RLX_E_REGION_BUSY, "1 requests");
    rlx_regions_remove_owner(regions, 7);
    assert_int_equal(theirs[0], 42); /* the owner went, the request did not */
    {
        rlx_region_t *none;

        assert_refused(rlx_regions_use(regions, "m", 0, 1, &none, &diag), RLX_E_REGION_UNKNOWN, "'m'");
    }
    rlx_region_drop(region);
    rlx_regions_destroy(regions);
    munmap(mine, BYTES);
    close(keep);
}

static void the_table_is_bounded(void **state)
{
    rlx_regions_t *regions = rlx_regions_create();
    char name[32];
    int fd = shared_make(BYTES);

    (void)state;
    if (sysconf(_SC_OPEN_MAX) < RLX_REGIONS_MAX + 64) { /* one descriptor each */
        close(fd);
        rlx_regions_destroy(regions);
        skip();
    }
    for (int i = 0; i < RLX_REGIONS_MAX; i++) {
        snprintf(name, sizeof name, "r%d", i * 7919 % RLX_REGIONS_MAX);
        assert_ok(rlx_regions_add_system(regions, name, key, 0, 1, &diag));
    }
    assert_refused(rlx_regions_add_system(regions, "more", key, 0, 1, &diag), RLX_E_SERVER_MEMORY, "4096");
    rlx_regions_remove_system(regions);
    assert_ok(rlx_regions_add_system(regions, "more", key, 0, 1, &diag));
    rlx_regions_destroy(regions);
    close(fd);
    shm_unlink(key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(offsets_count_once_and_do_not_wrap),
        cmocka_unit_test(registrations_larger_than_the_object_are_refused),
        cmocka_unit_test(a_client_that_cuts_its_object_gets_an_error),
        cmocka_unit_test(regions_in_use_stay),
        cmocka_unit_test(memfds_must_be_sealed),
        cmocka_unit_test(a_memfd_is_used_in_place_until_its_last_user),
        cmocka_unit_test(the_table_is_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
