/* rlxd's command line: every spelling, and what is wrong with a wrong one. */
#include "daemon/config/options.h"

#include <getopt.h>

#include "tests/unit/check.h"

static rlxd_options_t options;

static rlx_status_t parse(rlx_diag_t *diag, const char *a, const char *b, const char *c, const char *d)
{
    static char words[5][128];
    const char *given[] = {"rlxd", a, b, c, d};
    char *argv[6] = {0};
    int argc = 0;

    for (int i = 0; i < 5 && given[i] != NULL; i++)
        argv[argc++] = strcpy(words[i], given[i]);
    optind = 0;
    rlxd_options_fini(&options);
    return rlxd_options_parse(argc, argv, &options, diag);
}

/* The configuration that the words alone make. */
static rlx_config_t config_of(const char *a, const char *b, const char *c, const char *d)
{
    rlx_config_t config = {0};
    rlx_diag_t diag = {0};

    if (parse(&diag, a, b, c, d) != RLX_OK || rlxd_options_config(&options, &config, &diag) != RLX_OK)
        fail_msg("refused: %s", diag.message);
    return config;
}

static void test_options_set_keys_in_every_spelling(void **state)
{
    rlx_config_t config = config_of("--heartbeat-interval=2000", "--health-check-timeout=5000", "--enable-rdma", "--enable-prefetch");

    (void)state;
    assert_int_equal(config.network.heartbeat_interval_ms, 2000);
    assert_int_equal(config.network.health_check_timeout_ms, 5000);
    assert_true(config.network.rdma);
    assert_true(config.network.prefetch);
    rlx_config_fini(&config);
    config = config_of("--vulkan-driver=adreno", "--models", "DIR", "--set=scheduling.queue=7");
    assert_string_equal(config.vulkan_driver, "adreno");
    assert_string_equal(config.models.repository, "DIR");
    assert_int_equal(config.scheduling.queue, 7);
    rlx_config_fini(&config);
    config = config_of("--devices", "auto", "--profiling=t.json", "--standalone");
    assert_true(config.devices_auto);
    assert_string_equal(config.profiling.file, "t.json");
    rlx_config_fini(&config);
}

static void test_the_environment_sets_the_log_level_below_the_command_line(void **state)
{
    rlx_config_t config;

    (void)state;
    setenv("RLX_LOG_LEVEL", "error", 1);
    config = config_of("--standalone", NULL, NULL, NULL);
    assert_int_equal(config.logging.level, 0);
    rlx_config_fini(&config);
    config = config_of("--log-level=debug", NULL, NULL, NULL);
    assert_int_equal(config.logging.level, 3);
    rlx_config_fini(&config);
    setenv("RLX_LOG_LEVEL", "loud", 1);
    assert_int_equal(parse(NULL, "--standalone", NULL, NULL, NULL), RLX_OK);
    assert_refused(rlxd_options_config(&options, &config, &diag), RLX_E_USAGE,
                   "RLX_LOG_LEVEL (logging.level): 'loud' is none of: error, warning");
    unsetenv("RLX_LOG_LEVEL");
}

static void test_models_have_a_name_and_a_file(void **state)
{
    (void)state;
    assert_int_equal(parse(NULL, "--model", "out/ocr.v4.rlxb", "--model=det=x/y=z.rlxb", "--model=./dir=a/b.rlxb"), RLX_OK);
    assert_int_equal(options.n_models, 3);
    assert_string_equal(options.models[0].name, "ocr.v4");
    assert_string_equal(options.models[0].path, "out/ocr.v4.rlxb");
    assert_string_equal(options.models[1].name, "det");
    assert_string_equal(options.models[1].path, "x/y=z.rlxb");
    assert_string_equal(options.models[2].name, "b"); /* the '=' stands behind a '/': part of a path */
}

static void test_wrong_words_are_usage_errors(void **state)
{
    static const char *const cases[][2] = {{"--wrong", NULL}, {"--model", NULL}, {"--model==x", NULL}, {"--model=n=", NULL},
                                           {"--devices=cuda", NULL}, {"--model=a/x.rlxb", "--model=b/x.rlxb"},
                                           {"--set", "queue"}, {"bundle.rlxb", NULL}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rlx_diag_t diag = {0};

        if (parse(&diag, cases[i][0], cases[i][1], NULL, NULL) == RLX_OK)
            fail_msg("accepted: %s", cases[i][0]);
        assert_int_equal(diag.code, RLX_E_USAGE);
        assert_int_equal(rlxd_exit_code(&diag), RLXD_EXIT_USAGE);
    }
}

static void test_exit_codes_tell_configuration_from_failure(void **state)
{
    (void)state;
    for (int code = RLX_E_CONFIG_SYNTAX; code <= RLX_E_CONFIG_NODE; code++)
        assert_int_equal(rlxd_exit_code(&(rlx_diag_t){.code = (rlx_error_code_t)code}), RLXD_EXIT_CONFIG);
    assert_int_equal(rlxd_exit_code(&(rlx_diag_t){.code = RLX_E_TLS}), RLXD_EXIT_CONFIG);
    assert_int_equal(rlxd_exit_code(&(rlx_diag_t){.code = RLX_E_LISTEN}), RLXD_EXIT_FAILED);
    assert_int_equal(rlxd_exit_code(&(rlx_diag_t){.code = RLX_E_BUNDLE_DIGEST}), RLXD_EXIT_FAILED);
}

static int options_end(void **state)
{
    (void)state;
    rlxd_options_fini(&options);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options_set_keys_in_every_spelling),
        cmocka_unit_test(test_the_environment_sets_the_log_level_below_the_command_line),
        cmocka_unit_test(test_models_have_a_name_and_a_file),
        cmocka_unit_test(test_wrong_words_are_usage_errors),
        cmocka_unit_test(test_exit_codes_tell_configuration_from_failure),
    };

    return cmocka_run_group_tests(tests, NULL, options_end);
}
