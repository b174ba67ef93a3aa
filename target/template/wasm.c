/* What the module exports, besides its memory: the tensors' places, which never move, and the run. */
#include "kernel.h"

#define EXPORT(name) __attribute__((export_name(name), used))

static _Alignas(64) unsigned char tensors[@PORT_BYTES@];
static const void *const input_at[] = {@INPUT_AT@ 0};
static void *const output_at[] = {@OUTPUT_AT@ 0};

EXPORT("rlx_inputs") int rlx_inputs(void) { return @MACRO@_INPUTS; }
EXPORT("rlx_outputs") int rlx_outputs(void) { return @MACRO@_OUTPUTS; }
EXPORT("rlx_input") void *rlx_input(int i) { return (void *)(uintptr_t)input_at[i]; }
EXPORT("rlx_output") void *rlx_output(int i) { return output_at[i]; }
EXPORT("rlx_input_bytes") int rlx_input_bytes(int i) { return (int)@NAME@_inputs[i].bytes; }
EXPORT("rlx_output_bytes") int rlx_output_bytes(int i) { return (int)@NAME@_outputs[i].bytes; }
/* 0, or bits: 1 an index outside its axis, 2 an integer divided by zero, 4 a value outside its domain. */
EXPORT("rlx_run") int rlx_run(void) { return @NAME@_run(input_at, output_at); }
