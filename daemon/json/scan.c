/* A byte at a time. What lies outside of cuts goes to the skeleton; a cut begins and ends by depth. */
#include "daemon/json/scan.h"

#include <string.h>

#include "base/assert.h"

void rlx_json_scan_init(rlx_json_scan_t *scan)
{
    *scan = (rlx_json_scan_t){0};
    rlx_text_init(&scan->skeleton, RLX_JSON_SKELETON_MAX);
}

void rlx_json_scan_fini(rlx_json_scan_t *scan) { rlx_text_fini(&scan->skeleton); }

void rlx_json_scan_begin(rlx_json_scan_t *scan, const char *text, size_t bytes)
{
    rlx_text_t skeleton = scan->skeleton;

    rlx_text_clear(&skeleton);
    *scan = (rlx_json_scan_t){.text = text, .at = text, .end = text + bytes, .skeleton = skeleton};
}

static bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

static size_t offset(const rlx_json_scan_t *scan) { return (size_t)(scan->at - scan->text); }

static void copy(rlx_json_scan_t *scan, char c)
{
    if (scan->cut_depth == 0)
        rlx_text_add(&scan->skeleton, &c, 1);
}

static bool string_is(const rlx_json_scan_t *scan, const char *word)
{
    size_t bytes = (size_t)(scan->at - scan->string);

    return bytes == strlen(word) && memcmp(scan->string, word, bytes) == 0;
}

/* A string closed; `at` is on its quote. Keys of the root and of inputs tell where data are. */
static void string_end(rlx_json_scan_t *scan)
{
    scan->in_string = false;
    if (!scan->key)
        return;
    scan->key = false;
    if (scan->depth == 1)
        scan->inputs = string_is(scan, "inputs");
    else if (scan->depth == 3)
        scan->data = scan->inputs && string_is(scan, "data");
}

/* Goes to the end of the string, or of the piece. Bytes of strings are copied in runs. */
static void string_skip(rlx_json_scan_t *scan, const char *until)
{
    const char *from = scan->at;

    while (scan->at < until && (scan->escaped || *scan->at != '"')) {
        scan->escaped = !scan->escaped && *scan->at == '\\';
        scan->at++;
    }
    if (scan->cut_depth == 0)
        rlx_text_add(&scan->skeleton, from, (size_t)(scan->at - from));
    if (scan->at == until)
        return;
    string_end(scan);
    copy(scan, '"');
    scan->at++;
}

static rlx_status_t container_open(rlx_json_scan_t *scan, bool object, rlx_diag_t *diag)
{
    if (scan->depth == RLX_JSON_DEPTH_MAX)
        return rlx_fail(diag, RLX_E_REQUEST_MALFORMED, "the JSON nests more than %d deep at byte %zu", RLX_JSON_DEPTH_MAX, offset(scan));
    scan->depth++;
    scan->objects = object ? scan->objects | 1u << scan->depth : scan->objects & ~(1u << scan->depth);
    scan->key = object;
    return RLX_OK;
}

/* The value of `inputs[].data` begins: an array is cut out. */
static rlx_status_t data_begin(rlx_json_scan_t *scan, rlx_diag_t *diag)
{
    scan->data = false;
    if (*scan->at != '[')
        return rlx_fail(diag, RLX_E_REQUEST_MALFORMED, "the data of an input are no array (byte %zu)", offset(scan));
    if (scan->n_cuts == RLX_JSON_CUTS_MAX)
        return rlx_fail(diag, RLX_E_REQUEST_MALFORMED, "more than %d inputs have data", RLX_JSON_CUTS_MAX);
    rlx_text_printf(&scan->skeleton, "%d", scan->n_cuts);
    scan->cuts[scan->n_cuts].begin = scan->at;
    scan->cut_depth = scan->depth + 1;
    return RLX_OK;
}

static rlx_status_t container_close(rlx_json_scan_t *scan, bool object, rlx_diag_t *diag)
{
    bool is_object = (scan->objects >> scan->depth & 1) != 0;

    if (scan->depth == 0 || is_object != object)
        return rlx_fail(diag, RLX_E_REQUEST_MALFORMED, "'%c' at byte %zu closes nothing", *scan->at, offset(scan));
    copy(scan, *scan->at);
    if (scan->depth == scan->cut_depth) {
        scan->cuts[scan->n_cuts++].end = scan->at + 1;
        scan->cut_depth = 0;
    }
    scan->depth--;
    scan->key = false;
    return RLX_OK;
}

/* One byte outside strings. */
static rlx_status_t byte_take(rlx_json_scan_t *scan, rlx_diag_t *diag)
{
    char c = *scan->at;

    if (scan->data && c != ':' && !is_space(c))
        RLX_TRY(data_begin(scan, diag));
    if (c == '}' || c == ']') {
        RLX_TRY(container_close(scan, c == '}', diag));
    } else {
        copy(scan, c);
        if (c == '{' || c == '[')
            RLX_TRY(container_open(scan, c == '{', diag));
        else if (c == ',')
            scan->key = (scan->objects >> scan->depth & 1) != 0;
    }
    scan->at++;
    if (c == '"') {
        scan->in_string = true;
        scan->string = scan->at;
    }
    return RLX_OK;
}

/* Inside an array of data nothing but brackets and quotes matters. */
static void numbers_skip(rlx_json_scan_t *scan, const char *until)
{
    const char *at = scan->at;

    while (at < until && *at != '[' && *at != ']' && *at != '"' && *at != '{' && *at != '}')
        at++;
    scan->at = at;
}

/* Before the root: white space and '{'. After it: white space. */
static rlx_status_t outside_take(rlx_json_scan_t *scan, rlx_diag_t *diag)
{
    if (is_space(*scan->at)) {
        scan->at++;
        return RLX_OK;
    }
    if (scan->begun) {
        rlx_fail(diag, RLX_E_REQUEST_MALFORMED, "%zu bytes follow the JSON object, which ends at byte %zu", (size_t)(scan->end - scan->at),
                 offset(scan));
        return rlx_diag_hint(diag, "For binary tensor data, the header Inference-Header-Content-Length says how many bytes the JSON has.");
    }
    if (*scan->at != '{') {
        rlx_fail(diag, RLX_E_REQUEST_MALFORMED, "the body is no JSON object: it begins with byte 0x%02x", (unsigned char)*scan->at);
        return rlx_diag_hint(diag, "A request is a JSON object; a raw tensor needs the header Inference-Header-Content-Length: 0.");
    }
    scan->begun = true;
    return byte_take(scan, diag);
}

rlx_status_t rlx_json_scan_step(rlx_json_scan_t *scan, size_t text_max, rlx_diag_t *diag)
{
    const char *until = (size_t)(scan->end - scan->at) > text_max ? scan->at + text_max : scan->end;

    while (scan->at < until) {
        if (scan->in_string)
            string_skip(scan, until);
        else if (scan->depth == 0)
            RLX_TRY(outside_take(scan, diag));
        else
            RLX_TRY(byte_take(scan, diag));
        if (scan->cut_depth > 0 && !scan->in_string && scan->depth >= scan->cut_depth)
            numbers_skip(scan, until);
    }
    if (scan->skeleton.full)
        return rlx_fail(diag, RLX_E_REQUEST_MALFORMED, "the JSON has more than %zu bytes besides tensor data", RLX_JSON_SKELETON_MAX);
    if (scan->at == scan->end && !rlx_json_scan_ended(scan))
        return rlx_fail(diag, RLX_E_REQUEST_MALFORMED, scan->begun ? "the JSON ends too early: %d brackets are open" : "the body is empty",
                        scan->depth);
    return RLX_OK;
}

bool rlx_json_scan_ended(const rlx_json_scan_t *scan) { return scan->begun && scan->depth == 0 && scan->at == scan->end; }
