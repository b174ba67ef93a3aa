/* Bindings: one allocation each, sized by the model, kept in the model's free list. */
#include <stdlib.h>

#include "daemon/node/state.h"

rlx_binding_t *rlx_binding_get(rlx_node_t *node, const rlx_served_t *served)
{
    size_t n_in = (size_t)served->n_inputs, n_out = (size_t)served->n_outputs;
    rlx_binding_t *binding = node->bindings[served->number];
    char *at;

    if (binding != NULL) {
        node->bindings[served->number] = binding->next;
        return binding;
    }
    at = calloc(1, sizeof *binding + (n_in + n_out) * (sizeof(int) + sizeof(rlx_region_t *)) + n_out * sizeof *binding->answer + 16);
    if (at == NULL)
        return NULL;
    binding = (rlx_binding_t *)at;
    binding->answer = (rlx_infer_answer_output_t *)(at += sizeof *binding);
    binding->input_region = (rlx_region_t **)(at += n_out * sizeof *binding->answer);
    binding->output_region = binding->input_region + n_in;
    binding->input_of = (int *)(binding->output_region + n_out);
    binding->output_of = binding->input_of + n_in;
    return binding;
}

void rlx_binding_put(rlx_node_t *node, const rlx_served_t *served, rlx_binding_t *binding)
{
    for (int i = 0; i < served->n_inputs; i++)
        if (binding->input_region[i] != NULL)
            rlx_region_drop(binding->input_region[i]);
    for (int i = 0; i < served->n_outputs; i++)
        if (binding->output_region[i] != NULL)
            rlx_region_drop(binding->output_region[i]);
    for (int i = 0; i < served->n_inputs; i++)
        binding->input_region[i] = NULL;
    for (int i = 0; i < served->n_outputs; i++)
        binding->output_region[i] = NULL;
    binding->n_answer = 0;
    binding->next = node->bindings[served->number];
    node->bindings[served->number] = binding;
}

void rlx_binding_forget(rlx_node_t *node, const rlx_served_t *served)
{
    rlx_binding_t *binding = node->bindings[served->number], *next;

    for (; binding != NULL; binding = next) {
        next = binding->next;
        free(binding);
    }
    node->bindings[served->number] = NULL;
}
