/* The .npy header is a Python dictionary in text form: {'descr': '<f4', 'fortran_order': False, 'shape': (1, 3), }.
 *
 * The scanner below accepts exactly that form, with the keys in any order, and refuses everything else. Nothing is evaluated, nothing
 * allocated, every number is checked for overflow. */
#include "base/npy.h"

#include <stdio.h>
#include <string.h>

#define NPY_HEADER_BYTES_MAX (64u << 10)

typedef struct npy_text {
    const char *at, *end;
} npy_text_t;

typedef struct npy_fields {
    char descr[16];
    bool fortran, has_descr, has_fortran, has_shape;
    int rank;
    int64_t dims[RLX_RANK_MAX];
} npy_fields_t;

static void text_skip(npy_text_t *text)
{
    while (text->at < text->end && strchr(" \t\r\n", *text->at) != NULL && *text->at != '\0')
        text->at++;
}

static bool text_take(npy_text_t *text, char c)
{
    text_skip(text);
    if (text->at == text->end || *text->at != c)
        return false;
    text->at++;
    return true;
}

static bool text_word(npy_text_t *text, const char *word)
{
    size_t n = strlen(word);

    text_skip(text);
    if ((size_t)(text->end - text->at) < n || memcmp(text->at, word, n) != 0)
        return false;
    text->at += n;
    return true;
}

static bool text_string(npy_text_t *text, char *out, size_t size)
{
    char quote = text_take(text, '\'') ? '\'' : '"';
    size_t n = 0;

    if (quote == '"' && !text_take(text, '"'))
        return false;
    while (text->at < text->end && *text->at != quote) {
        if (*text->at == '\0' || *text->at == '\\' || n + 1 >= size)
            return false;
        out[n++] = *text->at++;
    }
    out[n] = '\0';
    return text_take(text, quote);
}

static bool text_number(npy_text_t *text, int64_t *out)
{
    int64_t value = 0;
    const char *start;

    text_skip(text);
    start = text->at;
    while (text->at < text->end && *text->at >= '0' && *text->at <= '9') {
        if (!rlx_size_mul(value, 10, &value) || !rlx_size_add(value, *text->at - '0', &value))
            return false;
        text->at++;
    }
    if (text->at == start)
        return false;
    (void)text_take(text, 'L'); /* written by Python 2 */
    *out = value;
    return true;
}

/* "(3, 4)", "(3,)" or "()". Extents past RLX_RANK_MAX are counted, not kept: the caller names the limit. */
static bool text_shape(npy_text_t *text, npy_fields_t *fields)
{
    int64_t dim;

    if (!text_take(text, '('))
        return false;
    for (fields->rank = 0; !text_take(text, ')'); fields->rank++) {
        if (fields->rank > 64 || !text_number(text, &dim))
            return false;
        if (fields->rank < RLX_RANK_MAX)
            fields->dims[fields->rank] = dim;
        if (text_take(text, ','))
            continue;
        fields->rank++;
        return text_take(text, ')');
    }
    return true;
}

static bool text_fields(npy_text_t *text, npy_fields_t *fields)
{
    char key[24];
    bool ok = text_take(text, '{');

    while (ok && !text_take(text, '}')) {
        ok = text_string(text, key, sizeof key) && text_take(text, ':');
        if (ok && strcmp(key, "descr") == 0)
            ok = fields->has_descr = text_string(text, fields->descr, sizeof fields->descr);
        else if (ok && strcmp(key, "fortran_order") == 0)
            ok = fields->has_fortran = (fields->fortran = text_word(text, "True")) || text_word(text, "False");
        else if (ok && strcmp(key, "shape") == 0)
            ok = fields->has_shape = text_shape(text, fields);
        else
            ok = false;
        if (ok && !text_take(text, ',')) {
            ok = text_take(text, '}');
            break;
        }
    }
    text_skip(text);
    return ok && fields->has_descr && fields->has_fortran && fields->has_shape && text->at == text->end;
}

/* Byte order is '<', or any for single bytes; '=' means the writer's own, which NumPy never stores. */
static rlx_dtype_t descr_dtype(const char *descr)
{
    static const struct {
        const char *descr;
        rlx_dtype_t dtype;
        size_t bytes;
    } table[] = {
#define X(name, number, bytes, text, descr) {descr, RLX_##name, bytes},
        RLX_DTYPES(X)
#undef X
    };

    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (descr[0] != '\0' && strcmp(descr + 1, table[i].descr + 1) == 0)
            if (descr[0] == '<' || (descr[0] == '|' && (table[i].bytes == 1 || table[i].dtype == RLX_BF16)))
                return table[i].dtype;
    return RLX_DTYPE_NONE;
}

/* Finds the header's text: 2 bytes of length in version 1, 4 in versions 2 and 3. */
static rlx_status_t npy_header_find(const unsigned char *data, size_t bytes, npy_text_t *out_text, rlx_diag_t *diag)
{
    size_t start, length;

    if (bytes < 12 || memcmp(data, "\x93NUMPY", 6) != 0)
        return rlx_fail(diag, RLX_E_NPZ, "not a .npy array: the magic bytes are missing");
    if (data[6] < 1 || data[6] > 3)
        return rlx_fail(diag, RLX_E_NPZ, ".npy format version %u is unknown, expected 1, 2 or 3", data[6]);
    start = data[6] == 1 ? 10 : 12;
    length = data[8] | (size_t)data[9] << 8;
    if (data[6] > 1)
        length |= (size_t)data[10] << 16 | (size_t)data[11] << 24;
    if (length > NPY_HEADER_BYTES_MAX || length > bytes - start)
        return rlx_fail(diag, RLX_E_NPZ, "the .npy header of %zu bytes is cut off or too long", length);
    *out_text = (npy_text_t){(const char *)data + start, (const char *)data + start + length};
    return RLX_OK;
}

static rlx_status_t npy_fields_check(const npy_fields_t *fields, rlx_tensor_t *tensor, rlx_diag_t *diag)
{
    tensor->dtype = descr_dtype(fields->descr);
    if (tensor->dtype == RLX_DTYPE_NONE) {
        rlx_fail(diag, RLX_E_NPZ, "element type '%s' is not supported", fields->descr);
        return rlx_diag_hint(diag, "Convert the array to a plain little-endian number type, for example array.astype('<f4').");
    }
    if (fields->rank > RLX_RANK_MAX)
        return rlx_fail(diag, RLX_E_NPZ, "the array has %d dimensions, the limit is %d", fields->rank, RLX_RANK_MAX);
    tensor->rank = fields->rank;
    memcpy(tensor->dims, fields->dims, sizeof tensor->dims);
    if (fields->fortran && fields->rank > 1) {
        rlx_fail(diag, RLX_E_NPZ, "the array is stored in Fortran order");
        return rlx_diag_hint(diag, "Store it in C order: numpy.ascontiguousarray(array).");
    }
    return RLX_OK;
}

rlx_status_t rlx_npy_parse(const void *data, size_t bytes, rlx_tensor_t *out_tensor, size_t *out_data_bytes, rlx_diag_t *diag)
{
    npy_fields_t fields = {0};
    rlx_tensor_t tensor = {0};
    npy_text_t text = {0};
    int64_t count, size;
    size_t left;

    RLX_TRY(npy_header_find(data, bytes, &text, diag));
    left = bytes - (size_t)(text.end - (const char *)data);
    tensor.data = (void *)text.end;
    if (!text_fields(&text, &fields)) {
        rlx_fail(diag, RLX_E_NPZ, "the .npy header is not a plain array's");
        return rlx_diag_hint(diag, "Structured and object arrays are not supported; store plain number arrays.");
    }
    RLX_TRY(npy_fields_check(&fields, &tensor, diag));
    if (!rlx_dims_count(tensor.dims, tensor.rank, &count) || !rlx_size_mul(count, (int64_t)rlx_dtype_size(tensor.dtype), &size))
        return rlx_fail(diag, RLX_E_NPZ, "the array's extents multiply to more than fits in memory");
    if ((uint64_t)size != left)
        return rlx_fail(diag, RLX_E_NPZ, "the array needs %lld bytes, the file holds %zu", (long long)size, left);
    *out_tensor = tensor;
    *out_data_bytes = left;
    return RLX_OK;
}

static const char *dtype_descr(rlx_dtype_t dtype)
{
    switch (dtype) {
#define X(name, number, bytes, text, descr) case RLX_##name: return descr;
        RLX_DTYPES(X)
#undef X
    default: return "|V1";
    }
}

size_t rlx_npy_header(const rlx_tensor_t *tensor, char out_header[RLX_NPY_HEADER_MAX])
{
    char shape[RLX_RANK_MAX * 22 + 2] = "";
    size_t used = 0, length;

    for (int i = 0; i < tensor->rank; i++)
        used += (size_t)snprintf(shape + used, sizeof shape - used, i + 1 < tensor->rank ? "%lld, " : tensor->rank > 1 ? "%lld" : "%lld,",
                                 (long long)tensor->dims[i]);
    used = (size_t)snprintf(out_header + 10, RLX_NPY_HEADER_MAX - 10, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }",
                            dtype_descr(tensor->dtype), shape);
    length = (10 + used + 1 + 63) / 64 * 64;
    memset(out_header + 10 + used, ' ', length - 10 - used);
    memcpy(out_header, "\x93NUMPY\x01\x00", 8);
    out_header[8] = (char)((length - 10) & 255);
    out_header[9] = (char)((length - 10) >> 8);
    out_header[length - 1] = '\n';
    return length;
}
