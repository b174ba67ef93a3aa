/* Modules and statements as text (ir/text/print.h). */
#include "ir/text/print.h"

#include <stdlib.h>
#include <string.h>

#include "ir/text/printer.h"

static void function_print(rlx_printer_t *printer, const rlx_syntax_function_t *function);

static void results_print(rlx_printer_t *printer, const rlx_syntax_statement_t *statement)
{
    for (int i = 0; i < statement->n_results; i++) {
        const rlx_syntax_result_t *result = &statement->results[i];

        if (i > 0)
            rlx_printer_comma(printer, false);
        if (result->name == NULL) {
            rlx_printer_puts(printer, "_");
            continue;
        }
        rlx_printer_ref(printer, result->name);
        if (result->type != NULL) {
            rlx_printer_puts(printer, ": ");
            rlx_printer_type(printer, result->type);
        }
    }
    if (statement->n_results > 0)
        rlx_printer_puts(printer, " = ");
}

static void call_print(rlx_printer_t *printer, const rlx_syntax_statement_t *statement)
{
    rlx_printer_puts(printer, statement->space);
    rlx_printer_puts(printer, "::");
    rlx_printer_puts(printer, statement->callee);
    rlx_printer_puts(printer, "(");
    for (int i = 0; i < statement->n_args; i++) {
        if (i > 0)
            rlx_printer_comma(printer, false);
        rlx_printer_value(printer, statement->args[i]);
    }
    for (int i = 0; i < statement->n_keywords; i++) {
        if (i + statement->n_args > 0)
            rlx_printer_comma(printer, false);
        rlx_printer_key(printer, statement->keywords[i].name);
        rlx_printer_puts(printer, "=");
        rlx_printer_value(printer, statement->keywords[i].value);
    }
    rlx_printer_puts(printer, ")");
}

/* On the statement's line, or each on its own. */
static void attributes_print(rlx_printer_t *printer, const rlx_syntax_field_t *fields, int n)
{
    if (n == 0)
        return;
    rlx_printer_puts(printer, printer->wraps ? " {" : " { ");
    for (int i = 0; i < n; i++) {
        if (i > 0)
            rlx_printer_puts(printer, printer->wraps ? "," : ", ");
        if (printer->wraps)
            rlx_printer_newline(printer, printer->indent + 4);
        rlx_printer_key(printer, fields[i].name);
        rlx_printer_puts(printer, " = ");
        rlx_printer_value(printer, fields[i].value);
    }
    if (printer->wraps)
        rlx_printer_newline(printer, printer->indent);
    rlx_printer_puts(printer, printer->wraps ? "}" : " }");
}

static void head_print(rlx_printer_t *printer, const rlx_syntax_statement_t *statement)
{
    results_print(printer, statement);
    call_print(printer, statement);
    attributes_print(printer, statement->attributes, statement->n_attributes);
}

/* Writes by `print` twice where one line is not enough. */
static void statement_head_print(rlx_printer_t *printer, const rlx_syntax_statement_t *statement)
{
    rlx_printer_t line = {.indent = printer->indent, .column = printer->column};
    char *text = NULL;
    size_t bytes = 0;

    line.out = open_memstream(&text, &bytes);
    if (line.out == NULL)
        abort();
    head_print(&line, statement);
    if (fclose(line.out) != 0)
        abort();
    printer->wraps = line.column >= RLX_PRINT_COLUMNS;
    if (printer->wraps)
        head_print(printer, statement);
    else
        rlx_printer_puts(printer, text);
    free(text);
}

static void statement_print(rlx_printer_t *printer, const rlx_syntax_statement_t *statement)
{
    rlx_printer_newline(printer, printer->indent);
    statement_head_print(printer, statement);
    for (int i = 0; i < statement->n_bodies; i++) {
        rlx_printer_puts(printer, " body {");
        printer->indent += 4;
        function_print(printer, statement->bodies[i]);
        printer->indent -= 4;
        rlx_printer_newline(printer, printer->indent);
        rlx_printer_puts(printer, "}");
    }
    rlx_printer_puts(printer, ";");
}

static void return_print(rlx_printer_t *printer, const rlx_syntax_function_t *function)
{
    rlx_printer_newline(printer, printer->indent);
    printer->wraps = true;
    rlx_printer_puts(printer, "return");
    for (int i = 0; i < function->n_outputs; i++) {
        if (i > 0)
            rlx_printer_comma(printer, false);
        else
            rlx_printer_puts(printer, " ");
        if (function->outputs[i].name != NULL) {
            rlx_printer_string(printer, function->outputs[i].name);
            rlx_printer_puts(printer, ": ");
        }
        rlx_printer_value(printer, function->outputs[i].value);
    }
    rlx_printer_puts(printer, ";");
}

static void function_print(rlx_printer_t *printer, const rlx_syntax_function_t *function)
{
    for (int i = 0; i < function->n_statements; i++)
        statement_print(printer, function->statements[i]);
    if (function->returns)
        return_print(printer, function);
}

static void module_print(rlx_printer_t *printer, const rlx_syntax_function_t *module)
{
    rlx_printer_newline(printer, 0);
    printer->wraps = false;
    if (module->name != NULL) {
        rlx_printer_puts(printer, "module ");
        rlx_printer_word(printer, module->name);
        attributes_print(printer, module->attributes, module->n_attributes);
        rlx_printer_puts(printer, ";");
        rlx_printer_newline(printer, 0);
    }
    function_print(printer, module);
    rlx_printer_newline(printer, 0);
}

void rlx_ssa_print(const rlx_syntax_t *syntax, FILE *out)
{
    rlx_printer_t printer = {.out = out};

    fprintf(out, "rlx.ir %d;", RLX_SCHEMA_VERSION);
    for (int i = 0; i < syntax->n_modules; i++)
        module_print(&printer, syntax->modules[i]);
}
