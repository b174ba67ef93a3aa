/* Several located errors of one run over one text: what the readers and checkers of RLX-IR report, printed like a good compiler's.
 *
 * A finding says what is wrong (message), what would be right (expected) and what to do (hint), and points at a place of the text. Findings are
 * printed in order of position, whoever found them when. Memory is bounded: beyond `errors_max` errors (and RLX_DIAG_WARNINGS_MAX warnings)
 * the others are counted only. Two errors at one place are one, and so are two warnings, and two notes of one code about the whole text: the
 * first stays.
 *
 * Owner: the caller, by value; the list keeps its own copy of the text. Thread: one at a time. */
#ifndef RLX_BASE_DIAG_LIST_H
#define RLX_BASE_DIAG_LIST_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/span.h"
#include "base/text.h"

#define RLX_DIAG_ERRORS_MAX 20 /* per run, unless said otherwise */
#define RLX_DIAG_ERRORS_CAP 1000
#define RLX_DIAG_WARNINGS_MAX 50
#define RLX_FINDING_NOTES_MAX 3

typedef enum rlx_severity { RLX_SEVERITY_ERROR, RLX_SEVERITY_WARNING, RLX_SEVERITY_NOTE } rlx_severity_t;

/* Another place that explains the finding: "first defined here". */
typedef struct rlx_finding_note {
    rlx_span_t span; /* RLX_SPAN_NONE: a remark without a place */
    char text[256];
} rlx_finding_note_t;

typedef struct rlx_finding {
    rlx_error_code_t code;
    rlx_severity_t severity;
    rlx_span_t span; /* RLX_SPAN_NONE: of the file, or where `where` says */
    int order;       /* in which it was found */
    char where[256]; /* for findings that have no text: "node 12 'conv1' (Conv)" */
    char message[512], expected[384], hint[384]; /* expected and hint may be empty; without a hint the code's fix is printed */
    rlx_finding_note_t *notes; /* owned */
    int n_notes;
} rlx_finding_t;

typedef struct rlx_diag_list {
    char *path;
    char *text; /* owned copies; NULL: no text */
    size_t bytes;
    rlx_finding_t **findings; /* owned */
    int n_findings, cap_findings;
    int n_errors, n_warnings, n_remarks; /* all that were reported, those not kept included; remarks: notes that stand alone */
    int errors_max;
    rlx_finding_t spare;      /* takes what is not kept */
} rlx_diag_list_t;

/* `errors_max` 0: RLX_DIAG_ERRORS_MAX. */
void rlx_diag_list_init(rlx_diag_list_t *list, int errors_max);
void rlx_diag_list_fini(rlx_diag_list_t *list);
/* The text that spans point into (copied). Findings that are there keep their places: set it first. */
rlx_status_t rlx_diag_list_source(rlx_diag_list_t *list, const char *path, const char *text, size_t bytes);

/* Adds a finding and returns it for the calls below; never NULL. The pointer holds until the next report. */
rlx_finding_t *rlx_report(rlx_diag_list_t *list, rlx_error_code_t code, rlx_span_t span, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
rlx_finding_t *rlx_report_warning(rlx_diag_list_t *list, rlx_error_code_t code, rlx_span_t span, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
rlx_finding_t *rlx_report_note(rlx_diag_list_t *list, rlx_error_code_t code, rlx_span_t span, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The place that a diagnosis means by "NAME:LINE:COLUMN", NAME being the last part of the list's path; RLX_SPAN_NONE: none in this text. */
rlx_span_t rlx_diag_list_where(const rlx_diag_list_t *list, const char *where);
/* A diagnosis from a part that knows no spans; `span` is the statement or op it happened in. RLX_SPAN_NONE: what its `where` says. */
rlx_finding_t *rlx_report_diag(rlx_diag_list_t *list, const rlx_diag_t *diag, rlx_span_t span);
/* Each returns its finding. A second call replaces what the first wrote; notes are added, the first RLX_FINDING_NOTES_MAX are kept. */
rlx_finding_t *rlx_finding_expected(rlx_finding_t *finding, const char *format, ...) __attribute__((format(printf, 2, 3)));
rlx_finding_t *rlx_finding_hint(rlx_finding_t *finding, const char *format, ...) __attribute__((format(printf, 2, 3)));
rlx_finding_t *rlx_finding_note(rlx_finding_t *finding, rlx_span_t span, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* RLX_OK, or the status of the first error by position, which is also copied to `diag` (may be NULL; nothing where it holds one already). */
rlx_status_t rlx_diag_list_close(const rlx_diag_list_t *list, rlx_diag_t *diag);

typedef enum rlx_diag_format { RLX_DIAG_TEXT, RLX_DIAG_COLOUR, RLX_DIAG_JSON } rlx_diag_format_t;
/* RLX_DIAG_COLOUR where `out` is a terminal and NO_COLOR is not set. */
rlx_diag_format_t rlx_diag_format_for(FILE *out);
/* All findings, by position. Text: source line, underlined; JSON: one object on one line (docs/ERRORS.md), for editors. */
void rlx_diag_list_print(const rlx_diag_list_t *list, rlx_diag_format_t format, FILE *out);
void rlx_diag_list_render(const rlx_diag_list_t *list, rlx_diag_format_t format, rlx_text_t *out);

/* The column of a place as people count: in characters, of which a tab is one and a broken byte is one. */
uint32_t rlx_diag_list_column(const rlx_diag_list_t *list, rlx_span_t span);

#endif
