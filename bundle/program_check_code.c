/* The check of shape code: every word known, operands on the stack, slots written in order and read after that (bundle/program_check.h). */
#include <inttypes.h>

#include "bundle/program_check.h"

#define BAD(c, ...) rlx_fail((c)->diag, RLX_E_BUNDLE_MALFORMED, "program: " __VA_ARGS__)

typedef struct code_check {
    const rlx_program_header_t *header;
    const rlx_program_symbol_t *symbols;
    const int64_t *code;
    const rlx_program_region_t *regions;
    uint32_t *slots_known;
    rlx_diag_t *diag;
} code_check_t;

/* Operands taken from the stack; -1 for an unknown op. */
static int code_op_pops(int64_t op)
{
    switch (op) {
    case RLX_CODE_CONST:
    case RLX_CODE_SLOT: return 0;
    case RLX_CODE_ADD:
    case RLX_CODE_SUB:
    case RLX_CODE_MUL:
    case RLX_CODE_FLOORDIV:
    case RLX_CODE_CEILDIV:
    case RLX_CODE_MOD:
    case RLX_CODE_MIN:
    case RLX_CODE_MAX:
    case RLX_CODE_LT:
    case RLX_CODE_EQ:
    case RLX_CODE_TRUNCDIV:
    case RLX_CODE_FSCALE:
    case RLX_CODE_FCEILDIV:
    case RLX_CODE_FSUB: return 2;
    case RLX_CODE_SELECT: return 3;
    case RLX_CODE_STORE:
    case RLX_CODE_CHECK: return 1;
    default: return -1;
    }
}

static bool code_op_has_word(int64_t op)
{
    return op == RLX_CODE_CONST || op == RLX_CODE_SLOT || op == RLX_CODE_STORE || op == RLX_CODE_CHECK;
}

static bool code_op_pushes(int64_t op) { return op != RLX_CODE_STORE && op != RLX_CODE_CHECK; }

static bool code_word_fits(const code_check_t *c, int64_t op, int64_t word, uint32_t region, uint32_t slot)
{
    switch (op) {
    case RLX_CODE_SLOT:
        if (word < 0 || word >= slot)
            return false;
        return (uint64_t)word >= c->header->symbols.count || c->symbols[word].region <= region;
    case RLX_CODE_STORE: return word == slot && slot < c->header->n_slots;
    case RLX_CODE_CHECK: return word >= 0 && (uint64_t)word < c->header->strings.count;
    default: return true;
    }
}

static rlx_status_t check_code(code_check_t *c, uint32_t r, uint32_t *slot)
{
    const rlx_program_region_t *region = &c->regions[r];
    uint64_t end = (uint64_t)region->code + region->n_code;
    int depth = 0;

    for (uint64_t at = region->code; at < end;) {
        int64_t op = c->code[at++];
        int pops = code_op_pops(op);

        if (op == RLX_CODE_END) {
            if (at != end)
                return BAD(c, "region %u: code after its end", r);
            break;
        }
        if (pops < 0 || pops > depth)
            return BAD(c, "region %u: code word %" PRIu64 " is unknown or lacks operands", r, at - 1);
        if (code_op_has_word(op)) {
            if (at == end || !code_word_fits(c, op, c->code[at], r, *slot))
                return BAD(c, "region %u: code word %" PRIu64 " is out of range", r, at);
            at++;
        }
        *slot += op == RLX_CODE_STORE;
        depth += (int)code_op_pushes(op) - pops;
        if (depth > RLX_CODE_STACK_MAX)
            return BAD(c, "region %u: code needs a stack above %d", r, RLX_CODE_STACK_MAX);
    }
    if (depth != 0)
        return BAD(c, "region %u: code leaves values on its stack", r);
    c->slots_known[r] = *slot;
    return RLX_OK;
}

rlx_status_t rlx_program_check_code(const rlx_program_header_t *header, uint32_t *out_slots_known, rlx_diag_t *diag)
{
    code_check_t check = {.header = header,
                          .symbols = RLX_PROGRAM_TABLE(rlx_program_symbol_t, header, symbols),
                          .code = RLX_PROGRAM_TABLE(int64_t, header, code),
                          .regions = RLX_PROGRAM_TABLE(rlx_program_region_t, header, regions),
                          .slots_known = out_slots_known,
                          .diag = diag}, *c = &check;
    uint32_t slot = (uint32_t)c->header->symbols.count;

    for (uint32_t r = 0; r < c->header->regions.count; r++)
        RLX_TRY(check_code(c, r, &slot));
    if (slot != c->header->n_slots)
        return BAD(c, "the code writes %u slots of %u", slot, c->header->n_slots);
    return RLX_OK;
}
