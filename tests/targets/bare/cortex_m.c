/* qemu-system-arm -machine mps2-an500, a Cortex-M7 with a floating-point unit; the emulator is spoken to by semihosting. */
#include "machine.h"

#include <stdint.h>

#define ACCESS ((volatile uint32_t *)0xe000ed88) /* CPACR */

extern unsigned char stack_end[];

void bare_reset(void);
void bare_trap(void);

__attribute__((section(".vectors"), used)) static void (*const vectors[16])(void) = {
    (void (*)(void))stack_end, bare_reset, bare_trap, bare_trap, bare_trap, bare_trap, bare_trap};

static int emulator_ask(int what, const void *about)
{
    register int r0 __asm__("r0") = what;
    register const void *r1 __asm__("r1") = about;

    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

void bare_put(char c) { emulator_ask(3, &c); }

_Noreturn void bare_off(int failed)
{
    const uint32_t reason[2] = {0x20026, (uint32_t)failed};

    for (;;)
        emulator_ask(0x20, reason);
}

void bare_trap(void) { bare_off(1); }

void bare_reset(void)
{
    *ACCESS |= 0xf << 20; /* floating point on */
    __asm__ volatile("dsb\n isb" ::: "memory");
    bare_main();
}
