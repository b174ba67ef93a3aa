/* Compiles and runs many ONNX models in one process, each in a child of its own, so that a crash is one case's failure.
 *
 * Reads lines "NAME<TAB>MODEL<TAB>INPUTS.npz<TAB>OUTPUTS.npz<TAB>LEVEL<TAB>KERNELS<TAB>THREADS" from standard input; KERNELS is image or
 * reference; an INPUTS of "-" stops after compiling. Answers each with "NAME<TAB>ok", "NAME<TAB>refused<TAB>PHASE<TAB>CODE<TAB>TEXT" or
 * "NAME<TAB>crashed<TAB>SIGNAL". PHASE is import, compile, plan or run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/npz.h"
#include "bundle/bundle.h"
#include "exec/executor.h"
#include "ir/compile.h"
#include "tests/exec/image.h"

#define CASE_SECONDS_MAX 120

typedef struct test_case {
    char *name, *model, *inputs, *outputs;
    int level, threads;
    bool reference;
} test_case_t;

static rlx_status_t compile(const test_case_t *test, rlx_compiled_t *out_compiled, const char **phase, rlx_diag_t *diag)
{
    rlx_compile_options_t options = {.opt_level = test->level};
    rlx_graph_t *graph;

    *phase = "import";
    RLX_TRY(rlx_onnx_import_file(test->model, &graph, diag));
    *phase = "compile";
    RLX_TRY(rlx_compile_graph(graph, &options, out_compiled, diag));
    rlx_graph_destroy(graph);
    *phase = "check";
    return rlx_program_check(out_compiled->program, out_compiled->program_bytes, out_compiled->constants_bytes, diag);
}

static const char *port_name(const rlx_program_header_t *header, const rlx_table_t *ports, uint32_t index)
{
    const uint32_t *ids = (const uint32_t *)((const char *)header + ports->offset);
    const rlx_program_value_t *values = RLX_PROGRAM_TABLE(rlx_program_value_t, header, values);

    return (const char *)header + header->strings.offset + values[ids[index]].name;
}

static rlx_status_t inputs_bind(const rlx_program_header_t *header, const rlx_npz_t *npz, rlx_io_t *inputs, rlx_diag_t *diag)
{
    for (uint32_t i = 0; i < header->inputs.count; i++) {
        const char *name = port_name(header, &header->inputs, i);
        const rlx_tensor_t *tensor = rlx_npz_find(npz, name);

        if (tensor == NULL)
            return rlx_fail(diag, RLX_E_INPUT_NAME, "no array for input '%s'", name);
        inputs[i].tensor = *tensor;
    }
    return RLX_OK;
}

static rlx_status_t outputs_write(const test_case_t *test, const rlx_program_header_t *header, const rlx_io_t *outputs, rlx_diag_t *diag)
{
    rlx_npz_array_t *arrays = calloc(header->outputs.count + 1, sizeof *arrays);

    for (uint32_t i = 0; i < header->outputs.count; i++)
        arrays[i] = (rlx_npz_array_t){port_name(header, &header->outputs, i), outputs[i].tensor};
    return rlx_npz_write(test->outputs, arrays, (int)header->outputs.count, diag);
}

static rlx_status_t execute(const test_case_t *test, const rlx_compiled_t *compiled, const char **phase, rlx_diag_t *diag)
{
    const rlx_program_header_t *header = compiled->program;
    rlx_io_t *inputs = calloc(header->inputs.count + 1, sizeof *inputs), *outputs = calloc(header->outputs.count + 1, sizeof *outputs);
    rlx_kernel_table_t kernels;
    rlx_npz_t npz = {0};
    rlx_model_t *model;
    rlx_plan_t *plan;
    rlx_team_t *team;

    image_kernels(test->reference, &kernels);
    *phase = "plan";
    RLX_TRY(rlx_npz_read(test->inputs, &npz, diag));
    RLX_TRY(rlx_model_create(compiled->program, compiled->constants, &kernels, &model, diag));
    RLX_TRY(rlx_team_create(test->threads, &team, diag));
    RLX_TRY(inputs_bind(header, &npz, inputs, diag));
    RLX_TRY(rlx_plan_get(model, inputs, &plan, diag));
    *phase = "run";
    RLX_TRY(rlx_run(plan, team, inputs, outputs, NULL, NULL, diag));
    *phase = "write";
    return outputs_write(test, header, outputs, diag);
}

static void text_clean(char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < 32 || (unsigned char)*text > 126)
            *text = '?';
}

static int case_child(const test_case_t *test)
{
    struct rlimit none = {0, 0};
    const char *phase = "";
    rlx_compiled_t compiled = {0};
    rlx_diag_t diag = {0};
    rlx_status_t status;

    setrlimit(RLIMIT_CORE, &none);
    alarm(CASE_SECONDS_MAX);
    status = compile(test, &compiled, &phase, &diag);
    if (status == RLX_OK && strcmp(test->inputs, "-") != 0)
        status = execute(test, &compiled, &phase, &diag);
    if (status == RLX_OK) {
        printf("%s\tok\n", test->name);
    } else {
        text_clean(diag.where);
        text_clean(diag.message);
        printf("%s\trefused\t%s\t%d\t%s: %s\n", test->name, phase, (int)diag.code, diag.where, diag.message);
    }
    fflush(stdout);
    return 0;
}

static void case_run(const test_case_t *test)
{
    int state = 0;
    pid_t child = fork();

    if (child == 0)
        _exit(case_child(test));
    if (child < 0 || waitpid(child, &state, 0) < 0)
        printf("%s\tcrashed\tno child\n", test->name);
    else if (WIFSIGNALED(state))
        printf("%s\tcrashed\t%s\n", test->name, strsignal(WTERMSIG(state)));
    else if (WEXITSTATUS(state) != 0)
        printf("%s\tcrashed\texit code %d\n", test->name, WEXITSTATUS(state));
    fflush(stdout);
}

static bool case_parse(char *line, test_case_t *test)
{
    char *fields[7];

    line[strcspn(line, "\n")] = '\0';
    for (int i = 0; i < 7; i++)
        if ((fields[i] = strsep(&line, "\t")) == NULL)
            return false;
    *test =
        (test_case_t){fields[0], fields[1], fields[2], fields[3], atoi(fields[4]), atoi(fields[6]), strcmp(fields[5], "reference") == 0};
    return true;
}

int main(void)
{
    char *line = NULL;
    size_t cap = 0;
    test_case_t test;

    while (getline(&line, &cap, stdin) > 0) {
        if (!case_parse(line, &test)) {
            fputs("rlx_case: seven fields separated by tabs expected\n", stderr);
            return 2;
        }
        case_run(&test);
    }
    free(line);
    return 0;
}
