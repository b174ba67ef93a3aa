/* Large constants of a tree to a .safetensors file, each under the digest of its bytes, equal ones once (ir/text/external.h). */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/digest.h"
#include "base/safetensors.h"
#include "ir/onnx/names.h"
#include "ir/text/external.h"

typedef struct mover {
    rlx_syntax_t *syntax;
    const char *location;
    rlx_onnx_names_t keys; /* of what is there already: rlx_tensor_t */
    rlx_safetensors_item_t *items;
    int n_items, cap_items;
} mover_t;

static void item_add(mover_t *mover, const char *key, const rlx_tensor_t *tensor)
{
    if (mover->n_items == mover->cap_items) {
        mover->cap_items = mover->cap_items * 2 + 64;
        mover->items = realloc(mover->items, (size_t)mover->cap_items * sizeof *mover->items);
        RLX_ASSERT(mover->items != NULL);
    }
    mover->items[mover->n_items++] = (rlx_safetensors_item_t){key, *tensor};
}

static bool same_type(const rlx_tensor_t *a, const rlx_tensor_t *b)
{
    return a->dtype == b->dtype && a->rank == b->rank && memcmp(a->dims, b->dims, (size_t)a->rank * sizeof a->dims[0]) == 0;
}

/* The digest; equal bytes of another type or shape are another tensor of the file, "DIGEST.f32.64x3". */
static const char *key_make(mover_t *mover, const rlx_tensor_t *tensor, const char *digest)
{
    const rlx_tensor_t *held = rlx_onnx_names_get(&mover->keys, digest);
    const char *key = digest;

    if (held != NULL && same_type(held, tensor))
        return digest;
    if (held != NULL) {
        key = rlx_syntax_printf(mover->syntax, "%s.%s", digest, rlx_dtype_name(tensor->dtype));
        for (int i = 0; i < tensor->rank; i++)
            key = rlx_syntax_printf(mover->syntax, "%s%c%" PRId64, key, i == 0 ? '.' : 'x', tensor->dims[i]);
    }
    if (rlx_onnx_names_get(&mover->keys, key) == NULL) {
        rlx_tensor_t *kept = rlx_syntax_alloc(mover->syntax, sizeof *kept);

        *kept = *tensor;
        rlx_onnx_names_add(&mover->keys, key, kept);
        item_add(mover, key, tensor);
    }
    return key;
}

static void tensor_move(mover_t *mover, rlx_syntax_value_t *value)
{
    rlx_tensor_t tensor = value->tensor;
    rlx_syntax_external_t external = {.file = mover->location, .dtype = tensor.dtype, .rank = tensor.rank};
    uint64_t digest[2];
    int64_t count = 0;
    size_t bytes;

    rlx_dims_count(tensor.dims, tensor.rank, &count);
    bytes = (size_t)count * rlx_dtype_size(tensor.dtype);
    if (bytes <= RLX_TEXT_INLINE_MAX || rlx_syntax_tensor_is_fill(&tensor))
        return;
    rlx_digest_xxh3(tensor.data, bytes, digest);
    memcpy(external.dims, tensor.dims, sizeof external.dims);
    external.digest = rlx_syntax_printf(mover->syntax, "%016" PRIx64 "%016" PRIx64, digest[1], digest[0]);
    if (mover->location != NULL) {
        external.key = key_make(mover, &tensor, external.digest);
        if (external.key == external.digest)
            external.key = NULL; /* the reader's default */
    }
    value->kind = RLX_SYNTAX_EXTERNAL;
    value->external = external;
}

static void fields_visit(mover_t *mover, rlx_syntax_field_t *fields, int n)
{
    for (int i = 0; i < n; i++)
        if (fields[i].value->kind == RLX_SYNTAX_TENSOR)
            tensor_move(mover, fields[i].value);
}

static void function_visit(mover_t *mover, rlx_syntax_function_t *function)
{
    for (int i = 0; i < function->n_statements; i++) {
        rlx_syntax_statement_t *statement = function->statements[i];

        for (int k = 0; k < statement->n_args; k++)
            if (statement->args[k]->kind == RLX_SYNTAX_TENSOR)
                tensor_move(mover, statement->args[k]);
        fields_visit(mover, statement->keywords, statement->n_keywords);
        fields_visit(mover, statement->attributes, statement->n_attributes);
        for (int k = 0; k < statement->n_bodies; k++)
            function_visit(mover, statement->bodies[k]);
    }
}

rlx_status_t rlx_syntax_externalise(rlx_syntax_t *syntax, const char *location, const char *path, bool *out_written, rlx_diag_t *diag)
{
    mover_t mover = {.syntax = syntax, .location = location};
    rlx_status_t status = RLX_OK;

    rlx_onnx_names_init(&mover.keys);
    for (int i = 0; i < syntax->n_modules; i++)
        function_visit(&mover, syntax->modules[i]);
    *out_written = path != NULL && mover.n_items > 0;
    if (*out_written)
        status = rlx_safetensors_write(path, mover.items, mover.n_items, diag);
    rlx_onnx_names_fini(&mover.keys);
    free(mover.items);
    return status;
}
