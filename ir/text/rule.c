/* What shape rules find, in the words of the text. They know operators and operands, not what was written: here the message gets the name that was
 * written, its code, and the place of the operand or attribute that it speaks of. */
#include <stdlib.h>
#include <string.h>

#include "ir/text/builder.h"
#include "ir/text/names.h"

typedef struct rule {
    const char *words; /* that the message holds */
    rlx_error_code_t code;
    const char *hint;
} rule_t;

static const rule_t rules[] = {
    {"but operand", RLX_E_TYPE_MISMATCH,
     "Convert one of them: cast(x, to=\"float32\") for tensors, .astype(np.float32) for constants of the module form."},
    {"expected bool", RLX_E_TYPE_MISMATCH, "Compare first, x > 0, or convert: cast(x, to=\"bool\")."},
    {"expected an integer type", RLX_E_TYPE_MISMATCH, "Give integers: int64 for indices, axes and extents."},
    {"operator is not defined", RLX_E_TYPE_MISMATCH,
     "Convert the operand first: cast(x, to=\"float32\"); logical operators take bool, which comparisons give."},
    {"input channels and weight", RLX_E_SHAPE_TEXT,
     "Shapes are logical: inputs N,C,H,W and weights O,I,H,W with I = C / group, whatever the layout."},
    {"bias and output", RLX_E_SHAPE_TEXT, "A bias has one number per output channel, the first extent of the weight."},
    {"kernel is larger", RLX_E_SHAPE_TEXT, "Pad the input, padding=[h, w], or take a smaller kernel."},
    {"do not broadcast", RLX_E_SHAPE_TEXT,
     "Extents are compared from the last axis: equal, or one of them 1. What stands for channels has the shape [C, 1, 1]."},
    {"columns of the first", RLX_E_SHAPE_TEXT,
     "The last extent of the first operand is the last but one of the second; transpose a weight that is stored as [out, in]."},
    {"element counts", RLX_E_SHAPE_TEXT, "The product of the extents stays the same; one of them may be -1."},
    {"both -1", RLX_E_SHAPE_TEXT, "Only one extent may be -1: it takes what is left."},
    {"of operands", RLX_E_SHAPE_TEXT, "Operands that are joined agree in every axis but `axis`."},
    {"per-channel operand", RLX_E_SHAPE_TEXT, "Scale, bias, mean and variance have one number per channel, the second extent of the input."},
    {"scale or bias does not broadcast", RLX_E_SHAPE_TEXT, "Scale and bias have the extents from `axis` on."},
    {"sum of the sizes", RLX_E_SHAPE_TEXT, "The sizes add up to the extent of the axis."},
    {"k is larger", RLX_E_SHAPE_TEXT, "Take at most as many as the axis has."},
    {"is outside an axis", RLX_E_ARG_VALUE, "Indices begin with 0; negative ones count from the end."},
    {"is outside [", RLX_E_ARG_VALUE, "Axes begin with 0; negative ones count from the last, -1."},
    {"entries, the input has", RLX_E_ARG_VALUE, "Write one number for each spatial axis: [h, w] for images."},
    {"allowed are", RLX_E_ARG_VALUE, "Choose a number in that range."},
    {"perm", RLX_E_ARG_VALUE, "Name every axis once: perm=[0, 2, 3, 1] moves channels to the end."},
    {"kernel_shape is missing", RLX_E_ARG_MISSING, "Add kernel=[h, w]."},
    {"neither scales nor sizes", RLX_E_ARG_MISSING, "Add size=[h, w]."},
    {"is not known", RLX_E_ARG_VALUE, "docs/LANGUAGE.md lists the words that it takes."},
};

/* Behind "op: ", as rules begin their messages. */
static const char *message_rest(const rlx_text_call_t *call, const char *message)
{
    size_t n = strlen(rlx_op_info(call->kind)->name);

    return strncmp(message, rlx_op_info(call->kind)->name, n) == 0 && message[n] == ':' && message[n + 1] == ' ' ? message + n + 2 : NULL;
}

/* The attribute that a message begins with, or the operand that it speaks of; else the whole statement. */
static rlx_span_t place_of(const rlx_text_call_t *call, const char *rest)
{
    const rlx_syntax_statement_t *statement = call->statement;
    size_t n = strcspn(rest, " ,:");
    char *end;

    for (int i = 0; i < call->n_fields; i++) {
        const char *name = rlx_attr_canonical(call->fields[i]->name);

        if (strlen(name) == n && strncmp(name, rest, n) == 0)
            return call->fields[i]->value->span;
    }
    if (strncmp(rest, "operand ", 8) == 0 && strstr(rest, "but operand") == NULL) {
        long index = strtol(rest + 8, &end, 10);

        if (end > rest + 8 && index >= 0 && index < statement->n_args)
            return statement->args[index]->span;
    }
    return statement->span;
}

void rlx_text_rule_report(rlx_text_call_t *call, rlx_diag_t *diag)
{
    static const struct {
        rlx_error_code_t from, to;
    } codes[] = {{RLX_E_ONNX_NODE, RLX_E_ARG_VALUE}, {RLX_E_ONNX_OPERATOR, RLX_E_TYPE_MISMATCH}, {RLX_E_SHAPE_MISMATCH, RLX_E_SHAPE_TEXT},
                 {RLX_E_CONST_VALUE, RLX_E_ARG_VALUE}};
    const char *rest = message_rest(call, diag->message);
    char message[sizeof diag->message];

    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (diag->code == codes[i].from)
            diag->code = codes[i].to;
    for (size_t i = 0; i < sizeof rules / sizeof rules[0] && diag->hint[0] == '\0'; i++)
        if (strstr(diag->message, rules[i].words) != NULL) {
            diag->code = rules[i].code;
            snprintf(diag->hint, sizeof diag->hint, "%s", rules[i].hint);
        }
    diag->where[0] = '\0';
    if (rest == NULL) {
        rlx_report_diag(call->builder->findings, diag, call->statement->span);
        return;
    }
    snprintf(message, sizeof message, "%s: %.600s", call->statement->callee, rest);
    memcpy(diag->message, message, sizeof message);
    rlx_report_diag(call->builder->findings, diag, place_of(call, diag->message + strlen(call->statement->callee) + 2));
}
