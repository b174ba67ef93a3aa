/* Structured logs for people and for journald: one line a message, its fields as key=value, everything escaped.
 *
 *     RLX_LOG(RLX_LOG_INFO, "model loaded", rlx_log_text("model", name), rlx_log_int("bytes", n));
 *     <6>model loaded model=squeezenet bytes=4991424
 *
 * Under journald (JOURNAL_STREAM) a line starts with the priority that it reads, elsewhere with the level's name. Each place in the
 * code may write 20 lines in 10 seconds; what is above is dropped, and the place's next line tells how many (dropped=N). Any thread; takes
 * a lock and writes to standard error, so never on the path of a request. */
#ifndef RLX_BASE_LOG_H
#define RLX_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"

typedef enum rlx_log_level { RLX_LOG_ERROR, RLX_LOG_WARNING, RLX_LOG_INFO, RLX_LOG_DEBUG, RLX_LOG_LEVEL_COUNT } rlx_log_level_t;
typedef enum rlx_log_format { RLX_LOG_AUTO, RLX_LOG_JOURNAL, RLX_LOG_PLAIN, RLX_LOG_FORMAT_COUNT } rlx_log_format_t;
extern const char *const rlx_log_level_names[RLX_LOG_LEVEL_COUNT + 1];   /* "error" ..., NULL */
extern const char *const rlx_log_format_names[RLX_LOG_FORMAT_COUNT + 1]; /* "auto" ..., NULL */

/* Before the first call: info and auto. */
void rlx_log_configure(rlx_log_level_t level, rlx_log_format_t format);
bool rlx_log_enabled(rlx_log_level_t level);

typedef struct rlx_log_field {
    const char *key, *text; /* text NULL: `number` counts */
    int64_t number;
} rlx_log_field_t;
static inline rlx_log_field_t rlx_log_text(const char *key, const char *text)
{
    return (rlx_log_field_t){key, text != NULL ? text : "", 0};
}
static inline rlx_log_field_t rlx_log_int(const char *key, int64_t number) { return (rlx_log_field_t){key, NULL, number}; }

/* One place in the code that logs: its budget. */
typedef struct rlx_log_site {
    uint64_t since_ns;
    uint32_t written, dropped;
} rlx_log_site_t;

void rlx_log_write(rlx_log_site_t *site, rlx_log_level_t level, const char *message, const rlx_log_field_t *fields, int n_fields);
/* A diagnosis as one line: code, message, where and hint. */
void rlx_log_write_diag(rlx_log_site_t *site, rlx_log_level_t level, const char *message, const rlx_diag_t *diag);

#define RLX_LOG(level, message, ...)                                                                                    \
    do {                                                                                                                \
        static rlx_log_site_t rlx_log_site_;                                                                            \
        const rlx_log_field_t rlx_log_fields_[] = {{NULL, NULL, 0}, ##__VA_ARGS__};                                     \
        rlx_log_write(&rlx_log_site_, (level), (message), rlx_log_fields_ + 1,                                          \
                      (int)(sizeof rlx_log_fields_ / sizeof *rlx_log_fields_) - 1);                                     \
    } while (0)
#define RLX_LOG_DIAG(level, message, diag)                               \
    do {                                                                 \
        static rlx_log_site_t rlx_log_site_;                             \
        rlx_log_write_diag(&rlx_log_site_, (level), (message), (diag));  \
    } while (0)

/* Writes one line, without its end, into `out`; for tests and for other sinks. Returns its length; longer lines end in "...". */
int rlx_log_line(char *out, int size, rlx_log_format_t format, rlx_log_level_t level, const char *message, const rlx_log_field_t *fields,
                 int n_fields);

#endif
