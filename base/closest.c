/* Optimal string alignment over three rows. Words are short, so everything is on the stack. */
#include "base/closest.h"

#include <ctype.h>
#include <string.h>

#define WORD_MAX 64

void rlx_closest_init(rlx_closest_t *closest, const char *word, size_t bytes) { *closest = (rlx_closest_t){.word = word, .bytes = bytes}; }

static int min3(int a, int b, int c) { return a < b ? (a < c ? a : c) : (b < c ? b : c); }

static int same(char a, char b) { return tolower((unsigned char)a) == tolower((unsigned char)b); }

static int word_distance(const char *a, size_t na, const char *b, size_t nb)
{
    int row[3][WORD_MAX + 1];

    for (size_t j = 0; j <= nb; j++)
        row[0][j] = (int)j;
    for (size_t i = 1; i <= na; i++) {
        int *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];

        now[0] = (int)i;
        for (size_t j = 1; j <= nb; j++) {
            now[j] = min3(last[j] + 1, now[j - 1] + 1, last[j - 1] + !same(a[i - 1], b[j - 1]));
            if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]) && before[j - 2] + 1 < now[j])
                now[j] = before[j - 2] + 1;
        }
    }
    return row[na % 3][nb];
}

void rlx_closest_offer(rlx_closest_t *closest, const char *known)
{
    size_t bytes = strlen(known), longer = bytes > closest->bytes ? bytes : closest->bytes;
    int distance;

    if (longer > WORD_MAX || closest->bytes == 0 || bytes == 0)
        return;
    distance = word_distance(closest->word, closest->bytes, known, bytes);
    if (distance > (int)(longer + 1) / 3 || (closest->best != NULL && distance >= closest->distance))
        return;
    closest->best = known;
    closest->distance = distance;
}
