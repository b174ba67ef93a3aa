/* The configuration: what the keys mean, and how what is wrong is told. */
#include "daemon/config/config.h"

#include "daemon/config/config.h"
#include "daemon/config/scalar.h"
#include "tests/unit/check.h"

static rlx_config_t parsed(const char *text)
{
    rlx_config_t config;
    rlx_diag_t diag = {0};

    if (rlx_config_parse(text, strlen(text), "conf/c.yaml", &config, &diag) != RLX_OK)
        fail_msg("refused: %s at %s", diag.message, diag.where);
    return config;
}

static void refused(const char *text, int code, const char *where, const char *word)
{
    rlx_config_t config;
    rlx_diag_t diag = {0};

    if (rlx_config_parse(text, strlen(text), "conf/c.yaml", &config, &diag) == RLX_OK)
        fail_msg("accepted: %s", text);
    assert_int_equal(diag.code, code);
    assert_string_equal(diag.where, where);
    if (strstr(diag.message, word) == NULL)
        fail_msg("'%s' does not say '%s'", diag.message, word);
}

static void test_nothing_said_means_the_defaults(void **state)
{
    rlx_config_t config = parsed("");

    (void)state;
    assert_int_equal(config.cluster.mode, RLX_MODE_STANDALONE);
    assert_int_equal(config.n_nodes, 0);
    assert_int_equal(config.server.limits.streams, 1000);
    assert_int_equal(config.server.limits.message_bytes, 128 << 20);
    assert_int_equal(config.server.drain_timeout_ms, 30000);
    assert_int_equal(config.scheduling.queue, 1024);
    assert_int_equal(config.network.heartbeat_interval_ms, 500);
    assert_null(config.models.repository);
    assert_false(config.models.verify_signature);
    rlx_config_fini(&config);
}

static void test_every_kind_of_value_is_read(void **state)
{
    rlx_config_t config = parsed("network: {compression: zstd, heartbeat_interval: 2s, health_check_timeout: 5000, rdma: on}\n"
                                 "server:\n  listen: [\"127.0.0.1:8080\", \"[::1]:0\"]\n  unix: run/x.sock\n  drain_timeout: 1.5m\n"
                                 "  limits: {message_bytes: 40GB, header_bytes: 32KiB, idle: 0}\n"
                                 "models: {repository: ../models, store: /var/lib/rlxd, verify_signature: true, trusted_keys: keys}\n"
                                 "scheduling: {batch_delay_us: 5ms, request_memory: 2GiB, workers: 3}\n"
                                 "logging: {level: debug}\nprofiling: {file: trace.json}\n");

    (void)state;
    assert_int_equal(config.network.compression, RLX_COMPRESSION_ZSTD);
    assert_int_equal(config.network.heartbeat_interval_ms, 2000);
    assert_int_equal(config.network.health_check_timeout_ms, 5000);
    assert_true(config.network.rdma);
    assert_int_equal(config.server.listen.n, 2);
    assert_string_equal(config.server.listen.text[1], "[::1]:0");
    assert_int_equal(config.server.drain_timeout_ms, 90000);
    assert_int_equal(config.server.limits.message_bytes, 40000000000);
    assert_int_equal(config.server.limits.header_bytes, 32768);
    assert_int_equal(config.server.limits.idle_ms, 0);
    assert_string_equal(config.server.unix_socket, "conf/run/x.sock");     /* from the file's folder */
    assert_string_equal(config.models.repository, "conf/../models");
    assert_string_equal(config.models.store, "/var/lib/rlxd");
    assert_true(config.models.verify_signature);
    assert_int_equal(config.scheduling.batch_delay_us, 5000);
    assert_int_equal(config.scheduling.request_memory, 2147483648);
    assert_int_equal(config.scheduling.workers, 3);
    assert_int_equal(config.logging.level, 3);
    assert_string_equal(config.profiling.file, "conf/trace.json");
    rlx_config_fini(&config);
}

static void test_an_unknown_key_is_told_with_place_and_the_known_ones(void **state)
{
    (void)state;
    refused("server:\n  limits:\n    stream: 3\n", RLX_E_CONFIG_KEY, "conf/c.yaml:3:5",
            "unknown key 'stream' in server.limits; known there: connections, streams, ");
    refused("cluster: {mode: standalone}\nnode: []\n", RLX_E_CONFIG_KEY, "conf/c.yaml:2:1",
            "unknown key 'node'; known there: cluster, nodes, ");
    refused("nodes:\n  - id: a\n    hots: b\n", RLX_E_CONFIG_KEY, "conf/c.yaml:3:5", "in nodes[0]; known there: id, host, port, devices");
    refused("nodes: [{id: a, host: b, devices: [{type: cpu, core: 3}]}]\n", RLX_E_CONFIG_KEY, "conf/c.yaml:1:48", "in nodes[0].devices[0]");
}

static void test_wrong_values_are_told_with_place_and_what_is_expected(void **state)
{
    static const struct {
        const char *text, *where, *word;
    } cases[] = {
        {"cluster: {mode: lonely}\n", "conf/c.yaml:1:17", "cluster.mode: 'lonely' is none of: standalone, distributed"},
        {"server: {limits: {streams: many}}\n", "conf/c.yaml:1:28", "server.limits.streams: 'many' is not an integer"},
        {"server: {limits: {streams: 0}}\n", "conf/c.yaml:1:28", "0 is outside 1..65536"},
        {"server: {limits: {streams: 12x}}\n", "conf/c.yaml:1:28", "'12x' is not an integer"},
        {"server: {limits: {streams: 99999999999999999999}}\n", "conf/c.yaml:1:28", "is not an integer"},
        {"server: {limits: {message_bytes: 3 parsecs}}\n", "conf/c.yaml:1:34", "is not a size"},
        {"server: {limits: {message_bytes: -5MB}}\n", "conf/c.yaml:1:34", "is not a size"},
        {"server: {limits: {message_bytes: 0x10}}\n", "conf/c.yaml:1:34", "is not a size"},
        {"server: {limits: {message_bytes: inf}}\n", "conf/c.yaml:1:34", "is not a size"},
        {"server: {limits: {message_bytes: 1e300GB}}\n", "conf/c.yaml:1:34", "is not a size"},
        {"server: {drain_timeout: soon}\n", "conf/c.yaml:1:25", "is not a duration"},
        {"server: {drain_timeout: 2d}\n", "conf/c.yaml:1:25", "outside 0..86400000"},
        {"server: {drain_timeout: {a: 1}}\n", "conf/c.yaml:1:25", "a single value is expected, not a map"},
        {"server: [1]\n", "conf/c.yaml:1:9", "server: a map of keys is expected, not a list"},
        {"server: 7\n", "conf/c.yaml:1:9", "a map of keys is expected, not a scalar"},
        {"- 1\n", "conf/c.yaml:1:1", "the document: a map of keys is expected, not a list"},
        {"models: {verify_signature: maybe}\n", "conf/c.yaml:1:28", "'maybe' is not true or false"},
        {"server: {listen: 8080}\n", "conf/c.yaml:1:18", "'8080' is not HOST:PORT"},
        {"server: {listen: \"::1:8080\"}\n", "conf/c.yaml:1:18", "is not HOST:PORT"},
        {"server: {listen: \"h:70000\"}\n", "conf/c.yaml:1:18", "is not HOST:PORT"},
        {"server: {listen: {a: 1}}\n", "conf/c.yaml:1:18", "a list of addresses is expected"},
        {"cluster: {gss: {endpoints: [\"gss-01:9000\"]}}\n", "conf/c.yaml:1:29", "'gss-01:9000' is not http://HOST:PORT"},
        {"cluster: {gss: {endpoints: [\"http://gss-01/x:9000\"]}}\n", "conf/c.yaml:1:29", "is not http://HOST:PORT"},
        {"nodes: {id: a}\n", "conf/c.yaml:1:8", "a list of machines is expected"},
        {"nodes: [7]\n", "conf/c.yaml:1:9", "a map with id, host, port and devices is expected"},
        {"nodes: [{id: a}]\n", "conf/c.yaml:1:9", "nodes[0]: key 'host' is missing"},
        {"nodes: [{id: \"\", host: a}]\n", "conf/c.yaml:1:14", "a value is missing"},
        {"nodes: [{id: a, host: b}, {id: a, host: c}]\n", "conf/c.yaml:1:27", "id 'a' is that of the entry in line 1 too"},
        {"nodes: [{id: a, host: b, devices: some}]\n", "conf/c.yaml:1:35", "a list of devices or the word auto"},
        {"nodes: [{id: a, host: b, devices: []}]\n", "conf/c.yaml:1:35", "1 to 64 are expected"},
        {"nodes: [{id: a, host: b, devices: [{type: abacus}]}]\n", "conf/c.yaml:1:43", "'abacus' is none of: cpu, cuda"},
        {"nodes: [{id: a, host: b, devices: [{index: 1}]}]\n", "conf/c.yaml:1:36", "key 'type' is missing"},
        {"nodes: [{id: a, host: b, devices: [{type: cuda}, {type: cuda, index: 0}]}]\n", "conf/c.yaml:1:50", "cuda:0 is listed twice"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refused(cases[i].text, RLX_E_CONFIG_VALUE, cases[i].where, cases[i].word);
}

static void test_keys_that_belong_together(void **state)
{
    static const char *const texts[] = {"server: {tls: {certificate: c.pem}}\n", "server: {tls: {key: k.pem}}\n",
                                        "server: {tls: {client_ca: a.pem}}\n",
                                        "models: {verify_signature: true}\n"};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        rlx_config_t config = parsed(texts[i]);

        assert_refused(rlx_config_check(&config, &diag), RLX_E_CONFIG_VALUE, i < 3 ? "server.tls" : "models.trusted_keys");
        rlx_config_fini(&config);
    }
}

static void test_a_distributed_cluster_is_refused_in_clear_words(void **state)
{
    rlx_config_t config = parsed("cluster:\n  mode: distributed\n");
    rlx_diag_t diag = {0};

    (void)state;
    assert_int_not_equal(rlx_config_supported(&config, &diag), RLX_OK);
    assert_string_equal(diag.where, "conf/c.yaml:2:9");
    assert_non_null(strstr(diag.message, "one machine by itself"));
    assert_int_equal(rlx_config_set(&config, "cluster.mode", "standalone", "--standalone", NULL), RLX_OK);
    assert_int_equal(rlx_config_supported(&config, NULL), RLX_OK);
    rlx_config_fini(&config);
}

static void test_keys_can_be_set_by_the_command_line(void **state)
{
    rlx_config_t config = parsed("server: {limits: {streams: 5}}\n");
    rlx_diag_t diag = {0};

    (void)state;
    assert_int_equal(rlx_config_set(&config, "server.limits.streams", "6", "--set", NULL), RLX_OK);
    assert_int_equal(config.server.limits.streams, 6);
    assert_int_equal(rlx_config_set(&config, "models.repository", "rel/x", "--models", NULL), RLX_OK);
    assert_string_equal(config.models.repository, "rel/x"); /* from the working folder, not the file's */
    assert_int_equal(rlx_config_set(&config, "server.listen", "0.0.0.0:1", "--listen", NULL), RLX_OK);
    assert_int_equal(config.server.listen.n, 1);
    assert_int_equal(rlx_config_set(&config, "server.limits.streams", "x", "--streams", &diag), RLX_INVALID_ARGUMENT);
    assert_int_equal(diag.code, RLX_E_USAGE);
    assert_non_null(strstr(diag.message, "--streams (server.limits.streams): 'x' is not an integer"));
    for (size_t i = 0; i < 5; i++) {
        static const char *const unknown[] = {"server", "server.limits", "server.limits.streams.x", "nodes", "nothing"};

        assert_refused(rlx_config_set(&config, unknown[i], "1", "--set", &diag), RLX_E_USAGE, unknown[i]);
    }
    rlx_config_fini(&config);
}

static char changes[512];

static void change_note(void *context, const char *key, bool live)
{
    (void)context;
    snprintf(changes + strlen(changes), sizeof changes - strlen(changes), "%s%s ", key, live ? "+" : "");
}

static void test_comparing_tells_which_keys_differ_and_which_a_reload_applies(void **state)
{
    rlx_config_t a = parsed("nodes: [{id: a, host: b, devices: [{type: cpu, cores: 2}]}]\n");
    rlx_config_t b =
        parsed("nodes: [{id: a, host: b, devices: [{type: cpu, cores: 3}]}]\nlogging: {level: debug}\nserver: {listen: \"a:1\"}\n"
               "models: {repository: m}\nnetwork: {rdma: true}\n");

    (void)state;
    changes[0] = '\0';
    rlx_config_compare(&a, &a, change_note, NULL);
    assert_string_equal(changes, "");
    rlx_config_compare(&a, &b, change_note, NULL);
    assert_string_equal(changes, "nodes network.rdma server.listen models.repository logging.level+ ");
    rlx_config_fini(&a);
    rlx_config_fini(&b);
}

static void test_numbers_with_units(void **state)
{
    static const struct {
        const char *text;
        double unit_us; /* 0: a size */
        int64_t value;
    } cases[] = {
        {"40GB", 0, 40000000000}, {"40 GB", 0, 40000000000}, {"1.5KiB", 0, 1536}, {"9223372036854775807", 0, INT64_MAX}, {"7b", 0, 7},
        {"2g", 0, 2147483648}, {"250", 1000, 250}, {"250us", 1, 250}, {"0.5s", 1000, 500}, {"2h", 1000, 7200000}, {"3min", 1000, 180000},
    };
    static const char *const wrong[] = {"", " 5", "GB", "-1GB", "5GBs", "nan"};
    int64_t value;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(cases[i].unit_us > 0 ? rlx_config_duration(cases[i].text, cases[i].unit_us, &value)
                                         : rlx_config_bytes(cases[i].text, &value));
        assert_int_equal(value, cases[i].value);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(rlx_config_bytes(wrong[i], &value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_said_means_the_defaults),
        cmocka_unit_test(test_every_kind_of_value_is_read),
        cmocka_unit_test(test_an_unknown_key_is_told_with_place_and_the_known_ones),
        cmocka_unit_test(test_wrong_values_are_told_with_place_and_what_is_expected),
        cmocka_unit_test(test_keys_that_belong_together),
        cmocka_unit_test(test_a_distributed_cluster_is_refused_in_clear_words),
        cmocka_unit_test(test_keys_can_be_set_by_the_command_line),
        cmocka_unit_test(test_comparing_tells_which_keys_differ_and_which_a_reload_applies),
        cmocka_unit_test(test_numbers_with_units),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
