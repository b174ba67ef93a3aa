/* Bare metal: no operating system, no C library. Runs the model on the input that the linker put in, prints static memory and a digest of
 * the outputs, and switches the machine off. */
#include <stddef.h>
#include <stdint.h>

#include "kernel.h"
#include "machine.h"

extern const unsigned char bare_input[];
extern unsigned char image_begin[], image_end[], writable_begin[], writable_end[], stack_end[];

static void put(const char *text)
{
    for (; *text != '\0'; text++)
        bare_put(*text);
}

static void put_number(uint64_t value, unsigned base)
{
    char digits[24];
    int n = 0;

    do
        digits[n++] = "0123456789abcdef"[value % base];
    while ((value /= base) != 0);
    while (n > 0)
        bare_put(digits[--n]);
}

static void put_line(const char *name, uint64_t value, unsigned base)
{
    put(name);
    put_number(value, base);
    put("\n");
}

static uint64_t fnv1a(uint64_t digest, const unsigned char *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        digest = (digest ^ data[i]) * 0x100000001b3ull;
    return digest;
}

void bare_main(void)
{
    static _Alignas(64) unsigned char output[OUTPUT_BYTES];
    const void *inputs[] = {bare_input};
    void *outputs[] = {output};
    unsigned char *stack = writable_end;
    int error;

    while (stack < (unsigned char *)__builtin_frame_address(0) - 512)
        *stack++ = 0xa5;
    error = BARE_RUN(inputs, outputs);
    stack = writable_end;
    while (stack < stack_end && *stack == 0xa5)
        stack++;
    put_line("error ", (uint64_t)error, 10);
    put_line("code and constants ", (uint64_t)(image_end - image_begin), 10);
    put_line("writable ", (uint64_t)(writable_end - writable_begin), 10);
    put_line("stack used ", (uint64_t)(stack_end - stack), 10);
    put_line("digest ", fnv1a(0xcbf29ce484222325ull, output, OUTPUT_BYTES), 16);
    bare_off(error != 0);
}
