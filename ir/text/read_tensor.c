/* A tensor written in the text, f32[2]{0.5, -1}, or in a file beside it, f32[2]{file="m.safetensors", key="w"} (ir/text/reader.h). */
#include "ir/text/reader.h"

#include <math.h>
#include <string.h>

#include "ir/text/element.h"

/* nan, or nan:0xBITS */
static bool nan_read(rlx_reader_t *reader, rlx_element_t *out)
{
    rlx_lex_next(&reader->lex);
    out->real = true;
    out->number = (double)NAN;
    if (!rlx_reader_take(reader, ':'))
        return true;
    if (reader->lex.token.kind != RLX_TOKEN_INT)
        return rlx_reader_wrong(reader, "the bits of a NaN, a hexadecimal number");
    out->has_bits = true;
    out->bits = reader->lex.token.magnitude;
    rlx_lex_next(&reader->lex);
    return true;
}

static bool element_read(rlx_reader_t *reader, rlx_element_t *out)
{
    const rlx_token_t *token = &reader->lex.token;

    *out = (rlx_element_t){0};
    out->negative = rlx_reader_take(reader, '-');
    if (rlx_reader_at_word(reader, "nan"))
        return nan_read(reader, out);
    out->real = token->kind == RLX_TOKEN_FLOAT || rlx_reader_at_word(reader, "inf");
    if (token->kind == RLX_TOKEN_INT || token->kind == RLX_TOKEN_FLOAT) {
        out->magnitude = token->magnitude;
        out->number = out->negative ? -token->number : token->number;
    } else if (rlx_reader_at_word(reader, "inf")) {
        out->number = out->negative ? -(double)INFINITY : (double)INFINITY;
    } else if (rlx_reader_at_word(reader, "true") || rlx_reader_at_word(reader, "false")) {
        out->magnitude = rlx_reader_at_word(reader, "true");
    } else {
        return rlx_reader_wrong(reader, "a number");
    }
    rlx_lex_next(&reader->lex);
    return true;
}

static bool elements_read(rlx_reader_t *reader, rlx_tensor_t *tensor, int64_t count)
{
    size_t bytes = rlx_dtype_size(tensor->dtype);
    rlx_element_t element;

    for (int64_t i = 0; i < count; i++) {
        rlx_span_t span;

        if (rlx_reader_at(reader, '}')) {
            rlx_finding_expected(rlx_report(reader->findings, RLX_E_SHAPE_TEXT, reader->lex.token.span, "fewer elements than the extents say"),
                                 "%lld elements, not %lld", (long long)count, (long long)i);
            return false;
        }
        if (i > 0 && !rlx_reader_expect(reader, ',', "between elements"))
            return false;
        span = reader->lex.token.span;
        if (!element_read(reader, &element))
            return false;
        if (!rlx_element_encode(tensor->dtype, &element, (char *)tensor->data + (size_t)i * bytes)) {
            rlx_report(reader->findings, RLX_E_ARG_VALUE, span, "element %lld does not fit into %s", (long long)i,
                       rlx_dtype_name(tensor->dtype));
            return false;
        }
    }
    return true;
}

static bool string_take(rlx_reader_t *reader, const rlx_syntax_field_t *field, const char **out)
{
    if (field->value->kind == RLX_SYNTAX_STRING && *out == NULL) {
        *out = field->value->s;
        return true;
    }
    rlx_finding_expected(rlx_report(reader->findings, *out != NULL ? RLX_E_NAME_TWICE : RLX_E_ARG_TYPE, field->value->span, "%s is %s", field->name,
                                    *out != NULL ? "given twice" : rlx_syntax_kind_name(field->value->kind)), "one string");
    return false;
}

/* file, key and xxh3; the opening brace was taken. */
static bool external_read(rlx_reader_t *reader, rlx_syntax_value_t *value)
{
    rlx_syntax_external_t external = {.dtype = value->tensor.dtype, .rank = value->tensor.rank};
    rlx_syntax_field_t *fields = NULL;
    int n = 0;

    memcpy(external.dims, value->tensor.dims, sizeof external.dims);
    if (!rlx_reader_fields(reader, &fields, &n))
        return false;
    for (int i = 0; i < n; i++) {
        const char **place = strcmp(fields[i].name, "file") == 0   ? &external.file
                             : strcmp(fields[i].name, "key") == 0  ? &external.key
                             : strcmp(fields[i].name, "xxh3") == 0 ? &external.digest
                                                                   : NULL;

        if (place == NULL) {
            rlx_finding_expected(rlx_report(reader->findings, RLX_E_ARG_UNKNOWN, fields[i].name_span, "a tensor has no '%s'", fields[i].name),
                                 "file, key or xxh3; or the elements");
            return false;
        }
        if (!string_take(reader, &fields[i], place))
            return false;
    }
    value->kind = RLX_SYNTAX_EXTERNAL;
    value->external = external;
    return true;
}

/* {fill=NUMBER}: that many equal elements; at the word. */
static bool fill_read(rlx_reader_t *reader, rlx_syntax_value_t *value, int64_t bytes)
{
    size_t element_bytes = rlx_dtype_size(value->tensor.dtype);
    rlx_element_t element;
    rlx_span_t span;
    char one[8];

    rlx_lex_next(&reader->lex);
    if (!rlx_reader_expect(reader, '=', "behind fill"))
        return false;
    span = reader->lex.token.span;
    if (!element_read(reader, &element))
        return false;
    if (!rlx_element_encode(value->tensor.dtype, &element, one)) {
        rlx_report(reader->findings, RLX_E_ARG_VALUE, span, "this number does not fit into %s", rlx_dtype_name(value->tensor.dtype));
        return false;
    }
    value->tensor.data = rlx_syntax_alloc(reader->syntax, bytes > 0 ? (size_t)bytes : 1);
    for (int64_t at = 0; at < bytes; at += (int64_t)element_bytes)
        memcpy((char *)value->tensor.data + at, one, element_bytes);
    return rlx_reader_expect(reader, '}', "behind a tensor");
}

static bool at_field(const rlx_reader_t *reader)
{
    static const char *const numbers[] = {"true", "false", "inf", "nan"};

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (rlx_reader_at_word(reader, numbers[i]))
            return false;
    return reader->lex.token.kind == RLX_TOKEN_WORD;
}

bool rlx_reader_tensor(rlx_reader_t *reader, rlx_syntax_value_t *value)
{
    rlx_tensor_t *tensor = &value->tensor;
    int64_t count, bytes, left = reader->lex.end - reader->lex.at;

    if (at_field(reader) && !rlx_reader_at_word(reader, "fill"))
        return external_read(reader, value);
    if (!rlx_dims_count(tensor->dims, tensor->rank, &count) || !rlx_size_mul(count, (int64_t)rlx_dtype_size(tensor->dtype), &bytes) ||
        bytes > RLX_SYNTAX_TENSOR_MAX || (count / 2 > left + 1 && !rlx_reader_at_word(reader, "fill"))) {
        rlx_report(reader->findings, RLX_E_SHAPE_TEXT, value->span, "there are not as many elements as the extents say");
        return false;
    }
    if (rlx_reader_at_word(reader, "fill"))
        return fill_read(reader, value, bytes);
    tensor->data = rlx_syntax_alloc(reader->syntax, bytes > 0 ? (size_t)bytes : 1);
    if (!elements_read(reader, tensor, count))
        return false;
    if (!rlx_reader_at(reader, '}')) {
        rlx_finding_expected(rlx_report(reader->findings, RLX_E_SHAPE_TEXT, reader->lex.token.span, "more elements than the extents say"),
                             "%lld elements", (long long)count);
        return false;
    }
    rlx_lex_next(&reader->lex);
    return true;
}
