/* The graph's arena, its table of taken names, and marks on expressions. Internal to ir/graph*.c. One thread. */
#ifndef RLX_IR_GRAPH_MEMORY_H
#define RLX_IR_GRAPH_MEMORY_H

#include "ir/graph.h"

typedef struct rlx_graph_memory rlx_graph_memory_t;

rlx_graph_memory_t *rlx_graph_memory_create(void);
void rlx_graph_memory_destroy(rlx_graph_memory_t *memory);
/* Zeroed; aligned to 16 bytes, from 64 bytes on to 64. */
void *rlx_graph_memory_alloc(rlx_graph_memory_t *memory, size_t bytes);
/* `name`, or `name.1`, `name.2` ... when taken; the result is taken afterwards and lives in the arena. */
const char *rlx_graph_memory_name(rlx_graph_memory_t *memory, const char *name);
/* A number remembered for an expression: 0 until it is set. */
int rlx_graph_memory_mark(const rlx_graph_memory_t *memory, rlx_expr_t expr);
void rlx_graph_memory_set_mark(rlx_graph_memory_t *memory, rlx_expr_t expr, int mark);
/* 0, 1, 2 ... in order of creation. */
uint32_t rlx_graph_memory_op_id(rlx_graph_memory_t *memory);

/* ir/graph.c: room for one more element in an arena array: grows by doubling, the old array stays behind. */
void *rlx_graph_array_grow(rlx_graph_t *graph, void *array, int n, int *cap, size_t element);

#endif
