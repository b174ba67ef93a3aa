/* A sample: main IN0.npy IN1.npy ... OUT0.npy OUT1.npy ...; as many as the model has. Runs once; with RUNS=n in the environment n times. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel.h"

static void fail(const char *path, const char *what)
{
    fprintf(stderr, "%s: %s\n", path, what);
    exit(1);
}

/* The elements behind the header; type and shape must be the model's. */
static void *npy_read(const char *path, const @NAME@_tensor_t *tensor)
{
    unsigned char lead[12];
    char header[65536], want[64];
    FILE *file = fopen(path, "rb");
    void *data = malloc(tensor->bytes + 1);
    size_t bytes, at;

    if (file == NULL || data == NULL || fread(lead, 1, 10, file) != 10 || memcmp(lead, "\x93NUMPY", 6) != 0)
        fail(path, "cannot be read as .npy");
    bytes = lead[8] | (size_t)lead[9] << 8;
    if (lead[6] != 1 || bytes >= sizeof header || fread(header, 1, bytes, file) != bytes)
        fail(path, "is not .npy of version 1");
    header[bytes] = '\0';
    snprintf(want, sizeof want, "'descr': '%s'", tensor->descr);
    if (strstr(header, want) == NULL || strstr(header, "'fortran_order': False") == NULL)
        fail(path, "has another type than the model's input, or another order than C");
    at = fread(data, 1, tensor->bytes + 1, file);
    if (at != tensor->bytes)
        fail(path, "has another size than the model's input");
    fclose(file);
    return data;
}

static void npy_write(const char *path, const @NAME@_tensor_t *tensor, const void *data)
{
    char header[118], shape[96] = "";
    FILE *file = fopen(path, "wb");

    for (int i = 0; i < tensor->rank; i++)
        snprintf(shape + strlen(shape), sizeof shape - strlen(shape), "%lld,", (long long)tensor->shape[i]);
    memset(header, ' ', sizeof header);
    header[snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", tensor->descr, shape)] = ' ';
    header[sizeof header - 1] = '\n';
    if (file == NULL || fwrite("\x93NUMPY\x01\x00\x76\x00", 1, 10, file) != 10 || fwrite(header, 1, sizeof header, file) != sizeof header ||
        fwrite(data, 1, tensor->bytes, file) != tensor->bytes || fclose(file) != 0)
        fail(path, "cannot be written");
}

int main(int argc, char **argv)
{
    static _Alignas(@MACRO@_ALIGN) unsigned char arena[@MACRO@_ARENA_BYTES];
    const void *inputs[@MACRO@_INPUTS + 1];
    void *outputs[@MACRO@_OUTPUTS + 1];
    int runs = getenv("RUNS") != NULL ? atoi(getenv("RUNS")) : 1;

    if (argc != 1 + @MACRO@_INPUTS + @MACRO@_OUTPUTS)
        fail(argv[0], "expects the files of all inputs (.npy), then of all outputs");
    for (int i = 0; i < @MACRO@_INPUTS; i++)
        inputs[i] = npy_read(argv[1 + i], &@NAME@_inputs[i]);
    for (int i = 0; i < @MACRO@_OUTPUTS; i++)
        outputs[i] = malloc(@NAME@_outputs[i].bytes + 1);
    for (int n = 0; n < runs; n++) {
        int error = @NAME@_run(inputs, outputs, arena);

        if (error != 0)
            fail(argv[0], error & 1 ? "an index lies outside its axis" : error & 2 ? "an integer is divided by zero"
                          : error & 4 ? "a value lies outside its domain" : "the arena is not aligned");
    }
    for (int i = 0; i < @MACRO@_OUTPUTS; i++)
        npy_write(argv[1 + @MACRO@_INPUTS + i], &@NAME@_outputs[i], outputs[i]);
    return 0;
}
