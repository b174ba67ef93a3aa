/* Numbers with units, and yes or no. */
#include "daemon/config/scalar.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct unit {
    const char *name;
    double factor;
} unit_t;

static const unit_t size_units[] = {
    {"", 1},       {"B", 1},         {"KB", 1e3},       {"MB", 1e6},          {"GB", 1e9},
    {"TB", 1e12},  {"K", 1024},      {"KiB", 1024},     {"M", 1048576},       {"MiB", 1048576},
    {"G", 0x1p30}, {"GiB", 0x1p30},  {"T", 0x1p40},     {"TiB", 0x1p40},      {0},
};
/* In microseconds. A plain number is in the key's own unit. */
static const unit_t time_units[] = {{"us", 1}, {"ms", 1e3}, {"s", 1e6}, {"m", 60e6}, {"min", 60e6}, {"h", 3600e6}, {"d", 86400e6}, {0}};

static bool unit_find(const unit_t *units, const char *name, double *out_factor)
{
    while (isspace((unsigned char)*name))
        name++;
    for (; units->name != NULL; units++)
        if (strcasecmp(units->name, name) == 0) {
            *out_factor = units->factor;
            return true;
        }
    return false;
}

static bool scaled(const char *text, const unit_t *units, double plain_factor, double result_factor, int64_t *out_value)
{
    char *end;
    double number, factor;

    if (!isdigit((unsigned char)*text)) /* no sign, no "inf", no "0x" behind one */
        return false;
    errno = 0;
    number = strtod(text, &end);
    if (errno != 0 || strpbrk(text, "xXpP") != NULL)
        return false;
    if (*end == '\0')
        factor = plain_factor;
    else if (!unit_find(units, end, &factor))
        return false;
    number = number * factor / result_factor;
    if (!isfinite(number) || number >= 9.2e18)
        return false;
    *out_value = (int64_t)(number + 0.5);
    return true;
}

bool rlx_config_integer(const char *text, int64_t *out_value)
{
    char *end;
    long long value;

    errno = 0;
    value = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || isspace((unsigned char)*text))
        return false;
    *out_value = value;
    return true;
}

bool rlx_config_bytes(const char *text, int64_t *out_value)
{
    return rlx_config_integer(text, out_value) || scaled(text, size_units, 1, 1, out_value);
}

bool rlx_config_duration(const char *text, double unit_us, int64_t *out_value)
{
    return scaled(text, time_units, unit_us, unit_us, out_value);
}

bool rlx_config_bool(const char *text, bool *out_value)
{
    static const char *const words[] = {"false", "true", "no", "yes", "off", "on"};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasecmp(text, words[i]) == 0) {
            *out_value = i % 2 == 1;
            return true;
        }
    return false;
}
