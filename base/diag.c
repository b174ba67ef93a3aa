/* Diagnoses: filled by the code that finds a fault, printed once by the program. No heap; nothing from outside reaches
 * the terminal unescaped. */
#include "base/diag.h"

#include <stdarg.h>
#include <string.h>

#include "base/utf8.h"

static const rlx_error_info_t errors[] = {
#define RLX_ERROR(name, number, status, title, cause, fix) {RLX_E_##name, status, title, cause, fix},
#include "base/error_list.h"
#undef RLX_ERROR
};

const rlx_error_info_t *rlx_error_table(int *out_count)
{
    *out_count = (int)(sizeof errors / sizeof *errors);
    return errors;
}

const rlx_error_info_t *rlx_error_find(int code)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if ((int)errors[i].code == code)
            return &errors[i];
    return NULL;
}

static void text_format(char *out, size_t size, const char *format, va_list args)
{
    int n = vsnprintf(out, size, format, args);

    if (n >= (int)size)
        memcpy(out + size - 4, "...", 4);
}

rlx_status_t rlx_fail(rlx_diag_t *diag, rlx_error_code_t code, const char *format, ...)
{
    const rlx_error_info_t *info = rlx_error_find((int)code);
    rlx_status_t status = info != NULL ? info->status : RLX_INTERNAL;
    va_list args;

    if (diag == NULL || diag->code != RLX_E_NONE)
        return diag == NULL ? status : diag->status;
    memset(diag, 0, sizeof *diag);
    diag->code = code;
    diag->status = status;
    va_start(args, format);
    text_format(diag->message, sizeof diag->message, format, args);
    va_end(args);
    return status;
}

rlx_status_t rlx_diag_at(rlx_diag_t *diag, const char *format, ...)
{
    va_list args;

    if (diag == NULL)
        return RLX_INTERNAL;
    if (diag->where[0] == '\0') {
        va_start(args, format);
        text_format(diag->where, sizeof diag->where, format, args);
        va_end(args);
    }
    return diag->status;
}

rlx_status_t rlx_diag_hint(rlx_diag_t *diag, const char *format, ...)
{
    va_list args;

    if (diag == NULL)
        return RLX_INTERNAL;
    if (diag->hint[0] == '\0') {
        va_start(args, format);
        text_format(diag->hint, sizeof diag->hint, format, args);
        va_end(args);
    }
    return diag->status;
}

/* Bytes of the character at `text` if it may go to a terminal, else 0. */
static size_t printable_bytes(const unsigned char *text)
{
    size_t n = rlx_utf8_bytes(text, strlen((const char *)text));
    unsigned code = n == 3 ? (unsigned)(text[0] & 15) << 12 | (unsigned)(text[1] & 63) << 6 | (text[2] & 63) : 0;

    if (n == 1)
        return text[0] >= 0x20 && text[0] != 0x7f;
    if (n == 2)
        return text[0] > 0xc2 || text[1] >= 0xa0 ? 2 : 0; /* U+0080..U+009F are controls */
    /* Line and paragraph separators and the bidirectional controls would let a name rewrite the line. */
    if ((code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) || (code >= 0x2060 && code <= 0x206f))
        return 0;
    return n == 3 ? 3 : 0; /* beyond the first plane lie invisible ones, too */
}

static void text_print(const char *text, FILE *out)
{
    const unsigned char *at = (const unsigned char *)text;

    while (*at != 0) {
        size_t n = printable_bytes(at);

        if (n > 0)
            fwrite(at, 1, n, out);
        else
            fprintf(out, "\\x%02x", *at);
        at += n > 0 ? n : 1;
    }
}

void rlx_diag_print(const rlx_diag_t *diag, FILE *out)
{
    const rlx_error_info_t *info = rlx_error_find((int)diag->code);
    const char *hint = diag->hint[0] != '\0' || info == NULL ? diag->hint : info->fix;

    fprintf(out, "error RLX-%04d: ", (int)diag->code);
    text_print(diag->message, out);
    if (diag->where[0] != '\0') {
        fputs("\n  at: ", out);
        text_print(diag->where, out);
    }
    if (hint[0] != '\0') {
        fputs("\n  fix: ", out);
        text_print(hint, out);
    }
    fputc('\n', out);
}
