/* Opening a bundle for this process, and matching arrays with the model's inputs by name. */
#include "cli/session.h"

#include <stdlib.h>
#include <string.h>

#include "base/cpus.h"
#include "bundle/trust.h"
#include "cli/cli.h"
#include "exec/load.h"
#include "kernels/reference.h"

static int cpus_usable(void)
{
    int n = rlx_cpus_allowed();

    return n > RLX_CLI_THREADS_MAX ? RLX_CLI_THREADS_MAX : n;
}

rlx_status_t rlx_session_threads_parse(const char *text, rlx_session_options_t *options, rlx_diag_t *diag)
{
    int64_t n;

    RLX_TRY(rlx_cli_int("--threads", text, 1, RLX_CLI_THREADS_MAX, &n, diag));
    options->n_threads = (int)n;
    return RLX_OK;
}

rlx_status_t rlx_session_kernels_parse(const char *text, rlx_session_options_t *options, rlx_diag_t *diag)
{
    if (strcmp(text, "bundle") != 0 && strcmp(text, "reference") != 0)
        return rlx_fail(diag, RLX_E_USAGE, "--kernels: '%s' is neither bundle nor reference", text);
    options->reference = text[0] == 'r';
    return RLX_OK;
}

static rlx_status_t kernels_fill(const rlx_bundle_t *bundle, bool reference, rlx_kernel_table_t *table, rlx_diag_t *diag)
{
    if (!reference)
        return rlx_kernel_table_load(bundle, table, diag);
    *table = (rlx_kernel_table_t){.target = "reference"};
    for (int id = 1; id < RLX_K_END; id++)
        table->entry[id] = rlx_reference_kernel((rlx_kernel_id_t)id);
    return RLX_OK;
}

static rlx_status_t bundle_open(const char *path, const rlx_session_options_t *options, rlx_bundle_t **out_bundle, rlx_diag_t *diag)
{
    unsigned flags = (options->reference ? RLX_BUNDLE_SKIP_CODE : 0) | (options->trusted_keys != NULL ? RLX_BUNDLE_NO_STAMP : 0);
    rlx_trust_t *trust;
    rlx_status_t status;

    if (options->trusted_keys == NULL)
        return rlx_bundle_open(path, flags, out_bundle, diag);
    RLX_TRY(rlx_trust_read(options->trusted_keys, &trust, diag));
    status = rlx_bundle_open(path, flags, out_bundle, diag);
    if (status == RLX_OK)
        status = rlx_bundle_trusted(*out_bundle, trust, diag);
    if (status != RLX_OK) {
        rlx_diag_at(diag, "%s", path);
        rlx_bundle_close(*out_bundle);
        *out_bundle = NULL;
    }
    rlx_trust_free(trust);
    return status;
}

rlx_status_t rlx_session_open(const char *path, const rlx_session_options_t *options, rlx_session_t *out_session, rlx_diag_t *diag)
{
    rlx_session_t session = {.n_threads = options->n_threads > 0 ? options->n_threads : cpus_usable()};
    rlx_kernel_table_t kernels;
    rlx_status_t status;

    RLX_TRY(bundle_open(path, options, &session.bundle, diag));
    session.program = rlx_bundle_program(session.bundle);
    status = kernels_fill(session.bundle, options->reference, &kernels, diag);
    session.isa = kernels.target;
    if (status == RLX_OK)
        status = rlx_model_create(session.program, rlx_bundle_constants(session.bundle, NULL), &kernels, &session.model, diag);
    if (status == RLX_OK)
        status = rlx_team_create(session.n_threads, &session.team, diag);
    if (status != RLX_OK) {
        rlx_session_close(&session);
        return rlx_diag_at(diag, "%s", path);
    }
    *out_session = session;
    return RLX_OK;
}

void rlx_session_close(rlx_session_t *session)
{
    if (session->team != NULL)
        rlx_team_destroy(session->team);
    if (session->model != NULL)
        rlx_model_release(session->model);
    if (session->bundle != NULL)
        rlx_bundle_close(session->bundle);
    *session = (rlx_session_t){0};
}

int rlx_session_n_inputs(const rlx_session_t *session) { return (int)session->program->inputs.count; }
int rlx_session_n_outputs(const rlx_session_t *session) { return (int)session->program->outputs.count; }

static const rlx_program_value_t *port(const rlx_session_t *session, const uint32_t *ids, int index, const char **out_name)
{
    const rlx_program_value_t *value = &RLX_PROGRAM_TABLE(rlx_program_value_t, session->program, values)[ids[index]];

    *out_name = RLX_PROGRAM_TABLE(char, session->program, strings) + value->name;
    return value;
}

const rlx_program_value_t *rlx_session_input(const rlx_session_t *session, int index, const char **out_name)
{
    return port(session, RLX_PROGRAM_TABLE(uint32_t, session->program, inputs), index, out_name);
}

const rlx_program_value_t *rlx_session_output(const rlx_session_t *session, int index, const char **out_name)
{
    return port(session, RLX_PROGRAM_TABLE(uint32_t, session->program, outputs), index, out_name);
}

/* "'a', 'b', ..." as far as there is room. */
static void input_names(const rlx_session_t *session, char *out, size_t size)
{
    size_t used = 0;
    const char *name;

    out[0] = '\0';
    for (int i = 0; i < rlx_session_n_inputs(session) && used + 8 < size; i++) {
        (void)rlx_session_input(session, i, &name);
        used += (size_t)snprintf(out + used, size - used, "%s'%s'", i > 0 ? ", " : "", name);
    }
}

static rlx_status_t name_refuse(const rlx_session_t *session, const char *format, const char *name, rlx_diag_t *diag)
{
    char names[256];

    input_names(session, names, sizeof names);
    rlx_fail(diag, RLX_E_INPUT_NAME, format, name);
    return rlx_diag_hint(diag, "The model's inputs: %s.", names);
}

static bool is_input(const rlx_session_t *session, const char *wanted)
{
    const char *name;

    for (int i = 0; i < rlx_session_n_inputs(session); i++) {
        (void)rlx_session_input(session, i, &name);
        if (strcmp(name, wanted) == 0)
            return true;
    }
    return false;
}

rlx_status_t rlx_session_bind(const rlx_session_t *session, const rlx_npz_t *npz, rlx_io_t **out_inputs, rlx_diag_t *diag)
{
    int n = rlx_session_n_inputs(session);
    bool bare = n == 1 && npz->n_arrays == 1 && npz->arrays[0].name[0] == '\0';
    rlx_io_t *inputs;
    const char *name;

    for (int i = 0; i < npz->n_arrays && !bare; i++)
        if (!is_input(session, npz->arrays[i].name))
            return name_refuse(session, "array '%s' is no input of the model", npz->arrays[i].name, diag);
    inputs = calloc((size_t)n + 1, sizeof *inputs);
    if (inputs == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    for (int i = 0; i < n; i++) {
        const rlx_tensor_t *tensor;

        (void)rlx_session_input(session, i, &name);
        tensor = bare ? &npz->arrays[0].tensor : rlx_npz_find(npz, name);
        if (tensor == NULL) {
            free(inputs);
            return name_refuse(session, "input '%s' is missing", name, diag);
        }
        inputs[i].tensor = *tensor;
    }
    *out_inputs = inputs;
    return RLX_OK;
}
