/* What an endpoint's text means, and what is refused (rpc/client/client.h). */
#include "rpc/client/client.h"
#include "tests/unit/check.h"

static void expect(const char *text, int kind, const char *host, int port)
{
    rlx_rpc_endpoint_t endpoint;
    rlx_diag_t diag = {0};

    assert_int_equal(rlx_rpc_endpoint_parse(text, &endpoint, &diag), RLX_OK);
    assert_int_equal(endpoint.kind, kind);
    assert_string_equal(endpoint.host, host);
    if (kind != RLX_RPC_UNIX)
        assert_int_equal(endpoint.port, port);
}

static void schemes_hosts_and_ports(void **state)
{
    (void)state;
    expect("http://gpu-node-01:8080", RLX_RPC_TCP, "gpu-node-01", 8080);
    expect("grpc://10.0.0.7:1", RLX_RPC_TCP, "10.0.0.7", 1);
    expect("https://host.example:65535/", RLX_RPC_TLS, "host.example", 65535);
    expect("grpcs://host:443", RLX_RPC_TLS, "host", 443);
    expect("http://[::1]:9000", RLX_RPC_TCP, "::1", 9000);
    expect("unix:/run/rlxd/rlxd.sock", RLX_RPC_UNIX, "/run/rlxd/rlxd.sock", 0);
    expect("unix:///run/rlxd/rlxd.sock", RLX_RPC_UNIX, "/run/rlxd/rlxd.sock", 0);
}

static void without_a_port_it_is_8080(void **state)
{
    (void)state;
    expect("http://host", RLX_RPC_TCP, "host", 8080);
    expect("https://[fe80::1]/", RLX_RPC_TLS, "fe80::1", 8080);
}

static void everything_else_is_refused_with_its_text(void **state)
{
    static const char *const texts[] = {"",
                                        "host:8080",
                                        "ftp://host",
                                        "http://",
                                        "http://:80",
                                        "http://host:",
                                        "http://host:0",
                                        "http://host:65536",
                                        "http://host:+80",
                                        "http://host:80x",
                                        "http://host:80/path",
                                        "http://[::1",
                                        "http://[::1]80",
                                        "unix:"};
    rlx_rpc_endpoint_t endpoint;

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        rlx_diag_t diag = {0};

        assert_int_equal(rlx_rpc_endpoint_parse(texts[i], &endpoint, &diag), RLX_INVALID_ARGUMENT);
        assert_int_equal(diag.code, RLX_E_ENDPOINT);
        assert_non_null(strstr(diag.message, texts[i]));
    }
}

static void a_socket_path_has_at_most_107_bytes(void **state)
{
    char text[200] = "unix:/";
    rlx_rpc_endpoint_t endpoint;
    rlx_diag_t diag = {0};

    (void)state;
    memset(text + 6, 'a', 106);
    assert_int_equal(rlx_rpc_endpoint_parse(text, &endpoint, &diag), RLX_OK);
    text[6 + 106] = 'a';
    assert_int_equal(rlx_rpc_endpoint_parse(text, &endpoint, &diag), RLX_INVALID_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schemes_hosts_and_ports),
        cmocka_unit_test(without_a_port_it_is_8080),
        cmocka_unit_test(everything_else_is_refused_with_its_text),
        cmocka_unit_test(a_socket_path_has_at_most_107_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
