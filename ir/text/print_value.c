/* Names, values and types as text (ir/text/printer.h). */
#include "ir/text/printer.h"

#include <inttypes.h>
#include <string.h>

#include "ir/text/element.h"

void rlx_printer_puts(rlx_printer_t *printer, const char *text)
{
    fputs(text, printer->out);
    printer->column += (int)strlen(text);
}

void rlx_printer_newline(rlx_printer_t *printer, int indent)
{
    fprintf(printer->out, "\n%*s", indent, "");
    printer->column = indent;
}

void rlx_printer_comma(rlx_printer_t *printer, bool tight)
{
    rlx_printer_puts(printer, ",");
    if (printer->wraps && printer->column >= RLX_PRINT_COLUMNS - 20)
        rlx_printer_newline(printer, printer->indent + 8);
    else if (!tight)
        rlx_printer_puts(printer, " ");
}

static bool has_only(const char *text, const char *set) { return text[0] != '\0' && text[strspn(text, set)] == '\0'; }

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
#define DIGITS "0123456789"

bool rlx_word_is_plain(const char *text)
{
    static const char *const taken[] = {"true", "false", "True", "False", "none", "None", "_", "inf", "nan", "module", "return", "body",
                                        "ceildiv", "truncdiv", "mod", "min", "max", "select", "fscale", "fceildiv", "fsub", "rlx.ir"};

    if (!has_only(text, LETTERS DIGITS ".") || strchr(LETTERS, text[0]) == NULL || rlx_dtype_parse(text) != RLX_DTYPE_NONE)
        return false;
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++)
        if (strcmp(taken[i], text) == 0)
            return false;
    return true;
}

void rlx_printer_string(rlx_printer_t *printer, const char *text)
{
    char piece[8];

    rlx_printer_puts(printer, "\"");
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if (c == '\n' || c == '\t' || c == '\r' || c == '"' || c == '\\')
            snprintf(piece, sizeof piece, "\\%c", c == '\n' ? 'n' : c == '\t' ? 't' : c == '\r' ? 'r' : c);
        else
            snprintf(piece, sizeof piece, c < 32 || c == 127 ? "\\x%02x" : "%c", c);
        rlx_printer_puts(printer, piece);
    }
    rlx_printer_puts(printer, "\"");
}

void rlx_printer_ref(rlx_printer_t *printer, const char *name)
{
    rlx_printer_puts(printer, "%");
    if (has_only(name, LETTERS DIGITS "./~-$@"))
        rlx_printer_puts(printer, name);
    else
        rlx_printer_string(printer, name);
}

void rlx_printer_word(rlx_printer_t *printer, const char *text)
{
    if (rlx_word_is_plain(text))
        rlx_printer_puts(printer, text);
    else
        rlx_printer_string(printer, text);
}

void rlx_printer_key(rlx_printer_t *printer, const char *text)
{
    if (has_only(text, LETTERS DIGITS ".") && strchr(LETTERS, text[0]) != NULL)
        rlx_printer_puts(printer, text);
    else
        rlx_printer_string(printer, text);
}

static void int_print(rlx_printer_t *printer, int64_t value)
{
    char text[24];

    snprintf(text, sizeof text, "%" PRId64, value);
    rlx_printer_puts(printer, text);
}

static const struct {
    const char *infix, *call;
    int level;
} operators[] = {
    [RLX_EXPR_ADD] = {"+", NULL, 2},          [RLX_EXPR_SUB] = {"-", NULL, 2},           [RLX_EXPR_MUL] = {"*", NULL, 3},
    [RLX_EXPR_FLOORDIV] = {"/", NULL, 3},     [RLX_EXPR_CEILDIV] = {NULL, "ceildiv", 4}, [RLX_EXPR_TRUNCDIV] = {NULL, "truncdiv", 4},
    [RLX_EXPR_MOD] = {NULL, "mod", 4},        [RLX_EXPR_MIN] = {NULL, "min", 4},         [RLX_EXPR_MAX] = {NULL, "max", 4},
    [RLX_EXPR_SELECT] = {NULL, "select", 4},  [RLX_EXPR_LT] = {"<", NULL, 1},            [RLX_EXPR_EQ] = {"==", NULL, 1},
    [RLX_EXPR_FSCALE] = {NULL, "fscale", 4},  [RLX_EXPR_FCEILDIV] = {NULL, "fceildiv", 4}, [RLX_EXPR_FSUB] = {NULL, "fsub", 4},
};

static void expr_print(rlx_printer_t *printer, const rlx_syntax_value_t *value, int level)
{
    int own;

    if (value->kind != RLX_SYNTAX_EXPR) {
        rlx_printer_value(printer, value);
        return;
    }
    if (operators[value->op].infix == NULL) {
        rlx_printer_puts(printer, operators[value->op].call);
        rlx_printer_puts(printer, "(");
        for (int i = 0; i < value->n_items; i++) {
            if (i > 0)
                rlx_printer_comma(printer, true);
            expr_print(printer, value->items[i], 0);
        }
        rlx_printer_puts(printer, ")");
        return;
    }
    own = operators[value->op].level;
    rlx_printer_puts(printer, own < level ? "(" : "");
    expr_print(printer, value->items[0], own);
    rlx_printer_puts(printer, operators[value->op].infix);
    expr_print(printer, value->items[1], own + 1);
    rlx_printer_puts(printer, own < level ? ")" : "");
}

static bool is_tight(const rlx_syntax_value_t *list)
{
    for (int i = 0; i < list->n_items; i++)
        if (list->items[i]->kind != RLX_SYNTAX_INT && list->items[i]->kind != RLX_SYNTAX_NAME && list->items[i]->kind != RLX_SYNTAX_EXPR)
            return false;
    return true;
}

static void list_print(rlx_printer_t *printer, const rlx_syntax_value_t *list)
{
    bool tight = is_tight(list);

    rlx_printer_puts(printer, "[");
    for (int i = 0; i < list->n_items; i++) {
        if (i > 0)
            rlx_printer_comma(printer, tight);
        rlx_printer_value(printer, list->items[i]);
    }
    rlx_printer_puts(printer, "]");
}

static void dict_print(rlx_printer_t *printer, const rlx_syntax_value_t *dict)
{
    rlx_printer_puts(printer, "{");
    for (int i = 0; i < dict->n_fields; i++) {
        if (i > 0)
            rlx_printer_comma(printer, false);
        rlx_printer_key(printer, dict->fields[i].name);
        rlx_printer_puts(printer, " = ");
        rlx_printer_value(printer, dict->fields[i].value);
    }
    rlx_printer_puts(printer, "}");
}

static void dims_print(rlx_printer_t *printer, rlx_dtype_t dtype, int rank, const int64_t *dims)
{
    rlx_printer_puts(printer, rlx_dtype_name(dtype));
    rlx_printer_puts(printer, "[");
    for (int i = 0; i < rank; i++) {
        rlx_printer_puts(printer, i > 0 ? "," : "");
        int_print(printer, dims[i]);
    }
    rlx_printer_puts(printer, "]");
}

static void tensor_print(rlx_printer_t *printer, const rlx_tensor_t *tensor)
{
    size_t bytes = rlx_dtype_size(tensor->dtype);
    char text[RLX_ELEMENT_TEXT_MAX];
    int64_t count = 0;

    rlx_dims_count(tensor->dims, tensor->rank, &count);
    dims_print(printer, tensor->dtype, tensor->rank, tensor->dims);
    rlx_printer_puts(printer, "{");
    if (rlx_syntax_tensor_is_fill(tensor)) {
        rlx_printer_puts(printer, "fill=");
        count = 1;
    }
    for (int64_t i = 0; i < count; i++) {
        if (i > 0)
            rlx_printer_comma(printer, false);
        rlx_element_print(tensor->dtype, (const char *)tensor->data + (size_t)i * bytes, text);
        rlx_printer_puts(printer, text);
    }
    rlx_printer_puts(printer, "}");
}

static void external_print(rlx_printer_t *printer, const rlx_syntax_external_t *external)
{
    const struct {
        const char *name, *text;
    } parts[] = {{"file", external->file}, {"key", external->key}, {"xxh3", external->digest}};
    bool any = false;

    dims_print(printer, external->dtype, external->rank, external->dims);
    rlx_printer_puts(printer, "{");
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (parts[i].text == NULL)
            continue;
        if (any)
            rlx_printer_comma(printer, false);
        rlx_printer_puts(printer, parts[i].name);
        rlx_printer_puts(printer, "=");
        rlx_printer_string(printer, parts[i].text);
        any = true;
    }
    rlx_printer_puts(printer, "}");
}

static void double_print(rlx_printer_t *printer, double value)
{
    char text[RLX_ELEMENT_TEXT_MAX];

    rlx_double_print(value, text);
    rlx_printer_puts(printer, text);
}

void rlx_printer_value(rlx_printer_t *printer, const rlx_syntax_value_t *value)
{
    switch (value->kind) {
    case RLX_SYNTAX_NONE: rlx_printer_puts(printer, "_"); break;
    case RLX_SYNTAX_INT: int_print(printer, value->i); break;
    case RLX_SYNTAX_FLOAT: double_print(printer, value->f); break;
    case RLX_SYNTAX_BOOL: rlx_printer_puts(printer, value->i != 0 ? "true" : "false"); break;
    case RLX_SYNTAX_STRING: rlx_printer_string(printer, value->s); break;
    case RLX_SYNTAX_NAME: rlx_printer_puts(printer, value->s); break;
    case RLX_SYNTAX_DTYPE: rlx_printer_puts(printer, rlx_dtype_name(value->dtype)); break;
    case RLX_SYNTAX_REF: rlx_printer_ref(printer, value->s); break;
    case RLX_SYNTAX_LIST: list_print(printer, value); break;
    case RLX_SYNTAX_DICT: dict_print(printer, value); break;
    case RLX_SYNTAX_EXPR: expr_print(printer, value, 0); break;
    case RLX_SYNTAX_TENSOR: tensor_print(printer, &value->tensor); break;
    case RLX_SYNTAX_EXTERNAL: external_print(printer, &value->external); break;
    }
}

void rlx_printer_type(rlx_printer_t *printer, const rlx_syntax_type_t *type)
{
    rlx_printer_puts(printer, rlx_dtype_name(type->dtype));
    rlx_printer_puts(printer, "[");
    for (int i = 0; i < type->rank; i++) {
        if (i > 0)
            rlx_printer_comma(printer, true);
        rlx_printer_value(printer, type->dims[i]);
    }
    rlx_printer_puts(printer, "]");
    if (type->layout != NULL) {
        rlx_printer_puts(printer, "{");
        rlx_printer_word(printer, type->layout);
        rlx_printer_puts(printer, "}");
    }
}
