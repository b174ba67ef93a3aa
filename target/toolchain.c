#include "target/toolchain.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"

extern char **environ;

void rlx_tool_word(rlx_tool_t *tool, const char *format, ...)
{
    va_list list;

    RLX_ASSERT(tool->count + 1 < RLX_TOOL_WORDS_MAX);
    va_start(list, format);
    RLX_ASSERT(vasprintf(&tool->words[tool->count], format, list) >= 0);
    va_end(list);
    tool->count++;
}

void rlx_tool_words(rlx_tool_t *tool, const char *words)
{
    while (*words != '\0') {
        int n = (int)strcspn(words, " ");

        rlx_tool_word(tool, "%.*s", n, words);
        words += words[n] == ' ' ? n + 1 : n;
    }
}

/* The first bytes of what it printed; the rest is read, so that it does not wait. */
static void said_read(int fd, char out_said[RLX_TOOL_SAID_MAX + 1])
{
    char rest[4096];
    size_t n = 0;
    ssize_t got;

    while ((got = read(fd, n < RLX_TOOL_SAID_MAX ? out_said + n : rest, n < RLX_TOOL_SAID_MAX ? RLX_TOOL_SAID_MAX - n : sizeof rest)) > 0 ||
           (got < 0 && errno == EINTR))
        if (got > 0 && n < RLX_TOOL_SAID_MAX)
            n += (size_t)got;
    while (n > 0 && out_said[n - 1] == '\n')
        n--;
    out_said[n] = '\0';
}

static int tool_spawn(const rlx_tool_t *tool, const char *folder, int said_fd, bool both, pid_t *out_pid)
{
    posix_spawn_file_actions_t actions;
    int code;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, said_fd, STDERR_FILENO);
    if (both)
        posix_spawn_file_actions_adddup2(&actions, said_fd, STDOUT_FILENO);
    posix_spawn_file_actions_addchdir_np(&actions, folder);
    code = posix_spawnp(out_pid, tool->words[0], &actions, NULL, tool->words, environ);
    posix_spawn_file_actions_destroy(&actions);
    return code;
}

static rlx_status_t tool_wait(const rlx_tool_t *tool, const char *folder, bool both, char said[RLX_TOOL_SAID_MAX + 1],
                              rlx_diag_t *diag)
{
    int pipes[2], code, state;
    pid_t pid;

    if (pipe2(pipes, O_CLOEXEC) != 0)
        return rlx_fail(diag, RLX_E_TARGET_TOOL, "cannot run %s: %s", tool->words[0], strerror(errno));
    code = tool_spawn(tool, folder, pipes[1], both, &pid);
    close(pipes[1]);
    if (code != 0) {
        close(pipes[0]);
        return rlx_fail(diag, RLX_E_TARGET_TOOL, "cannot run %s: %s", tool->words[0], strerror(code));
    }
    said_read(pipes[0], said);
    close(pipes[0]);
    while (waitpid(pid, &state, 0) < 0)
        if (errno != EINTR)
            return rlx_fail(diag, RLX_E_TARGET_TOOL, "%s was lost: %s", tool->words[0], strerror(errno));
    if (!WIFEXITED(state) || WEXITSTATUS(state) != 0)
        return rlx_fail(diag, RLX_E_TARGET_TOOL, "%s failed: %s", tool->words[0], said[0] != '\0' ? said : "it said nothing");
    return RLX_OK;
}

static rlx_status_t tool_end(rlx_tool_t *tool, const char *folder, bool both, char said[RLX_TOOL_SAID_MAX + 1], rlx_diag_t *diag)
{
    rlx_status_t status;

    tool->words[tool->count] = NULL;
    status = tool_wait(tool, folder, both, said, diag);
    while (tool->count > 0)
        free(tool->words[--tool->count]);
    return status;
}

rlx_status_t rlx_tool_run(rlx_tool_t *tool, const char *folder, rlx_diag_t *diag)
{
    char said[RLX_TOOL_SAID_MAX + 1];

    return tool_end(tool, folder, false, said, diag);
}

rlx_status_t rlx_tool_read(rlx_tool_t *tool, const char *folder, char out_said[RLX_TOOL_SAID_MAX + 1], rlx_diag_t *diag)
{
    return tool_end(tool, folder, true, out_said, diag);
}

void rlx_tool_folder_remove(const char *folder)
{
    DIR *dir = opendir(folder);
    char path[4096];

    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            (size_t)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) >= sizeof path)
            continue;
        if (unlink(path) != 0 && errno == EISDIR)
            rlx_tool_folder_remove(path);
    }
    if (dir != NULL)
        closedir(dir);
    (void)rmdir(folder);
}
