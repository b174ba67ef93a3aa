/* The first look at a request's JSON: finds its end, refuses what nests too deeply before anything recurses over it, and cuts out the
 * arrays of tensor data (`inputs[].data`), which may be millions of numbers.
 *
 * What is left, the *skeleton*, is small and bounded, and goes to jansson; in it each cut array is replaced by its number (0, 1, ...), and
 * data.h reads it where it lies. Only brackets and strings are understood here: whether the rest is JSON, jansson and the
 * data reader tell. Resumable, pure. */
#ifndef RLX_DAEMON_JSON_SCAN_H
#define RLX_DAEMON_JSON_SCAN_H

#include <stdint.h>

#include "base/diag.h"
#include "base/text.h"

#define RLX_JSON_DEPTH_MAX 16
#define RLX_JSON_CUTS_MAX 256
#define RLX_JSON_SKELETON_MAX ((size_t)256 << 10)

typedef struct rlx_json_cut {
    const char *begin, *end; /* '[' and past its ']' */
} rlx_json_cut_t;

typedef struct rlx_json_scan {
    const char *text, *at, *end;
    int depth;
    uint32_t objects; /* bit d: the container at depth d is an object */
    bool in_string, escaped, key;
    const char *string; /* where the string that is being read began */
    bool inputs;   /* the value at depth 1 is that of "inputs" */
    bool data;     /* a key "data" of an input: its value follows */
    int cut_depth; /* depth of the array that is being cut; 0: none */
    bool begun;
    rlx_json_cut_t cuts[RLX_JSON_CUTS_MAX];
    int n_cuts;
    rlx_text_t skeleton;
} rlx_json_scan_t;

void rlx_json_scan_init(rlx_json_scan_t *scan);
void rlx_json_scan_fini(rlx_json_scan_t *scan);
/* Starts over with another text, borrowed. */
void rlx_json_scan_begin(rlx_json_scan_t *scan, const char *text, size_t bytes);
/* Looks at about `text_max` bytes more. RLX_OK: look at rlx_json_scan_ended. */
rlx_status_t rlx_json_scan_step(rlx_json_scan_t *scan, size_t text_max, rlx_diag_t *diag);
/* The root object closed, and only white space follows. */
bool rlx_json_scan_ended(const rlx_json_scan_t *scan);

#endif
