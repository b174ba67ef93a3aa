/* rlx-load: what `rlx bench` becomes when it loads a server. A program of its own, so that `rlx` starts without the libraries of the network:
 * mapping them took a third of a small model's time to its first answer. */
#include "cli/load/bench_url.h"
#include "cli/program.h"

static const rlx_verb_t verb = {
    .name = "bench",
    .summary = "load a server",
    .help = "rlx-load is the part of `rlx bench` that loads servers; `rlx help bench` lists its options.\n",
    .run = rlx_bench_url,
};

int main(int argc, char **argv)
{
    static char name[] = "bench";

    if (argc > 0)
        argv[0] = name; /* in messages */
    return rlx_cli_verb_run(&verb, argc, argv);
}
