/* Shape code of a program (bundle/program.h), written as numbers are asked for. */
#include "ir/emit/emit_code.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

void rlx_bytes_append(rlx_bytes_t *bytes, const void *data, size_t size)
{
    if (bytes->size + size > bytes->cap) {
        bytes->cap = (bytes->size + size) * 2 + 256;
        bytes->data = realloc(bytes->data, bytes->cap);
        RLX_ASSERT(bytes->data != NULL);
    }
    if (size > 0)
        memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
}

void rlx_bytes_zero(rlx_bytes_t *bytes, size_t size)
{
    static const char zero[4096];

    for (; size > sizeof zero; size -= sizeof zero)
        rlx_bytes_append(bytes, zero, sizeof zero);
    rlx_bytes_append(bytes, zero, size);
}

void rlx_emit_word(rlx_emit_code_t *code, int64_t word) { rlx_bytes_append(&code->words, &word, sizeof word); }

static rlx_code_op_t code_op(rlx_expr_op_t op)
{
    static const rlx_code_op_t table[] = {
        [RLX_EXPR_ADD] = RLX_CODE_ADD, [RLX_EXPR_SUB] = RLX_CODE_SUB,           [RLX_EXPR_MUL] = RLX_CODE_MUL,
        [RLX_EXPR_MIN] = RLX_CODE_MIN, [RLX_EXPR_FLOORDIV] = RLX_CODE_FLOORDIV, [RLX_EXPR_CEILDIV] = RLX_CODE_CEILDIV,
        [RLX_EXPR_MAX] = RLX_CODE_MAX, [RLX_EXPR_TRUNCDIV] = RLX_CODE_TRUNCDIV, [RLX_EXPR_MOD] = RLX_CODE_MOD,
        [RLX_EXPR_LT] = RLX_CODE_LT,   [RLX_EXPR_SELECT] = RLX_CODE_SELECT,     [RLX_EXPR_EQ] = RLX_CODE_EQ,
        [RLX_EXPR_FSCALE] = RLX_CODE_FSCALE, [RLX_EXPR_FCEILDIV] = RLX_CODE_FCEILDIV, [RLX_EXPR_FSUB] = RLX_CODE_FSUB,
    };

    return table[op];
}

static void push_operand(rlx_emit_code_t *code, rlx_expr_t expr)
{
    int64_t value;

    if (rlx_expr_is_const(code->exprs, expr, &value)) {
        rlx_emit_word(code, RLX_CODE_CONST);
        rlx_emit_word(code, value);
        return;
    }
    rlx_emit_word(code, RLX_CODE_SLOT);
    rlx_emit_word(code, code->slot_of[expr]);
}

static void slots_reserve(rlx_emit_code_t *code, rlx_expr_t expr)
{
    int cap = code->cap ? code->cap : 1024;

    if (expr < code->cap)
        return;
    while (cap <= expr)
        cap *= 2;
    code->slot_of = realloc(code->slot_of, (size_t)cap * sizeof *code->slot_of);
    RLX_ASSERT(code->slot_of != NULL);
    for (int i = code->cap; i < cap; ++i)
        code->slot_of[i] = RLX_NO_INDEX;
    code->cap = cap;
}

/* Writes the code of `expr` and of all it needs, without recursion: expressions can be deep. */
static void emit_expr(rlx_emit_code_t *code, rlx_expr_t expr)
{
    rlx_expr_t *stack = malloc(4 * sizeof *stack);
    int depth = 0, cap = 4;

    RLX_ASSERT(stack != NULL);
    stack[depth++] = expr;
    while (depth > 0) {
        rlx_expr_t top = stack[depth - 1];
        const rlx_expr_node_t *node = rlx_expr_node(code->exprs, top);
        rlx_expr_t operands[3] = {node->a, node->b, node->op == RLX_EXPR_SELECT ? node->c : RLX_EXPR_NONE};
        bool waiting = false;

        slots_reserve(code, top);
        if (node->op == RLX_EXPR_CONST || node->op == RLX_EXPR_SYMBOL || code->slot_of[top] != RLX_NO_INDEX) {
            if (node->op == RLX_EXPR_SYMBOL)
                code->slot_of[top] = code->symbol_slot[node->value];
            --depth;
            continue;
        }
        if (depth + 3 > cap) {
            cap *= 2;
            stack = realloc(stack, (size_t)cap * sizeof *stack);
            RLX_ASSERT(stack != NULL);
        }
        for (int i = 0; i < 3; ++i) {
            if (operands[i] < 0)
                continue;
            slots_reserve(code, operands[i]);
            if (rlx_expr_node(code->exprs, operands[i])->op != RLX_EXPR_CONST && code->slot_of[operands[i]] == RLX_NO_INDEX) {
                stack[depth++] = operands[i];
                waiting = true;
            }
        }
        if (waiting)
            continue;
        for (int i = 0; i < 3; ++i)
            if (operands[i] >= 0)
                push_operand(code, operands[i]);
        rlx_emit_word(code, code_op(node->op));
        rlx_emit_word(code, RLX_CODE_STORE);
        rlx_emit_word(code, code->n_slots);
        code->slot_of[top] = code->n_slots++;
        --depth;
    }
    free(stack);
}

rlx_ref_t rlx_emit_ref(rlx_emit_code_t *code, rlx_expr_t expr)
{
    rlx_ref_t ref = {.slot = RLX_NO_INDEX};

    if (rlx_expr_is_const(code->exprs, expr, &ref.value))
        return ref;
    emit_expr(code, expr);
    ref.slot = code->slot_of[expr];
    ref.value = 0;
    return ref;
}

void rlx_emit_check(rlx_emit_code_t *code, rlx_expr_t condition, uint32_t message)
{
    emit_expr(code, condition);
    push_operand(code, condition);
    rlx_emit_word(code, RLX_CODE_CHECK);
    rlx_emit_word(code, message);
}
