/* Random valid modules: graphs made of the operators of ir/op_list.h. The same seed gives the same graph. */
#ifndef RLX_TESTS_TEXT_GENERATE_H
#define RLX_TESTS_TEXT_GENERATE_H

#include "ir/graph.h"

/* Verified, with outputs; the caller destroys it. */
rlx_graph_t *generate(uint64_t seed);

#endif
