/* Diagnoses: filled by the code that finds a fault, printed once by the program. No heap; nothing from outside reaches
 * the terminal unescaped. */
#include "base/diag.h"

#include <stdarg.h>
#include <string.h>

#include "base/printable.h"

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
    *diag = (rlx_diag_t){.code = code, .status = status, .list = diag->list};
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

static void text_print(const char *text, FILE *out)
{
    const unsigned char *at = (const unsigned char *)text;

    while (*at != 0) {
        size_t n = rlx_printable_bytes(at, strlen((const char *)at));

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
    for (const char *at = diag->path; *at != '\0';) {
        size_t n = strcspn(at, "\n");
        char line[sizeof diag->path];

        snprintf(line, sizeof line, "%.*s", (int)n, at);
        fputs("\n  path: ", out);
        text_print(line, out);
        at += n + (at[n] == '\n');
    }
    if (hint[0] != '\0') {
        fputs("\n  fix: ", out);
        text_print(hint, out);
    }
    fputc('\n', out);
}
