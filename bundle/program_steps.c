/* One numbering for the steps of a program and of its bodies, for those who watch runs. The program was checked: depth is bounded. */
#include "bundle/program.h"

uint32_t rlx_program_steps_total(const rlx_program_header_t *header)
{
    uint32_t total = (uint32_t)header->steps.count;

    for (uint32_t i = 0; i < rlx_program_bodies(header); i++)
        total += rlx_program_steps_total(rlx_program_body(header, i));
    return total;
}

const rlx_program_step_t *rlx_program_step_find(const rlx_program_header_t *header, uint32_t index,
                                                const rlx_program_header_t **out_program)
{
    if (index < header->steps.count) {
        *out_program = header;
        return RLX_PROGRAM_TABLE(rlx_program_step_t, header, steps) + index;
    }
    index -= (uint32_t)header->steps.count;
    for (uint32_t i = 0; i < rlx_program_bodies(header); i++) {
        const rlx_program_header_t *body = rlx_program_body(header, i);
        uint32_t total = rlx_program_steps_total(body);

        if (index < total)
            return rlx_program_step_find(body, index, out_program);
        index -= total;
    }
    return NULL;
}
