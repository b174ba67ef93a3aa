/* Inside of the executor: the model, what is known of a program before any request. Immutable after create, except for the plan cache and
 * the arena pool, which have their own locks. */
#ifndef RLX_EXEC_MODEL_H
#define RLX_EXEC_MODEL_H

#include "exec/arena.h"
#include "exec/executor.h"
#include "exec/plan_cache.h"

#define RLX_LOOP_ITERATIONS_MAX ((int64_t)1 << 28)

struct rlx_model {
    atomic_int refs;
    const rlx_program_header_t *header;
    const char *constants;
    rlx_kernel_fn_t *entry[RLX_K_END];
    /* Tables of the program. */
    const rlx_program_symbol_t *symbols;
    const int64_t *code;
    const rlx_ref_t *refs_table;
    const rlx_program_value_t *values;
    const uint32_t *inputs, *outputs;
    const rlx_program_step_t *steps;
    const uint32_t *operands;
    const int64_t *params;
    const rlx_program_patch_t *patches;
    const rlx_program_region_t *regions;
    const rlx_program_cost_t *costs; /* NULL when the program has none */
    const char *strings;
    uint32_t n_values, n_regions;
    rlx_model_t **bodies; /* models of their own, which share kernels and constants; owned */
    uint32_t n_bodies;
    uint32_t *dynamic;    /* by value id: number of a dynamic value; NULL when there is none */
    uint32_t n_dynamic;
    size_t call_bytes;    /* what the largest call of the program needs for its ports (exec/call.h); 0 without calls */
    uint32_t first_step;  /* number of the first step among those of the outermost program and all bodies */
    int64_t iterations_max; /* of one loop */
    /* By value id: position in inputs or in outputs (first), or RLX_NO_INDEX. */
    uint32_t *port;
    /* By value id: a graph input or output with an independent axis 0 whose rows may lie apart: no step needs a copy in one piece. */
    bool *rows_ok;
    /* By step: where rows of an operand lie apart, it runs row by row (exec/by_row.h). */
    bool *by_row;
    uint32_t batch_symbol; /* the independent symbol, or RLX_NO_INDEX */
    rlx_plan_cache_t cache;
    rlx_arena_pool_t arenas;
    void (*on_destroy)(void *context);
    void *context;
};

/* Symbols of regions [0, region]. */
static inline uint32_t rlx_model_symbols_until(const rlx_model_t *model, uint32_t region)
{
    return model->regions[region].first_symbol + model->regions[region].n_symbols;
}

/* Limits of the model and of its bodies: bytes of one arena, iterations of one loop. Before the first run. */
void rlx_model_limit(rlx_model_t *model, size_t arena_bytes_max, int64_t iterations_max);
/* "input 'x'" and the like for errors: the name of a value, or "?" */
const char *rlx_model_value_name(const rlx_model_t *model, uint32_t value);
/* `fn(context)` runs when the model goes: for owners of program and constants. */
void rlx_model_on_destroy(rlx_model_t *model, void (*fn)(void *context), void *context);

#endif
