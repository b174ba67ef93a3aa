/* Arguments of functions that are computed while a module is read, taken one by one in the order of the function's signature. */
#include <string.h>

#include "base/closest.h"
#include "ir/module/evaluate.h"

void rlx_take_begin(rlx_taking_t *taking, rlx_evaluator_t *e, const rlx_arguments_t *arguments)
{
    *taking = (rlx_taking_t){.e = e, .arguments = arguments};
}

rlx_py_t *rlx_take_named(rlx_taking_t *taking, const char *name)
{
    const rlx_arguments_t *arguments = taking->arguments;

    for (int i = 0; i < arguments->n_fields && i < 64; i++)
        if (strcmp(arguments->fields[i].name, name) == 0) {
            taking->taken |= UINT64_C(1) << i;
            return arguments->fields[i].value;
        }
    return NULL;
}

rlx_py_t *rlx_take(rlx_taking_t *taking, const char *name)
{
    rlx_py_t *named = rlx_take_named(taking, name);
    const rlx_arguments_t *arguments = taking->arguments;

    if (taking->position >= arguments->n)
        return named;
    if (named != NULL) {
        rlx_finding_hint(
            rlx_report(taking->e->findings, RLX_E_NAME_TWICE, named->span, "%s gets `%s` twice, by place and by name", arguments->name, name),
            "Remove one of them.");
        taking->failed = true;
    }
    return arguments->values[taking->position++];
}

rlx_py_t *rlx_take_needed(rlx_taking_t *taking, const char *name)
{
    rlx_py_t *value = rlx_take(taking, name);

    if (value == NULL && !taking->failed) {
        rlx_finding_hint(
            rlx_report(taking->e->findings, RLX_E_ARG_MISSING, taking->arguments->name_span, "%s needs `%s`", taking->arguments->name, name),
            "Write %s(..., %s=...).", taking->arguments->name, name);
        taking->failed = true;
    }
    return value;
}

static void field_refuse(rlx_taking_t *taking, const rlx_syntax_field_t *field, const char *signature)
{
    rlx_finding_t *finding = rlx_report(taking->e->findings, RLX_E_ARG_UNKNOWN, field->name_span, "%s has no argument `%s`", taking->arguments->name,
                                        field->name);
    char names[256], *at = names, *name;
    rlx_closest_t closest;

    rlx_finding_expected(finding, "%s(%s)", taking->arguments->name, signature);
    snprintf(names, sizeof names, "%s", signature);
    rlx_closest_init(&closest, field->name, strlen(field->name));
    while ((name = strsep(&at, ", ")) != NULL) {
        name[strcspn(name, "=")] = '\0';
        rlx_closest_offer(&closest, name);
    }
    if (closest.best != NULL)
        rlx_finding_hint(finding, "Did you mean `%s`?", closest.best);
    else
        rlx_finding_hint(finding, "Remove it.");
    taking->failed = true;
}

bool rlx_take_end(rlx_taking_t *taking, const char *signature)
{
    const rlx_arguments_t *arguments = taking->arguments;

    if (taking->position < arguments->n && !taking->failed) {
        rlx_finding_t *finding = rlx_report(taking->e->findings, RLX_E_ARG_UNKNOWN, arguments->values[taking->position]->span,
                                            "%s takes %d argument%s, not %d", arguments->name, taking->position, taking->position == 1 ? "" : "s",
                                            arguments->n);

        rlx_finding_hint(rlx_finding_expected(finding, "%s(%s)", arguments->name, signature), "Remove what is too much.");
        taking->failed = true;
    }
    for (int i = 0; i < arguments->n_fields; i++)
        if (i >= 64 || (taking->taken >> i & 1) == 0)
            field_refuse(taking, &arguments->fields[i], signature);
    return !taking->failed;
}
