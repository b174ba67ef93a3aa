/* Which entry is this machine's, and whether it has what the entry lists. */
#include "daemon/config/config.h"

#include "tests/unit/check.h"

static const rlx_config_machine_t machine = {
    .host = "gpu-node-02", .addresses = {"127.0.0.1", "10.0.0.7", "::1"}, .n_addresses = 3, .cores = 8, .memory_bytes = 16000000000};

static rlx_config_t parsed(const char *text)
{
    rlx_config_t config;
    rlx_diag_t diag = {0};

    if (rlx_config_parse(text, strlen(text), "c.yaml", &config, &diag) != RLX_OK)
        fail_msg("refused: %s at %s", diag.message, diag.where);
    return config;
}

static const char *chosen(rlx_config_t *config, const char *id, rlx_diag_t *diag)
{
    const rlx_config_node_t *node;

    return rlx_config_select(config, id, &machine, &node, diag) == RLX_OK ? node->id : NULL;
}

static const char *const cluster =
    "nodes:\n  - {id: one, host: gpu-node-01.internal}\n  - {id: two, host: gpu-node-02.internal}\n  - {id: three, host: 10.0.0.9}\n";

static void test_an_entry_is_found_by_host_name_address_or_id(void **state)
{
    static const struct {
        const char *host, *found;
    } cases[] = {{"gpu-node-02", "x"}, {"GPU-Node-02.internal", "x"}, {"10.0.0.7", "x"}, {"127.0.0.1", "x"}, {"localhost", "x"},
                 {"::1", "x"}, {"gpu-node-03", NULL}, {"10.0.0.70", NULL}, {"gpu-node-0", NULL}, {"gpu-node-02x.internal", NULL}};
    rlx_config_t config = parsed(cluster);

    (void)state;
    assert_string_equal(chosen(&config, NULL, NULL), "two");
    assert_string_equal(chosen(&config, "three", NULL), "three");
    rlx_config_fini(&config);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[128];

        snprintf(text, sizeof text, "nodes: [{id: x, host: \"%s\"}]\n", cases[i].host);
        config = parsed(text);
        if (cases[i].found == NULL)
            assert_null(chosen(&config, NULL, NULL));
        else
            assert_string_equal(chosen(&config, NULL, NULL), cases[i].found);
        rlx_config_fini(&config);
    }
}

static void test_no_entry_or_several_is_an_error_that_lists_them(void **state)
{
    rlx_config_t config = parsed(cluster);
    rlx_diag_t diag = {0};

    (void)state;
    assert_null(chosen(&config, "four", &diag));
    assert_int_equal(diag.code, RLX_E_CONFIG_NODE);
    assert_non_null(strstr(diag.message, "'four'; there are: one (gpu-node-01.internal), two (gpu-node-02.internal), three (10.0.0.9)"));
    rlx_config_fini(&config);
    config = parsed("nodes: [{id: a, host: 127.0.0.1}, {id: b, host: localhost}]\n");
    diag = (rlx_diag_t){0};
    assert_null(chosen(&config, NULL, &diag));
    assert_non_null(strstr(diag.message, "several entries fit this machine, gpu-node-02; there are: a (127.0.0.1), b (localhost)"));
    assert_non_null(strstr(diag.hint, "--node"));
    rlx_config_fini(&config);
}

static void test_without_entries_the_machine_is_its_own(void **state)
{
    rlx_config_t config = parsed("");
    const rlx_config_node_t *node;

    (void)state;
    assert_int_equal(rlx_config_select(&config, NULL, &machine, &node, NULL), RLX_OK);
    assert_string_equal(node->id, "gpu-node-02");
    assert_string_equal(node->host, "127.0.0.1");
    assert_int_equal(node->port, 8080);
    assert_true(node->devices_auto);
    rlx_config_fini(&config);
}

static rlx_status_t devices(const char *list, bool automatic, int *out_cores, rlx_diag_t *diag)
{
    char text[512];
    rlx_config_t config;
    rlx_status_t status;

    snprintf(text, sizeof text, "nodes:\n  - id: n\n    host: 127.0.0.1\n    devices: %s\n", list);
    config = parsed(text);
    config.devices_auto = automatic;
    status = rlx_config_devices(&config, &config.nodes[0], &machine, out_cores, diag);
    rlx_config_fini(&config);
    return status;
}

static void test_devices_that_are_missing_are_named_and_auto_replaces_the_list(void **state)
{
    static const char local[] = "[{type: cuda, index: 0, memory: 40GB}, {type: cuda, index: 1}, {type: cpu, cores: 32, memory: 128GB}]";
    rlx_diag_t diag = {0};
    int cores = -1;

    (void)state;
    assert_int_equal(devices(local, false, &cores, &diag), RLX_FAILED_PRECONDITION);
    assert_int_equal(diag.code, RLX_E_CONFIG_DEVICE);
    assert_non_null(strstr(diag.message, "cuda:0 (this version drives CPUs only), cuda:1"));
    assert_non_null(strstr(diag.message, "cpu:0 with 32 cores (there are 8)"));
    assert_non_null(strstr(diag.hint, "--devices auto"));
    assert_int_equal(devices(local, true, &cores, NULL), RLX_OK);
    assert_int_equal(cores, 0);
    assert_int_equal(devices("[{type: cpu, cores: 6, memory: 8GB}]", false, &cores, NULL), RLX_OK);
    assert_int_equal(cores, 6);
    assert_int_equal(devices("auto", false, &cores, NULL), RLX_OK);
    assert_int_equal(cores, 0);
    assert_refused(devices("[{type: cpu, memory: 17GB}]", false, &cores, &diag), RLX_E_CONFIG_DEVICE, "17.0 GB (there are 16.0)");
    assert_refused(devices("[{type: cpu, index: 1}]", false, &cores, &diag), RLX_E_CONFIG_DEVICE, "cpu:1");
}

static void test_the_machine_is_known(void **state)
{
    rlx_config_machine_t here;

    (void)state;
    rlx_config_machine_probe(&here);
    assert_true(here.cores >= 1);
    assert_true(here.memory_bytes > 1 << 20);
    assert_true(here.host[0] != '\0');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_entry_is_found_by_host_name_address_or_id),
        cmocka_unit_test(test_no_entry_or_several_is_an_error_that_lists_them),
        cmocka_unit_test(test_without_entries_the_machine_is_its_own),
        cmocka_unit_test(test_devices_that_are_missing_are_named_and_auto_replaces_the_list),
        cmocka_unit_test(test_the_machine_is_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
