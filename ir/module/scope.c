/* Open addressing over indices; at most half full. */
#include "ir/module/scope.h"

#include <string.h>

rlx_scope_t *rlx_scope_create(rlx_syntax_t *syntax)
{
    rlx_scope_t *scope = rlx_syntax_alloc(syntax, sizeof *scope);

    scope->syntax = syntax;
    return scope;
}

/* The slot that holds `name`, or the free one where it belongs. */
static int slot_of(const rlx_scope_t *scope, const char *name)
{
    uint32_t hash = 2166136261u;
    int slot;

    for (const char *at = name; *at != '\0'; at++)
        hash = (hash ^ (unsigned char)*at) * 16777619u;
    slot = (int)((hash ^ hash >> 15) & (uint32_t)(scope->n_slots - 1));
    while (scope->slots[slot] != 0 && strcmp(scope->bindings[scope->slots[slot] - 1]->name, name) != 0)
        slot = (slot + 1) & (scope->n_slots - 1);
    return slot;
}

rlx_binding_t *rlx_scope_find(const rlx_scope_t *scope, const char *name)
{
    int slot = scope->n_slots > 0 ? slot_of(scope, name) : 0;

    return scope->n_slots > 0 && scope->slots[slot] != 0 ? scope->bindings[scope->slots[slot] - 1] : NULL;
}

static void scope_grow(rlx_scope_t *scope)
{
    scope->n_slots = scope->n_slots > 0 ? 2 * scope->n_slots : 16;
    scope->slots = rlx_syntax_alloc(scope->syntax, (size_t)scope->n_slots * sizeof *scope->slots);
    for (int i = 0; i < scope->n_bindings; i++)
        scope->slots[slot_of(scope, scope->bindings[i]->name)] = i + 1;
}

rlx_binding_t *rlx_scope_get(rlx_scope_t *scope, const char *name)
{
    rlx_binding_t *binding = rlx_scope_find(scope, name);

    if (binding != NULL)
        return binding;
    if (2 * (scope->n_bindings + 1) > scope->n_slots)
        scope_grow(scope);
    binding = rlx_syntax_alloc(scope->syntax, sizeof *binding);
    binding->name = name;
    scope->bindings = rlx_syntax_grow(scope->syntax, scope->bindings, scope->n_bindings, sizeof(rlx_binding_t *));
    scope->bindings[scope->n_bindings++] = binding;
    scope->slots[slot_of(scope, name)] = scope->n_bindings;
    return binding;
}
