/* Inside of the executor: steps that run bodies. What goes in and comes out is used in place where extents are known before the body runs;
 * a dynamic value takes over the memory that the body's output got. The ports of the call under way lie in run->calls: one call runs at a
 * time in a run, and a body's own calls are in the body's run. */
#ifndef RLX_EXEC_CALL_H
#define RLX_EXEC_CALL_H

#include "exec/run.h"

/* What a loop keeps of an output of its body from one iteration to the next. */
typedef struct rlx_call_output {
    rlx_arena_t held;   /* carried: what goes in next, empty before the first iteration; appended: all so far */
    rlx_arena_t spare;  /* carried: for what comes out next */
    rlx_tensor_t shape; /* appended: of one */
    int64_t row_bytes;
} rlx_call_output_t;

/* The body's ports under way. */
typedef struct rlx_call_ports {
    uint32_t n_in, n_out;
    rlx_io_t *in, *out;
    rlx_arena_t *memory;      /* by output: of one that was open */
    rlx_call_output_t *state; /* by output; loops only */
} rlx_call_ports_t;

/* Bytes of run->calls that the call needs. The program was checked. */
size_t rlx_call_bytes(const rlx_model_t *model, const rlx_program_step_t *step);
/* Runs a step for which rlx_step_is_call holds. */
rlx_status_t rlx_call_run(rlx_run_state_t *run, const rlx_program_step_t *step);
/* exec/loop.c */
rlx_status_t rlx_loop_run(rlx_run_state_t *run, const rlx_program_step_t *step);

/* Cuts run->calls for `body`; everything is zero. */
rlx_call_ports_t rlx_call_ports(const rlx_run_state_t *run, const rlx_model_t *body);
/* A value as a body's input. */
rlx_io_t rlx_call_operand(const rlx_run_state_t *run, uint32_t id);
/* The one element of an operand; `fallback` where it is absent. */
rlx_status_t rlx_call_number(const rlx_run_state_t *run, uint32_t id, int64_t fallback, int64_t *out_number);
/* Gives memory and extents to a dynamic value: `memory` is taken. */
void rlx_call_dynamic(rlx_run_state_t *run, uint32_t id, rlx_arena_t memory, const rlx_tensor_t *shape);

#endif
