/* The syntax tree's arena and its growing arrays (ir/text/syntax.h). */
#include "ir/text/syntax.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES ((size_t)64 << 10)

typedef struct chunk {
    struct chunk *next;
    size_t used, bytes;
    char padding[40];
} chunk_t;

_Static_assert(sizeof(chunk_t) == 64, "the first block of a chunk is 64-byte aligned");

struct rlx_syntax_arena {
    chunk_t *chunks;
    size_t total;
    unsigned fresh;
};

static chunk_t *chunk_create(size_t bytes)
{
    size_t total = sizeof(chunk_t) + ((bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES) + 63) / 64 * 64;
    chunk_t *chunk = aligned_alloc(64, total);

    if (chunk == NULL)
        abort();
    memset(chunk, 0, total);
    chunk->bytes = total - sizeof(chunk_t);
    return chunk;
}

/* A large block gets a chunk of its own, behind the one that is being filled. */
static chunk_t *chunk_for(struct rlx_syntax_arena *arena, size_t bytes)
{
    chunk_t *chunk = chunk_create(bytes);

    arena->total += chunk->bytes;
    if (bytes > CHUNK_BYTES / 4 && arena->chunks != NULL) {
        chunk->next = arena->chunks->next;
        arena->chunks->next = chunk;
    } else {
        chunk->next = arena->chunks;
        arena->chunks = chunk;
    }
    return chunk;
}

void *rlx_syntax_alloc(rlx_syntax_t *syntax, size_t bytes)
{
    struct rlx_syntax_arena *arena = syntax->arena;
    size_t align = bytes >= 64 ? 64 : 16;
    chunk_t *chunk = arena->chunks;
    void *memory;

    if (chunk == NULL || (chunk->used + align - 1) / align * align + bytes > chunk->bytes)
        chunk = chunk_for(arena, bytes);
    chunk->used = (chunk->used + align - 1) / align * align;
    memory = (char *)(chunk + 1) + chunk->used;
    chunk->used += bytes;
    return memory;
}

rlx_syntax_t *rlx_syntax_create(const char *path)
{
    rlx_syntax_t *syntax = calloc(1, sizeof(*syntax));

    if (syntax == NULL || (syntax->arena = calloc(1, sizeof(*syntax->arena))) == NULL)
        abort();
    syntax->path = rlx_syntax_strndup(syntax, path, strlen(path));
    return syntax;
}

void rlx_syntax_destroy(rlx_syntax_t *syntax)
{
    if (syntax == NULL)
        return;
    for (chunk_t *chunk = syntax->arena->chunks, *next; chunk != NULL; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    free(syntax->arena);
    free(syntax);
}

bool rlx_syntax_is_full(const rlx_syntax_t *syntax) { return syntax->arena->total > RLX_SYNTAX_BUDGET; }

const char *rlx_syntax_strndup(rlx_syntax_t *syntax, const char *text, size_t bytes)
{
    char *copy = rlx_syntax_alloc(syntax, bytes + 1);

    memcpy(copy, text, bytes);
    return copy;
}

const char *rlx_syntax_printf(rlx_syntax_t *syntax, const char *format, ...)
{
    va_list args, again;
    char *text;
    int length;

    va_start(args, format);
    va_copy(again, args);
    length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0)
        abort();
    text = rlx_syntax_alloc(syntax, (size_t)length + 1);
    vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

const char *rlx_syntax_fresh(rlx_syntax_t *syntax, const char *prefix)
{
    return rlx_syntax_printf(syntax, "%s.%u", prefix, ++syntax->arena->fresh);
}

void *rlx_syntax_grow(rlx_syntax_t *syntax, void *items, int n, size_t item_bytes)
{
    void *grown;

    if (n != 0 && (n < 4 || (n & (n - 1)) != 0))
        return items;
    grown = rlx_syntax_alloc(syntax, (size_t)(n == 0 ? 4 : 2 * n) * item_bytes);
    if (n > 0)
        memcpy(grown, items, (size_t)n * item_bytes);
    return grown;
}

rlx_syntax_value_t *rlx_syntax_value(rlx_syntax_t *syntax, rlx_syntax_kind_t kind, rlx_span_t span)
{
    rlx_syntax_value_t *value = rlx_syntax_alloc(syntax, sizeof(*value));

    value->kind = kind;
    value->span = span;
    return value;
}

void rlx_syntax_value_add(rlx_syntax_t *syntax, rlx_syntax_value_t *list, rlx_syntax_value_t *item)
{
    list->items = rlx_syntax_grow(syntax, list->items, list->n_items, sizeof(*list->items));
    list->items[list->n_items++] = item;
}

void rlx_syntax_field_add(rlx_syntax_t *syntax, rlx_syntax_field_t **fields, int *n_fields, const char *name, rlx_span_t name_span,
                          rlx_syntax_value_t *value)
{
    *fields = rlx_syntax_grow(syntax, *fields, *n_fields, sizeof(**fields));
    (*fields)[(*n_fields)++] = (rlx_syntax_field_t){name, name_span, value};
}

rlx_syntax_function_t *rlx_syntax_module_add(rlx_syntax_t *syntax, rlx_span_t span)
{
    rlx_syntax_function_t *module = rlx_syntax_alloc(syntax, sizeof(*module));

    module->span = span;
    syntax->modules = rlx_syntax_grow(syntax, syntax->modules, syntax->n_modules, sizeof(*syntax->modules));
    syntax->modules[syntax->n_modules++] = module;
    return module;
}

rlx_syntax_statement_t *rlx_syntax_statement_add(rlx_syntax_t *syntax, rlx_syntax_function_t *function, rlx_span_t span)
{
    rlx_syntax_statement_t *statement = rlx_syntax_alloc(syntax, sizeof(*statement));

    statement->span = span;
    function->statements = rlx_syntax_grow(syntax, function->statements, function->n_statements, sizeof(*function->statements));
    function->statements[function->n_statements++] = statement;
    return statement;
}

rlx_syntax_result_t *rlx_syntax_result_add(rlx_syntax_t *syntax, rlx_syntax_statement_t *statement, const char *name, rlx_span_t span)
{
    statement->results = rlx_syntax_grow(syntax, statement->results, statement->n_results, sizeof(*statement->results));
    statement->results[statement->n_results] = (rlx_syntax_result_t){.name = name, .span = span};
    return &statement->results[statement->n_results++];
}

void rlx_syntax_arg_add(rlx_syntax_t *syntax, rlx_syntax_statement_t *statement, rlx_syntax_value_t *value)
{
    statement->args = rlx_syntax_grow(syntax, statement->args, statement->n_args, sizeof(*statement->args));
    statement->args[statement->n_args++] = value;
}

void rlx_syntax_output_add(rlx_syntax_t *syntax, rlx_syntax_function_t *function, const char *name, rlx_span_t span, rlx_syntax_value_t *value)
{
    function->outputs = rlx_syntax_grow(syntax, function->outputs, function->n_outputs, sizeof(*function->outputs));
    function->outputs[function->n_outputs++] = (rlx_syntax_output_t){name, span, value};
}

bool rlx_syntax_tensor_is_fill(const rlx_tensor_t *tensor)
{
    size_t bytes = rlx_dtype_size(tensor->dtype);
    int64_t count, total;

    if (!rlx_dims_count(tensor->dims, tensor->rank, &count) || !rlx_size_mul(count, (int64_t)bytes, &total) || count < 4 ||
        total > RLX_SYNTAX_TENSOR_MAX)
        return false;
    return memcmp(tensor->data, (const char *)tensor->data + bytes, (size_t)total - bytes) == 0;
}

const rlx_syntax_field_t *rlx_syntax_field(const rlx_syntax_field_t *fields, int n_fields, const char *name)
{
    for (int i = 0; i < n_fields; i++)
        if (strcmp(fields[i].name, name) == 0)
            return &fields[i];
    return NULL;
}

const char *rlx_syntax_kind_name(rlx_syntax_kind_t kind)
{
    static const char *const names[] = {
        [RLX_SYNTAX_NONE] = "nothing",     [RLX_SYNTAX_INT] = "an integer",   [RLX_SYNTAX_FLOAT] = "a number",
        [RLX_SYNTAX_BOOL] = "true or false", [RLX_SYNTAX_STRING] = "a string", [RLX_SYNTAX_NAME] = "a word",
        [RLX_SYNTAX_DTYPE] = "an element type", [RLX_SYNTAX_REF] = "a value", [RLX_SYNTAX_LIST] = "a list",
        [RLX_SYNTAX_DICT] = "a dictionary", [RLX_SYNTAX_EXPR] = "an expression", [RLX_SYNTAX_TENSOR] = "a tensor",
        [RLX_SYNTAX_EXTERNAL] = "a tensor of a file",
    };

    return names[kind];
}
