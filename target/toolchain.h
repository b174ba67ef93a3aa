/* clang and its tools, run as programs. What they print on standard error is the message of a failure. */
#ifndef RLX_TARGET_TOOLCHAIN_H
#define RLX_TARGET_TOOLCHAIN_H

#include "base/diag.h"

#define RLX_TOOL_WORDS_MAX 512
#define RLX_TOOL_SAID_MAX 600

/* Words of a command line; borrowed texts, or copies made by rlx_tool_word. */
typedef struct rlx_tool {
    char *words[RLX_TOOL_WORDS_MAX];
    int count;
} rlx_tool_t;

/* Adds a word (printf style). */
void rlx_tool_word(rlx_tool_t *tool, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds words that are separated by single spaces. */
void rlx_tool_words(rlx_tool_t *tool, const char *words);
/* Runs it in `folder` and waits. Any thread. Gives the words back in any case. */
rlx_status_t rlx_tool_run(rlx_tool_t *tool, const char *folder, rlx_diag_t *diag);
/* The same; the first RLX_TOOL_SAID_MAX bytes that it printed, on either stream, are the result. */
rlx_status_t rlx_tool_read(rlx_tool_t *tool, const char *folder, char out_said[RLX_TOOL_SAID_MAX + 1], rlx_diag_t *diag);
/* Removes a folder of files that this part made, and all below it. */
void rlx_tool_folder_remove(const char *folder);

#endif
