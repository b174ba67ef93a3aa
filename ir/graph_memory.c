/* Arena: chunks of doubling size, large blocks alone; names: an open-addressing table of arena strings with the next suffix to try. */
#include "ir/graph_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_MIN ((size_t)64 << 10)
#define CHUNK_MAX ((size_t)4 << 20)

typedef struct chunk {
    struct chunk *next;
    size_t used, bytes;
    char padding[40];
} chunk_t;

_Static_assert(sizeof(chunk_t) == 64, "the first block of a chunk is 64-byte aligned");

typedef struct name_entry {
    const char *name;
    uint32_t suffix; /* the last one given out */
} name_entry_t;

struct rlx_graph_memory {
    chunk_t *chunks;
    size_t chunk_bytes;
    name_entry_t *names;
    uint32_t n_names, cap_names;
    uint32_t n_ops;
    int *marks; /* by expression */
    int cap_marks;
};

static void *zeroed(size_t count, size_t bytes)
{
    void *memory = calloc(count, bytes);

    if (memory == NULL)
        abort();
    return memory;
}

rlx_graph_memory_t *rlx_graph_memory_create(void)
{
    rlx_graph_memory_t *memory = zeroed(1, sizeof(*memory));

    memory->chunk_bytes = CHUNK_MIN;
    memory->cap_names = 256;
    memory->names = zeroed(memory->cap_names, sizeof(name_entry_t));
    return memory;
}

void rlx_graph_memory_destroy(rlx_graph_memory_t *memory)
{
    for (chunk_t *chunk = memory->chunks, *next; chunk != NULL; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    free(memory->names);
    free(memory->marks);
    free(memory);
}

static chunk_t *chunk_create(size_t bytes)
{
    size_t total;
    chunk_t *chunk;

    if (__builtin_add_overflow(bytes, sizeof(chunk_t) + 63, &total))
        abort();
    total &= ~(size_t)63;
    chunk = aligned_alloc(64, total);
    if (chunk == NULL)
        abort();
    chunk->bytes = total - sizeof(chunk_t);
    chunk->used = 0;
    return chunk;
}

void *rlx_graph_memory_alloc(rlx_graph_memory_t *memory, size_t bytes)
{
    size_t align = bytes >= 64 ? 64 : 16;
    chunk_t *chunk = memory->chunks;
    size_t at = chunk ? (chunk->used + align - 1) & ~(align - 1) : 0;
    void *block;

    if (chunk == NULL || at > chunk->bytes || bytes > chunk->bytes - at) {
        chunk = chunk_create(bytes > memory->chunk_bytes ? bytes : memory->chunk_bytes);
        memory->chunk_bytes = memory->chunk_bytes < CHUNK_MAX ? memory->chunk_bytes * 2 : CHUNK_MAX;
        chunk->next = memory->chunks;
        memory->chunks = chunk;
        at = 0;
    }
    chunk->used = at + bytes;
    block = (char *)(chunk + 1) + at;
    return memset(block, 0, bytes);
}

static uint64_t name_hash(const char *name)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 0x100000001b3u;
    return hash ^ hash >> 29;
}

static name_entry_t *name_slot(rlx_graph_memory_t *memory, const char *name)
{
    uint32_t mask = memory->cap_names - 1, i = (uint32_t)name_hash(name) & mask;

    while (memory->names[i].name != NULL && strcmp(memory->names[i].name, name) != 0)
        i = (i + 1) & mask;
    return &memory->names[i];
}

static void names_grow(rlx_graph_memory_t *memory)
{
    name_entry_t *old = memory->names;
    uint32_t cap = memory->cap_names;

    memory->cap_names = cap * 2;
    memory->names = zeroed(memory->cap_names, sizeof(name_entry_t));
    for (uint32_t i = 0; i < cap; i++) {
        if (old[i].name != NULL)
            *name_slot(memory, old[i].name) = old[i];
    }
    free(old);
}

static const char *name_take(rlx_graph_memory_t *memory, const char *name)
{
    size_t bytes = strlen(name) + 1;
    char *copy = memcpy(rlx_graph_memory_alloc(memory, bytes), name, bytes);

    if (memory->n_names * 2 >= memory->cap_names)
        names_grow(memory);
    *name_slot(memory, copy) = (name_entry_t){copy, 0};
    memory->n_names++;
    return copy;
}

const char *rlx_graph_memory_name(rlx_graph_memory_t *memory, const char *name)
{
    name_entry_t *entry = name_slot(memory, name);
    size_t bytes = strlen(name) + 16;
    char *candidate;

    if (entry->name == NULL)
        return name_take(memory, name);
    candidate = rlx_graph_memory_alloc(memory, bytes);
    do
        snprintf(candidate, bytes, "%s.%u", name, ++entry->suffix);
    while (name_slot(memory, candidate)->name != NULL);
    return name_take(memory, candidate);
}

uint32_t rlx_graph_memory_op_id(rlx_graph_memory_t *memory) { return memory->n_ops++; }

int rlx_graph_memory_mark(const rlx_graph_memory_t *memory, rlx_expr_t expr) { return expr < memory->cap_marks ? memory->marks[expr] : 0; }

void rlx_graph_memory_set_mark(rlx_graph_memory_t *memory, rlx_expr_t expr, int mark)
{
    if (expr >= memory->cap_marks) {
        int cap = (expr + 1) * 2;
        memory->marks = realloc(memory->marks, (size_t)cap * sizeof(*memory->marks));
        if (memory->marks == NULL)
            abort();
        memset(memory->marks + memory->cap_marks, 0, (size_t)(cap - memory->cap_marks) * sizeof(*memory->marks));
        memory->cap_marks = cap;
    }
    memory->marks[expr] = mark;
}
