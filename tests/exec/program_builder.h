/* Hand-made programs for tests: what the compiler's emitter writes, without the compiler. Fixed-size tables, one program at a time, every
 * misuse asserts. */
#ifndef RLX_TESTS_EXEC_PROGRAM_BUILDER_H
#define RLX_TESTS_EXEC_PROGRAM_BUILDER_H

#include "bundle/program.h"

typedef struct pb {
    rlx_program_symbol_t symbols[16];
    int64_t code[1024];
    rlx_ref_t refs[256];
    rlx_program_value_t values[64];
    uint32_t inputs[16], outputs[16];
    rlx_program_step_t steps[64];
    uint32_t operands[512];
    int64_t params[256];
    rlx_program_patch_t patches[64];
    rlx_program_region_t regions[8];
    rlx_program_cost_t costs[64];
    char strings[4096];
    uint32_t n_symbols, n_code, n_refs, n_values, n_inputs, n_outputs, n_steps, n_operands, n_params, n_patches, n_regions, n_strings,
        n_slots;
    const void *bodies[4];
    size_t body_bytes[4];
    uint32_t n_bodies;
    _Alignas(64) char blob[65536];
} pb_t;

/* Starts a program of one region without symbols. */
void pb_init(pb_t *pb);
uint32_t pb_string(pb_t *pb, const char *text);
/* Symbols come first, before any slot. Returns the slot. */
uint32_t pb_symbol(pb_t *pb, const char *name, uint32_t source, uint32_t value, uint32_t index, int64_t min, int64_t max);
/* Code words of the region under way. */
void pb_code(pb_t *pb, int n, const int64_t *words);
/* Stores the top of the stack in a new slot. */
uint32_t pb_store(pb_t *pb);
/* slot = a * b, both slots; or slot = slot * number. */
uint32_t pb_mul(pb_t *pb, uint32_t a, uint32_t b);
uint32_t pb_scale(pb_t *pb, uint32_t slot, int64_t factor);

static inline rlx_ref_t pb_number(int64_t value) { return (rlx_ref_t){.value = value, .slot = RLX_NO_INDEX}; }
static inline rlx_ref_t pb_slot(uint32_t slot) { return (rlx_ref_t){.slot = slot}; }

/* A row-major value; dims are refs. Inputs and outputs enter their lists. */
uint32_t pb_value(pb_t *pb, rlx_value_kind_t kind, const char *name, rlx_dtype_t dtype, int rank, const rlx_ref_t *dims, rlx_ref_t offset,
                  rlx_ref_t bytes);
/* A finished program as a body of this one; it is copied by pb_finish. Returns what a call's parameter says. */
uint32_t pb_body(pb_t *pb, const void *program, size_t bytes);
rlx_program_step_t *pb_step(pb_t *pb, uint32_t kernel, int n_in, int n_out, const uint32_t *operands, rlx_ref_t tiles);
void pb_param(pb_t *pb, rlx_ref_t param); /* of the step just added */
/* Ends the region under way and begins the next. */
void pb_region(pb_t *pb);
/* Lays the tables out. The blob belongs to `pb`. */
const void *pb_finish(pb_t *pb, rlx_ref_t arena_bytes, size_t *out_bytes);

#endif
