/* Target: rlx_module_read, the reader of the module form. Whatever the text is, it ends with a tree or with findings that can be printed. No
 * file is read: the folder does not exist. */
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "ir/module/module.h"

#define TEXT_MAX 65536

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char *text = malloc(bytes + 1);
    rlx_diag_list_t findings;
    rlx_syntax_t *syntax;
    rlx_text_t out;

    if (text == NULL || bytes > TEXT_MAX) {
        free(text);
        return 0;
    }
    memcpy(text, data, bytes);
    text[bytes] = '\0';
    rlx_diag_list_init(&findings, 0);
    rlx_diag_list_source(&findings, "/nowhere/fuzz.rlx", text, bytes);
    syntax = rlx_module_read("/nowhere/fuzz.rlx", text, bytes, &findings);
    RLX_ASSERT(findings.n_errors > 0 || syntax->n_modules > 0);
    rlx_text_init(&out, (size_t)64 << 20);
    rlx_diag_list_render(&findings, bytes % 2 == 0 ? RLX_DIAG_TEXT : RLX_DIAG_JSON, &out);
    rlx_text_fini(&out);
    rlx_syntax_destroy(syntax);
    rlx_diag_list_fini(&findings);
    free(text);
    return 0;
}
