/* What systemd hears: datagrams to the socket it named, and nothing where it named none. */
#include "daemon/notify.h"

#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "tests/unit/check.h"

static int listener_open(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);

    memcpy(address.sun_path, path, strlen(path));
    if (path[0] == '@')
        address.sun_path[0] = '\0';
    assert_int_equal(bind(fd, (struct sockaddr *)&address, bytes), 0);
    return fd;
}

static void heard(const char *name)
{
    int fd = listener_open(name);
    rlx_notify_t notify;
    char text[64] = {0};

    setenv("NOTIFY_SOCKET", name, 1);
    rlx_notify_init(&notify);
    assert_null(getenv("NOTIFY_SOCKET"));
    rlx_notify_state(&notify, "READY=1\nSTATUS=%s", "well");
    assert_int_equal(recv(fd, text, sizeof text - 1, 0), 19);
    assert_string_equal(text, "READY=1\nSTATUS=well");
    close(fd);
    rlx_notify_hint(&notify, "WATCHDOG=1"); /* nobody is there any more: nothing happens */
    rlx_notify_fini(&notify);
}

static void test_messages_arrive_at_paths_and_abstract_names(void **state)
{
    char name[300];

    (void)state;
    heard(scratch_path("notify"));
    unlink(scratch_path("notify"));
    snprintf(name, sizeof name, "@rlx-test-%ld", (long)getpid());
    heard(name);
}

static void test_without_a_socket_nothing_is_sent(void **state)
{
    rlx_notify_t notify;

    (void)state;
    unsetenv("NOTIFY_SOCKET");
    rlx_notify_init(&notify);
    assert_int_equal(notify.fd, -1);
    rlx_notify_state(&notify, "READY=1");
    setenv("NOTIFY_SOCKET", "vsock:2:1", 1);
    rlx_notify_init(&notify);
    assert_int_equal(notify.fd, -1);
    rlx_notify_fini(&notify);
}

static void watchdog_is(const char *us, const char *pid, uint64_t expected)
{
    const char *path = scratch_path("watchdog");
    int fd = listener_open(path);
    rlx_notify_t notify;

    setenv("NOTIFY_SOCKET", path, 1);
    setenv("WATCHDOG_USEC", us, 1);
    if (pid != NULL)
        setenv("WATCHDOG_PID", pid, 1);
    rlx_notify_init(&notify);
    assert_int_equal(notify.watchdog_us, expected);
    rlx_notify_fini(&notify);
    close(fd);
    unlink(path);
}

static void test_the_watchdog_is_ours_only_where_it_names_us(void **state)
{
    char pid[32];

    (void)state;
    snprintf(pid, sizeof pid, "%ld", (long)getpid());
    watchdog_is("30000000", NULL, 30000000);
    watchdog_is("30000000", pid, 30000000);
    watchdog_is("30000000", "1", 0);
}

/* A listener that does not read takes about ten datagrams. */
static void test_states_wait_in_order_and_hints_are_dropped_while_nobody_reads(void **state)
{
    const char *path = scratch_path("full");
    int fd = listener_open(path), n = 0;
    rlx_notify_t notify;
    char text[64] = {0};

    (void)state;
    setenv("NOTIFY_SOCKET", path, 1);
    rlx_notify_init(&notify);
    for (int i = 0; i < 1000; i++)
        rlx_notify_hint(&notify, "WATCHDOG=1");
    rlx_notify_state(&notify, "RELOADING=1");
    rlx_notify_state(&notify, "READY=1");
    assert_true(rlx_notify_retry(&notify));
    while (recv(fd, text, sizeof text - 1, 0) > 0)
        n++;
    assert_in_range(n, 1, 999);
    rlx_notify_hint(&notify, "WATCHDOG=1"); /* behind what waited */
    memset(text, 0, sizeof text);
    assert_int_equal(recv(fd, text, sizeof text - 1, 0), 11);
    assert_string_equal(text, "RELOADING=1");
    memset(text, 0, sizeof text);
    assert_int_equal(recv(fd, text, sizeof text - 1, 0), 7);
    assert_string_equal(text, "READY=1");
    assert_int_equal(recv(fd, text, sizeof text - 1, 0), 10);
    assert_false(rlx_notify_retry(&notify));
    rlx_notify_fini(&notify);
    close(fd);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages_arrive_at_paths_and_abstract_names),
        cmocka_unit_test(test_states_wait_in_order_and_hints_are_dropped_while_nobody_reads),
        cmocka_unit_test(test_without_a_socket_nothing_is_sent),
        cmocka_unit_test(test_the_watchdog_is_ours_only_where_it_names_us),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
