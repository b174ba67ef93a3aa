/* Words of the text forms: operators, their operands and attributes, by the names people use and those of ir/op_list.h. Tables only. */
#ifndef RLX_IR_TEXT_NAMES_H
#define RLX_IR_TEXT_NAMES_H

#include "base/closest.h"
#include "ir/graph.h"

/* The operator called `word`: its own name, or another that people use. `out_spatial`: axes that the word demands (conv2d: 2), else 0.
 * RLX_OP_NONE when unknown; operators that only passes make are unknown. */
rlx_op_kind_t rlx_op_kind_parse(const char *word, int *out_spatial);
/* Offers all words of operators. */
void rlx_op_kind_offer(rlx_closest_t *closest);
/* The canonical word: "conv2d" for a conv with two spatial axes. */
const char *rlx_op_text_name(const rlx_op_t *op);

/* The place of the operand called `word`; -1: none. */
const char *rlx_operand_names(rlx_op_kind_t kind); /* "input weight bias"; "" for any number of them */
int rlx_operand_parse(rlx_op_kind_t kind, const char *word);

/* The declared name of the attribute that people call `word`: `word` itself, or what it is short for (stride: strides; pads: padding). */
const char *rlx_attr_canonical(const char *word);
/* The op has op->pads, spelled `padding` in texts. */
bool rlx_op_has_padding(rlx_op_kind_t kind);
/* Spatial axes of an op with padding; -1 when its operands are not known. */
int rlx_op_spatial(const rlx_op_t *op);

#endif
