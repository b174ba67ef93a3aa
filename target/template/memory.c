/* What compilers call in freestanding code. Weak: a C library's own wins. */
#include <stddef.h>
#include <stdint.h>

void *memcpy(void *restrict to, const void *restrict from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *to, int value, size_t bytes);
int memcmp(const void *a, const void *b, size_t bytes);

#if defined(__clang__)
#define AS_WRITTEN __attribute__((no_builtin("memcpy", "memset", "memmove")))
#elif defined(__GNUC__)
#define AS_WRITTEN __attribute__((optimize("no-tree-loop-distribute-patterns")))
#else
#define AS_WRITTEN
#endif

typedef size_t __attribute__((may_alias)) word_t;
#define WORDS(to, from) ((((uintptr_t)(to) | (uintptr_t)(from)) & (sizeof(word_t) - 1)) == 0)

__attribute__((weak)) AS_WRITTEN void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
    unsigned char *t = to;
    const unsigned char *f = from;

    if (WORDS(t, f))
        for (; bytes >= sizeof(word_t); bytes -= sizeof(word_t), t += sizeof(word_t), f += sizeof(word_t))
            *(word_t *)(void *)t = *(const word_t *)(const void *)f;
    for (; bytes > 0; bytes--)
        *t++ = *f++;
    return to;
}

__attribute__((weak)) AS_WRITTEN void *memmove(void *to, const void *from, size_t bytes)
{
    unsigned char *t = to;
    const unsigned char *f = from;

    if ((uintptr_t)t - (uintptr_t)f >= bytes)
        for (size_t i = 0; i < bytes; i++)
            t[i] = f[i];
    else
        while (bytes-- > 0)
            t[bytes] = f[bytes];
    return to;
}

__attribute__((weak)) AS_WRITTEN void *memset(void *to, int value, size_t bytes)
{
    unsigned char *t = to;
    word_t word = (word_t)-1 / 255 * (unsigned char)value;

    if (WORDS(t, 0))
        for (; bytes >= sizeof(word_t); bytes -= sizeof(word_t), t += sizeof(word_t))
            *(word_t *)(void *)t = word;
    for (; bytes > 0; bytes--)
        *t++ = (unsigned char)value;
    return to;
}

__attribute__((weak)) AS_WRITTEN int memcmp(const void *a, const void *b, size_t bytes)
{
    const unsigned char *x = a, *y = b;

    for (size_t i = 0; i < bytes; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}
