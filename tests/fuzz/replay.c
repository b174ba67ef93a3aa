/* Runs a fuzz target without a fuzzer: every file given (or every file in a folder given), then a fixed number of mutations of each, the
 * same on every machine. With clang, -fsanitize=fuzzer replaces this file and explores for real:
 *
 *     clang-19 -g -O1 -fsanitize=fuzzer,address,undefined ... tests/fuzz/fuzz_program.c ... && ./a.out tests/fuzz/corpus/program */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_BYTES_MAX ((size_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static uint64_t seed = 1;

static uint32_t draw(uint32_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % below;
}

/* One to four changes: a bit, a byte, a word of an interesting value, a cut, a copied run. */
static size_t mutate(uint8_t *data, size_t bytes)
{
    static const uint64_t words[] = {0,          1,  0x7f, 0x80, 0xff, 0x7fffffff, 0x80000000, 0xffffffff, INT64_MAX, (uint64_t)INT64_MIN,
                                     UINT64_MAX, 64, 4096};

    for (uint32_t n = 1 + draw(4); n > 0 && bytes > 8; n--) {
        size_t at = draw(2) && bytes > 4608 ? 4096 + draw(500) : draw((uint32_t)bytes - 8); /* heads hold most of the structure */

        switch (draw(6)) {
        case 0: data[at] ^= (uint8_t)(1u << draw(8)); break;
        case 1: data[at] = (uint8_t)draw(256); break;
        case 2: memcpy(data + at, &words[draw(sizeof words / sizeof *words)], 4); break;
        case 3: memcpy(data + at / 8 * 8, &words[draw(sizeof words / sizeof *words)], 8); break;
        case 4: bytes = draw(8) == 0 ? at : bytes; break;
        default: memmove(data + at, data + draw((uint32_t)bytes - 8), 8); break;
        }
    }
    return bytes;
}

static void file_replay(const char *path, int rounds)
{
    FILE *file = fopen(path, "rb");
    uint8_t *original = malloc(FILE_BYTES_MAX), *data;
    size_t bytes;

    if (file == NULL || original == NULL) {
        fprintf(stderr, "cannot read %s\n", path);
        exit(1);
    }
    bytes = fread(original, 1, FILE_BYTES_MAX, file);
    fclose(file);
    LLVMFuzzerTestOneInput(original, bytes);
    for (int i = 0; i < rounds; i++) {
        size_t changed;

        data = malloc(bytes + 1); /* its own block, so that a sanitizer sees its end */
        if (data == NULL)
            exit(1);
        memcpy(data, original, bytes);
        changed = mutate(data, bytes);
        LLVMFuzzerTestOneInput(data, changed);
        free(data);
    }
    free(original);
}

static int name_compare(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }

static void path_replay(const char *path, int rounds)
{
    struct dirent **names;
    struct stat info;
    char inner[4096];
    int n;

    if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode)) {
        file_replay(path, rounds);
        return;
    }
    n = scandir(path, &names, NULL, name_compare);
    for (int i = 0; i < n; i++) {
        snprintf(inner, sizeof inner, "%s/%s", path, names[i]->d_name);
        if (names[i]->d_name[0] != '.')
            file_replay(inner, rounds);
        free(names[i]);
    }
    free(names);
}

int main(int argc, char **argv)
{
    int rounds = getenv("RLX_FUZZ_ROUNDS") != NULL ? atoi(getenv("RLX_FUZZ_ROUNDS")) : 3000;

    for (int i = 1; i < argc; i++)
        path_replay(argv[i], rounds);
    return 0;
}
