/* The part of the gather family that selects by data. Internal to ir/lower/gather.c. */
#ifndef RLX_IR_LOWER_SELECT_H
#define RLX_IR_LOWER_SELECT_H

#include "ir/lower/lower.h"

rlx_status_t rlx_lower_select(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag);

#endif
