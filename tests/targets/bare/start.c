/* Bare metal for qemu-system-riscv64 -machine virt: no operating system, no C library. Runs the model on the input that the linker put in,
 * prints static memory and a digest of the outputs on the UART, and switches the machine off. */
#include <stddef.h>
#include <stdint.h>

#include "kernel.h"

#define UART ((volatile uint8_t *)0x10000000)
#define POWER ((volatile uint32_t *)0x100000)

extern const unsigned char bare_input[];
extern unsigned char image_begin[], image_end[], writable_begin[], writable_end[], stack_end[];

void bare_main(void);
void bare_trap(void);

__asm__(".section .text.start,\"ax\"\n"
        ".globl _start\n"
        "_start:\n"
        "    csrr t0, mhartid\n"
        "    bnez t0, 1f\n"
        "    li t0, 0x2000\n" /* floating point on */
        "    csrs mstatus, t0\n"
        "    la t0, bare_trap\n"
        "    csrw mtvec, t0\n"
        "    la sp, stack_end\n"
        "    call bare_main\n"
        "1:  wfi\n"
        "    j 1b\n");

static void put(const char *text)
{
    for (; *text != '\0'; text++)
        *UART = (uint8_t)*text;
}

static void put_number(uint64_t value, unsigned base)
{
    char digits[24];
    int n = 0;

    do
        digits[n++] = "0123456789abcdef"[value % base];
    while ((value /= base) != 0);
    while (n > 0)
        *UART = (uint8_t)digits[--n];
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

__attribute__((aligned(4), noreturn)) void bare_trap(void)
{
    put("trap\n");
    *POWER = 0x3333;
    for (;;)
        ;
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
    *POWER = error == 0 ? 0x5555 : 0x3333;
}
