/* Quantities with units (ir/text/units.h). Exact: a decimal number times a power of ten, in integers. */
#include "ir/text/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct unit {
    const char *name;
    int64_t factor, divisor;
    bool printed;
} unit_t;

static const unit_t bandwidths[] = {
    {"TB/s", INT64_C(1000000000000), 1, true}, {"GB/s", 1000000000, 1, true},      {"MB/s", 1000000, 1, true},
    {"kB/s", 1000, 1, true},                   {"B/s", 1, 1, true},                {"KB/s", 1000, 1, false},
    {"TiB/s", INT64_C(1) << 40, 1, false},     {"GiB/s", 1 << 30, 1, false},       {"MiB/s", 1 << 20, 1, false},
    {"KiB/s", 1 << 10, 1, false},              {"Tbps", INT64_C(1000000000000), 8, false}, {"Gbps", 1000000000, 8, false},
    {"Mbps", 1000000, 8, false},               {"kbps", 1000, 8, false},           {"bps", 1, 8, false},
    {"Tb/s", INT64_C(1000000000000), 8, false}, {"Gb/s", 1000000000, 8, false},    {"Mb/s", 1000000, 8, false},
    {"kb/s", 1000, 8, false},                  {"b/s", 1, 8, false},
};
static const unit_t latencies[] = {
    {"s", INT64_C(1000000000000), 1, true}, {"ms", 1000000000, 1, true}, {"us", 1000000, 1, true}, {"ns", 1000, 1, true}, {"ps", 1, 1, true},
};

/* Digits with at most one point, as value / 10^decimals. */
static const char *decimal_parse(const char *text, int64_t *out_value, int *out_decimals)
{
    int64_t value = 0;
    int decimals = 0, digits = 0;
    bool point = false;

    for (; (*text >= '0' && *text <= '9') || (*text == '.' && !point); text++) {
        if (*text == '.') {
            point = true;
            continue;
        }
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *text - '0', &value))
            return NULL;
        digits++;
        decimals += point;
    }
    *out_value = value;
    *out_decimals = decimals;
    return digits > 0 ? text : NULL;
}

static bool quantity_parse(const unit_t *units, size_t n, const char *text, int64_t *out)
{
    __int128 product;
    int64_t value;
    int decimals;
    const char *rest = decimal_parse(text, &value, &decimals);

    while (rest != NULL && *rest == ' ')
        rest++;
    for (size_t i = 0; rest != NULL && i < n; i++) {
        if (strcmp(units[i].name, rest) != 0)
            continue;
        product = (__int128)value * units[i].factor / units[i].divisor;
        for (; decimals > 0; decimals--)
            product /= 10;
        *out = product > INT64_MAX ? 0 : (int64_t)product;
        return *out > 0;
    }
    return false;
}

static void quantity_print(const unit_t *units, size_t n, int64_t value, char *out)
{
    for (size_t i = 0; i < n; i++) {
        const unit_t *unit = &units[i];
        int64_t whole = value / unit->factor, rest = value % unit->factor, thousandth = unit->factor / 1000;
        int written;

        if (!unit->printed || (whole == 0 && unit->factor > 1) || (rest != 0 && (thousandth == 0 || rest % thousandth != 0)))
            continue;
        written = rest == 0 ? snprintf(out, RLX_UNIT_TEXT_MAX, "%" PRId64, whole)
                            : snprintf(out, RLX_UNIT_TEXT_MAX, "%" PRId64 ".%03" PRId64, whole, rest / thousandth);
        while (rest != 0 && written > 0 && out[written - 1] == '0')
            written--;
        snprintf(out + written, (size_t)(RLX_UNIT_TEXT_MAX - written), "%s", unit->name);
        return;
    }
}

#define N(table) (sizeof(table) / sizeof(table)[0])

bool rlx_bandwidth_parse(const char *text, int64_t *out_bytes_per_s) { return quantity_parse(bandwidths, N(bandwidths), text, out_bytes_per_s); }
bool rlx_latency_parse(const char *text, int64_t *out_ps) { return quantity_parse(latencies, N(latencies), text, out_ps); }
void rlx_bandwidth_print(int64_t bytes_per_s, char out[RLX_UNIT_TEXT_MAX]) { quantity_print(bandwidths, N(bandwidths), bytes_per_s, out); }
void rlx_latency_print(int64_t ps, char out[RLX_UNIT_TEXT_MAX]) { quantity_print(latencies, N(latencies), ps, out); }
