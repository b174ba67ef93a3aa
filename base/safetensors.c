/* The header is scanned once, as the JSON it must be and nothing more: an object of objects whose members are known. No tree is built, so a
 * header takes no more memory than its tensors do. */
#include "base/safetensors.h"

#include <stdlib.h>
#include <string.h>

#include "base/safetensors_type.h"
#include "base/utf8.h"

typedef struct scan {
    const char *begin, *at, *end;
    rlx_safetensors_t *out;
    int capacity;
    uint64_t data_begin, file_bytes;
    rlx_diag_t *diag;
} scan_t;

static bool scan_fail(scan_t *scan, const char *what)
{
    rlx_fail(scan->diag, RLX_E_SAFETENSORS, "byte %zu of the header: %s", (size_t)(scan->at - scan->begin), what);
    return false;
}

static char scan_peek(scan_t *scan)
{
    while (scan->at < scan->end && (*scan->at == ' ' || *scan->at == '\n' || *scan->at == '\t' || *scan->at == '\r'))
        scan->at++;
    return scan->at < scan->end ? *scan->at : '\0';
}

static bool scan_take(scan_t *scan, char mark)
{
    if (scan_peek(scan) != mark)
        return false;
    scan->at++;
    return true;
}

static bool hex4(scan_t *scan, unsigned *out_code)
{
    *out_code = 0;
    for (int i = 0; i < 4; i++, scan->at++) {
        char c = scan->at < scan->end ? *scan->at : '\0';
        int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;

        if (digit < 0)
            return scan_fail(scan, "\\u is followed by four hexadecimal digits");
        *out_code = *out_code * 16 + (unsigned)digit;
    }
    return true;
}

/* \uXXXX, or two of them for one character beyond the first plane, behind the u. */
static bool scan_unicode(scan_t *scan, char *out, size_t *n)
{
    unsigned code, low;

    if (!hex4(scan, &code))
        return false;
    if (code >= 0xd800 && code < 0xdc00) {
        if (scan->end - scan->at < 6 || scan->at[0] != '\\' || scan->at[1] != 'u')
            return scan_fail(scan, "half of a surrogate pair");
        scan->at += 2;
        if (!hex4(scan, &low))
            return false;
        if (low < 0xdc00 || low > 0xdfff)
            return scan_fail(scan, "half of a surrogate pair");
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        out[(*n)++] = (char)(0xf0 | code >> 18);
        out[(*n)++] = (char)(0x80 | (code >> 12 & 63));
    } else if (code == 0 || (code >= 0xdc00 && code <= 0xdfff)) {
        return scan_fail(scan, "a character that no text has");
    } else if (code >= 0x800) {
        out[(*n)++] = (char)(0xe0 | code >> 12);
    }
    if (code < 0x80) {
        out[(*n)++] = (char)code;
        return true;
    }
    out[(*n)++] = (char)(code < 0x800 ? 0xc0 | code >> 6 : 0x80 | (code >> 6 & 63));
    out[(*n)++] = (char)(0x80 | (code & 63));
    return true;
}

/* A string of at most RLX_SAFETENSORS_NAME_MAX bytes into `out`, which holds one more. */
static bool scan_string(scan_t *scan, char *out)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    size_t n = 0;

    if (!scan_take(scan, '"'))
        return scan_fail(scan, "expected a string");
    while (scan->at < scan->end && *scan->at != '"') {
        const char *name;
        size_t bytes = rlx_utf8_bytes(scan->at, (size_t)(scan->end - scan->at));

        if (n > RLX_SAFETENSORS_NAME_MAX - 4)
            return scan_fail(scan, "a string is too long");
        if (bytes == 0 || (unsigned char)*scan->at < 0x20)
            return scan_fail(scan, "a byte that no string may hold");
        if (*scan->at != '\\') {
            memcpy(out + n, scan->at, bytes);
            n += bytes;
            scan->at += bytes;
            continue;
        }
        scan->at++;
        name = scan->at < scan->end && *scan->at != '\0' ? strchr(names, *scan->at) : NULL;
        if (name == NULL && (scan->at == scan->end || *scan->at != 'u'))
            return scan_fail(scan, "no such escape");
        scan->at++;
        if (name != NULL)
            out[n++] = values[name - names];
        else if (!scan_unicode(scan, out, &n))
            return false;
    }
    out[n] = '\0';
    return scan_take(scan, '"') ? true : scan_fail(scan, "a string is not closed");
}

static bool scan_number(scan_t *scan, uint64_t *out)
{
    const char *begin;

    scan_peek(scan);
    begin = scan->at;
    for (*out = 0; scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9'; scan->at++)
        if (__builtin_mul_overflow(*out, (uint64_t)10, out) || __builtin_add_overflow(*out, (uint64_t)(*scan->at - '0'), out) || *out > INT64_MAX)
            return scan_fail(scan, "a number is too large");
    if (scan->at == begin || (*begin == '0' && scan->at > begin + 1))
        return scan_fail(scan, "expected a number: digits, no sign, no fraction");
    return true;
}

/* [a, b, ...] of at most `max`. */
static bool scan_numbers(scan_t *scan, uint64_t *out, int max, int *out_count)
{
    *out_count = 0;
    if (!scan_take(scan, '['))
        return scan_fail(scan, "expected a list");
    if (scan_take(scan, ']'))
        return true;
    do {
        if (*out_count == max)
            return scan_fail(scan, "a list has too many numbers");
        if (!scan_number(scan, &out[(*out_count)++]))
            return false;
    } while (scan_take(scan, ','));
    return scan_take(scan, ']') ? true : scan_fail(scan, "expected , or ]");
}

typedef struct members {
    bool has_type, has_shape, has_offsets;
    uint64_t shape[RLX_RANK_MAX], offsets[2];
    int rank;
} members_t;

static bool scan_member(scan_t *scan, rlx_safetensor_t *tensor, members_t *members)
{
    char name[RLX_SAFETENSORS_NAME_MAX + 1];
    int n;

    if (!scan_string(scan, name))
        return false;
    if (!scan_take(scan, ':'))
        return scan_fail(scan, "expected :");
    if (strcmp(name, "dtype") == 0 && !members->has_type) {
        members->has_type = true;
        if (!scan_string(scan, name))
            return false;
        if (strlen(name) >= sizeof tensor->type)
            return scan_fail(scan, "no such dtype");
        memcpy(tensor->type, name, strlen(name) + 1);
        return true;
    }
    if (strcmp(name, "shape") == 0 && !members->has_shape) {
        members->has_shape = true;
        return scan_numbers(scan, members->shape, RLX_RANK_MAX, &members->rank);
    }
    if (strcmp(name, "data_offsets") == 0 && !members->has_offsets) {
        members->has_offsets = true;
        return scan_numbers(scan, members->offsets, 2, &n) && (n == 2 ? true : scan_fail(scan, "data_offsets has two numbers"));
    }
    return scan_fail(scan, "a tensor has dtype, shape and data_offsets, each once");
}

static bool tensor_check(scan_t *scan, rlx_safetensor_t *tensor, const members_t *members)
{
    int64_t count = 0;
    uint64_t data_bytes = scan->file_bytes - scan->data_begin;

    if (!members->has_type || !members->has_shape || !members->has_offsets)
        return scan_fail(scan, "a tensor lacks dtype, shape or data_offsets");
    for (size_t i = 0; i < N_SAFETENSORS_TYPES; i++)
        if (strcmp(safetensors_types[i].name, tensor->type) == 0)
            tensor->tensor.dtype = safetensors_types[i].dtype;
    tensor->tensor.rank = members->rank;
    for (int i = 0; i < members->rank; i++)
        tensor->tensor.dims[i] = (int64_t)members->shape[i];
    if (members->offsets[0] > members->offsets[1] || members->offsets[1] > data_bytes)
        return scan_fail(scan, "data_offsets reach past the end of the file");
    tensor->offset = scan->data_begin + members->offsets[0];
    tensor->bytes = members->offsets[1] - members->offsets[0];
    if (!rlx_dims_count(tensor->tensor.dims, members->rank, &count) ||
        (tensor->tensor.dtype != RLX_DTYPE_NONE &&
         (!rlx_size_mul(count, (int64_t)rlx_dtype_size(tensor->tensor.dtype), &count) || (uint64_t)count != tensor->bytes)))
        return scan_fail(scan, "a tensor's shape and data_offsets disagree");
    return true;
}

static bool tensor_keep(scan_t *scan, const char *name, const rlx_safetensor_t *tensor)
{
    rlx_safetensors_t *out = scan->out;

    if (out->n_tensors == RLX_SAFETENSORS_TENSORS_MAX)
        return scan_fail(scan, "too many tensors");
    if (out->n_tensors == scan->capacity) {
        int capacity = scan->capacity > 0 ? 2 * scan->capacity : 16;
        rlx_safetensor_t *tensors = realloc(out->tensors, (size_t)capacity * sizeof *tensors);

        if (tensors == NULL)
            return scan_fail(scan, "out of memory");
        out->tensors = tensors;
        scan->capacity = capacity;
    }
    out->tensors[out->n_tensors] = *tensor;
    out->tensors[out->n_tensors].name = strdup(name);
    return out->tensors[out->n_tensors++].name != NULL ? true : scan_fail(scan, "out of memory");
}

static bool scan_tensor(scan_t *scan, const char *name)
{
    rlx_safetensor_t tensor = {0};
    members_t members = {0};

    if (!scan_take(scan, '{'))
        return scan_fail(scan, "expected {");
    do {
        if (!scan_member(scan, &tensor, &members))
            return false;
    } while (scan_take(scan, ','));
    if (!scan_take(scan, '}'))
        return scan_fail(scan, "expected , or }");
    return tensor_check(scan, &tensor, &members) && tensor_keep(scan, name, &tensor);
}

/* Strings by name; they say nothing that is used. */
static bool scan_metadata(scan_t *scan)
{
    char text[RLX_SAFETENSORS_NAME_MAX + 1];

    if (!scan_take(scan, '{'))
        return scan_fail(scan, "expected {");
    if (scan_take(scan, '}'))
        return true;
    do {
        if (!scan_string(scan, text) || !(scan_take(scan, ':') || scan_fail(scan, "expected :")) || !scan_string(scan, text))
            return false;
    } while (scan_take(scan, ','));
    return scan_take(scan, '}') ? true : scan_fail(scan, "expected , or }");
}

static bool scan_header(scan_t *scan)
{
    char name[RLX_SAFETENSORS_NAME_MAX + 1];
    bool metadata = false;

    if (scan->at == scan->end || *scan->at != '{')
        return scan_fail(scan, "a header begins with {");
    scan->at++;
    if (!scan_take(scan, '}')) {
        do {
            if (!scan_string(scan, name))
                return false;
            if (!scan_take(scan, ':'))
                return scan_fail(scan, "expected :");
            if (strcmp(name, "__metadata__") != 0 ? !scan_tensor(scan, name) : metadata || !scan_metadata(scan))
                return scan_fail(scan, "__metadata__ stands twice");
            metadata = metadata || strcmp(name, "__metadata__") == 0;
        } while (scan_take(scan, ','));
        if (!scan_take(scan, '}'))
            return scan_fail(scan, "expected , or }");
    }
    scan_peek(scan);
    return scan->at == scan->end ? true : scan_fail(scan, "text behind the header's end");
}

static int name_compare(const void *a, const void *b) { return strcmp(((const rlx_safetensor_t *)a)->name, ((const rlx_safetensor_t *)b)->name); }

static int offset_compare(const void *a, const void *b)
{
    const rlx_safetensor_t *x = a, *y = b;

    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return x->bytes != y->bytes ? (x->bytes < y->bytes ? -1 : 1) : strcmp(x->name, y->name);
}

/* Names once each; data without gap or overlap. Leaves the tensors in order of offset. */
static rlx_status_t order_check(rlx_safetensors_t *out, uint64_t data_begin, uint64_t file_bytes, rlx_diag_t *diag)
{
    uint64_t at = data_begin;

    if (out->n_tensors > 0)
        qsort(out->tensors, (size_t)out->n_tensors, sizeof *out->tensors, name_compare);
    for (int i = 1; i < out->n_tensors; i++)
        if (strcmp(out->tensors[i - 1].name, out->tensors[i].name) == 0)
            return rlx_fail(diag, RLX_E_SAFETENSORS, "two tensors are named '%s'", out->tensors[i].name);
    if (out->n_tensors > 0)
        qsort(out->tensors, (size_t)out->n_tensors, sizeof *out->tensors, offset_compare);
    for (int i = 0; i < out->n_tensors; i++) {
        if (out->tensors[i].offset != at)
            return rlx_fail(diag, RLX_E_SAFETENSORS, "the data of '%s' %s", out->tensors[i].name,
                            out->tensors[i].offset < at ? "overlaps that of another tensor" : "does not follow that of the tensor before it");
        at += out->tensors[i].bytes;
    }
    if (at != file_bytes)
        return rlx_fail(diag, RLX_E_SAFETENSORS, "%llu bytes at the end of the file belong to no tensor", (unsigned long long)(file_bytes - at));
    return RLX_OK;
}

static bool bools_good(const rlx_safetensor_t *tensor)
{
    const unsigned char *data = tensor->tensor.data;

    for (uint64_t i = 0; tensor->tensor.dtype == RLX_BOOL && i < tensor->bytes; i++)
        if (data[i] > 1)
            return false;
    return true;
}

rlx_status_t rlx_safetensors_header_bytes(const void *data, size_t bytes, uint64_t file_bytes, size_t *out_bytes, rlx_diag_t *diag)
{
    const unsigned char *at = data;
    uint64_t header = 0;

    if (bytes < 8 || file_bytes < 8)
        return rlx_fail(diag, RLX_E_SAFETENSORS, "the file has %llu bytes, too few for a header", (unsigned long long)file_bytes);
    for (int i = 0; i < 8; i++)
        header |= (uint64_t)at[i] << 8 * i;
    if (header > RLX_SAFETENSORS_HEADER_MAX || header > file_bytes - 8)
        return rlx_fail(diag, RLX_E_SAFETENSORS, "the header has %llu bytes; the file has %llu, and %zu are allowed", (unsigned long long)header,
                        (unsigned long long)file_bytes, RLX_SAFETENSORS_HEADER_MAX);
    *out_bytes = (size_t)header + 8;
    return RLX_OK;
}

rlx_status_t rlx_safetensors_parse_header(const void *data, size_t bytes, uint64_t file_bytes, rlx_safetensors_t *out, rlx_diag_t *diag)
{
    rlx_safetensors_t tensors = {0};
    scan_t scan = {.out = &tensors, .file_bytes = file_bytes, .diag = diag};
    size_t header;
    rlx_status_t status = rlx_safetensors_header_bytes(data, bytes, file_bytes, &header, diag);

    if (status == RLX_OK && bytes < header)
        status = rlx_fail(diag, RLX_E_SAFETENSORS, "the header is cut off");
    if (status != RLX_OK)
        return status;
    scan.begin = scan.at = (const char *)data + 8;
    scan.end = (const char *)data + header;
    scan.data_begin = header;
    status = scan_header(&scan) ? order_check(&tensors, header, file_bytes, diag) : RLX_INVALID_ARGUMENT;
    if (status == RLX_OK)
        *out = tensors;
    else
        rlx_safetensors_fini(&tensors);
    return status;
}

rlx_status_t rlx_safetensors_parse(const void *data, size_t bytes, rlx_safetensors_t *out, rlx_diag_t *diag)
{
    RLX_TRY(rlx_safetensors_parse_header(data, bytes, bytes, out, diag));
    for (int i = 0; i < out->n_tensors; i++) {
        rlx_safetensor_t *tensor = &out->tensors[i];

        tensor->tensor.data = (char *)data + tensor->offset; /* read only, as the file is */
        if (!bools_good(tensor)) {
            rlx_fail(diag, RLX_E_SAFETENSORS, "'%s' holds a bool that is neither 0 nor 1", tensor->name);
            rlx_safetensors_fini(out);
            return RLX_INVALID_ARGUMENT;
        }
    }
    return RLX_OK;
}

void rlx_safetensors_fini(rlx_safetensors_t *tensors)
{
    for (int i = 0; i < tensors->n_tensors; i++)
        free((char *)tensors->tensors[i].name);
    free(tensors->tensors);
    *tensors = (rlx_safetensors_t){0};
}

const rlx_safetensor_t *rlx_safetensors_find(const rlx_safetensors_t *tensors, const char *name)
{
    for (int i = 0; i < tensors->n_tensors; i++)
        if (strcmp(tensors->tensors[i].name, name) == 0)
            return &tensors->tensors[i];
    return NULL;
}
