/* The server is `rlx run` of the rlx beside this program, which compiles the model if need be and becomes rlxd. Its messages go to our standard
 * error. It ends when we do, however that happens. */
#include "cli/load/bench_server.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/program.h"

static const char started[] = "RLX Runtime started on ";

/* "NAME=FILE", or a file: its name without folder and ending. */
static rlx_status_t name_choose(const char *model, char *name, size_t size, rlx_diag_t *diag)
{
    const char *equals = strchr(model, '='), *slash = strrchr(model, '/'), *from = slash != NULL ? slash + 1 : model, *dot;
    size_t length;

    if (equals != NULL && (slash == NULL || equals < slash))
        from = model, length = (size_t)(equals - model);
    else {
        dot = strrchr(from, '.');
        length = dot != NULL && dot > from ? (size_t)(dot - from) : strlen(from);
    }
    if (length == 0 || length >= size)
        return rlx_fail(diag, RLX_E_USAGE, "--model: '%s' names no model file", model);
    memcpy(name, from, length);
    name[length] = '\0';
    return RLX_OK;
}

static void child_become_server(const char *rlx, const char *config, const char *model, int out)
{
    char *const words[] = {"rlx", "run", "--config", (char *)config, "--model", (char *)model, "--port", "0", NULL};

    prctl(PR_SET_PDEATHSIG, SIGTERM);
    dup2(out, STDOUT_FILENO);
    execv(rlx, words);
    _exit(127);
}

static rlx_status_t line_wait(FILE *from, rlx_bench_server_t *server, rlx_diag_t *diag)
{
    char line[512];

    while (fgets(line, sizeof line, from) != NULL)
        if (strncmp(line, started, sizeof started - 1) == 0) {
            line[strcspn(line, "\r\n")] = '\0';
            snprintf(server->url, sizeof server->url, "%.255s", line + sizeof started - 1);
            return RLX_OK;
        }
    rlx_fail(diag, RLX_E_CONNECT, "the server did not start");
    return rlx_diag_hint(diag, "Its messages stand above; `rlx run --config C --model M` shows them too.");
}

rlx_status_t rlx_bench_server_start(const char *config, const char *model, rlx_bench_server_t *out_server, rlx_diag_t *diag)
{
    rlx_bench_server_t server = {0};
    rlx_status_t status;
    char rlx[4096];
    int ends[2];
    FILE *from;

    RLX_TRY(rlx_cli_program_find("bench", "rlx", "rlx", rlx, sizeof rlx, diag));
    RLX_TRY(name_choose(model, server.model, sizeof server.model, diag));
    if (pipe2(ends, O_CLOEXEC) != 0)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no pipe: %s", strerror(errno));
    server.pid = fork();
    if (server.pid == 0)
        child_become_server(rlx, config, model, ends[1]);
    close(ends[1]);
    from = server.pid > 0 ? fdopen(ends[0], "r") : NULL;
    if (from == NULL) {
        close(ends[0]);
        status = rlx_fail(diag, RLX_E_NO_MEMORY, "no process for the server: %s", strerror(errno));
    } else {
        status = line_wait(from, &server, diag);
        fclose(from); /* it says no more */
    }
    if (status != RLX_OK && server.pid > 0)
        rlx_bench_server_stop(&server);
    if (status == RLX_OK)
        *out_server = server;
    return status;
}

void rlx_bench_server_stop(rlx_bench_server_t *server)
{
    kill(server->pid, SIGTERM);
    while (waitpid(server->pid, NULL, 0) < 0 && errno == EINTR) {
    }
}
