/* The hand-over socket: what docs/PROTOCOL.md promises, and peers that break it. No descriptor is ever left open. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "daemon/memory/handover.h"
#include "rpc/local/handover.h"
#include "tests/unit/check.h"

typedef struct server {
    uv_loop_t loop;
    rlx_regions_t *regions;
    rlx_handover_t *handover;
    char path[100];
    bool closed;
} server_t;

static void open_server(server_t *server)
{
    memset(server, 0, sizeof *server);
    snprintf(server->path, sizeof server->path, "%.99s", scratch_path("memory.sock"));
    assert_int_equal(uv_loop_init(&server->loop), 0);
    server->regions = rlx_regions_create();
    assert_ok(rlx_handover_create(&server->loop, server->regions, server->path, &server->handover, &diag));
}

static void on_closed(void *context) { ((server_t *)context)->closed = true; }

static void close_server(server_t *server)
{
    rlx_handover_close(server->handover, on_closed, server);
    uv_run(&server->loop, UV_RUN_DEFAULT);
    assert_true(server->closed);
    rlx_regions_destroy(server->regions);
    assert_int_equal(uv_loop_close(&server->loop), 0);
    assert_int_not_equal(access(server->path, F_OK), 0); /* the socket file is gone */
}

static void turn(server_t *server, int turns)
{
    for (int i = 0; i < turns; i++)
        uv_run(&server->loop, UV_RUN_NOWAIT);
}

static int fds_open(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int n = 0;

    while (readdir(dir) != NULL)
        n++;
    closedir(dir);
    return n;
}

static int regions_count(const server_t *server)
{
    rlx_region_view_t view;
    int cursor = 0, n = 0;

    while (rlx_regions_next(server->regions, &cursor, &view))
        n++;
    return n;
}

static int connect_raw(const server_t *server)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    memcpy(address.sun_path, server->path, strlen(server->path) + 1);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

/* Sends bytes with `n_fds` descriptors attached to the first of them. */
static void send_raw(int socket, const void *data, size_t bytes, const int *fds, int n_fds)
{
    struct iovec piece = {(void *)(uintptr_t)data, bytes};
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(64 * sizeof(int))];
    } control;
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};

    memset(&control, 0, sizeof control);
    if (n_fds > 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE((size_t)n_fds * sizeof(int));
        *CMSG_FIRSTHDR(&message) = (struct cmsghdr){.cmsg_len = CMSG_LEN((size_t)n_fds * sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(CMSG_FIRSTHDR(&message)), fds, (size_t)n_fds * sizeof(int));
    }
    assert_int_equal(sendmsg(socket, &message, MSG_NOSIGNAL), (ssize_t)bytes);
}

static size_t request_make(char *out, uint16_t op, const char *name)
{
    rlx_handover_request_t request = {.magic = RLX_HANDOVER_MAGIC, .version = RLX_HANDOVER_VERSION, .op = op, .name_bytes = (uint32_t)strlen(name)};

    memcpy(out, &request, sizeof request);
    memcpy(out + sizeof request, name, strlen(name));
    return sizeof request + strlen(name);
}

static int memfd_sealed(void)
{
    int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    assert_int_equal(ftruncate(fd, 4096), 0);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
    return fd;
}

/* The status of the next answer; -1: the connection was closed; -2: nothing there. */
static int answer_read(int socket, char *out_message)
{
    rlx_handover_answer_t answer;
    ssize_t n = recv(socket, &answer, sizeof answer, MSG_DONTWAIT);

    out_message[0] = '\0';
    if (n == 0 || (n < 0 && errno == ECONNRESET))
        return -1;
    if (n < 0)
        return -2;
    assert_int_equal(n, sizeof answer);
    assert_int_equal(answer.magic, RLX_HANDOVER_MAGIC);
    assert_true(answer.message_bytes <= 4095);
    if (answer.message_bytes > 0)
        assert_int_equal(recv(socket, out_message, answer.message_bytes, MSG_DONTWAIT), answer.message_bytes);
    out_message[answer.message_bytes] = '\0';
    return answer.status;
}

typedef struct client {
    const char *path;
    atomic_bool over;
    int rounds;
} client_t;

/* A client of librlx, in its own thread since its calls wait. */
static void *client_main(void *argument)
{
    client_t *client = argument;
    rlx_diag_t diag = {0};
    void *address;
    int socket, memfd;

    if (rlx_handover_connect(client->path, &socket, &diag) == RLX_OK && rlx_handover_memory("t", 8192, &memfd, &address, &diag) == RLX_OK) {
        for (; client->rounds < 100; client->rounds++)
            if (rlx_handover_call(socket, RLX_HANDOVER_GIVE, "mine", memfd, &diag) != RLX_OK ||
                rlx_handover_call(socket, RLX_HANDOVER_GIVE, "mine", memfd, &diag) != RLX_ALREADY_EXISTS ||
                (diag = (rlx_diag_t){0}, rlx_handover_call(socket, RLX_HANDOVER_RELEASE, "mine", -1, &diag)) != RLX_OK ||
                rlx_handover_call(socket, RLX_HANDOVER_RELEASE, "mine", -1, &diag) != RLX_NOT_FOUND || (diag = (rlx_diag_t){0}, false))
                break;
        munmap(address, 8192);
        close(memfd);
        close(socket);
    }
    atomic_store(&client->over, true);
    return NULL;
}

static void the_clients_side_and_this_one_agree(void **state)
{
    static server_t server;
    client_t client = {.path = server.path};
    int before = fds_open();
    pthread_t thread;

    (void)state;
    open_server(&server);
    assert_int_equal(pthread_create(&thread, NULL, client_main, &client), 0);
    while (!atomic_load(&client.over))
        uv_run(&server.loop, UV_RUN_NOWAIT);
    pthread_join(thread, NULL);
    assert_int_equal(client.rounds, 100);
    turn(&server, 5);
    assert_int_equal(rlx_handover_counters(server.handover)->handed_over, 100);
    assert_int_equal(rlx_handover_counters(server.handover)->released, 100);
    assert_int_equal(rlx_handover_counters(server.handover)->denied, 200);
    close_server(&server);
    assert_int_equal(fds_open(), before);
}

static void requests_may_come_in_pieces_or_together(void **state)
{
    static server_t server;
    char bytes[600], message[4096];
    int socket, fd = memfd_sealed();
    size_t n, second;

    (void)state;
    open_server(&server);
    socket = connect_raw(&server);
    n = request_make(bytes, RLX_HANDOVER_GIVE, "piecewise");
    send_raw(socket, bytes, 1, &fd, 1); /* the descriptor comes with the first byte */
    for (size_t i = 1; i < n; i++) {
        turn(&server, 1);
        assert_int_equal(answer_read(socket, message), -2);
        send_raw(socket, bytes + i, 1, NULL, 0);
    }
    turn(&server, 2);
    assert_int_equal(answer_read(socket, message), 0);
    n = request_make(bytes, RLX_HANDOVER_RELEASE, "piecewise");
    second = request_make(bytes + n, RLX_HANDOVER_RELEASE, "piecewise");
    send_raw(socket, bytes, n + second, NULL, 0);
    turn(&server, 2);
    assert_int_equal(answer_read(socket, message), 0);
    assert_int_equal(answer_read(socket, message), RLX_NOT_FOUND);
    assert_memory_equal(message, "RLX-1612: ", 10);
    close(fd);
    close(socket);
    close_server(&server);
}

static void malformed_requests_close_the_connection(void **state)
{
    static server_t server;
    static const struct {
        uint32_t magic, name_bytes, reserved;
        uint16_t version, op;
        int n_fds;
        char name[4];
    } bad[] = {
        {0x12345678, 1, 0, 1, 1, 1, "m"},         {RLX_HANDOVER_MAGIC, 1, 0, 2, 1, 1, "m"},   {RLX_HANDOVER_MAGIC, 1, 0, 1, 3, 1, "m"},
        {RLX_HANDOVER_MAGIC, 0, 0, 1, 1, 1, "m"}, {RLX_HANDOVER_MAGIC, 256, 0, 1, 1, 1, "m"}, {RLX_HANDOVER_MAGIC, 1, 9, 1, 1, 1, "m"},
        {RLX_HANDOVER_MAGIC, 1, 0, 1, 1, 0, "m"}, {RLX_HANDOVER_MAGIC, 1, 0, 1, 1, 2, "m"},   {RLX_HANDOVER_MAGIC, 1, 0, 1, 1, 60, "m"},
        {RLX_HANDOVER_MAGIC, 1, 0, 1, 2, 1, "m"}, {RLX_HANDOVER_MAGIC, 3, 0, 1, 1, 1, {'a', 0, 'b'}}, {0xffffffff, 0xffffffff, 0, 1, 1, 3, "m"},
    };
    char message[4096];
    int before = fds_open(), n = sizeof bad / sizeof *bad;

    (void)state;
    open_server(&server);
    for (int i = 0; i < n; i++) {
        rlx_handover_request_t request = {bad[i].magic, bad[i].version, bad[i].op, bad[i].name_bytes, bad[i].reserved};
        char bytes[64];
        int fds[64], socket = connect_raw(&server);

        for (int k = 0; k < bad[i].n_fds; k++)
            fds[k] = memfd_sealed();
        memcpy(bytes, &request, sizeof request);
        memcpy(bytes + sizeof request, bad[i].name, 3);
        send_raw(socket, bytes, sizeof request + (bad[i].name_bytes < 4 ? bad[i].name_bytes : 1), fds, bad[i].n_fds);
        turn(&server, 3);
        assert_int_equal(answer_read(socket, message), -1);
        for (int k = 0; k < bad[i].n_fds; k++)
            close(fds[k]);
        close(socket);
    }
    turn(&server, 3);
    assert_int_equal(rlx_handover_counters(server.handover)->malformed, n);
    assert_int_equal(regions_count(&server), 0);
    close_server(&server);
    assert_int_equal(fds_open(), before);
}

static void what_is_refused_by_status_keeps_the_connection(void **state)
{
    static server_t server;
    char bytes[600], message[4096];
    int before = fds_open(), plain = memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING), good = memfd_sealed(), socket;
    size_t n;

    (void)state;
    assert_int_equal(ftruncate(plain, 4096), 0);
    open_server(&server);
    socket = connect_raw(&server);
    n = request_make(bytes, RLX_HANDOVER_GIVE, "m");
    send_raw(socket, bytes, n, &plain, 1);
    send_raw(socket, bytes, n, &good, 1);
    send_raw(socket, bytes, n, &good, 1);
    turn(&server, 3);
    assert_int_equal(answer_read(socket, message), RLX_INVALID_ARGUMENT);
    assert_non_null(strstr(message, "RLX-1616"));
    assert_int_equal(answer_read(socket, message), 0);
    assert_int_equal(answer_read(socket, message), RLX_ALREADY_EXISTS);
    assert_int_equal(regions_count(&server), 1);
    close(socket);
    close(plain);
    close(good);
    close_server(&server);
    assert_int_equal(fds_open(), before);
}

static void regions_go_with_their_connection(void **state)
{
    static server_t server;
    rlx_region_t *region;
    char bytes[600], message[4096];
    int one, other, fd = memfd_sealed();

    (void)state;
    open_server(&server);
    one = connect_raw(&server);
    other = connect_raw(&server);
    send_raw(one, bytes, request_make(bytes, RLX_HANDOVER_GIVE, "a"), &fd, 1);
    send_raw(other, bytes, request_make(bytes, RLX_HANDOVER_GIVE, "b"), &fd, 1);
    turn(&server, 3);
    assert_int_equal(answer_read(one, message), 0);
    assert_int_equal(answer_read(other, message), 0);
    send_raw(other, bytes, request_make(bytes, RLX_HANDOVER_RELEASE, "a"), NULL, 0); /* not its own */
    turn(&server, 3);
    assert_int_equal(answer_read(other, message), RLX_NOT_FOUND);
    assert_ok(rlx_regions_use(server.regions, "a", 0, 4096, &region, &diag));
    send_raw(one, bytes, request_make(bytes, RLX_HANDOVER_RELEASE, "a"), NULL, 0);
    turn(&server, 3);
    assert_int_equal(answer_read(one, message), RLX_FAILED_PRECONDITION);
    close(one);
    turn(&server, 3);
    assert_int_equal(regions_count(&server), 1);
    *(char *)rlx_region_address(region, 4095) = 1; /* its request goes on */
    rlx_region_drop(region);
    close(other);
    close(fd);
    close_server(&server);
}

static void connections_are_bounded(void **state)
{
    static server_t server;
    static int sockets[RLX_HANDOVER_CONNECTIONS_MAX + 5];
    char message[4096];
    int n = RLX_HANDOVER_CONNECTIONS_MAX + 5, before = fds_open();

    (void)state;
    open_server(&server);
    for (int i = 0; i < n; i++) {
        sockets[i] = connect_raw(&server);
        turn(&server, 1);
    }
    turn(&server, 5);
    assert_int_equal(rlx_handover_counters(server.handover)->accepted, RLX_HANDOVER_CONNECTIONS_MAX);
    assert_int_equal(rlx_handover_counters(server.handover)->refused, 5);
    assert_int_equal(answer_read(sockets[n - 1], message), -1);
    for (int i = 0; i < n; i++)
        close(sockets[i]);
    turn(&server, 30);
    sockets[0] = connect_raw(&server);
    turn(&server, 3);
    assert_int_equal(answer_read(sockets[0], message), -2); /* there is room again */
    close(sockets[0]);
    close_server(&server);
    assert_int_equal(fds_open(), before);
}

static void a_stale_socket_file_is_replaced_a_live_one_is_not(void **state)
{
    static server_t server;
    rlx_handover_t *second;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd;

    (void)state;
    snprintf(address.sun_path, sizeof address.sun_path, "%.99s", scratch_path("memory.sock"));
    fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    close(fd);
    open_server(&server);
    assert_refused(rlx_handover_create(&server.loop, server.regions, server.path, &second, &diag), RLX_E_LISTEN, "another program");
    close_server(&server);
}

/* What libuv opens once for the process is not counted. */
static int warm_up(void **state)
{
    static server_t server;

    (void)state;
    open_server(&server);
    close_server(&server);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_clients_side_and_this_one_agree),
        cmocka_unit_test(requests_may_come_in_pieces_or_together),
        cmocka_unit_test(malformed_requests_close_the_connection),
        cmocka_unit_test(what_is_refused_by_status_keeps_the_connection),
        cmocka_unit_test(regions_go_with_their_connection),
        cmocka_unit_test(connections_are_bounded),
        cmocka_unit_test(a_stale_socket_file_is_replaced_a_live_one_is_not),
    };

    return cmocka_run_group_tests(tests, warm_up, NULL);
}
