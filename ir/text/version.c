/* Upgrades of trees (ir/text/version.h). Version 1 was the one-way text of `rlx dump`; in the syntax of today it had the operator `conv` where there
 * are conv1d to conv3d, `pads` for `padding`, and `input` for tensor::alloc. */
#include "ir/text/version.h"

#include <string.h>

static void fields_rename(rlx_syntax_field_t *fields, int n, const char *from, const char *to)
{
    for (int i = 0; i < n; i++)
        if (strcmp(fields[i].name, from) == 0)
            fields[i].name = to;
}

static void function_from_1(rlx_syntax_function_t *function)
{
    for (int i = 0; i < function->n_statements; i++) {
        rlx_syntax_statement_t *statement = function->statements[i];

        fields_rename(statement->keywords, statement->n_keywords, "pads", "padding");
        fields_rename(statement->attributes, statement->n_attributes, "pads", "padding");
        if (strcmp(statement->space, "tensor") == 0 && strcmp(statement->callee, "input") == 0)
            statement->callee = "alloc";
        for (int k = 0; k < statement->n_bodies; k++)
            function_from_1(statement->bodies[k]);
    }
}

static void from_1(rlx_syntax_t *syntax)
{
    for (int i = 0; i < syntax->n_modules; i++)
        function_from_1(syntax->modules[i]);
}

/* steps[v] makes version v + 1 of version v. */
static void (*const steps[RLX_SCHEMA_VERSION])(rlx_syntax_t *syntax) = {[1] = from_1};

static bool is_module_form(const char *path)
{
    const char *point = strrchr(path, '.');

    return point != NULL && strcmp(point, ".rlx") == 0;
}

void rlx_syntax_upgrade(rlx_syntax_t *syntax, rlx_diag_list_t *findings)
{
    int version = syntax->version;

    syntax->written = version;
    if (version == 0) {
        rlx_finding_hint(rlx_report_note(findings, RLX_E_SCHEMA_VERSION, RLX_SPAN_NONE, "the text names no schema version: it is read as version %d",
                                         RLX_SCHEMA_VERSION),
                         is_module_form(syntax->path) ? "Write it into the decorator: @rlx.module(version=%d)." : "Begin it with `rlx.ir %d;`.",
                         RLX_SCHEMA_VERSION);
        syntax->version = RLX_SCHEMA_VERSION;
        return;
    }
    if (version == RLX_SCHEMA_VERSION)
        return;
    if (version > RLX_SCHEMA_VERSION || steps[version] == NULL) {
        rlx_finding_expected(rlx_report(findings, RLX_E_SCHEMA_VERSION, syntax->version_span, "the text has schema version %d", version),
                             "1 to %d", RLX_SCHEMA_VERSION);
        return;
    }
    for (; syntax->version < RLX_SCHEMA_VERSION; syntax->version++)
        steps[syntax->version](syntax);
    rlx_finding_hint(rlx_report_note(findings, RLX_E_SCHEMA_VERSION, syntax->version_span, "the text has schema version %d: upgraded to %d", version,
                                     RLX_SCHEMA_VERSION), "`rlx dump` writes it in the current version.");
}
