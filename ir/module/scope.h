/* Names and what they stand for: a hash table in the arena of the syntax tree. Names are borrowed. One thread. */
#ifndef RLX_IR_MODULE_SCOPE_H
#define RLX_IR_MODULE_SCOPE_H

#include "ir/text/syntax.h"

typedef struct rlx_binding {
    const char *name;
    rlx_span_t span;           /* where it was set last */
    rlx_syntax_value_t *value; /* NULL: it could not be computed, which was reported */
    bool used, checked;        /* checked: one that nobody uses is worth a warning */
    int count;                 /* for names of results: how many have it */
} rlx_binding_t;

typedef struct rlx_scope {
    rlx_syntax_t *syntax;
    rlx_binding_t **bindings; /* in order of their first setting */
    int n_bindings;
    int *slots, n_slots;
} rlx_scope_t;

rlx_scope_t *rlx_scope_create(rlx_syntax_t *syntax);
/* NULL when there is none. */
rlx_binding_t *rlx_scope_find(const rlx_scope_t *scope, const char *name);
/* The binding of that name, made if new. */
rlx_binding_t *rlx_scope_get(rlx_scope_t *scope, const char *name);

#endif
