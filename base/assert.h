/* RLX_ASSERT guards invariants of our own code, in release builds too. Input from wire, file or user never reaches one. */
#ifndef RLX_BASE_ASSERT_H
#define RLX_BASE_ASSERT_H

_Noreturn void rlx_assert_failed(const char *expr, const char *file, int line);

#define RLX_ASSERT(expr) ((expr) ? (void)0 : rlx_assert_failed(#expr, __FILE__, __LINE__))

#endif
