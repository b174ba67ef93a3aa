/* Larger elements come first, so every tensor's data is aligned to its element without a gap, which the format does not allow. */
#include "base/safetensors.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json_quote.h"
#include "base/safetensors_type.h"
#include "base/utf8.h"

#define HEADER_ALIGNMENT 64

static int item_compare(const void *a, const void *b)
{
    const rlx_safetensors_item_t *x = a, *y = b;
    size_t sx = rlx_dtype_size(x->tensor.dtype), sy = rlx_dtype_size(y->tensor.dtype);

    return sx != sy ? (sx > sy ? -1 : 1) : strcmp(x->name, y->name);
}

static int name_compare(const void *a, const void *b)
{
    return strcmp(((const rlx_safetensors_item_t *)a)->name, ((const rlx_safetensors_item_t *)b)->name);
}

/* In the order of the file, every name once. */
static rlx_status_t items_sort(rlx_safetensors_item_t *items, int n_items, rlx_diag_t *diag)
{
    if (n_items > 0)
        qsort(items, (size_t)n_items, sizeof *items, name_compare);
    for (int i = 1; i < n_items; i++)
        if (strcmp(items[i - 1].name, items[i].name) == 0)
            return rlx_fail(diag, RLX_E_SAFETENSORS, "two tensors are named '%s'", items[i].name);
    if (n_items > 0)
        qsort(items, (size_t)n_items, sizeof *items, item_compare);
    return RLX_OK;
}

static const char *type_name(rlx_dtype_t dtype)
{
    for (size_t i = 0; i < N_SAFETENSORS_TYPES; i++)
        if (safetensors_types[i].dtype == dtype)
            return safetensors_types[i].name;
    return NULL;
}

static void item_add(rlx_text_t *header, const rlx_safetensors_item_t *item, uint64_t begin, uint64_t end)
{
    rlx_json_quote(header, item->name);
    rlx_text_printf(header, ":{\"dtype\":\"%s\",\"shape\":[", type_name(item->tensor.dtype));
    for (int i = 0; i < item->tensor.rank; i++)
        rlx_text_printf(header, i > 0 ? ",%lld" : "%lld", (long long)item->tensor.dims[i]);
    rlx_text_printf(header, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)begin, (unsigned long long)end);
}

/* The header without its length, and the parts of the file behind it. */
static rlx_status_t header_make(const rlx_safetensors_item_t *items, int n_items, rlx_text_t *header, rlx_bytes_t *parts, rlx_diag_t *diag)
{
    uint64_t at = 0;

    rlx_text_puts(header, "{");
    for (int i = 0; i < n_items; i++) {
        int64_t bytes;

        if (type_name(items[i].tensor.dtype) == NULL || !rlx_dims_count(items[i].tensor.dims, items[i].tensor.rank, &bytes) ||
            !rlx_size_mul(bytes, (int64_t)rlx_dtype_size(items[i].tensor.dtype), &bytes))
            return rlx_fail(diag, RLX_E_SAFETENSORS, "tensor '%s' has no type or size that a file can hold", items[i].name);
        if (strcmp(items[i].name, "__metadata__") == 0 || strlen(items[i].name) > RLX_SAFETENSORS_NAME_MAX ||
            !rlx_utf8_is_text(items[i].name, strlen(items[i].name)))
            return rlx_fail(diag, RLX_E_SAFETENSORS, "'%s' cannot be the name of a tensor", items[i].name);
        rlx_text_puts(header, i > 0 ? "," : "");
        item_add(header, &items[i], at, at + (uint64_t)bytes);
        parts[i] = (rlx_bytes_t){items[i].tensor.data, (size_t)bytes};
        at += (uint64_t)bytes;
    }
    rlx_text_puts(header, "}");
    while ((header->bytes + 8) % HEADER_ALIGNMENT != 0 && !header->full)
        rlx_text_puts(header, " ");
    return header->full ? rlx_fail(diag, RLX_E_SAFETENSORS, "the header is larger than %zu bytes", RLX_SAFETENSORS_HEADER_MAX) : RLX_OK;
}

rlx_status_t rlx_safetensors_write(const char *path, rlx_safetensors_item_t *items, int n_items, rlx_diag_t *diag)
{
    rlx_bytes_t *parts = calloc((size_t)n_items + 2, sizeof *parts);
    unsigned char length[8];
    rlx_text_t header;
    rlx_status_t status;

    if (parts == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory for a list of %d tensors", n_items);
    rlx_text_init(&header, RLX_SAFETENSORS_HEADER_MAX);
    status = items_sort(items, n_items, diag);
    if (status == RLX_OK)
        status = header_make(items, n_items, &header, parts + 2, diag);
    if (status == RLX_OK) {
        for (int i = 0; i < 8; i++)
            length[i] = (unsigned char)((uint64_t)header.bytes >> 8 * i);
        parts[0] = (rlx_bytes_t){length, sizeof length};
        parts[1] = (rlx_bytes_t){header.data, header.bytes};
        status = rlx_file_write_parts(path, parts, n_items + 2, diag);
    }
    rlx_text_fini(&header);
    free(parts);
    return status;
}
