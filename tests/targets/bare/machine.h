/* What start.c needs of a machine: riscv.c, cortex_m.c. */
#ifndef BARE_MACHINE_H
#define BARE_MACHINE_H

void bare_put(char c);
_Noreturn void bare_off(int failed); /* the emulator ends with this exit code, 0 or 1 */

void bare_main(void); /* start.c; what the machine calls, with a stack below stack_end */

#endif
