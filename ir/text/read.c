/* Modules and statements of the SSA form (ir/text/read.h). */
#include "ir/text/read.h"

#include <string.h>

#include "ir/text/reader.h"

#define STATEMENTS_MAX 400000 /* operators and constants of a file */

static bool block_read(rlx_reader_t *reader, rlx_syntax_function_t *function, int bodies);

/* At a token where a new statement may begin. */
static bool at_statement(const rlx_reader_t *reader)
{
    return reader->lex.token.kind == RLX_TOKEN_REF || rlx_reader_at_word(reader, "module") || rlx_reader_at_word(reader, "return");
}

/* Behind the next semicolon, or before what looks like the begin of a statement on a line of its own. */
static void recover(rlx_reader_t *reader)
{
    uint32_t line = reader->lex.token.span.line;

    for (; reader->lex.token.kind != RLX_TOKEN_END; rlx_lex_next(&reader->lex)) {
        if (reader->lex.token.span.line != line && reader->lex.token.span.column == 1 && at_statement(reader))
            return;
        if (rlx_reader_take(reader, ';'))
            return;
    }
}

static bool result_read(rlx_reader_t *reader, rlx_syntax_statement_t *statement)
{
    rlx_token_t token = reader->lex.token;
    rlx_syntax_result_t *result;
    const char *name = NULL;

    if (token.kind != RLX_TOKEN_REF && !rlx_reader_at_word(reader, "_"))
        return rlx_reader_wrong(reader, "a result, %name, or `_` for one that nobody asks for");
    if (token.kind == RLX_TOKEN_REF && (name = rlx_reader_text(reader, &token)) == NULL)
        return false;
    rlx_lex_next(&reader->lex);
    result = rlx_syntax_result_add(reader->syntax, statement, name, token.span);
    return !rlx_reader_take(reader, ':') || rlx_reader_type(reader, &result->type);
}

/* `x = ...` or `x, y = ...`, and not `symbol::...`: a result whose percent sign was forgotten. It is taken as %x, so that its readers find it. */
static bool bare_result_read(rlx_reader_t *reader, rlx_syntax_statement_t *statement)
{
    rlx_token_t token = reader->lex.token;
    rlx_lex_t before = reader->lex;
    const char *name;

    if (token.kind != RLX_TOKEN_WORD || rlx_reader_at_word(reader, "_"))
        return false;
    rlx_lex_next(&reader->lex);
    if (!rlx_reader_at(reader, '=') && !rlx_reader_at(reader, ',')) {
        reader->lex = before;
        return false;
    }
    name = rlx_reader_word(reader, &token);
    rlx_finding_expected(rlx_report(reader->findings, RLX_E_SYNTAX, token.span, "'%s' lacks the percent sign of a value", name), "%%%s", name);
    (void)rlx_syntax_result_add(reader->syntax, statement, name, token.span);
    return true;
}

static bool results_read(rlx_reader_t *reader, rlx_syntax_statement_t *statement)
{
    bool bare = bare_result_read(reader, statement);

    if (!bare && reader->lex.token.kind != RLX_TOKEN_REF && !rlx_reader_at_word(reader, "_"))
        return true; /* symbol::... has none */
    if (!bare && !result_read(reader, statement))
        return false;
    while (rlx_reader_take(reader, ','))
        if (!bare_result_read(reader, statement) && !result_read(reader, statement))
            return false;
    return rlx_reader_expect(reader, '=', "between results and operator");
}

static bool callee_read(rlx_reader_t *reader, rlx_syntax_statement_t *statement)
{
    rlx_token_t token = reader->lex.token;

    if (token.kind != RLX_TOKEN_WORD)
        return rlx_reader_wrong(reader, "an operator such as rlxc::conv2d or tensor::alloc");
    rlx_lex_next(&reader->lex);
    statement->space = rlx_reader_word(reader, &token);
    if (reader->lex.token.kind != RLX_TOKEN_SCOPE)
        return rlx_reader_wrong(reader, "`::` between name space and operator");
    rlx_lex_next(&reader->lex);
    if (reader->lex.token.kind != RLX_TOKEN_WORD)
        return rlx_reader_wrong(reader, "the operator's name");
    statement->callee = rlx_reader_word(reader, &reader->lex.token);
    statement->callee_span = rlx_span_join(token.span, reader->lex.token.span);
    rlx_lex_next(&reader->lex);
    return true;
}

/* A word followed by `=` is a keyword. */
static bool argument_read(rlx_reader_t *reader, rlx_syntax_statement_t *statement)
{
    rlx_token_t token = reader->lex.token;
    rlx_lex_t before = reader->lex;
    rlx_syntax_value_t *value;

    if (token.kind == RLX_TOKEN_WORD) {
        rlx_lex_next(&reader->lex);
        if (rlx_reader_take(reader, '=')) {
            if (!rlx_reader_value(reader, &value))
                return false;
            rlx_syntax_field_add(reader->syntax, &statement->keywords, &statement->n_keywords, rlx_reader_word(reader, &token), token.span, value);
            return true;
        }
        reader->lex = before;
    }
    if (statement->n_keywords > 0)
        return rlx_reader_wrong(reader, "name=value: what stands by place comes first");
    if (!rlx_reader_value(reader, &value))
        return false;
    rlx_syntax_arg_add(reader->syntax, statement, value);
    return true;
}

static bool arguments_read(rlx_reader_t *reader, rlx_syntax_statement_t *statement)
{
    if (!rlx_reader_expect(reader, '(', "behind the operator"))
        return false;
    if (rlx_reader_take(reader, ')'))
        return true;
    do {
        if (!argument_read(reader, statement))
            return false;
        if (rlx_syntax_is_full(reader->syntax))
            return rlx_reader_limit(reader, "the text is too large");
    } while (rlx_reader_take(reader, ',') && !rlx_reader_at(reader, ')'));
    return rlx_reader_expect(reader, ')', "behind the operands");
}

static bool bodies_read(rlx_reader_t *reader, rlx_syntax_statement_t *statement, int bodies)
{
    while (rlx_reader_at_word(reader, "body")) {
        rlx_syntax_function_t *body = rlx_syntax_alloc(reader->syntax, sizeof *body);

        if (bodies == 0)
            return rlx_reader_limit(reader, "bodies nest too deeply");
        body->span = reader->lex.token.span;
        rlx_lex_next(&reader->lex);
        if (!rlx_reader_expect(reader, '{', "before a body"))
            return false;
        statement->bodies = rlx_syntax_grow(reader->syntax, statement->bodies, statement->n_bodies, sizeof(*statement->bodies));
        statement->bodies[statement->n_bodies++] = body;
        if (!block_read(reader, body, bodies - 1) || !rlx_reader_expect(reader, '}', "behind a body"))
            return false;
    }
    return true;
}

static bool statement_fill(rlx_reader_t *reader, rlx_syntax_statement_t *statement, int bodies)
{
    if (!results_read(reader, statement) || !callee_read(reader, statement) || !arguments_read(reader, statement))
        return false;
    statement->span = rlx_span_join(statement->span, reader->lex.last_end);
    if (rlx_reader_take(reader, '{') && !rlx_reader_fields(reader, &statement->attributes, &statement->n_attributes))
        return false;
    if (!bodies_read(reader, statement, bodies))
        return false;
    return rlx_reader_expect(reader, ';', "at the end of a statement");
}

/* A broken statement stays, without a callee: its results are known to be broken, so that what uses them is not reported as well. */
static bool statement_read(rlx_reader_t *reader, rlx_syntax_function_t *function, int bodies)
{
    rlx_syntax_statement_t *statement = rlx_syntax_statement_add(reader->syntax, function, reader->lex.token.span);
    bool done = statement_fill(reader, statement, bodies);

    if (!done)
        statement->callee = NULL;
    return done;
}

static bool output_read(rlx_reader_t *reader, rlx_syntax_function_t *function)
{
    rlx_token_t token = reader->lex.token;
    const char *name = NULL;
    rlx_syntax_value_t *value;

    if (token.kind == RLX_TOKEN_STRING) {
        name = rlx_reader_text(reader, &token);
        rlx_lex_next(&reader->lex);
        if (name == NULL || !rlx_reader_expect(reader, ':', "behind an output's name"))
            return false;
    }
    if (reader->lex.token.kind != RLX_TOKEN_REF)
        return rlx_reader_wrong(reader, "a value, %name");
    if (!rlx_reader_value(reader, &value))
        return false;
    rlx_syntax_output_add(reader->syntax, function, name, token.span, value);
    return true;
}

static bool return_read(rlx_reader_t *reader, rlx_syntax_function_t *function)
{
    rlx_span_t span = reader->lex.token.span;

    rlx_lex_next(&reader->lex);
    if (function->returns)
        rlx_finding_note(rlx_report(reader->findings, RLX_E_OUTPUTS, span, "a second return"), function->return_span, "the first one");
    function->returns = true;
    function->return_span = span;
    if (!rlx_reader_at(reader, ';'))
        do {
            if (!output_read(reader, function))
                return false;
        } while (rlx_reader_take(reader, ','));
    return rlx_reader_expect(reader, ';', "at the end of a return");
}

/* Statements up to `module`, a closing brace or the end. False: a body is broken beyond repair. */
static bool block_read(rlx_reader_t *reader, rlx_syntax_function_t *function, int bodies)
{
    while (!reader->stopped && reader->lex.token.kind != RLX_TOKEN_END && !rlx_reader_at_word(reader, "module")) {
        bool nested = bodies < RLX_SYNTAX_BODIES_MAX;

        if (nested && rlx_reader_at(reader, '}'))
            return true;
        if (rlx_syntax_is_full(reader->syntax) || function->n_statements >= STATEMENTS_MAX)
            return rlx_reader_limit(reader, "the text is too large");
        if (!(rlx_reader_at_word(reader, "return") ? return_read(reader, function) : statement_read(reader, function, bodies)))
            recover(reader);
    }
    return !reader->stopped;
}

/* module NAME { attributes }; */
static bool module_head_read(rlx_reader_t *reader, rlx_syntax_function_t *module)
{
    rlx_token_t token;

    rlx_lex_next(&reader->lex);
    token = reader->lex.token;
    if (token.kind != RLX_TOKEN_WORD && token.kind != RLX_TOKEN_STRING)
        return rlx_reader_wrong(reader, "the module's name");
    module->span = token.span;
    module->name = token.kind == RLX_TOKEN_WORD ? rlx_reader_word(reader, &token) : rlx_reader_text(reader, &token);
    rlx_lex_next(&reader->lex);
    if (module->name == NULL)
        return false;
    if (rlx_reader_take(reader, '{') && !rlx_reader_fields(reader, &module->attributes, &module->n_attributes))
        return false;
    return rlx_reader_expect(reader, ';', "behind the module's head");
}

static void module_read(rlx_reader_t *reader)
{
    rlx_syntax_function_t *module = rlx_syntax_module_add(reader->syntax, reader->lex.token.span);

    if (rlx_reader_at_word(reader, "module") && !module_head_read(reader, module))
        recover(reader);
    block_read(reader, module, RLX_SYNTAX_BODIES_MAX);
}

/* rlx.ir 2; */
static void version_read(rlx_reader_t *reader)
{
    const rlx_token_t *token = &reader->lex.token;

    if (!rlx_reader_at_word(reader, "rlx.ir"))
        return;
    rlx_lex_next(&reader->lex);
    reader->syntax->version_span = token->span;
    if (token->kind != RLX_TOKEN_INT || token->magnitude == 0 || token->magnitude > 1000000) {
        rlx_reader_wrong(reader, "the schema version, a number");
        recover(reader);
        return;
    }
    reader->syntax->version = (int)token->magnitude;
    rlx_lex_next(&reader->lex);
    if (!rlx_reader_expect(reader, ';', "behind the schema version"))
        recover(reader);
}

rlx_syntax_t *rlx_ssa_read(const char *path, const char *text, size_t bytes, rlx_diag_list_t *findings)
{
    rlx_reader_t reader = {.syntax = rlx_syntax_create(path), .findings = findings};

    rlx_lex_init(&reader.lex, text, bytes, findings);
    version_read(&reader);
    if (reader.lex.token.kind == RLX_TOKEN_END)
        rlx_finding_expected(rlx_report(findings, RLX_E_SYNTAX, reader.lex.token.span, "the text has no statement"),
                             "statements such as %%x = tensor::alloc(shape=[1, 3, 224, 224], dtype=f32);");
    while (!reader.stopped && reader.lex.token.kind != RLX_TOKEN_END)
        module_read(&reader);
    return reader.syntax;
}
