/* Between two pieces the reader is a depth, the children seen at each depth, and whether a comma is due: a piece may end between any two
 * elements. */
#include "daemon/json/data.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "daemon/json/number.h"

void rlx_json_data_init(rlx_json_data_t *data, const char *begin, const char *end, const rlx_tensor_t *tensor)
{
    *data = (rlx_json_data_t){.at = begin, .end = end, .tensor = *tensor};
    (void)rlx_dims_count(tensor->dims, tensor->rank, &data->count);
}

/* The text at `at`, cut where the next element begins, for messages. */
static int shown(const rlx_json_data_t *data, const char *at)
{
    int n = at < data->end;

    while (n < 40 && at + n < data->end && strchr(",[] \t\r\n", at[n]) == NULL)
        n++;
    return n;
}

static rlx_status_t element_refuse(const rlx_json_data_t *data, const char *at, const char *wrong, rlx_diag_t *diag)
{
    int n = shown(data, at);

    if (n >= 3 &&
        (strncmp(at, "NaN", 3) == 0 || strncmp(at, "Inf", 3) == 0 || strncmp(at, "-In", 3) == 0 || strncmp(at, "\"NaN", 4) == 0)) {
        rlx_fail(diag, RLX_E_REQUEST_MALFORMED, "element %" PRId64 " is %.*s, and JSON has no number for it", data->done, n, at);
        return rlx_diag_hint(diag, "Send this tensor as binary data (parameter binary_data_size), or over gRPC.");
    }
    return rlx_fail(diag, RLX_E_REQUEST_MALFORMED, "element %" PRId64 ", '%.*s', is %s", data->done, n, at, wrong);
}

/* true and false. */
static const char *word_store(rlx_json_data_t *data, const char *at, uint8_t *to)
{
    if (data->end - at >= 4 && memcmp(at, "true", 4) == 0) {
        *to = 1;
        return at + 4;
    }
    if (data->end - at >= 5 && memcmp(at, "false", 5) == 0) {
        *to = 0;
        return at + 5;
    }
    return NULL;
}

/* The first number tells how the array is nested. */
static rlx_status_t nesting_set(rlx_json_data_t *data, rlx_diag_t *diag)
{
    int rank = data->tensor.rank > 0 ? data->tensor.rank : 1;

    if (data->depth == data->nested)
        return RLX_OK;
    if (data->nested == 0 && (data->depth == 1 || data->depth == rank)) {
        data->nested = data->depth;
        return RLX_OK;
    }
    return rlx_fail(diag, RLX_E_REQUEST_MALFORMED,
                    "element %" PRId64 " stands %d arrays deep; the data are flat (1) or nested as the shape (%d), and all alike",
                    data->done, data->depth, rank);
}

static rlx_status_t element_read(rlx_json_data_t *data, rlx_diag_t *diag)
{
    const char *at = data->at, *wrong, *after = NULL;
    rlx_json_number_t number;
    char *to = (char *)data->tensor.data + (size_t)data->done * rlx_dtype_size(data->tensor.dtype);

    if (data->depth != data->nested)
        RLX_TRY(nesting_set(data, diag));
    if (data->done == data->count)
        return rlx_fail(diag, RLX_E_REQUEST_MALFORMED, "there are more elements than the %" PRId64 " of the shape", data->count);
    if (data->tensor.dtype == RLX_BOOL && (after = word_store(data, at, (uint8_t *)to)) != NULL) {
        data->at = after;
    } else {
        wrong = rlx_json_number_read(at, data->end, &number);
        if (wrong == NULL)
            wrong = rlx_json_number_store(&number, data->tensor.dtype, to);
        if (wrong != NULL)
            return element_refuse(data, at, wrong, diag);
        data->at = number.end;
    }
    data->done++;
    data->children[data->depth]++;
    data->comma = true;
    return RLX_OK;
}

static rlx_status_t array_open(rlx_json_data_t *data, rlx_diag_t *diag)
{
    int rank = data->tensor.rank > 0 ? data->tensor.rank : 1;

    if (data->depth == rank)
        return rlx_fail(diag, RLX_E_REQUEST_MALFORMED, "arrays are nested more than %d deep, and the shape has %d axes", rank,
                        data->tensor.rank);
    if (data->nested == 1 && data->depth == 1)
        return rlx_fail(diag, RLX_E_REQUEST_MALFORMED, "element %" PRId64 " is an array among numbers", data->done);
    data->children[data->depth]++;
    data->depth++;
    data->children[data->depth] = 0;
    data->comma = false;
    data->begun = true;
    data->at++;
    return RLX_OK;
}

static rlx_status_t array_close(rlx_json_data_t *data, rlx_diag_t *diag)
{
    int depth = data->depth;
    bool flat = depth == 1 && (data->nested == 1 || data->children[1] == 0);

    if (flat && data->done != data->count)
        return rlx_fail(diag, RLX_E_REQUEST_MALFORMED, "there are %" PRId64 " elements, the shape has %" PRId64, data->done, data->count);
    if (!flat && data->children[depth] != data->tensor.dims[depth - 1])
        return rlx_fail(diag, RLX_E_REQUEST_MALFORMED,
                        "an array of axis %d has %" PRId64 " elements, the shape says %" PRId64 " (before element %" PRId64 ")", depth - 1,
                        data->children[depth], data->tensor.dims[depth - 1], data->done);
    data->depth--;
    data->comma = true;
    data->at++;
    return RLX_OK;
}

static rlx_status_t token_read(rlx_json_data_t *data, rlx_diag_t *diag)
{
    char c = *data->at;

    if (c == ' ' || c == '\n' || c == '\r' || c == '\t') {
        data->at++;
        return RLX_OK;
    }
    if (c == ']' && (data->comma || data->children[data->depth] == 0))
        return array_close(data, diag);
    if (data->comma) {
        if (c != ',')
            return rlx_fail(diag, RLX_E_REQUEST_MALFORMED, "',' or ']' is missing before '%.*s' (element %" PRId64 ")",
                            shown(data, data->at), data->at, data->done);
        data->comma = false;
        data->at++;
        return RLX_OK;
    }
    if (c == '[')
        return array_open(data, diag);
    return element_read(data, diag);
}

rlx_status_t rlx_json_data_step(rlx_json_data_t *data, size_t text_max, rlx_diag_t *diag)
{
    const char *until = (size_t)(data->end - data->at) > text_max ? data->at + text_max : data->end;

    while (data->at < until && !rlx_json_data_ended(data))
        RLX_TRY(token_read(data, diag));
    if (data->at == data->end && !rlx_json_data_ended(data))
        return rlx_fail(diag, RLX_E_REQUEST_MALFORMED, "the array of data has no end");
    return RLX_OK;
}
