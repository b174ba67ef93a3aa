/* Before and after a load: what the model takes, what is sent, where it lies. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/load/inside.h"
#include "rpc/message/admin.h"

static rlx_status_t admin_call(rlx_load_t *load, rlx_admin_method_t method, const rlx_admin_call_t *call, rlx_text_t *json,
                               rlx_diag_t *diag)
{
    rlx_text_t ask, answer;
    rlx_rpc_slice_t slice;
    rlx_status_t status;

    rlx_text_init(&ask, 4096);
    rlx_text_init(&answer, RLX_ADMIN_ANSWER_MAX);
    rlx_admin_encode(method, call, &ask);
    slice = (rlx_rpc_slice_t){ask.data, ask.bytes};
    status = rlx_load_client_call(&load->client, rlx_admin_path(method), &slice, 1, &answer, diag);
    if (status == RLX_OK)
        status = rlx_admin_json(method, answer.data, answer.bytes, json, diag);
    rlx_text_fini(&ask);
    rlx_text_fini(&answer);
    return status;
}

static rlx_status_t model_learn(rlx_load_t *load, rlx_diag_t *diag)
{
    const rlx_admin_call_t call = {.name = load->options->model, .version = load->options->version};
    rlx_text_t json;
    rlx_status_t status;

    rlx_text_init(&json, RLX_ADMIN_ANSWER_MAX);
    status = admin_call(load, RLX_ADMIN_MODEL_METADATA, &call, &json, diag);
    if (status == RLX_OK)
        status = rlx_load_model_parse(json.data, json.bytes, &load->model, diag);
    rlx_text_fini(&json);
    return status;
}

static rlx_status_t region_register(rlx_load_t *load, bool on, rlx_diag_t *diag)
{
    const rlx_load_region_t *region = &load->model.region;
    const rlx_admin_call_t call = {.name = region->name, .key = region->key, .bytes = region->bytes};
    rlx_text_t json;
    rlx_status_t status;

    rlx_text_init(&json, RLX_ADMIN_ANSWER_MAX);
    status = admin_call(load, on ? RLX_ADMIN_MEMORY_REGISTER : RLX_ADMIN_MEMORY_UNREGISTER, &call, &json, diag);
    rlx_text_fini(&json);
    return status;
}

/* One request before the load: what is wrong with it shows here, and the sizes of the answer are learnt. */
static rlx_status_t model_try(rlx_load_t *load, rlx_diag_t *diag)
{
    rlx_text_t answer;
    rlx_load_slot_t slot = {0};
    rlx_status_t status;

    rlx_text_init(&answer, RLX_LOAD_ANSWER_MAX);
    rlx_text_init(&slot.data, RLX_LOAD_ANSWER_MAX);
    rlx_infer_answer_init(&slot.reader);
    status = rlx_load_client_call(&load->client, RLX_LOAD_INFER_PATH, load->request.slices, load->request.n_slices, &answer, diag);
    if (status == RLX_OK) {
        rlx_infer_answer_begin(&slot.reader, answer.bytes, rlx_load_slot_place, &slot);
        status = rlx_infer_answer_feed(&slot.reader, answer.data, answer.bytes, diag);
    }
    if (status == RLX_OK)
        status = rlx_infer_answer_end(&slot.reader, diag);
    if (status == RLX_OK)
        rlx_load_model_outputs(&load->model, &slot.reader);
    rlx_infer_answer_fini(&slot.reader);
    rlx_text_fini(&slot.data);
    rlx_text_fini(&answer);
    return status;
}

static rlx_status_t slots_make(rlx_load_t *load, rlx_diag_t *diag)
{
    load->slots = calloc((size_t)load->n_slots, sizeof *load->slots);
    load->connection_answers = calloc((size_t)load->client.n_channels, sizeof *load->connection_answers);
    if (load->slots == NULL || load->connection_answers == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    for (int64_t i = 0; i < load->n_slots; i++) {
        rlx_load_slot_t *slot = &load->slots[i];

        slot->load = load;
        slot->connection = (int)(i % load->client.n_channels);
        rlx_infer_answer_init(&slot->reader);
        rlx_text_init(&slot->data, RLX_LOAD_ANSWER_MAX);
        uv_timer_init(&load->client.loop, &slot->think);
        slot->think.data = slot;
        if (load->step_ns > 0) {
            slot->next = load->free_slots;
            load->free_slots = slot;
        }
    }
    return RLX_OK;
}

/* A model that takes one row at a time is sent as many requests at once. */
static void batch_settle(rlx_load_t *load, int64_t batch)
{
    rlx_load_result_t *result = load->result;

    result->note = "";
    if (batch > 1 && !load->model.batch_open) {
        result->note = "the model's batch is fixed: the batch size is kept as so many requests in flight instead";
        load->n_slots = batch > load->n_slots ? batch : load->n_slots;
    }
    result->concurrency = load->n_slots;
    result->connections = load->client.n_channels;
}

static rlx_status_t load_prepare(rlx_load_t *load, rlx_diag_t *diag)
{
    RLX_TRY(model_learn(load, diag));
    batch_settle(load, load->options->batch);
    RLX_TRY(rlx_load_model_fill(&load->model, load->options, diag));
    RLX_TRY(rlx_load_model_encode(&load->model, load->options, &load->request, diag));
    RLX_TRY(model_try(load, diag));
    load->result->bytes_out = (double)load->model.input_bytes;
    load->result->bytes_in = (double)load->model.output_bytes;
    if (load->options->memory == RLX_LOAD_IN_MESSAGE)
        return RLX_OK;
    RLX_TRY(rlx_load_model_share(&load->model, load->options, diag));
    if (load->options->memory == RLX_LOAD_SYSTEM) {
        RLX_TRY(region_register(load, true, diag));
        load->registered = true;
    }
    return rlx_load_model_encode(&load->model, load->options, &load->request, diag);
}

static void slots_free(rlx_load_t *load)
{
    if (load->alarm.loop != NULL)
        uv_close((uv_handle_t *)&load->alarm, NULL);
    for (int64_t i = 0; load->slots != NULL && i < load->n_slots; i++) {
        rlx_infer_answer_fini(&load->slots[i].reader);
        rlx_text_fini(&load->slots[i].data);
        if (load->slots[i].load != NULL)
            uv_close((uv_handle_t *)&load->slots[i].think, NULL);
    }
}

static void connections_compare(rlx_load_t *load)
{
    load->result->connection_min = UINT64_MAX;
    for (int i = 0; i < load->client.n_channels; i++) {
        uint64_t n = load->connection_answers[i];

        load->result->connection_min = n < load->result->connection_min ? n : load->result->connection_min;
        load->result->connection_max = n > load->result->connection_max ? n : load->result->connection_max;
    }
}

rlx_status_t rlx_load_run(const rlx_load_options_t *options, rlx_load_result_t *out_result, rlx_diag_t *diag)
{
    rlx_load_t *load = calloc(1, sizeof *load);
    rlx_histogram_t *histograms[] = {&out_result->answered, &out_result->refused, &out_result->queue, &out_result->kernel};
    rlx_status_t status;

    if (load == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    memset(out_result, 0, sizeof *out_result);
    for (size_t i = 0; i < sizeof histograms / sizeof *histograms; i++)
        rlx_histogram_clear(histograms[i]);
    load->options = options;
    load->result = out_result;
    load->n_slots = options->concurrency > options->connections ? options->concurrency : options->connections;
    load->step_ns = options->rate > 0 ? (uint64_t)(1e9 / options->rate) : 0;
    load->timeouts.total_ms = (uint32_t)options->timeout_ms;
    load->clock = -1;
    load->model.region.socket = -1;
    rlx_infer_request_init(&load->request);
    status = rlx_load_client_open(&load->client, options->url, (int)options->connections, RLX_LOAD_CONCURRENCY_MAX, diag);
    if (status == RLX_OK) {
        status = load_prepare(load, diag);
        if (status == RLX_OK)
            status = slots_make(load, diag);
        if (status == RLX_OK)
            status = rlx_load_measure(load, diag);
        if (status == RLX_OK)
            connections_compare(load);
        if (load->registered && !load->client.failed)
            (void)region_register(load, false, &(rlx_diag_t){0});
        slots_free(load);
        rlx_load_client_close(&load->client);
    }
    rlx_load_model_fini(&load->model);
    rlx_infer_request_fini(&load->request);
    free(load->connection_answers);
    free(load->slots);
    if (load->clock >= 0)
        close(load->clock);
    free(load);
    return status;
}
