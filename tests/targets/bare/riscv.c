/* qemu-system-riscv64 -machine virt. */
#include "machine.h"

#include <stdint.h>

#define UART ((volatile uint8_t *)0x10000000)
#define POWER ((volatile uint32_t *)0x100000)

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

void bare_put(char c) { *UART = (uint8_t)c; }

_Noreturn void bare_off(int failed)
{
    *POWER = failed ? 0x3333 | 1 << 16 : 0x5555;
    for (;;)
        ;
}

__attribute__((aligned(4), noreturn)) void bare_trap(void) { bare_off(1); }
