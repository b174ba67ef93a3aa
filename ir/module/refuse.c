/* What Python has and the module form has not: each word says what to write instead. */
#include <string.h>

#include "ir/module/parse.h"

static const struct refusal {
    const char *word, *message, *hint;
} refusals[] = {
    {"import", "the module form has no imports", "Remove the line: `rlx` and `np` are there without one, and there is nothing else to import."},
    {"from", "the module form has no imports", "Remove the line: `rlx` and `np` are there without one, and there is nothing else to import."},
    {"class", "the module form has no classes", "Write a function with @rlx.module; parts that repeat are functions that it calls."},
    {"while", "the module form has no `while`",
     "Repeat a known number of times with `for i in range(n):`. What repeats until data says so must come from an ONNX model (Loop)."},
    {"with", "the module form has no `with`", "Remove it; devices and layouts are arguments of rlx.tensor and of operators."},
    {"try", "the module form has no exceptions", "Remove it: what cannot be computed is refused when the module is compiled."},
    {"raise", "the module form has no exceptions", "Remove it: what cannot be computed is refused when the module is compiled."},
    {"assert", "the module form has no `assert`", "Remove it: shapes and types are checked when the module is compiled."},
    {"del", "the module form has no `del`", "Remove it: the memory of a value is given back after its last use."},
    {"global", "the module form has no `global`", "Remove it: a function sees the constants of the file, and returns what it makes."},
    {"nonlocal", "the module form has no `nonlocal`", "Remove it: a function returns what it makes."},
    {"async", "the module form has no `async`", "Remove it; how operators wait for each other is their sync_mode."},
    {"await", "the module form has no `await`", "Remove it; how operators wait for each other is their sync_mode."},
    {"yield", "the module form has no generators", "Return the values: `return a, b` or `return {\"name\": a}`."},
    {"lambda", "the module form has no `lambda`", "Write a function with `def` and give its name."},
    {"break", "the module form has no `break`", "Shorten the range of the loop: it is unrolled when the module is compiled."},
    {"continue", "the module form has no `continue`", "Put the rest of the body into an `if` on a constant."},
    {"is", "the module form has no `is`", "Compare with `==`."},
    {"except", "the module form has no exceptions", "Remove it: what cannot be computed is refused when the module is compiled."},
    {"finally", "the module form has no exceptions", "Remove it: what cannot be computed is refused when the module is compiled."},
};

static const char *const keywords[] = {"and", "as", "def", "elif", "else", "for", "if", "in", "not", "or", "pass", "return", "True", "False", "None"};

static const struct refusal *refusal_find(const rlx_module_token_t *token)
{
    for (size_t i = 0; token->kind == RLX_MODULE_NAME && i < sizeof refusals / sizeof *refusals; i++)
        if (rlx_module_token_is(token, refusals[i].word))
            return &refusals[i];
    return NULL;
}

bool rlx_module_refuse_word(rlx_module_parser_t *parser)
{
    const struct refusal *refusal = refusal_find(&parser->lex.token);

    if (refusal == NULL)
        return false;
    rlx_finding_hint(rlx_report(parser->findings, RLX_E_NOT_LANGUAGE, parser->lex.token.span, "%s", refusal->message), "%s", refusal->hint);
    return true;
}

bool rlx_module_is_keyword(const rlx_module_token_t *token)
{
    if (refusal_find(token) != NULL)
        return true;
    for (size_t i = 0; token->kind == RLX_MODULE_NAME && i < sizeof keywords / sizeof *keywords; i++)
        if (rlx_module_token_is(token, keywords[i]))
            return true;
    return false;
}
