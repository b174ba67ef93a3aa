#include "cli/steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/checkpoint.h"
#include "cli/cli.h"
#include "cli/compile_job.h"

typedef struct stepper {
    rlx_session_t *session;
    const rlx_steps_t *steps;
    rlx_io_t *inputs, *outputs; /* inputs: own array; tensors of carries are own memory */
    rlx_carry_t carries[RLX_STEPS_CARRIES_MAX];
    int n_carries;
    int64_t every, done;
    uint8_t key[RLX_BLAKE2B_BYTES];
} stepper_t;

rlx_status_t rlx_steps_carry(rlx_steps_t *steps, const char *text, rlx_diag_t *diag)
{
    if (strchr(text, '=') == NULL)
        return rlx_fail(diag, RLX_E_USAGE, "--carry: '%s' is not OUTPUT=INPUT", text);
    if (steps->n_carries == RLX_STEPS_CARRIES_MAX)
        return rlx_fail(diag, RLX_E_USAGE, "--carry: at most %d outputs are fed back", RLX_STEPS_CARRIES_MAX);
    steps->carries[steps->n_carries++] = text;
    return RLX_OK;
}

rlx_status_t rlx_steps_check(const rlx_steps_t *steps, rlx_diag_t *diag)
{
    if (steps->n == 0 && (steps->checkpoint != NULL || steps->every != 0 || steps->n_carries > 0))
        return rlx_fail(diag, RLX_E_USAGE, "infer: --checkpoint, --checkpoint-every and --carry belong to --steps, which is missing");
    if (steps->every != 0 && steps->checkpoint == NULL)
        return rlx_fail(diag, RLX_E_USAGE, "infer: --checkpoint-every belongs to --checkpoint, which is missing");
    return RLX_OK;
}

typedef const rlx_program_value_t *port_fn_t(const rlx_session_t *session, int index, const char **out_name);

static int port_find(const rlx_session_t *session, port_fn_t *port, int n, const char *name)
{
    const char *own;

    for (int i = 0; i < n; i++) {
        (void)port(session, i, &own);
        if (strcmp(own, name) == 0)
            return i;
    }
    return -1;
}

/* "OUTPUT=INPUT"; names may hold '=', so every place is tried. */
static bool carry_parse(const rlx_session_t *session, const char *text, rlx_carry_t *out_carry)
{
    char *output = strdup(text);
    bool found = false;

    for (char *equals = output; output != NULL && !found && (equals = strchr(equals, '=')) != NULL; equals++) {
        *equals = '\0';
        out_carry->output = port_find(session, rlx_session_output, rlx_session_n_outputs(session), output);
        out_carry->input = port_find(session, rlx_session_input, rlx_session_n_inputs(session), equals + 1);
        found = out_carry->output >= 0 && out_carry->input >= 0;
        *equals = '=';
    }
    free(output);
    return found;
}

/* Without --carry: the first output and the first input of its type and rank. */
static bool carry_guess(const rlx_session_t *session, rlx_carry_t *out_carry)
{
    const rlx_program_value_t *output, *input;
    const char *name;

    if (rlx_session_n_outputs(session) == 0)
        return false;
    output = rlx_session_output(session, 0, &name);
    for (int i = 0; i < rlx_session_n_inputs(session); i++) {
        input = rlx_session_input(session, i, &name);
        if (input->dtype == output->dtype && input->rank == output->rank) {
            out_carry->input = i;
            return true;
        }
    }
    return false;
}

static rlx_status_t carries_find(stepper_t *s, rlx_diag_t *diag)
{
    const rlx_steps_t *steps = s->steps;

    s->n_carries = steps->n_carries > 0 ? steps->n_carries : 1;
    for (int i = 0; i < steps->n_carries; i++) {
        if (!carry_parse(s->session, steps->carries[i], &s->carries[i]))
            return rlx_fail(diag, RLX_E_USAGE, "--carry: '%s' is no output and input of the model", steps->carries[i]);
        for (int k = 0; k < i; k++)
            if (s->carries[k].input == s->carries[i].input || s->carries[k].output == s->carries[i].output)
                return rlx_fail(diag, RLX_E_USAGE, "--carry: '%s' names an input or an output for the second time", steps->carries[i]);
    }
    if (steps->n_carries == 0 && !carry_guess(s->session, &s->carries[0])) {
        rlx_fail(diag, RLX_E_USAGE, "the first output of the model has no input that it could be fed back to");
        return rlx_diag_hint(diag, "Name them: --carry OUTPUT=INPUT.");
    }
    for (int i = 0; i < s->n_carries; i++)
        (void)rlx_session_input(s->session, s->carries[i].input, &s->carries[i].name);
    return RLX_OK;
}

/* The inputs that are fed back, in memory of their own, and room for what the step makes of them. */
static rlx_status_t buffers_make(stepper_t *s, rlx_diag_t *diag)
{
    for (int i = 0; i < s->n_carries; i++) {
        const rlx_carry_t *carry = &s->carries[i];
        rlx_tensor_t *input = &s->inputs[carry->input].tensor, *output = &s->outputs[carry->output].tensor;
        int64_t count = 0;
        size_t bytes;
        void *copy;

        if (!rlx_dims_count(input->dims, input->rank, &count))
            return rlx_fail(diag, RLX_E_INPUT_SHAPE, "input '%s' is too large", carry->name);
        bytes = (size_t)count * rlx_dtype_size(input->dtype);
        copy = aligned_alloc(64, bytes / 64 * 64 + 64);
        if (copy != NULL)
            memcpy(copy, input->data, bytes);
        input->data = copy;
        *output = *input;
        output->data = aligned_alloc(64, bytes / 64 * 64 + 64);
        if (copy == NULL || output->data == NULL)
            return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
        s->carries[i].owned = true;
    }
    return RLX_OK;
}

static rlx_status_t every_find(stepper_t *s, rlx_diag_t *diag)
{
    int n;
    const rlx_bundle_option_t *options = rlx_bundle_options(s->session->bundle, &n);

    s->every = s->steps->every;
    for (int i = 0; i < n && s->every == 0; i++)
        if (strcmp(options[i].key, RLX_OPTION_CHECKPOINT) == 0)
            RLX_TRY(rlx_cli_int(RLX_OPTION_CHECKPOINT, options[i].value, 1, INT64_MAX, &s->every, diag));
    if (s->every == 0) {
        rlx_fail(diag, RLX_E_USAGE, "the model has no stability_requirement, which would say how often a checkpoint is due");
        return rlx_diag_hint(diag, "Say it: --checkpoint-every N.");
    }
    return RLX_OK;
}

/* Continues where the file says, if there is one. */
static rlx_status_t checkpoint_begin(stepper_t *s, const rlx_io_t *inputs, rlx_diag_t *diag)
{
    const char *path = s->steps->checkpoint;

    if (path == NULL)
        return RLX_OK;
    RLX_TRY(every_find(s, diag));
    RLX_TRY(rlx_checkpoint_key(s->session, inputs, s->carries, s->n_carries, s->key, diag));
    if (access(path, F_OK) != 0)
        return RLX_OK;
    RLX_TRY(rlx_checkpoint_read(path, s->key, s->carries, s->n_carries, s->inputs, &s->done, diag));
    if (s->done >= s->steps->n) {
        rlx_fail(diag, RLX_E_CHECKPOINT, "the checkpoint is after step %lld, and --steps is %lld", (long long)s->done, (long long)s->steps->n);
        return rlx_diag_at(diag, "%s", path);
    }
    if (!s->steps->quiet)
        printf("continued after step %lld\n", (long long)s->done);
    return RLX_OK;
}

static rlx_status_t step_once(stepper_t *s, rlx_diag_t *diag)
{
    rlx_plan_t *plan;
    rlx_status_t status;

    RLX_TRY(rlx_plan_get(s->session->model, s->inputs, &plan, diag));
    status = rlx_run(plan, s->session->team, s->inputs, s->outputs, NULL, NULL, diag);
    rlx_plan_release(plan);
    if (status != RLX_OK)
        return rlx_diag_at(diag, "step %lld of %lld", (long long)s->done + 1, (long long)s->steps->n);
    s->done++;
    return RLX_OK;
}

/* What came out goes in. */
static void swap(stepper_t *s)
{
    for (int i = 0; i < s->n_carries; i++) {
        rlx_tensor_t *input = &s->inputs[s->carries[i].input].tensor, *output = &s->outputs[s->carries[i].output].tensor;
        void *data = input->data;

        input->data = output->data;
        output->data = data;
    }
}

static rlx_status_t steps_loop(stepper_t *s, rlx_diag_t *diag)
{
    for (;;) {
        RLX_TRY(step_once(s, diag));
        if (s->done == s->steps->n)
            return RLX_OK;
        swap(s);
        if (s->steps->checkpoint != NULL && s->done % s->every == 0)
            RLX_TRY(rlx_checkpoint_write(s->steps->checkpoint, s->key, s->carries, s->n_carries, s->inputs, s->done, diag));
    }
}

rlx_status_t rlx_steps_run(rlx_session_t *session, const rlx_steps_t *steps, const rlx_io_t *inputs, rlx_io_t *outputs, rlx_diag_t *diag)
{
    int n = rlx_session_n_inputs(session);
    stepper_t stepper = {.session = session, .steps = steps, .inputs = calloc((size_t)n + 1, sizeof *inputs), .outputs = outputs};
    rlx_status_t status;

    if (stepper.inputs == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    memcpy(stepper.inputs, inputs, (size_t)n * sizeof *inputs);
    status = carries_find(&stepper, diag);
    if (status == RLX_OK)
        status = buffers_make(&stepper, diag);
    if (status == RLX_OK)
        status = checkpoint_begin(&stepper, inputs, diag);
    if (status == RLX_OK)
        status = steps_loop(&stepper, diag);
    for (int i = 0; i < stepper.n_carries; i++)
        if (stepper.carries[i].owned)
            free(stepper.inputs[stepper.carries[i].input].tensor.data);
    free(stepper.inputs);
    return status;
}
