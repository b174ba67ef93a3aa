/* Inside of rlx_program_check: programs in programs. `depth` counts the programs around this one. */
#ifndef RLX_BUNDLE_PROGRAM_CHECK_H
#define RLX_BUNDLE_PROGRAM_CHECK_H

#include "bundle/program.h"

rlx_status_t rlx_program_check_depth(const void *data, size_t bytes, uint64_t const_bytes, int depth, rlx_diag_t *diag);
/* bundle/program_check_code.c: the shape code of a program whose tables, symbols and region bounds are checked. `out_slots_known`: one number for each
 * region, how many slots are known when its steps are planned. */
rlx_status_t rlx_program_check_code(const rlx_program_header_t *header, uint32_t *out_slots_known, rlx_diag_t *diag);
/* bundle/program_check_calls.c: the bodies of a program whose tables and steps are checked, then its calls against them. */
rlx_status_t rlx_program_check_calls(const rlx_program_header_t *header, uint64_t const_bytes, int depth, rlx_diag_t *diag);

#endif
