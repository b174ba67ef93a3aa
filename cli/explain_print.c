/* See cli/explain_print.h. */
#include "cli/explain_print.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/printable.h"

static bool same_op(const rlx_decision_t *a, const rlx_decision_t *b)
{
    return strcmp(a->op, b->op) == 0 && strcmp(a->source, b->source) == 0 && strcmp(a->kind, b->kind) == 0;
}

/* A model's names may hold anything. */
static void safe_print(const char *text, FILE *out)
{
    rlx_text_t safe;
    int columns;

    rlx_text_init(&safe, 4096);
    for (size_t at = 0, bytes = strlen(text); at < bytes;)
        at += rlx_printable_next(&safe, text + at, bytes - at, &columns);
    if (safe.bytes > 0)
        fwrite(safe.data, 1, safe.bytes, out);
    rlx_text_fini(&safe);
}

/* Every line says all, so that grep finds it; operators stand apart. */
static void text_print(const rlx_explain_t *explain, FILE *out)
{
    for (int i = 0; i < explain->n; i++) {
        const rlx_decision_t *d = &explain->decisions[i];

        if (i > 0 && !same_op(d, &explain->decisions[i - 1]))
            fputc('\n', out);
        safe_print(d->source, out);
        fprintf(out, ": %s '", d->kind);
        safe_print(d->op, out);
        fprintf(out, "': %s: ", d->topic);
        safe_print(d->decision, out);
        fprintf(out, "; rule: %s; to change it: %s\n", d->rule, d->change);
    }
}

static json_t *text_of(const char *text)
{
    json_t *made = json_string(text);

    return made != NULL ? made : json_string("(not UTF-8)");
}

static void json_print(const rlx_explain_t *explain, FILE *out)
{
    json_t *list = json_array(), *root = json_object();

    for (int i = 0; i < explain->n; i++) {
        const rlx_decision_t *d = &explain->decisions[i];
        json_t *entry = json_object();

        json_object_set_new(entry, "op", text_of(d->op));
        json_object_set_new(entry, "kind", text_of(d->kind));
        json_object_set_new(entry, "source", text_of(d->source));
        json_object_set_new(entry, "topic", text_of(d->topic));
        json_object_set_new(entry, "decision", text_of(d->decision));
        json_object_set_new(entry, "rule", text_of(d->rule));
        json_object_set_new(entry, "change", text_of(d->change));
        json_array_append_new(list, entry);
    }
    json_object_set_new(root, "decisions", list);
    json_dumpf(root, out, JSON_INDENT(2));
    fputc('\n', out);
    json_decref(root);
}

void rlx_explain_print(rlx_explain_t *explain, bool json, FILE *out)
{
    rlx_explain_sort(explain);
    (json ? json_print : text_print)(explain, out);
}
