/* A map from names to pointers: open addressing, no deletion. Owner: the importer; keys are borrowed. */
#ifndef RLX_IR_ONNX_NAMES_H
#define RLX_IR_ONNX_NAMES_H

#include <stdbool.h>
#include <stddef.h>

typedef struct rlx_onnx_names {
    struct rlx_onnx_name { const char *key; void *value; } *slots;
    size_t cap, count;
} rlx_onnx_names_t;

void rlx_onnx_names_init(rlx_onnx_names_t *names);
void rlx_onnx_names_fini(rlx_onnx_names_t *names);
/* NULL when absent. */
void *rlx_onnx_names_get(const rlx_onnx_names_t *names, const char *key);
/* False when `key` is there already: then nothing changes. `value` must not be NULL. */
bool rlx_onnx_names_add(rlx_onnx_names_t *names, const char *key, void *value);

#endif
