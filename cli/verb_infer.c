/* rlx infer: one request on this machine. Arrays in and out are logical and row-major, by tensor name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/cli.h"
#include "cli/profiling.h"
#include "cli/session.h"
#include "cli/steps.h"

#define PREVIEW_MAX 6

typedef struct infer_request {
    const char *bundle, *input, *output, *profiling;
    rlx_session_options_t session;
    rlx_steps_t steps;
    bool quiet, verify_signature;
} infer_request_t;

static rlx_status_t request_parse(int argc, char **argv, infer_request_t *request, rlx_diag_t *diag)
{
    static const struct option options[] = {
        {"model", required_argument, NULL, 'm'},   {"input", required_argument, NULL, 'i'},   {"output", required_argument, NULL, 'o'},
        {"threads", required_argument, NULL, 't'}, {"kernels", required_argument, NULL, 'k'}, {"quiet", no_argument, NULL, 'q'},
        {"profiling", required_argument, NULL, 'p'}, {"verify-signature", no_argument, NULL, 'v'},
        {"trusted-keys", required_argument, NULL, 'T'}, {"trusted", required_argument, NULL, 'T'},
        {"steps", required_argument, NULL, 's'}, {"carry", required_argument, NULL, 'c'}, {"checkpoint", required_argument, NULL, 'C'},
        {"checkpoint-every", required_argument, NULL, 'e'},
        {0},
    };

    *request = (infer_request_t){0};
    for (int option; (option = rlx_cli_option_next(argc, argv, options, diag)) != -1;)
        switch (option) {
        case 'm': request->bundle = optarg; break;
        case 'i': request->input = optarg; break;
        case 'o': request->output = optarg; break;
        case 't': RLX_TRY(rlx_session_threads_parse(optarg, &request->session, diag)); break;
        case 'k': RLX_TRY(rlx_session_kernels_parse(optarg, &request->session, diag)); break;
        case 'q': request->quiet = true; break;
        case 'p': request->profiling = optarg; break;
        case 'v': request->verify_signature = true; break;
        case 'T': request->session.trusted_keys = optarg; break;
        case 's': RLX_TRY(rlx_cli_int("--steps", optarg, 1, INT64_MAX, &request->steps.n, diag)); break;
        case 'c': RLX_TRY(rlx_steps_carry(&request->steps, optarg, diag)); break;
        case 'C': request->steps.checkpoint = optarg; break;
        case 'e': RLX_TRY(rlx_cli_int("--checkpoint-every", optarg, 1, INT64_MAX, &request->steps.every, diag)); break;
        default: return diag->status;
        }
    request->steps.quiet = request->quiet;
    RLX_TRY(rlx_steps_check(&request->steps, diag));
    if (request->steps.n > 0 && request->profiling != NULL)
        return rlx_fail(diag, RLX_E_USAGE, "infer: --profiling traces one request, not --steps");
    RLX_TRY(rlx_cli_operand(argc, argv, "FILE.rlxb", &request->bundle, diag));
    if (request->input == NULL || request->output == NULL) {
        rlx_fail(diag, RLX_E_USAGE, "infer: %s is missing", request->input == NULL ? "--input IN.npz" : "--output OUT.npz");
        return rlx_diag_hint(diag, "`rlx help infer` shows how it is called.");
    }
    if (request->verify_signature != (request->session.trusted_keys != NULL))
        return rlx_fail(diag, RLX_E_USAGE, "infer: --verify-signature and --trusted-keys DIR belong together, and one of them is missing");
    return RLX_OK;
}

static void element_print(const rlx_tensor_t *tensor, int64_t i)
{
    switch (tensor->dtype) {
    case RLX_F32: printf(" %.6g", (double)((const float *)tensor->data)[i]); break;
    case RLX_F64: printf(" %.6g", ((const double *)tensor->data)[i]); break;
    case RLX_I32: printf(" %d", ((const int32_t *)tensor->data)[i]); break;
    case RLX_I64: printf(" %lld", (long long)((const int64_t *)tensor->data)[i]); break;
    case RLX_BOOL: case RLX_U8: printf(" %u", ((const uint8_t *)tensor->data)[i]); break;
    default: break;
    }
}

/* "probabilities: f32 1x10, first elements 0.1 0.2 ..." */
static void output_print(const char *name, const rlx_tensor_t *tensor)
{
    int64_t count = 0;

    printf("%s: %s ", name, rlx_dtype_name(tensor->dtype));
    for (int i = 0; i < tensor->rank; i++)
        printf("%s%lld", i > 0 ? "x" : "", (long long)tensor->dims[i]);
    if (tensor->rank == 0)
        printf("scalar");
    if (rlx_dims_count(tensor->dims, tensor->rank, &count) && count > 0) {
        printf(":");
        for (int64_t i = 0; i < count && i < PREVIEW_MAX; i++)
            element_print(tensor, i);
        printf("%s", count > PREVIEW_MAX ? " ..." : "");
    }
    printf("\n");
}

static rlx_status_t outputs_write(const rlx_session_t *session, const infer_request_t *request, const rlx_io_t *outputs, rlx_diag_t *diag)
{
    int n = rlx_session_n_outputs(session);
    rlx_npz_array_t *arrays = calloc((size_t)n + 1, sizeof *arrays);
    rlx_status_t status;

    if (arrays == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    for (int i = 0; i < n; i++) {
        (void)rlx_session_output(session, i, &arrays[i].name);
        arrays[i].tensor = outputs[i].tensor;
    }
    status = rlx_npz_write(request->output, arrays, n, diag);
    for (int i = 0; i < n && status == RLX_OK && !request->quiet; i++)
        output_print(arrays[i].name, &arrays[i].tensor);
    free(arrays);
    return status;
}

/* `profiling` NULL: not traced. */
static rlx_status_t request_run(rlx_session_t *session, const infer_request_t *request, rlx_profiling_t *profiling, const rlx_io_t *inputs,
                                rlx_diag_t *diag)
{
    int n = rlx_session_n_outputs(session);
    rlx_io_t *outputs = calloc((size_t)n + 1, sizeof *outputs);
    rlx_run_stats_t stats = {0};
    rlx_plan_t *plan = NULL;
    rlx_status_t status;

    if (outputs == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    status = request->steps.n > 0 ? rlx_steps_run(session, &request->steps, inputs, outputs, diag)
                                  : rlx_plan_get(session->model, inputs, &plan, diag);
    if (status == RLX_OK && profiling != NULL)
        status = rlx_profiling_run(profiling, session, plan, inputs, outputs, &stats, diag);
    else if (status == RLX_OK && plan != NULL)
        status = rlx_run(plan, session->team, inputs, outputs, NULL, NULL, diag);
    if (status == RLX_OK)
        status = outputs_write(session, request, outputs, diag);
    if (plan != NULL)
        rlx_plan_release(plan);
    for (int i = 0; i < n; i++)
        free(outputs[i].tensor.data);
    free(outputs);
    return status;
}

static int64_t rows_of(const rlx_session_t *session, const rlx_io_t *inputs)
{
    return rlx_session_n_inputs(session) > 0 && inputs[0].tensor.rank > 0 ? inputs[0].tensor.dims[0] : 1;
}

static rlx_status_t file_run(rlx_session_t *session, const infer_request_t *request, rlx_profiling_t *profiling, rlx_diag_t *diag)
{
    uint64_t read_ns = rlx_clock_ns(), submit_ns;
    rlx_npz_t npz;
    rlx_io_t *inputs;
    rlx_status_t status;

    RLX_TRY(rlx_npz_read(request->input, &npz, diag));
    status = rlx_session_bind(session, &npz, &inputs, diag);
    if (status == RLX_OK) {
        submit_ns = rlx_clock_ns();
        status = request_run(session, request, profiling, inputs, diag);
        if (profiling != NULL && status == RLX_OK)
            rlx_profiling_request(profiling, read_ns, submit_ns, rows_of(session, inputs), rlx_status_name(status));
        free(inputs);
    }
    rlx_npz_fini(&npz);
    return status;
}

static rlx_status_t infer_run(int argc, char **argv, rlx_diag_t *diag)
{
    infer_request_t request;
    rlx_session_t session;
    rlx_profiling_t *profiling = NULL;
    rlx_status_t status = RLX_OK;

    RLX_TRY(request_parse(argc, argv, &request, diag));
    RLX_TRY(rlx_session_open(request.bundle, &request.session, &session, diag));
    if (request.profiling != NULL)
        status = rlx_profiling_open(request.profiling, &session, NULL, &profiling, diag);
    if (status == RLX_OK)
        status = file_run(&session, &request, profiling, diag);
    if (rlx_profiling_close(profiling, diag) != RLX_OK) /* the first failure stays in `diag` */
        status = diag->status;
    rlx_session_close(&session);
    return status;
}

const rlx_verb_t rlx_verb_infer = {
    .name = "infer",
    .summary = "run a bundle on arrays from a .npz file",
    .help = "rlx infer FILE.rlxb --input IN.npz --output OUT.npz [options]\n"
            "\n"
            "Arrays go in and come out by tensor name, logical and row-major. A bare .npy serves a model of one input.\n"
            "\n"
            "Options:\n"
            "  --threads N          threads that run the kernels (default: one per CPU); never changes a bit of the result\n"
            "  --kernels reference  runs the reference kernels of this program instead of the bundle's code: the same bits, slowly\n"
            "  --profiling FILE     writes a trace of the run, for Perfetto and `rlx profile`\n"
            "  --verify-signature   refuses a bundle that no trusted key has signed; every byte of it is hashed\n"
            "  --trusted-keys DIR   the trusted keys: files NAME.pub\n"
            "  --steps N            runs N times, feeding outputs back to inputs; OUT.npz gets the outputs of the last step\n"
            "  --carry OUT=IN       what is fed back; may be repeated (default: the first output, to the first input of its type and rank)\n"
            "  --checkpoint FILE    with --steps: continues from FILE where there is one, and replaces it again and again: as often as the\n"
            "                       model's stability_requirement asks, or --checkpoint-every K steps\n"
            "  --quiet              prints nothing on success\n"
            "\n"
            "Exit codes: 0 done, 1 the input, the bundle or the machine was refused, 2 command line not understood.\n",
    .run = infer_run,
};
