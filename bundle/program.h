/* The program: what the executor runs. Flat, fixed-width, little-endian, used in place after one bounds check (rlx_program_check).
 *
 * Written by ir/, read by exec/ and place/. One blob: header, then tables, each 8-byte aligned, addressed by (offset, count).
 *
 * Numbers that depend on shapes live in *slots*, an int64 vector. Slots [0, symbols) are the request's symbols; the shape code writes the
 * others, in order. Straight-line postfix code, every step overflow-checked, no loops (see rlx_code_op_t). Everything else refers to a
 * number through rlx_ref_t: an immediate or a slot.
 *
 * Regions: the steps of region r may produce values whose *data* or extents become symbols of region r+1. A region is planned when it is
 * entered: its shape code runs, arena offsets follow, its steps run. Most programs have one.
 *
 * Bodies: branches and loop bodies are programs of their own inside this one, with symbols, regions and bodies of their own; they share the
 * constant segment. A step of kernel RLX_CALL_IF or RLX_CALL_LOOP runs them. A result whose extents are known only when the step has run is
 * an RLX_VALUE_DYNAMIC: its extents are symbols of the region behind the step's. */
#ifndef RLX_BUNDLE_PROGRAM_H
#define RLX_BUNDLE_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/tensor.h"

#define RLX_PROGRAM_MAGIC 0x47505852u /* "RXPG" */
#define RLX_PROGRAM_MAJOR 1
#define RLX_PROGRAM_MINOR 2 /* 1: kernels listed with RLX_KERNEL_ROWS take row pointers; 2: bodies, dynamic values */
#define RLX_NO_INDEX 0xffffffffu
#define RLX_BATCH_FREE 0xfffffffeu

/* An int64 known now (slot == RLX_NO_INDEX) or when the plan is made. */
typedef struct rlx_ref {
    int64_t value;
    uint32_t slot;
    uint32_t reserved;
} rlx_ref_t;

typedef struct rlx_table {
    uint64_t offset; /* bytes from the start of the program */
    uint64_t count;  /* elements */
} rlx_table_t;

typedef enum rlx_symbol_source {
    RLX_SYMBOL_INPUT_AXIS = 0,  /* extent `index` of graph input `value` */
    RLX_SYMBOL_INPUT_DATA = 1,  /* element `index` of integer, bool or f32 graph input `value`; of f32 the bits, zero-extended */
    RLX_SYMBOL_VALUE_DATA = 2,  /* element `index` of integer, bool or f32 value `value`, computed by an earlier region or constant */
    RLX_SYMBOL_VALUE_AXIS = 3,  /* extent `index` of dynamic value `value` of this region, made by a step of an earlier one */
} rlx_symbol_source_t;

typedef struct rlx_program_symbol {
    uint32_t name;   /* offset into strings */
    uint32_t source; /* rlx_symbol_source_t */
    uint32_t value;  /* value id */
    uint32_t index;
    int64_t min, max; /* inclusive; checked before any code runs; max is the declared maximum or the hard cap */
    uint32_t region;
    uint32_t declared; /* 1: max was declared (--max) */
} rlx_program_symbol_t;

/* Postfix shape code: int64 words on a stack of at most RLX_CODE_STACK_MAX. */
typedef enum rlx_code_op {
    RLX_CODE_END = 0,
    RLX_CODE_CONST = 1, /* next word is pushed */
    RLX_CODE_SLOT = 2,  /* next word is a slot below the one being written; pushed */
    RLX_CODE_ADD = 3,
    RLX_CODE_SUB = 4,
    RLX_CODE_MUL = 5,
    RLX_CODE_FLOORDIV = 6, /* divisor zero is an error */
    RLX_CODE_CEILDIV = 7,
    RLX_CODE_MOD = 8,      /* sign of the divisor */
    RLX_CODE_MIN = 9,
    RLX_CODE_MAX = 10,
    RLX_CODE_SELECT = 11,  /* c a b: c != 0 ? a : b */
    RLX_CODE_LT = 12,      /* 0 or 1 */
    RLX_CODE_EQ = 13,
    RLX_CODE_STORE = 14,   /* next word is the slot, which must be the next one; pops */
    RLX_CODE_CHECK = 15,   /* next word is a string offset: pops; zero fails the request with that message */
    RLX_CODE_TRUNCDIV = 16, /* toward zero */
    RLX_CODE_FSCALE = 17,   /* n bits: floor(n * f), f the f32 of these bits; not finite or outside int64 is an error (base/float_bits.h) */
    RLX_CODE_FCEILDIV = 18, /* bits bits: ceil(f / g), g zero is an error too */
    RLX_CODE_FSUB = 19,     /* bits bits: the bits of f - g in f32 */
} rlx_code_op_t;
#define RLX_CODE_STACK_MAX 64

typedef enum rlx_value_kind {
    RLX_VALUE_INPUT = 0,
    RLX_VALUE_OUTPUT = 1,
    RLX_VALUE_CONST = 2,
    RLX_VALUE_ARENA = 3,
    RLX_VALUE_ABSENT = 4, /* optional operand not given */
    RLX_VALUE_DYNAMIC = 5, /* written by a call, which finds its memory and extents; `offset` is unused */
} rlx_value_kind_t;

typedef struct rlx_program_value {
    uint32_t kind;   /* rlx_value_kind_t */
    uint32_t dtype;  /* rlx_dtype_t */
    uint32_t layout; /* rlx_layout_t */
    uint32_t rank;
    uint32_t dims;   /* first of `rank` entries in refs: logical extents */
    uint32_t name;   /* offset into strings (inputs, outputs; else for diagnostics) */
    uint32_t region; /* where it is produced */
    uint32_t batch_symbol; /* the independent symbol that counts rows of the storage; RLX_BATCH_FREE: the same for every batch; else NO_INDEX */
    rlx_ref_t offset;      /* CONST: byte offset in the constant segment. ARENA: byte offset in the region's arena. INPUT, OUTPUT: unused */
    rlx_ref_t bytes;       /* physical size, padding included */
    uint64_t digest[2];    /* CONST: XXH3-128, else zero */
} rlx_program_value_t;

/* Kernels that the executor itself is: steps that run bodies.
 *
 * IF: in: condition (bool, one element), the inputs of body param[0], then those of body param[1]; out: the outputs of either. A condition
 * that is not zero runs param[0].
 * LOOP: in: trip count (i64, one element, or absent: no bound), condition (bool, one element, or absent: true), the param[1] carried
 * values, captured values. Body param[0] takes iteration (i64, one element), condition, carried, captured; gives condition, carried, and
 * what is appended. out: the carried values, then for each appended output all of them along a new first axis. */
typedef enum rlx_call {
    RLX_CALL_IF = 0x10000,
    RLX_CALL_LOOP = 0x10001,
} rlx_call_t;
#define RLX_CALL_OPERANDS_MAX 4096
#define RLX_PROGRAM_DEPTH_MAX 16 /* of bodies in bodies */

typedef struct rlx_program_step {
    uint32_t kernel;     /* rlx_kernel_id_t or rlx_call_t */
    uint32_t n_in, n_out;
    uint32_t operands;   /* first of n_in + n_out value ids in operands */
    uint32_t params;     /* first of n_params words in params */
    uint32_t n_params;
    uint32_t patches;    /* first of n_patches in patches */
    uint32_t n_patches;
    rlx_ref_t tiles;     /* number of tiles; 0 is valid: nothing to do */
    rlx_ref_t scratch;   /* bytes per worker */
    uint32_t name;       /* offset into strings: "conv2d fire2/squeeze1x1" */
    uint32_t source;     /* offset into strings: source node(s), for diagnostics */
} rlx_program_step_t;

/* params[step.params + index] = slots[slot] when the plan is made. */
typedef struct rlx_program_patch {
    uint32_t index;
    uint32_t slot;
} rlx_program_patch_t;

typedef struct rlx_program_region {
    uint32_t first_step, n_steps;
    uint32_t code, n_code;   /* words in code */
    uint32_t first_symbol, n_symbols;
    rlx_ref_t arena_bytes;
} rlx_program_region_t;

/* A part that placement may put on a device: steps that run together there. */
typedef struct rlx_program_fragment {
    uint32_t first_step, n_steps;
    uint32_t device;        /* 0: any CPU */
    uint32_t split_symbol;  /* symbol along which it may be split, or RLX_NO_INDEX: must run whole */
    uint32_t n_in, n_out;
    uint32_t values;        /* first of n_in + n_out value ids in operands */
    uint32_t reserved;
} rlx_program_fragment_t;

/* A program inside this one: bytes from this program's start, 8-byte aligned. */
typedef struct rlx_program_body {
    uint64_t offset, bytes;
} rlx_program_body_t;

/* Cost of a step on one thread: max(flops / RLX_COST_FLOPS_PER_NS, bytes / RLX_COST_BYTES_PER_NS, 1) ns, times what tuning measured:
 * scale / RLX_COST_SCALE. 0: not measured, and steps may cost 0. So measured costs follow the extents of the request. */
typedef struct rlx_program_cost {
    rlx_ref_t flops;
    rlx_ref_t bytes;
    uint64_t scale; /* at most RLX_COST_SCALE_MAX */
} rlx_program_cost_t;
#define RLX_COST_FLOPS_PER_NS 8 /* rough, only to tell small steps from large ones */
#define RLX_COST_BYTES_PER_NS 8
#define RLX_COST_SCALE 4096
#define RLX_COST_SCALE_MAX ((uint64_t)1 << 48)

typedef struct rlx_program_header {
    uint32_t magic;
    uint16_t major, minor;
    uint32_t kernel_abi;
    uint32_t n_slots;
    uint64_t bytes;       /* of the whole program */
    rlx_table_t symbols;  /* rlx_program_symbol_t */
    rlx_table_t code;     /* int64_t */
    rlx_table_t refs;     /* rlx_ref_t */
    rlx_table_t values;   /* rlx_program_value_t */
    rlx_table_t inputs;   /* uint32_t value ids, in the model's order */
    rlx_table_t outputs;
    rlx_table_t steps;    /* rlx_program_step_t */
    rlx_table_t operands; /* uint32_t */
    rlx_table_t params;   /* int64_t */
    rlx_table_t patches;  /* rlx_program_patch_t */
    rlx_table_t regions;
    rlx_table_t fragments;
    rlx_table_t costs;    /* one per step */
    rlx_table_t strings;  /* bytes; NUL-terminated strings; offset 0 is "" */
    rlx_table_t bodies;   /* rlx_program_body_t; from minor 2 on: rlx_program_bodies */
} rlx_program_header_t;

_Static_assert(sizeof(rlx_ref_t) == 16, "wire");
_Static_assert(sizeof(rlx_program_value_t) == 80, "wire");
_Static_assert(sizeof(rlx_program_step_t) == 72, "wire");
_Static_assert(sizeof(rlx_program_symbol_t) == 40, "wire");

/* Checks every offset, count, id and code word of `data` against `bytes`, once. After RLX_OK every table may be indexed without checks,
 * the shape code cannot over- or underflow its stack, and every operand, slot and string is in range. `const_bytes` is the size of the
 * constant segment: constants must lie inside. Bodies are checked with it. Runs in O(size), allocates nothing. */
rlx_status_t rlx_program_check(const void *data, size_t bytes, uint64_t const_bytes, rlx_diag_t *diag);

#define RLX_PROGRAM_TABLE(type, header, field) ((const type *)((const char *)(header) + (header)->field.offset))

static inline uint32_t rlx_program_bodies(const rlx_program_header_t *header)
{
    return header->minor >= 2 ? (uint32_t)header->bodies.count : 0;
}

static inline const rlx_program_header_t *rlx_program_body(const rlx_program_header_t *header, uint32_t index)
{
    return (const rlx_program_header_t *)((const char *)header + RLX_PROGRAM_TABLE(rlx_program_body_t, header, bodies)[index].offset);
}

/* Steps of a program and of all bodies in it. They are numbered so: the program's own, then those of its bodies in order, each likewise. */
uint32_t rlx_program_steps_total(const rlx_program_header_t *header);
/* Step `index` of that numbering, and the program it belongs to; NULL when there is no such step. */
const rlx_program_step_t *rlx_program_step_find(const rlx_program_header_t *header, uint32_t index,
                                                const rlx_program_header_t **out_program);

/* "if", "loop"; NULL for kernels. */
static inline const char *rlx_call_name(uint32_t kernel)
{
    return kernel == RLX_CALL_IF ? "if" : kernel == RLX_CALL_LOOP ? "loop" : 0;
}

static inline int rlx_step_is_call(const rlx_program_step_t *step) { return step->kernel >= RLX_CALL_IF; }

#endif
