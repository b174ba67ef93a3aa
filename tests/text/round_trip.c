/* round_trip FIRST COUNT        checks modules of seeds FIRST ...: a text, read and printed, is the same text, and what was read is verified
 * round_trip --print SEED FILE  writes one to FILE.rlxir, its large constants beside it
 *
 * The first text is that of a graph that was itself made from a tree, as importers give them: what refused operators left behind decides the order
 * of terms in extents. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "generate.h"
#include "ir/text/export.h"
#include "ir/text/load.h"
#include "ir/text/print.h"

static char *text_of(const rlx_graph_t *graph)
{
    rlx_syntax_t *syntax = rlx_syntax_export(graph);
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);

    rlx_ssa_print(syntax, out);
    fclose(out);
    rlx_syntax_destroy(syntax);
    return text;
}

static int fail(uint64_t seed, const char *what, const char *one, const char *other)
{
    printf("seed %llu: %s\n%s\n", (unsigned long long)seed, what, one);
    if (other != NULL)
        printf("---- read and printed again:\n%s\n", other);
    return 1;
}

static int check(uint64_t seed)
{
    rlx_graph_t *graph = generate(seed), *again;
    char *text = text_of(graph), *other = NULL;
    rlx_diag_list_t findings;
    rlx_diag_t diag = {0};
    int failed = 0;

    rlx_diag_list_init(&findings, 0);
    if (rlx_graph_canonicalise_text(&graph, &diag) == RLX_OK) {
        free(text);
        text = text_of(graph);
    }
    if (rlx_text_load("random.rlxir", text, strlen(text), &findings, &again, NULL) != RLX_OK) {
        rlx_diag_list_print(&findings, RLX_DIAG_TEXT, stdout);
        failed = fail(seed, "is not read back", text, NULL);
    } else {
        other = text_of(again);
        if (strcmp(text, other) != 0)
            failed = fail(seed, "comes back as another text", text, other);
        rlx_graph_destroy(again);
    }
    rlx_diag_list_fini(&findings);
    rlx_graph_destroy(graph);
    free(text);
    free(other);
    return failed;
}

int main(int argc, char **argv)
{
    rlx_diag_t diag = {0};
    rlx_graph_t *graph;
    int failed = 0;

    if (argc == 4 && strcmp(argv[1], "--print") == 0) {
        graph = generate(strtoull(argv[2], NULL, 10));
        if (rlx_graph_text_write(graph, argv[3], &diag) != RLX_OK) {
            rlx_diag_print(&diag, stderr);
            failed = 1;
        }
        rlx_graph_destroy(graph);
        return failed;
    }
    if (argc != 3)
        return 2;
    for (uint64_t i = 0, first = strtoull(argv[1], NULL, 10), count = strtoull(argv[2], NULL, 10); i < count && failed < 3; i++)
        failed += check(first + i);
    return failed > 0;
}
