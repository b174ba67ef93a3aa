/* The inside of the printer. Internal to ir/text/print*.c. */
#ifndef RLX_IR_TEXT_PRINTER_H
#define RLX_IR_TEXT_PRINTER_H

#include <stdbool.h>
#include <stdio.h>

#include "ir/text/syntax.h"

#define RLX_PRINT_COLUMNS 120

typedef struct rlx_printer {
    FILE *out;
    int column;
    int indent; /* of the statement */
    bool wraps; /* commas may break the line */
} rlx_printer_t;

void rlx_printer_puts(rlx_printer_t *printer, const char *text);
/* "," and, where `tight`, nothing, else a space; or a new line, four places further in, where the line is full. */
void rlx_printer_comma(rlx_printer_t *printer, bool tight);
void rlx_printer_newline(rlx_printer_t *printer, int indent);
/* "%name", with quotes only where it needs them. */
void rlx_printer_ref(rlx_printer_t *printer, const char *name);
void rlx_printer_string(rlx_printer_t *printer, const char *text);
/* A name that may stand without quotes as a word; else a string. */
void rlx_printer_word(rlx_printer_t *printer, const char *text);
bool rlx_word_is_plain(const char *text);
/* A name before `=`: there every word may stand. */
void rlx_printer_key(rlx_printer_t *printer, const char *text);
void rlx_printer_value(rlx_printer_t *printer, const rlx_syntax_value_t *value);
void rlx_printer_type(rlx_printer_t *printer, const rlx_syntax_type_t *type);

#endif
