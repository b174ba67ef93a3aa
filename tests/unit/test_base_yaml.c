/* YAML: what is read, what is refused, and where it says so. */
#include "base/yaml.h"

#include "tests/unit/check.h"

static rlx_yaml_t *parsed(const char *text)
{
    rlx_yaml_t *yaml = NULL;
    rlx_diag_t diag = {0};

    if (rlx_yaml_parse(text, strlen(text), "f.yaml", &yaml, &diag) != RLX_OK)
        fail_msg("refused: %s at %s", diag.message, diag.where);
    return yaml;
}

static void refused(const char *text, const char *where, const char *word)
{
    rlx_yaml_t *yaml = NULL;
    rlx_diag_t diag = {0};

    assert_int_equal(rlx_yaml_parse(text, strlen(text), "f.yaml", &yaml, &diag), RLX_INVALID_ARGUMENT);
    assert_int_equal(diag.code, RLX_E_CONFIG_SYNTAX);
    if (strstr(diag.message, word) == NULL)
        fail_msg("'%s' does not say '%s'", diag.message, word);
    assert_string_equal(diag.where, where);
    assert_null(yaml);
}

static void test_nodes_know_kind_text_and_place(void **state)
{
    rlx_yaml_t *yaml = parsed("# comment\nserver:\n  port: 8080\n  names: [a, 'b: c', \"d\"]\n");
    const rlx_yaml_node_t *server = rlx_yaml_find(rlx_yaml_root(yaml), "server"), *port, *names;

    (void)state;
    assert_int_equal(server->kind, RLX_YAML_MAP);
    assert_int_equal(server->n_children, 2);
    port = rlx_yaml_find(server, "port");
    assert_string_equal(port->text, "8080");
    assert_int_equal(port->line, 3);
    assert_int_equal(port->column, 9);
    assert_int_equal(port->key_column, 3);
    assert_false(port->quoted);
    names = rlx_yaml_find(server, "names");
    assert_int_equal(names->kind, RLX_YAML_LIST);
    assert_int_equal(names->n_children, 3);
    assert_string_equal(names->children->next->text, "b: c");
    assert_true(names->children->next->quoted);
    assert_null(names->children->next->next->next);
    assert_null(rlx_yaml_find(server, "host"));
    rlx_yaml_destroy(yaml);
}

static void test_an_empty_document_is_an_empty_map(void **state)
{
    static const char *const texts[] = {"", "\n", "# nothing\n", "---\n", "---\n# nothing\n"};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        rlx_yaml_t *yaml = parsed(texts[i]);

        assert_int_equal(rlx_yaml_root(yaml)->kind, RLX_YAML_MAP);
        assert_int_equal(rlx_yaml_root(yaml)->n_children, 0);
        rlx_yaml_destroy(yaml);
    }
}

static void test_what_reads_two_ways_is_refused_with_its_place(void **state)
{
    (void)state;
    refused("a: 1\nb: 2\na: 3\n", "f.yaml:3:1", "'a' stands twice");
    refused("a: &x 1\n", "f.yaml:1:4", "anchors");
    refused("a: *x\n", "f.yaml:1:4", "aliases");
    refused("a: !!int 1\n", "f.yaml:1:4", "tags");
    refused("a: !local 1\n", "f.yaml:1:4", "tags");
    refused("a: 1\n---\nb: 2\n", "f.yaml:2:1", "second document");
    refused("[a]: 1\n", "f.yaml:1:1", "where a key belongs");
    refused("? {a: 1}\n: 1\n", "f.yaml:1:3", "where a key belongs");
    refused("a: \"x\\0y\"\n", "f.yaml:1:4", "NUL");
    refused("%TAG ! tag:x,2000:\n---\na: 1\n", "f.yaml:1:1", "TAG");
}

static void test_broken_syntax_names_line_and_column(void **state)
{
    (void)state;
    refused("a: 1\n  b: 2\n", "f.yaml:2:4", "mapping values are not allowed");
    refused("a: [1, 2\n", "f.yaml:2:1", "expected ',' or ']'");
    refused("a: 'x\n", "f.yaml:2:1", "quoted scalar");
    refused("a:\n\t- 1\n", "f.yaml:2:1", "cannot start any token");
    refused("a: \xff\xfe\n", "f.yaml", "UTF-8");
}

static char *repeated(const char *head, const char *unit, size_t bytes)
{
    char *text = malloc(bytes + 1);
    size_t n = strlen(head), step = strlen(unit);

    memcpy(text, head, n);
    while (n < bytes)
        text[n] = unit[(n - strlen(head)) % step], n++;
    text[n] = '\0';
    return text;
}

static void test_nesting_is_refused_at_level_33_however_deep_it_goes(void **state)
{
    static const struct {
        const char *unit, *where, *word;
    } cases[] = {
        {"[", "f.yaml:1:33", "32 levels"}, {"{a: ", "f.yaml:1:129", "32 levels"}, {"- ", "f.yaml:1:65", "32 levels"},
        {"[\n", "f.yaml:33:1", "32 levels"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = repeated("", cases[i].unit, RLX_YAML_BYTES_MAX);

        refused(text, cases[i].where, cases[i].word);
        free(text);
    }
    rlx_yaml_destroy(parsed("[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"));
}

static void test_counts_and_size_are_bounded(void **state)
{
    char *text = repeated("[", "a,", 100000), *big = repeated("", "#", RLX_YAML_BYTES_MAX + 1), *keys = malloc(1 << 16);
    size_t n = 0;

    (void)state;
    refused(text, "f.yaml:1:65536", "32768 values");
    refused(big, "f.yaml", "at most 262144");
    for (int i = 0; i < RLX_YAML_KEYS_MAX + 1; i++)
        n += (size_t)sprintf(keys + n, "k%d: 1\n", i);
    refused(keys, "f.yaml:1025:1", "1024 keys");
    free(text);
    free(big);
    free(keys);
}

static void test_memory_of_readers_lives_with_the_tree(void **state)
{
    rlx_yaml_t *yaml = parsed("a: 1\n");
    char *small = rlx_yaml_allocate(yaml, 3), *large = rlx_yaml_allocate(yaml, 1 << 20);

    (void)state;
    assert_int_equal(small[0], 0);
    memset(large, 1, 1 << 20);
    assert_string_equal(rlx_yaml_name(yaml), "f.yaml");
    assert_string_equal(rlx_yaml_find(rlx_yaml_root(yaml), "a")->text, "1");
    rlx_yaml_destroy(yaml);
    rlx_yaml_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nodes_know_kind_text_and_place),
        cmocka_unit_test(test_an_empty_document_is_an_empty_map),
        cmocka_unit_test(test_what_reads_two_ways_is_refused_with_its_place),
        cmocka_unit_test(test_broken_syntax_names_line_and_column),
        cmocka_unit_test(test_nesting_is_refused_at_level_33_however_deep_it_goes),
        cmocka_unit_test(test_counts_and_size_are_bounded),
        cmocka_unit_test(test_memory_of_readers_lives_with_the_tree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
