/* A call's attributes. In a function body an attribute may refer to one of the function's: it is then looked up at the call, and at the
 * function's defaults; absent there means absent here. */
#include "ir/onnx/import.h"

#include <string.h>

static const rlx_onnx_attr_t *attr_in(const rlx_onnx_attr_t *attrs, int n, const char *name, bool *used)
{
    for (int i = 0; i < n; i++) {
        if (strcmp(attrs[i].name, name) != 0)
            continue;
        if (used != NULL)
            used[i] = true;
        return &attrs[i];
    }
    return NULL;
}

/* Follows references from function bodies to their calls. */
static const rlx_onnx_attr_t *attr_resolve(const rlx_onnx_attr_t *attr, const rlx_onnx_scope_t *scope)
{
    while (attr != NULL && attr->ref != NULL) {
        const rlx_onnx_attr_t *given;

        if (scope == NULL || scope->call == NULL)
            return NULL;
        given = attr_in(scope->call->node->attrs, scope->call->node->n_attrs, attr->ref, NULL);
        if (given == NULL)
            return attr_in(scope->function->attrs, scope->function->n_attrs, attr->ref, NULL);
        attr = given;
        scope = scope->call->scope;
    }
    return attr;
}

const rlx_onnx_attr_t *rlx_call_attr(rlx_onnx_call_t *call, const char *name)
{
    return attr_resolve(attr_in(call->node->attrs, call->node->n_attrs, name, call->attr_used), call->scope);
}

static const rlx_onnx_attr_t *attr_typed(rlx_onnx_call_t *call, const char *name, rlx_onnx_attr_type_t type, const char *text)
{
    const rlx_onnx_attr_t *attr = rlx_call_attr(call, name);

    if (attr != NULL && attr->type != type)
        return rlx_call_fail(call, RLX_E_ONNX_NODE, "attribute '%s' is no %s", name, text);
    return attr;
}

bool rlx_call_has(rlx_onnx_call_t *call, const char *name)
{
    return rlx_call_attr(call, name) != NULL;
}

int64_t rlx_call_int(rlx_onnx_call_t *call, const char *name, int64_t fallback)
{
    const rlx_onnx_attr_t *attr = attr_typed(call, name, RLX_ONNX_ATTR_INT, "integer");

    return attr != NULL ? attr->i : fallback;
}

float rlx_call_float(rlx_onnx_call_t *call, const char *name, float fallback)
{
    const rlx_onnx_attr_t *attr = attr_typed(call, name, RLX_ONNX_ATTR_FLOAT, "float");

    return attr != NULL ? attr->f : fallback;
}

const char *rlx_call_string(rlx_onnx_call_t *call, const char *name, const char *fallback)
{
    const rlx_onnx_attr_t *attr = attr_typed(call, name, RLX_ONNX_ATTR_STRING, "string");

    if (attr != NULL && attr->s == NULL)
        rlx_call_fail(call, RLX_E_ONNX_NODE, "attribute '%s' holds a NUL byte or is too long", name);
    return attr != NULL && attr->s != NULL ? attr->s : fallback;
}

const int64_t *rlx_call_ints(rlx_onnx_call_t *call, const char *name, int *out_n)
{
    static const int64_t none[1];
    const rlx_onnx_attr_t *attr = attr_typed(call, name, RLX_ONNX_ATTR_INTS, "list of integers");

    *out_n = attr != NULL ? attr->n : 0;
    if (attr == NULL)
        return NULL;
    return attr->ints != NULL ? attr->ints : none;
}

const float *rlx_call_floats(rlx_onnx_call_t *call, const char *name, int *out_n)
{
    static const float none[1];
    const rlx_onnx_attr_t *attr = attr_typed(call, name, RLX_ONNX_ATTR_FLOATS, "list of floats");

    *out_n = attr != NULL ? attr->n : 0;
    if (attr == NULL)
        return NULL;
    return attr->floats != NULL ? attr->floats : none;
}

bool rlx_call_tensor(rlx_onnx_call_t *call, const char *name, rlx_tensor_t *out_tensor)
{
    const rlx_onnx_attr_t *attr = attr_typed(call, name, RLX_ONNX_ATTR_TENSOR, "tensor");

    if (attr == NULL || !rlx_call_ok(call))
        return false;
    call->status =
        rlx_onnx_tensor_decode(call->graph, attr->tensor, call->import->dir_fd, &call->import->const_budget, out_tensor, call->diag);
    return rlx_call_ok(call);
}

rlx_dtype_t rlx_call_dtype(rlx_onnx_call_t *call, const char *name, rlx_dtype_t fallback)
{
    const rlx_onnx_attr_t *attr = attr_typed(call, name, RLX_ONNX_ATTR_INT, "element type");
    rlx_dtype_t dtype = attr != NULL ? rlx_onnx_dtype(attr->i) : fallback;

    if (attr != NULL && dtype == RLX_DTYPE_NONE)
        rlx_call_fail(call, RLX_E_ONNX_OPERATOR, "element type %s (%lld) in attribute '%s' is not supported", rlx_onnx_dtype_name(attr->i),
                      (long long)attr->i, name);
    return dtype;
}

void rlx_call_ignore(rlx_onnx_call_t *call, const char *name)
{
    (void)rlx_call_attr(call, name);
}
