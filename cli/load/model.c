/* The server's metadata say what the model takes; --shape, --batch-size and the .npz file close what they leave open. */
#include "cli/load/model.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/bench_tensor.h"
#include "rpc/message/datatype.h"
#include "rpc/local/handover.h"

static rlx_status_t metadata_refuse(rlx_diag_t *diag, const char *what)
{
    return rlx_fail(diag, RLX_E_ANSWER_MALFORMED, "the model's metadata: %s", what);
}

static rlx_status_t port_parse(const json_t *entry, rlx_load_port_t *port, rlx_diag_t *diag)
{
    const char *name = json_string_value(json_object_get(entry, "name")),
               *datatype = json_string_value(json_object_get(entry, "datatype"));
    const json_t *shape = json_object_get(entry, "shape");

    if (name == NULL || datatype == NULL || strlen(name) >= sizeof port->name || strlen(datatype) >= sizeof port->datatype)
        return metadata_refuse(diag, "a tensor without a name and a datatype");
    if (json_array_size(shape) > RLX_RANK_MAX)
        return metadata_refuse(diag, "a tensor of more than 8 dimensions");
    strcpy(port->name, name);
    strcpy(port->datatype, datatype);
    port->tensor = (rlx_tensor_t){.dtype = rlx_datatype_parse(datatype), .rank = (int)json_array_size(shape)};
    for (int i = 0; i < port->tensor.rank; i++)
        port->tensor.dims[i] = json_integer_value(json_array_get(shape, (size_t)i));
    return RLX_OK;
}

static rlx_status_t ports_parse(const json_t *list, rlx_load_port_t *ports, int *out_n, rlx_diag_t *diag)
{
    size_t n = json_array_size(list);

    if (n > RLX_LOAD_PORTS_MAX)
        return metadata_refuse(diag, "more than 64 inputs or outputs");
    for (size_t i = 0; i < n; i++)
        RLX_TRY(port_parse(json_array_get(list, i), &ports[i], diag));
    *out_n = (int)n;
    return RLX_OK;
}

rlx_status_t rlx_load_model_parse(const char *json, size_t bytes, rlx_load_model_t *out_model, rlx_diag_t *diag)
{
    json_t *root = json_loadb(json, bytes, 0, NULL);
    rlx_status_t status;

    memset(out_model, 0, sizeof *out_model);
    out_model->region.socket = -1;
    if (root == NULL)
        return metadata_refuse(diag, "not understood");
    status = ports_parse(json_object_get(root, "inputs"), out_model->inputs, &out_model->n_inputs, diag);
    if (status == RLX_OK)
        status = ports_parse(json_object_get(root, "outputs"), out_model->outputs, &out_model->n_outputs, diag);
    json_decref(root);
    out_model->batch_open = out_model->n_inputs > 0;
    for (int i = 0; i < out_model->n_inputs; i++)
        if (out_model->inputs[i].tensor.rank == 0 || out_model->inputs[i].tensor.dims[0] >= 0)
            out_model->batch_open = false;
    return status;
}

static rlx_status_t dims_choose(const rlx_load_model_t *model, rlx_load_port_t *port, const rlx_load_options_t *options, rlx_diag_t *diag)
{
    rlx_tensor_t *tensor = &port->tensor;

    if (model->batch_open)
        tensor->dims[0] = options->batch;
    for (int k = 0; k < options->shapes.n_shapes; k++) {
        if (strcmp(options->shapes.shapes[k].input, port->name) != 0)
            continue;
        if (options->shapes.shapes[k].rank != tensor->rank)
            return rlx_fail(diag, RLX_E_INPUT_SHAPE, "--shape gives input '%s' rank %d, the model has rank %d", port->name,
                            options->shapes.shapes[k].rank, tensor->rank);
        for (int i = 0; i < tensor->rank; i++)
            if (options->shapes.shapes[k].dims[i] >= 0)
                tensor->dims[i] = options->shapes.shapes[k].dims[i];
    }
    for (int i = 0; i < tensor->rank; i++)
        if (tensor->dims[i] < 0) {
            rlx_fail(diag, RLX_E_INPUT_SHAPE, "dimension %d of input '%s' is open", i, port->name);
            return rlx_diag_hint(diag, "Give it with --shape '%s=...', or real arrays with --input IN.npz.", port->name);
        }
    return RLX_OK;
}

static rlx_status_t port_measure(rlx_load_port_t *port, rlx_diag_t *diag)
{
    int64_t count, bytes;

    if (port->tensor.dtype == RLX_DTYPE_NONE)
        return rlx_fail(diag, RLX_E_INPUT_DTYPE, "input '%s' has type %s, which this program cannot make", port->name, port->datatype);
    if (!rlx_dims_count(port->tensor.dims, port->tensor.rank, &count) ||
        !rlx_size_mul(count, (int64_t)rlx_dtype_size(port->tensor.dtype), &bytes))
        return rlx_fail(diag, RLX_E_PLAN_OVERFLOW, "the shape of input '%s' overflows", port->name);
    port->bytes = (uint64_t)bytes;
    port->tensor.data = aligned_alloc(64, (size_t)(bytes + 64) / 64 * 64);
    return port->tensor.data != NULL ? RLX_OK : rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
}

/* From the file: the array of its name, of the right type. */
static rlx_status_t port_copy(rlx_load_port_t *port, const rlx_npz_t *npz, rlx_diag_t *diag)
{
    const rlx_tensor_t *array =
        npz->n_arrays == 1 && npz->arrays[0].name[0] == '\0' ? &npz->arrays[0].tensor : rlx_npz_find(npz, port->name);

    if (array == NULL)
        return rlx_fail(diag, RLX_E_INPUT_NAME, "the file has no array '%s'", port->name);
    if (array->dtype != port->tensor.dtype)
        return rlx_fail(diag, RLX_E_INPUT_DTYPE, "array '%s' is %s, the model wants %s", port->name, rlx_dtype_name(array->dtype),
                        rlx_dtype_name(port->tensor.dtype));
    port->tensor.rank = array->rank;
    memcpy(port->tensor.dims, array->dims, sizeof array->dims);
    RLX_TRY(port_measure(port, diag));
    memcpy(port->tensor.data, array->data, port->bytes);
    return RLX_OK;
}

static rlx_status_t shapes_check(const rlx_load_model_t *model, const rlx_load_options_t *options, rlx_diag_t *diag)
{
    for (int k = 0; k < options->shapes.n_shapes; k++) {
        const char *name = options->shapes.shapes[k].input;
        bool found = false;

        for (int i = 0; i < model->n_inputs && !found; i++)
            found = strcmp(model->inputs[i].name, name) == 0;
        if (!found)
            return rlx_fail(diag, RLX_E_INPUT_NAME, "--shape names '%s', which is no input of model '%s'", name, options->model);
    }
    return RLX_OK;
}

rlx_status_t rlx_load_model_fill(rlx_load_model_t *model, const rlx_load_options_t *options, rlx_diag_t *diag)
{
    rlx_npz_t npz = {0};
    rlx_status_t status = RLX_OK;
    uint64_t seed = 1;

    RLX_TRY(shapes_check(model, options, diag));
    if (options->input != NULL)
        RLX_TRY(rlx_npz_read(options->input, &npz, diag));
    for (int i = 0; i < model->n_inputs && status == RLX_OK; i++) {
        rlx_load_port_t *port = &model->inputs[i];

        if (options->input != NULL) {
            status = port_copy(port, &npz, diag);
            continue;
        }
        status = dims_choose(model, port, options, diag);
        if (status == RLX_OK)
            status = port_measure(port, diag);
        if (status == RLX_OK)
            rlx_bench_tensor_fill(&port->tensor, (int64_t)(port->bytes / rlx_dtype_size(port->tensor.dtype)), &seed);
    }
    for (int i = 0; i < model->n_inputs && status == RLX_OK; i++)
        model->input_bytes += model->inputs[i].bytes;
    rlx_npz_fini(&npz);
    return status;
}

static rlx_status_t system_memory(rlx_load_region_t *region, rlx_diag_t *diag)
{
    int fd;

    snprintf(region->key, sizeof region->key, "/rlx-bench-%d", (int)getpid());
    fd = shm_open(region->key, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no shared memory %s: %s", region->key, strerror(errno));
    if (ftruncate(fd, (off_t)region->bytes) == 0)
        region->address = mmap(NULL, region->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (region->address != NULL && region->address != MAP_FAILED)
        return RLX_OK;
    region->address = NULL;
    shm_unlink(region->key);
    region->key[0] = '\0';
    return rlx_fail(diag, RLX_E_NO_MEMORY, "no shared memory of %llu bytes", (unsigned long long)region->bytes);
}

static rlx_status_t handed_memory(rlx_load_region_t *region, const char *socket, rlx_diag_t *diag)
{
    int fd;
    rlx_status_t status;

    RLX_TRY(rlx_handover_memory("rlx-bench", region->bytes, &fd, &region->address, diag));
    status = rlx_handover_connect(socket != NULL ? socket : RLX_HANDOVER_SOCKET, &region->socket, diag);
    if (status == RLX_OK)
        status = rlx_handover_call(region->socket, RLX_HANDOVER_GIVE, region->name, fd, diag);
    close(fd);
    return status;
}

rlx_status_t rlx_load_model_share(rlx_load_model_t *model, const rlx_load_options_t *options, rlx_diag_t *diag)
{
    rlx_load_region_t *region = &model->region;
    uint64_t at = 0;

    snprintf(region->name, sizeof region->name, "rlx-bench-%d", (int)getpid());
    for (int i = 0; i < model->n_inputs; i++) {
        model->inputs[i].region_offset = at;
        at += (model->inputs[i].bytes + 63) / 64 * 64;
    }
    for (int i = 0; i < model->n_outputs; i++) {
        model->outputs[i].region_offset = at;
        at += (model->outputs[i].bytes + 63) / 64 * 64;
    }
    region->bytes = at > 0 ? at : 64;
    RLX_TRY(options->memory == RLX_LOAD_SYSTEM ? system_memory(region, diag) : handed_memory(region, options->memory_socket, diag));
    for (int i = 0; i < model->n_inputs; i++)
        memcpy((char *)region->address + model->inputs[i].region_offset, model->inputs[i].tensor.data, model->inputs[i].bytes);
    model->has_region = true;
    return RLX_OK;
}

rlx_status_t rlx_load_model_encode(const rlx_load_model_t *model, const rlx_load_options_t *options, rlx_infer_request_t *out_request,
                                   rlx_diag_t *diag)
{
    rlx_infer_tensor_t inputs[RLX_LOAD_PORTS_MAX], outputs[RLX_LOAD_PORTS_MAX];
    rlx_infer_call_t call = {.model = options->model, .version = options->version, .inputs = inputs, .n_inputs = model->n_inputs,
                             .outputs = outputs, .n_outputs = model->has_region ? model->n_outputs : 0};

    for (int i = 0; i < model->n_inputs; i++) {
        const rlx_load_port_t *port = &model->inputs[i];

        inputs[i] = (rlx_infer_tensor_t){.name = port->name,
                                         .datatype = port->datatype,
                                         .rank = port->tensor.rank,
                                         .dims = port->tensor.dims,
                                         .data = port->tensor.data,
                                         .bytes = port->bytes,
                                         .region = model->has_region ? model->region.name : NULL,
                                         .offset = port->region_offset};
    }
    for (int i = 0; i < call.n_outputs; i++)
        outputs[i] = (rlx_infer_tensor_t){.name = model->outputs[i].name, .bytes = model->outputs[i].bytes, .region = model->region.name,
                                          .offset = model->outputs[i].region_offset};
    return rlx_infer_request_encode(out_request, &call, diag);
}

void rlx_load_model_outputs(rlx_load_model_t *model, const rlx_infer_answer_reader_t *answer)
{
    model->n_outputs = 0;
    model->output_bytes = 0;
    for (int i = 0; i < answer->n_outputs && i < RLX_LOAD_PORTS_MAX; i++) {
        rlx_load_port_t *port = &model->outputs[model->n_outputs++];

        snprintf(port->name, sizeof port->name, "%s", answer->outputs[i].name);
        port->bytes = answer->outputs[i].bytes;
        model->output_bytes += port->bytes;
    }
}

void rlx_load_model_fini(rlx_load_model_t *model)
{
    for (int i = 0; i < model->n_inputs; i++)
        free(model->inputs[i].tensor.data);
    if (model->region.address != NULL)
        munmap(model->region.address, model->region.bytes);
    if (model->region.key[0] != '\0')
        shm_unlink(model->region.key);
    if (model->region.socket >= 0)
        close(model->region.socket);
}
