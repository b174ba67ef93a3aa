/* rpc/http/http.h over socketpairs, on one thread: the test is client and loop. */
#include <errno.h>
#include <sys/socket.h>
#include <uv.h>

#include "rpc/http/http.h"
#include "tests/unit/check.h"

#define BODY_MAX 100000

/* What the handler does with a path: /echo answers the body at once, /later keeps the exchange, others 404. */
typedef struct rlx_test_service {
    uv_loop_t loop;
    rlx_http_t *http;
    rlx_http_exchange_t *kept;
    int n_requests, n_gone, n_released;
    bool aligned;
    char seen_query[64];
} rlx_test_service_t;

static void on_release(void *context) { ((rlx_test_service_t *)context)->n_released++; }

static void on_request(void *context, rlx_http_exchange_t *exchange)
{
    rlx_test_service_t *service = context;
    static const rlx_http_field_t field = {"X-Test", "yes"};
    size_t bytes;
    const char *body = rlx_http_body(exchange, &bytes), *query = rlx_http_query(exchange, "q");
    rlx_rpc_slice_t slices[3] = {{body, bytes / 2}, {"", 0}, {body + bytes / 2, bytes - bytes / 2}};

    service->n_requests++;
    service->aligned = (uintptr_t)body % 64 == 0;
    snprintf(service->seen_query, sizeof service->seen_query, "%s", query != NULL ? query : "(none)");
    if (strcmp(rlx_http_path(exchange), "/later") == 0)
        service->kept = exchange;
    else if (strcmp(rlx_http_path(exchange), "/echo") == 0)
        rlx_http_reply(exchange, 200, &field, 1, slices, 3, on_release, service);
    else
        rlx_http_reply(exchange, 404, NULL, 0, NULL, 0, NULL, NULL);
}

static void on_gone(void *context, rlx_http_exchange_t *exchange)
{
    rlx_test_service_t *service = context;

    assert_ptr_equal(exchange, service->kept);
    service->n_gone++;
}

static void turn(rlx_test_service_t *service, int n)
{
    for (int i = 0; i < n; i++)
        uv_run(&service->loop, UV_RUN_NOWAIT);
}

static int client_open(rlx_test_service_t *service)
{
    int pair[2], bytes = 1 << 20;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    rlx_http_adopt(service->http, pair[1], false);
    return pair[0];
}

/* Sends all of it, turning the loop where the socket is full. */
static void client_send(rlx_test_service_t *service, int fd, const char *data, size_t bytes)
{
    while (bytes > 0) {
        ssize_t n = send(fd, data, bytes, MSG_NOSIGNAL);

        turn(service, 1);
        if (n < 0 && errno != EAGAIN)
            return;
        data += n > 0 ? n : 0;
        bytes -= n > 0 ? (size_t)n : 0;
    }
}

static void client_say(rlx_test_service_t *service, int fd, const char *text) { client_send(service, fd, text, strlen(text)); }

/* What comes within some turns, as a string. Static storage. */
static const char *client_receive(rlx_test_service_t *service, int fd)
{
    static char answer[1 << 20];
    size_t bytes = 0;

    for (int i = 0; i < 200; i++) {
        ssize_t n;

        turn(service, 1);
        n = recv(fd, answer + bytes, sizeof answer - 1 - bytes, 0);
        if (n == 0)
            break;
        bytes += n > 0 ? (size_t)n : 0;
    }
    answer[bytes] = '\0';
    return answer;
}

static const char *ask(rlx_test_service_t *service, int fd, const char *request)
{
    client_send(service, fd, request, strlen(request));
    return client_receive(service, fd);
}

#define assert_says(text, word)                                              \
    do {                                                                     \
        if (strstr((text), (word)) == NULL)                                  \
            fail_msg("'%.300s' does not say '%s'", (text), (word));          \
    } while (0)

static int service_start(void **state)
{
    static rlx_test_service_t service;
    rlx_http_options_t options = {.loop = &service.loop, .handler = on_request, .gone = on_gone, .service = &service,
                                  .body_bytes_max = BODY_MAX, .bodies_bytes_max = 400000, .connections_max = 4, .timeout_s = 1};

    memset(&service, 0, sizeof service);
    uv_loop_init(&service.loop);
    assert_ok(rlx_http_create(&options, &service.http, &diag));
    *state = &service;
    return 0;
}

static void on_done(void *context) { *(bool *)context = true; }

static int service_stop(void **state)
{
    rlx_test_service_t *service = *state;
    bool done = false;

    rlx_http_close(service->http, on_done, &done);
    for (int i = 0; i < 100 && !done; i++)
        uv_run(&service->loop, UV_RUN_NOWAIT);
    assert_true(done);
    assert_int_equal(uv_loop_close(&service->loop), 0);
    return 0;
}

static void a_request_is_answered_with_fields_and_its_slices_released_once(void **state)
{
    rlx_test_service_t *service = *state;
    int fd = client_open(service);
    const char *answer = ask(service, fd, "POST /echo?q=a%20b HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello");

    assert_says(answer, "HTTP/1.1 200 OK\r\n");
    assert_says(answer, "X-Test: yes\r\n");
    assert_says(answer, "\r\n\r\nhello");
    assert_string_equal(service->seen_query, "a b");
    assert_true(service->aligned);
    assert_int_equal(service->n_released, 1);
    close(fd);
}

static void a_connection_serves_one_request_after_another(void **state)
{
    rlx_test_service_t *service = *state;
    int fd = client_open(service);

    for (int i = 0; i < 50; i++)
        assert_says(ask(service, fd, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab"), "200 OK");
    assert_int_equal(service->n_requests, 50);
    assert_int_equal(service->n_released, 50);
    assert_int_equal(rlx_http_connections(service->http), 1);
    close(fd);
}

static void pipelined_requests_are_answered_in_order(void **state)
{
    rlx_test_service_t *service = *state;
    int fd = client_open(service);
    const char *answer = ask(service, fd, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n1"
                                          "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n2");

    assert_says(answer, "\r\n\r\n1HTTP/1.1");
    assert_says(answer, "\r\n\r\n2");
    close(fd);
}

static void chunked_bodies_arrive_whole(void **state)
{
    rlx_test_service_t *service = *state;
    int fd = client_open(service);

    assert_says(ask(service, fd, "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n"),
                "\r\n\r\nabcdefg");
    close(fd);
}

static void expect_100_continue_is_answered_before_the_body(void **state)
{
    rlx_test_service_t *service = *state;
    int fd = client_open(service);

    assert_says(ask(service, fd, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n"), "HTTP/1.1 100 ");
    assert_says(ask(service, fd, "xyz"), "\r\n\r\nxyz");
    close(fd);
}

static void a_body_above_the_limit_is_refused_with_both_numbers_and_the_connection_survives(void **state)
{
    rlx_test_service_t *service = *state;
    int fd = client_open(service);
    static char body[BODY_MAX + 1];
    const char *answer;

    memset(body, 'x', sizeof body);
    client_say(service, fd, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100001\r\n\r\n");
    client_send(service, fd, body, sizeof body);
    answer = client_receive(service, fd);
    assert_says(answer, "HTTP/1.1 413");
    assert_says(answer, "100001");
    assert_says(answer, "100000");
    assert_int_equal(service->n_requests, 0);
    assert_int_equal(rlx_http_counters(service->http)->bodies_oversize, 1);
    assert_says(ask(service, fd, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab"), "200 OK");
    close(fd);
}

static void a_body_at_the_limit_is_accepted(void **state)
{
    rlx_test_service_t *service = *state;
    int fd = client_open(service);
    static char body[BODY_MAX];
    const char *answer;

    memset(body, 'y', sizeof body);
    client_say(service, fd, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n");
    client_send(service, fd, body, sizeof body);
    answer = client_receive(service, fd);
    assert_says(answer, "HTTP/1.1 200");
    assert_int_equal(strspn(strstr(answer, "\r\n\r\n") + 4, "y"), BODY_MAX);
    close(fd);
}

static void far_too_much_is_refused_before_it_is_sent(void **state)
{
    rlx_test_service_t *service = *state;
    int fd = client_open(service);

    assert_says(ask(service, fd, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n"), "HTTP/1.1 413");
    close(fd);
}

static void an_oversize_chunked_body_is_refused_too(void **state)
{
    rlx_test_service_t *service = *state;
    int fd = client_open(service);
    static char chunk[70000];

    memset(chunk, 'z', sizeof chunk);
    client_say(service, fd, "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 2; i++) {
        client_say(service, fd, "11170\r\n");
        client_send(service, fd, chunk, sizeof chunk);
        client_say(service, fd, "\r\n");
    }
    client_say(service, fd, "0\r\n\r\n");
    assert_says(client_receive(service, fd), "HTTP/1.1 413");
    close(fd);
}

static void bad_content_lengths_and_requests_are_refused(void **state)
{
    rlx_test_service_t *service = *state;
    static const char *const requests[] = {
        "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: twelve\r\n\r\n",
        "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n",
        "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc",
    };

    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        int fd = client_open(service);
        const char *answer = ask(service, fd, requests[i]);

        if (answer[0] != '\0' && strstr(answer, "HTTP/1.1 4") == NULL)
            fail_msg("request %zu was answered '%.100s'", i, answer);
        close(fd);
        turn(service, 5);
    }
    assert_int_equal(service->n_requests, 0);
    assert_int_equal(rlx_http_connections(service->http), 0);
}

static void huge_headers_are_refused(void **state)
{
    rlx_test_service_t *service = *state;
    int fd = client_open(service);
    static char header[200000];

    memset(header, 'h', sizeof header);
    memcpy(header, "GET /echo HTTP/1.1\r\nX-Long: ", strlen("GET /echo HTTP/1.1\r\nX-Long: "));
    client_send(service, fd, header, sizeof header);
    assert_says(client_receive(service, fd), "HTTP/1.1 431");
    close(fd);
}

static void an_answer_may_come_later(void **state)
{
    rlx_test_service_t *service = *state;
    rlx_rpc_slice_t slice = {"late", 4};
    int fd = client_open(service);

    assert_string_equal(ask(service, fd, "GET /later HTTP/1.1\r\nHost: x\r\n\r\n"), "");
    assert_non_null(service->kept);
    rlx_http_reply(service->kept, 200, NULL, 0, &slice, 1, on_release, service);
    assert_says(client_receive(service, fd), "\r\n\r\nlate");
    assert_int_equal(service->n_released, 1);
    assert_int_equal(service->n_gone, 0);
    close(fd);
}

static void a_client_that_leaves_is_told_once_and_the_late_answer_is_released(void **state)
{
    rlx_test_service_t *service = *state;
    rlx_rpc_slice_t slice = {"late", 4};
    int fd = client_open(service);

    ask(service, fd, "GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
    close(fd);
    turn(service, 10);
    assert_int_equal(service->n_gone, 1);
    rlx_http_reply(service->kept, 200, NULL, 0, &slice, 1, on_release, service);
    turn(service, 10);
    assert_int_equal(service->n_released, 1);
    assert_int_equal(rlx_http_connections(service->http), 0);
}

static void connections_above_the_maximum_get_503(void **state)
{
    rlx_test_service_t *service = *state;
    int fds[5];

    for (int i = 0; i < 5; i++)
        fds[i] = client_open(service);
    assert_says(client_receive(service, fds[4]), "HTTP/1.1 503");
    assert_int_equal(rlx_http_counters(service->http)->connections_refused, 1);
    assert_says(ask(service, fds[0], "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab"), "200 OK");
    for (int i = 0; i < 5; i++)
        close(fds[i]);
}

static void a_drained_service_closes_idle_connections_and_finishes_requests(void **state)
{
    rlx_test_service_t *service = *state;
    rlx_rpc_slice_t slice = {"end", 3};
    int idle = client_open(service), busy = client_open(service);
    char byte;

    ask(service, busy, "GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
    rlx_http_drain(service->http);
    turn(service, 10);
    assert_int_equal(recv(idle, &byte, 1, 0), 0);
    rlx_http_reply(service->kept, 200, NULL, 0, &slice, 1, NULL, NULL);
    assert_says(client_receive(service, busy), "Connection: close");
    assert_int_equal(rlx_http_connections(service->http), 0);
    close(idle);
    close(busy);
}

static void slow_requests_are_closed_in_time_although_bytes_trickle(void **state)
{
    rlx_test_service_t *service = *state;
    int headers = client_open(service), body = client_open(service);
    uint64_t end = uv_hrtime() + (uint64_t)4000000000;
    char byte;

    client_say(service, headers, "GET /echo HTTP/1.1\r\n");
    client_say(service, body, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n");
    while (uv_hrtime() < end && rlx_http_connections(service->http) > 0) {
        send(headers, "x", 1, MSG_NOSIGNAL);
        send(body, "x", 1, MSG_NOSIGNAL);
        turn(service, 2);
        usleep(100000);
    }
    assert_int_equal(rlx_http_connections(service->http), 0);
    assert_int_equal(rlx_http_counters(service->http)->timeouts, 2);
    while (recv(headers, &byte, 1, 0) > 0)
        ;
    close(headers);
    close(body);
}

static void closing_waits_for_the_answers_that_are_owed(void **state)
{
    rlx_test_service_t *service = *state;
    bool done = false;
    int fd = client_open(service);

    ask(service, fd, "GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
    rlx_http_close(service->http, on_done, &done);
    turn(service, 10);
    assert_false(done);
    assert_int_equal(service->n_gone, 1);
    rlx_http_reply(service->kept, 503, NULL, 0, NULL, 0, on_release, service);
    turn(service, 10);
    assert_true(done);
    assert_int_equal(service->n_released, 1);
    close(fd);
    assert_int_equal(uv_loop_close(&service->loop), 0);
    service_start(state); /* for the teardown */
}

static void an_idle_service_does_not_turn_the_loop(void **state)
{
    rlx_test_service_t *service = *state;
    int fd = client_open(service), turns = 0;
    uint64_t end = uv_hrtime() + 300000000;

    ask(service, fd, "GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
    for (; uv_hrtime() < end; turns++)
        if (uv_backend_timeout(&service->loop) != 0)
            usleep(10000);
    turn(service, 1);
    assert_true(turns <= 35);
    rlx_http_reply(service->kept, 200, NULL, 0, NULL, 0, NULL, NULL);
    client_receive(service, fd);
    close(fd);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, service_start, service_stop)
    const struct CMUnitTest tests[] = {
        T(a_request_is_answered_with_fields_and_its_slices_released_once),
        T(a_connection_serves_one_request_after_another),
        T(pipelined_requests_are_answered_in_order),
        T(chunked_bodies_arrive_whole),
        T(expect_100_continue_is_answered_before_the_body),
        T(a_body_above_the_limit_is_refused_with_both_numbers_and_the_connection_survives),
        T(a_body_at_the_limit_is_accepted),
        T(far_too_much_is_refused_before_it_is_sent),
        T(an_oversize_chunked_body_is_refused_too),
        T(bad_content_lengths_and_requests_are_refused),
        T(huge_headers_are_refused),
        T(an_answer_may_come_later),
        T(a_client_that_leaves_is_told_once_and_the_late_answer_is_released),
        T(connections_above_the_maximum_get_503),
        T(a_drained_service_closes_idle_connections_and_finishes_requests),
        T(slow_requests_are_closed_in_time_although_bytes_trickle),
        T(closing_waits_for_the_answers_that_are_owed),
        T(an_idle_service_does_not_turn_the_loop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
