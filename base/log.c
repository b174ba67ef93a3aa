/* One line per message, in one write, whatever the fields hold: no field can end a line or look like another field. */
#include "base/log.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

#define LINE_BYTES 2048
#define SITE_LINES 20
#define SITE_NS UINT64_C(10000000000)

const char *const rlx_log_level_names[] = {"error", "warning", "info", "debug", NULL};
const char *const rlx_log_format_names[] = {"auto", "journal", "plain", NULL};
static const int priorities[] = {3, 4, 6, 7}; /* syslog's */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static rlx_log_level_t level_max = RLX_LOG_INFO;
static rlx_log_format_t format_used = RLX_LOG_AUTO;

typedef struct line {
    char *out;
    int size, used;
} line_t;

void rlx_log_configure(rlx_log_level_t level, rlx_log_format_t format)
{
    if (format == RLX_LOG_AUTO)
        format = getenv("JOURNAL_STREAM") != NULL ? RLX_LOG_JOURNAL : RLX_LOG_PLAIN;
    pthread_mutex_lock(&lock);
    level_max = level;
    format_used = format;
    pthread_mutex_unlock(&lock);
}

bool rlx_log_enabled(rlx_log_level_t level)
{
    bool enabled;

    pthread_mutex_lock(&lock);
    enabled = level <= level_max;
    pthread_mutex_unlock(&lock);
    return enabled;
}

static void line_byte(line_t *line, char byte)
{
    if (line->used < line->size)
        line->out[line->used] = byte;
    line->used++;
}

static void line_text(line_t *line, const char *text)
{
    while (*text != '\0')
        line_byte(line, *text++);
}

/* Controls are written as \xNN, quotes and backslashes escaped; other bytes pass (journald reads UTF-8). */
static void line_escaped(line_t *line, const char *text, bool quoted)
{
    static const char hex[] = "0123456789abcdef";

    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;

        if (byte < 0x20 || byte == 0x7f) {
            line_text(line, "\\x");
            line_byte(line, hex[byte >> 4]);
            line_byte(line, hex[byte & 15]);
            continue;
        }
        if (quoted && (byte == '"' || byte == '\\'))
            line_byte(line, '\\');
        line_byte(line, (char)byte);
    }
}

static bool needs_quotes(const char *text)
{
    return *text == '\0' || strpbrk(text, " \"'=\\\t\r\n") != NULL;
}

static void line_field(line_t *line, const rlx_log_field_t *field)
{
    char number[32];
    bool quoted = field->text != NULL && needs_quotes(field->text);

    line_byte(line, ' ');
    line_text(line, field->key);
    line_byte(line, '=');
    if (field->text == NULL)
        snprintf(number, sizeof number, "%lld", (long long)field->number);
    if (quoted)
        line_byte(line, '"');
    line_escaped(line, field->text != NULL ? field->text : number, quoted);
    if (quoted)
        line_byte(line, '"');
}

int rlx_log_line(char *out, int size, rlx_log_format_t format, rlx_log_level_t level, const char *message, const rlx_log_field_t *fields,
                 int n_fields)
{
    line_t line = {out, size, 0};
    char prefix[16];

    if (format == RLX_LOG_JOURNAL)
        snprintf(prefix, sizeof prefix, "<%d>", priorities[level]);
    else
        snprintf(prefix, sizeof prefix, "%s: ", rlx_log_level_names[level]);
    line_text(&line, prefix);
    line_escaped(&line, message, false);
    for (int i = 0; i < n_fields; i++)
        line_field(&line, &fields[i]);
    if (line.used > size) {
        memcpy(out + size - 3, "...", 3);
        line.used = size;
    }
    return line.used;
}

/* Takes one line of the site's budget; false when it is spent. */
static bool site_take(rlx_log_site_t *site, uint64_t now_ns)
{
    if (site->since_ns == 0 || now_ns - site->since_ns > SITE_NS) {
        site->since_ns = now_ns;
        site->written = 0;
    }
    if (site->written == SITE_LINES) {
        site->dropped++;
        return false;
    }
    site->written++;
    return true;
}

void rlx_log_write(rlx_log_site_t *site, rlx_log_level_t level, const char *message, const rlx_log_field_t *fields, int n_fields)
{
    char text[LINE_BYTES];
    int n;

    pthread_mutex_lock(&lock);
    if (level <= level_max && site_take(site, rlx_clock_ns())) {
        n = rlx_log_line(text, LINE_BYTES - 32, format_used == RLX_LOG_AUTO ? RLX_LOG_PLAIN : format_used, level, message, fields,
                         n_fields);
        if (site->dropped > 0)
            n += snprintf(text + n, 24, " dropped=%u", site->dropped);
        site->dropped = 0;
        text[n++] = '\n';
        (void)!write(STDERR_FILENO, text, (size_t)n);
    }
    pthread_mutex_unlock(&lock);
}

void rlx_log_write_diag(rlx_log_site_t *site, rlx_log_level_t level, const char *message, const rlx_diag_t *diag)
{
    const rlx_error_info_t *info = rlx_error_find((int)diag->code);
    char code[16];
    rlx_log_field_t fields[4] = {rlx_log_text("code", code), rlx_log_text("reason", diag->message)};
    int n = 2;

    snprintf(code, sizeof code, "RLX-%04d", (int)diag->code);
    if (diag->where[0] != '\0')
        fields[n++] = rlx_log_text("at", diag->where);
    if (diag->hint[0] != '\0' || info != NULL)
        fields[n++] = rlx_log_text("fix", diag->hint[0] != '\0' ? diag->hint : info->fix);
    rlx_log_write(site, level, message, fields, n);
}
