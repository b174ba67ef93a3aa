/* A trace by itself: files, bounds, tracks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "tests/unit/check.h"
#include "trace/trace.h"

#define PATH_TEMPLATE "/tmp/rlx-trace-XXXXXX"

static rlx_trace_options_t options_of(const char *path)
{
    return (rlx_trace_options_t){.path = path, .program = "test", .version = "1", .node = "", .isa = "x86-64-v3", .threads = 1};
}

static __attribute__((noinline)) char *file_text(const char *path)
{
    void *data = NULL;
    size_t bytes;

    assert_int_equal(rlx_file_read(path, 1 << 26, &data, &bytes, NULL), RLX_OK);
    return data;
}

static unsigned long long times(const char *text, const char *word)
{
    unsigned long long n = 0;

    while ((text = strstr(text, word)) != NULL) {
        n++;
        text++;
    }
    return n;
}

static void an_empty_trace_is_a_closed_array(void **state)
{
    char path[] = PATH_TEMPLATE, *text;
    rlx_trace_options_t options = options_of(path);
    rlx_trace_t *trace;

    (void)state;
    close(mkstemp(path));
    assert_int_equal(rlx_trace_open(&options, &trace, NULL), RLX_OK);
    assert_int_equal(rlx_trace_close(trace, NULL), RLX_OK);
    text = file_text(path);
    assert_int_equal(strncmp(text, "[\n{", 3), 0);
    assert_non_null(strstr(text, "\"dropped_ring\":0,\"dropped_full\":0"));
    assert_string_equal(text + strlen(text) - 3, "\n]\n");
    free(text);
    unlink(path);
}

static void a_folder_that_is_not_there_is_refused_with_the_path(void **state)
{
    rlx_trace_options_t options = options_of("/tmp/no-such-folder/t.json");
    rlx_diag_t diag = {0};
    rlx_trace_t *trace;

    (void)state;
    assert_int_not_equal(rlx_trace_open(&options, &trace, &diag), RLX_OK);
    assert_int_equal(diag.code, RLX_E_FILE_WRITE);
    assert_non_null(strstr(diag.message, "/tmp/no-such-folder/t.json"));
}

static void a_full_disk_is_told_at_close_and_hurts_nobody_before(void **state)
{
    rlx_trace_options_t options = options_of("/dev/full");
    rlx_diag_t diag = {0};
    rlx_trace_track_t *track;
    rlx_trace_t *trace;

    (void)state;
    if (access("/dev/full", W_OK) != 0)
        skip();
    assert_int_equal(rlx_trace_open(&options, &trace, &diag), RLX_OK);
    track = rlx_trace_track(trace, "loop");
    for (int i = 0; i < 1000; i++)
        rlx_trace_turn(track, rlx_clock_ns(), rlx_clock_ns() + 5);
    assert_int_not_equal(rlx_trace_close(trace, &diag), RLX_OK);
    assert_int_equal(diag.code, RLX_E_FILE_WRITE);
}

static void told_and_dropped_add_up_under_a_bound(void **state)
{
    char path[] = PATH_TEMPLATE, *text;
    rlx_trace_options_t options = options_of(path);
    unsigned long long ring, full, turns;
    rlx_trace_track_t *track;
    rlx_trace_t *trace;

    (void)state;
    close(mkstemp(path));
    options.bytes_max = RLX_TRACE_BYTES_MIN;
    assert_int_equal(rlx_trace_open(&options, &trace, NULL), RLX_OK);
    track = rlx_trace_track(trace, "loop");
    for (int i = 0; i < 100000; i++)
        rlx_trace_turn(track, rlx_clock_ns(), rlx_clock_ns());
    assert_int_equal(rlx_trace_close(trace, NULL), RLX_OK);
    text = file_text(path);
    assert_true(strlen(text) <= RLX_TRACE_BYTES_MIN);
    assert_int_equal(sscanf(strstr(text, "\"dropped_ring\""), "\"dropped_ring\":%llu,\"dropped_full\":%llu", &ring, &full), 2);
    turns = times(text, "long turn");
    assert_true(turns > 100);
    /* Besides turns, only samples of memory may have been dropped for want of room. */
    assert_in_range(turns + ring + full, 100000, 100100);
    free(text);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_trace_is_a_closed_array),
        cmocka_unit_test(a_folder_that_is_not_there_is_refused_with_the_path),
        cmocka_unit_test(a_full_disk_is_told_at_close_and_hurts_nobody_before),
        cmocka_unit_test(told_and_dropped_add_up_under_a_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
