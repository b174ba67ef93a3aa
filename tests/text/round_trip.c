/* Random modules (generate.h) that are printed, read and run.
 *
 *   round_trip FIRST COUNT          texts of seeds FIRST ...: read and printed they are the same texts; what was read is verified
 *   round_trip --levels FIRST COUNT and they give the same bits at -O1 and -O3 (levels.h)
 *   round_trip --check FILE SEED    both, of a text in a file: ends with 1 where it fails, with 2 where it is refused
 *   round_trip --ops FIRST COUNT    how often each operator stands in them
 *   round_trip --print SEED FILE    writes one to FILE.rlxir, its large constants beside it
 *
 * Modules are tried in children, so that one that crashes or does not end is told like any other failure: "seed N: why". At the end stands how
 * many were equal, refused by the compiler, and refused when run. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "generate.h"
#include "ir/text/load.h"
#include "levels.h"
#include "text_of.h"

#define SECONDS_MAX 60
#define FAILURES_MAX 20

/* Shared with the child that works. */
typedef struct work {
    uint64_t next, end; /* the module under way is `next` */
    uint64_t ends[4];   /* by levels_end_t; without --levels: LEVELS_EQUAL */
    int failed;
} work_t;

static rlx_graph_t *read_text(const char *text, bool show)
{
    rlx_diag_list_t findings;
    rlx_graph_t *graph = NULL;

    rlx_diag_list_init(&findings, 0);
    if (rlx_text_load("random.rlxir", text, strlen(text), &findings, &graph, NULL) != RLX_OK) {
        graph = NULL;
        if (show)
            rlx_diag_list_print(&findings, RLX_DIAG_TEXT, stdout);
    }
    rlx_diag_list_fini(&findings);
    return graph;
}

/* Text -> graph -> text. */
static bool is_identity(const char *text, bool show)
{
    rlx_graph_t *graph = read_text(text, show);
    char *again = graph != NULL ? text_of(graph) : NULL;
    bool same = again != NULL && strcmp(text, again) == 0;

    if (show && !same)
        printf("%s\n%s\n", again != NULL ? "comes back as another text:" : "is not read back:", again != NULL ? again : text);
    free(again);
    rlx_graph_destroy(graph);
    return same;
}

static int check(work_t *work, bool levels)
{
    rlx_graph_t *graph = generate(work->next);
    char *text = text_of(graph), why[512];
    levels_end_t end = LEVELS_EQUAL;

    rlx_graph_destroy(graph);
    if (!levels && !is_identity(text, false)) {
        printf("seed %" PRIu64 ": comes back as another text, or not at all\n", work->next);
        end = LEVELS_DIFFER;
    } else if (levels && (end = levels_compare(text, work->next, why)) == LEVELS_DIFFER) {
        printf("seed %" PRIu64 ": %s\n", work->next, why);
    }
    work->ends[end]++;
    free(text);
    return end == LEVELS_DIFFER;
}

static void child_run(work_t *work, bool levels)
{
    struct rlimit none = {0, 0};

    setrlimit(RLIMIT_CORE, &none);
    for (; work->next < work->end && work->failed < FAILURES_MAX; work->next++) {
        alarm(SECONDS_MAX);
        work->failed += check(work, levels);
        fflush(stdout);
    }
    _exit(0);
}

static int range_run(uint64_t first, uint64_t count, bool levels)
{
    work_t *work = mmap(NULL, sizeof *work, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (work == MAP_FAILED)
        return 2;
    *work = (work_t){.next = first, .end = first + count};
    while (work->next < work->end && work->failed < FAILURES_MAX) {
        int state = 0;
        pid_t child;

        fflush(stdout);
        child = fork();
        if (child == 0)
            child_run(work, levels);
        if (child < 0 || waitpid(child, &state, 0) < 0)
            return 2;
        if (!WIFEXITED(state) || WEXITSTATUS(state) != 0) {
            printf("seed %" PRIu64 ": %s\n", work->next, WIFSIGNALED(state) ? strsignal(WTERMSIG(state)) : "ends the program");
            work->failed++;
            work->next++;
        }
    }
    printf("%" PRIu64 " equal, %" PRIu64 " refused, %" PRIu64 " refused when run, %d failed\n", work->ends[LEVELS_EQUAL], work->ends[LEVELS_REFUSED],
           work->ends[LEVELS_FAILED], work->failed);
    return work->failed > 0;
}

static int file_check(const char *path, uint64_t seed)
{
    rlx_diag_t diag = {0};
    rlx_graph_t *graph;
    char why[512], *text;
    void *data;
    size_t bytes;
    int failed;

    if (rlx_file_read(path, (size_t)1 << 26, &data, &bytes, &diag) != RLX_OK)
        return 2;
    text = strndup(data, bytes);
    free(data);
    graph = read_text(text, false);
    free(text);
    if (graph == NULL)
        return 2;
    text = text_of(graph);
    rlx_graph_destroy(graph);
    failed = !is_identity(text, true);
    if (!failed && levels_compare(text, seed, why) == LEVELS_DIFFER) {
        printf("%s\n", why);
        failed = 1;
    }
    free(text);
    return failed;
}

static int ops_count(uint64_t first, uint64_t count)
{
    long ops[RLX_OP_COUNT] = {0};

    for (uint64_t i = 0; i < count; i++) {
        rlx_graph_t *graph = generate(first + i);

        for (const rlx_op_t *op = graph->first; op != NULL; op = op->next)
            ops[op->kind]++;
        rlx_graph_destroy(graph);
    }
    for (int kind = 1; kind < RLX_OP_COUNT; kind++)
        printf("%s %ld\n", rlx_op_info((rlx_op_kind_t)kind)->name, ops[kind]);
    return 0;
}

static int print(uint64_t seed, const char *path)
{
    rlx_diag_t diag = {0};
    rlx_graph_t *graph = generate(seed);
    int failed = rlx_graph_text_write(graph, path, &diag) != RLX_OK;

    if (failed)
        rlx_diag_print(&diag, stderr);
    rlx_graph_destroy(graph);
    return failed;
}

static uint64_t to_number(const char *text) { return strtoull(text, NULL, 10); }

int main(int argc, char **argv)
{
    if (argc == 3)
        return range_run(to_number(argv[1]), to_number(argv[2]), false);
    if (argc != 4)
        return 2;
    if (strcmp(argv[1], "--levels") == 0)
        return range_run(to_number(argv[2]), to_number(argv[3]), true);
    if (strcmp(argv[1], "--check") == 0)
        return file_check(argv[2], to_number(argv[3]));
    if (strcmp(argv[1], "--ops") == 0)
        return ops_count(to_number(argv[2]), to_number(argv[3]));
    return strcmp(argv[1], "--print") == 0 ? print(to_number(argv[2]), argv[3]) : 2;
}
