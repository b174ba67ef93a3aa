/* A located error for people: a stable code, where, what is wrong, what to do.
 *
 * Owner: the caller, by value; no heap. Thread: one at a time. The first error set wins; later ones are dropped,
 * since they are usually consequences. Codes, titles, causes and fixes stand in base/error_list.h. Readers of texts, which find several
 * errors in one run, put them into `list` where there is one (base/diag_list.h). */
#ifndef RLX_BASE_DIAG_H
#define RLX_BASE_DIAG_H

#include <stdbool.h>
#include <stdio.h>

#include "base/status.h"

typedef enum rlx_error_code {
    RLX_E_NONE = 0,
#define RLX_ERROR(name, number, status, title, cause, fix) RLX_E_##name = number,
#include "base/error_list.h"
#undef RLX_ERROR
} rlx_error_code_t;

typedef struct rlx_diag {
    rlx_error_code_t code;
    rlx_status_t status;
    char where[256];   /* "model.onnx: node 12 'conv1' (Conv)" or "FILE:LINE:COLUMN"; may be empty */
    char message[768]; /* one sentence: what was found, what was expected */
    char hint[384];    /* what to do; may be empty, then the code's general fix is printed */
    char path[512];    /* what led there, a line each: "operand 0 'x' f32[1,3]: node 'a' (Relu) <- input 'image'"; mostly empty */
    struct rlx_diag_list *list; /* borrowed; all that readers of texts found, this error included; may be NULL. Set by the caller */
} rlx_diag_t;

typedef struct rlx_error_info {
    rlx_error_code_t code;
    rlx_status_t status;
    const char *title, *cause, *fix;
} rlx_error_info_t;

/* The table's row, or NULL for an unknown code. */
const rlx_error_info_t *rlx_error_find(int code);
/* All rows, in order of code. */
const rlx_error_info_t *rlx_error_table(int *out_count);

/* Sets code and message (printf style) and returns the code's status. `diag` may be NULL: then only the status is returned. */
rlx_status_t rlx_fail(rlx_diag_t *diag, rlx_error_code_t code, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Adds where, or a hint, if none is set yet. Both return `diag->status`. */
rlx_status_t rlx_diag_at(rlx_diag_t *diag, const char *format, ...) __attribute__((format(printf, 2, 3)));
rlx_status_t rlx_diag_hint(rlx_diag_t *diag, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints "error RLX-1234: message", where and hint, escaped for a terminal. */
void rlx_diag_print(const rlx_diag_t *diag, FILE *out);

#endif
