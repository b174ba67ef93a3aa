/* Reading the command line: options, numbers, shapes. Every refusal says what was found and what was expected. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"

int rlx_cli_option_next(int argc, char **argv, const struct option *options, rlx_diag_t *diag)
{
    int index = optind > 0 ? optind : 1, option;
    bool has_output = false;

    for (const struct option *known = options; known->name != NULL; known++)
        has_output = has_output || strcmp(known->name, "output") == 0;
    opterr = 0;
    option = getopt_long(argc, argv, has_output ? ":o:" : ":", options, NULL); /* -o is --output, whose val is 'o' */
    if (option == ':')
        rlx_fail(diag, RLX_E_USAGE, "option %s needs a value", argv[optind - 1]);
    else if (option == '?')
        rlx_fail(diag, RLX_E_USAGE, "unknown option %s", argv[optind - 1 >= index ? optind - 1 : index]);
    else
        return option;
    rlx_diag_hint(diag, "`rlx help %s` lists the options.", argv[0]);
    return '?';
}

bool rlx_cli_ends_with(const char *path, const char *end)
{
    size_t n = strlen(path), m = strlen(end);

    return n >= m && strcmp(path + n - m, end) == 0;
}

rlx_status_t rlx_cli_operand(int argc, char **argv, const char *what, const char **out_operand, rlx_diag_t *diag)
{
    if (optind >= argc && *out_operand == NULL)
        rlx_fail(diag, RLX_E_USAGE, "%s: %s is missing", argv[0], what);
    else if (argc - optind > (*out_operand == NULL ? 1 : 0))
        rlx_fail(diag, RLX_E_USAGE, "%s: unexpected argument '%s'", argv[0], argv[argc - 1]);
    else {
        if (optind < argc)
            *out_operand = argv[optind];
        return RLX_OK;
    }
    return rlx_diag_hint(diag, "`rlx help %s` shows how it is called.", argv[0]);
}

rlx_status_t rlx_cli_int(const char *option, const char *text, int64_t min, int64_t max, int64_t *out_value, rlx_diag_t *diag)
{
    char *end;
    long long value;

    errno = 0;
    value = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < min || value > max)
        return rlx_fail(diag, RLX_E_USAGE, "%s: '%s' is no integer from %lld to %lld", option, text, (long long)min, (long long)max);
    *out_value = value;
    return RLX_OK;
}

rlx_status_t rlx_cli_seconds(const char *option, const char *text, double *out_seconds, rlx_diag_t *diag)
{
    char *end;
    double value = strtod(text, &end);

    if (end == text || (*end != '\0' && strcmp(end, "s") != 0) || !isfinite(value) || value < 0 || value > 86400)
        return rlx_fail(diag, RLX_E_USAGE, "%s: '%s' is no number of seconds from 0 to 86400", option, text);
    *out_seconds = value;
    return RLX_OK;
}

/* "1x3x?x224" into dims; false when malformed. An empty text is rank 0. */
static bool dims_parse(const char *text, int64_t *dims, int *out_rank)
{
    int rank = 0;

    while (*text != '\0') {
        char *end = (char *)text + 1;

        if (rank == RLX_RANK_MAX)
            return false;
        errno = 0;
        dims[rank] = *text == '?' ? -1 : strtoll(text, &end, 10);
        if (errno != 0 || end == text || dims[rank] < -1)
            return false;
        rank++;
        if (*end == '\0')
            break;
        if ((*end != 'x' && *end != ',') || end[1] == '\0')
            return false;
        text = end + 1;
    }
    *out_rank = rank;
    return true;
}

rlx_status_t rlx_cli_shape(const char *text, rlx_compile_options_t *options, rlx_diag_t *diag)
{
    const char *equals = strrchr(text, '=');
    int n = options->n_shapes;
    char *name;

    if (n == RLX_COMPILE_BINDINGS_MAX)
        return rlx_fail(diag, RLX_E_USAGE, "--shape: more than %d", RLX_COMPILE_BINDINGS_MAX);
    if (equals == NULL || equals == text || !dims_parse(equals + 1, options->shapes[n].dims, &options->shapes[n].rank)) {
        rlx_fail(diag, RLX_E_USAGE, "--shape: '%s' is no NAME=1x3x224x224", text);
        return rlx_diag_hint(diag, "At most %d extents, separated by x; ? leaves an axis open.", RLX_RANK_MAX);
    }
    name = strndup(text, (size_t)(equals - text));
    if (name == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    options->shapes[n].input = name;
    options->n_shapes++;
    return RLX_OK;
}

static rlx_status_t maximum_add(char *pair, rlx_compile_options_t *options, rlx_diag_t *diag)
{
    char *equals = strrchr(pair, '=');
    int n = options->n_maxima;

    if (n == RLX_COMPILE_BINDINGS_MAX)
        return rlx_fail(diag, RLX_E_USAGE, "--max: more than %d", RLX_COMPILE_BINDINGS_MAX);
    if (equals == NULL || equals == pair)
        return rlx_fail(diag, RLX_E_USAGE, "--max: '%s' is no SYMBOL=NUMBER", pair);
    *equals = '\0';
    RLX_TRY(rlx_cli_int("--max", equals + 1, 0, INT32_MAX, &options->maxima[n].max, diag));
    options->maxima[n].symbol = pair;
    options->n_maxima++;
    return RLX_OK;
}

rlx_status_t rlx_cli_maxima(const char *text, rlx_compile_options_t *options, rlx_diag_t *diag)
{
    /* Kept for the life of the process: the options point into it. */
    char *copy = strdup(text), *rest = copy;

    if (copy == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    for (char *pair; (pair = strsep(&rest, ",")) != NULL;)
        RLX_TRY(maximum_add(pair, options, diag));
    return RLX_OK;
}

void rlx_cli_progress(void *unused, const char *phase)
{
    static int is_terminal = -1;

    (void)unused;
    if (is_terminal < 0)
        is_terminal = isatty(STDERR_FILENO);
    if (is_terminal)
        fprintf(stderr, "\r\033[K%s", phase != NULL ? phase : "");
}

rlx_status_t rlx_cli_folder_make(const char *path, rlx_diag_t *diag)
{
    char *copy = strdup(path);
    struct stat info;
    int rc = 0;

    if (copy == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    for (char *slash = strchr(copy + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(copy, 0777);
        *slash = '/';
    }
    rc = mkdir(copy, 0777);
    if (rc != 0 && errno == EEXIST && stat(copy, &info) == 0 && S_ISDIR(info.st_mode))
        rc = 0;
    free(copy);
    return rc == 0 ? RLX_OK : rlx_fail(diag, RLX_E_FILE_WRITE, "cannot make folder %s: %s", path, strerror(errno));
}
