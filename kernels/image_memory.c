/* memcpy, memmove, memset and memcmp for the kernel code image: clang calls them even in freestanding code, and an image calls nothing
 * outside itself. Hidden, so the calls are direct. Not part of the reference evaluator, which has the C library's.
 *
 * Large blocks go through the string instructions (fast on every CPU that has AVX2), small ones and tails through 16-byte vectors. */
#include <stddef.h>
#include <stdint.h>

typedef uint8_t vector_t __attribute__((vector_size(16), aligned(1), may_alias));

#define STRING_MIN 512

void *memcpy(void *restrict to, const void *restrict from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *to, int value, size_t bytes);
int memcmp(const void *a, const void *b, size_t bytes);

static inline void copy_up(uint8_t *to, const uint8_t *from, size_t bytes)
{
    if (bytes >= STRING_MIN) {
        __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
        return;
    }
    for (; bytes >= 16; bytes -= 16, to += 16, from += 16)
        *(vector_t *)to = *(const vector_t *)from;
    for (; bytes > 0; bytes--)
        *to++ = *from++;
}

static inline void copy_down(uint8_t *to, const uint8_t *from, size_t bytes)
{
    for (; bytes >= 16; bytes -= 16)
        *(vector_t *)(to + bytes - 16) = *(const vector_t *)(from + bytes - 16);
    for (; bytes > 0; bytes--)
        to[bytes - 1] = from[bytes - 1];
}

void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
    copy_up(to, from, bytes);
    return to;
}

void *memmove(void *to, const void *from, size_t bytes)
{
    if ((uintptr_t)to - (uintptr_t)from >= bytes)
        copy_up(to, from, bytes);
    else
        copy_down(to, from, bytes);
    return to;
}

void *memset(void *to, int value, size_t bytes)
{
    uint8_t *at = to;
    vector_t fill = (vector_t){0} + (uint8_t)value;

    if (bytes >= STRING_MIN) {
        __asm__ volatile("rep stosb" : "+D"(at), "+c"(bytes) : "a"(value) : "memory");
        return to;
    }
    for (; bytes >= 16; bytes -= 16, at += 16)
        *(vector_t *)at = fill;
    for (; bytes > 0; bytes--)
        *at++ = (uint8_t)value;
    return to;
}

int memcmp(const void *a, const void *b, size_t bytes)
{
    const uint8_t *x = a, *y = b;

    for (size_t i = 0; i < bytes; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}
