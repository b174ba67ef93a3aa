/* --target llvm, and --keep of the bundle: program and kernels as one LLVM module for x86-64 with AVX2, without the constants. */
#include "target/compiled.h"

#define WITHOUT "fma.c,weights.S"
#define CLANG_FLAGS "--target=x86_64-pc-linux-gnu -march=x86-64-v3 -fPIC"

static rlx_status_t module_link(const rlx_compiled_c_t *compiled, rlx_diag_t *diag)
{
    rlx_tool_t link = {0}, print = {0};

    rlx_tool_words(&link, "llvm-link-19 -o linked.bc");
    rlx_compiled_c_objects(compiled, WITHOUT, "", ".bc", &link);
    RLX_TRY(rlx_tool_run(&link, compiled->work, diag));
    rlx_tool_words(&print, "llvm-dis-19 -o kernel.ll linked.bc");
    return rlx_tool_run(&print, compiled->work, diag);
}

/* The module with the constants as a shared object. */
static rlx_status_t object_link(const rlx_compiled_c_t *compiled, rlx_diag_t *diag)
{
    rlx_tool_t compile = {0}, link = {0};

    rlx_tool_words(&compile, "clang-19 --target=x86_64-pc-linux-gnu -march=x86-64-v3 -O2 -fPIC -Wa,-I. -c linked.bc weights.S");
    RLX_TRY(rlx_tool_run(&compile, compiled->work, diag));
    rlx_tool_words(&link, "ld.lld-19 -shared --gc-sections --build-id=none -z noexecstack -soname librlx_kernel.so -o librlx_kernel.so "
                          "linked.o weights.o");
    return rlx_tool_run(&link, compiled->work, diag);
}

/* The module, with a shared library beside it where `library`, and the files `taken`. */
static rlx_status_t files_make(const rlx_target_job_t *job, bool library, const char *const *taken, int n_taken,
                               rlx_target_figures_t *out_figures, rlx_diag_t *diag)
{
    rlx_compiled_c_t compiled;
    rlx_status_t status;

    RLX_TRY(rlx_compiled_c_begin(job, &compiled, diag));
    status = rlx_compiled_c_clang(&compiled, CLANG_FLAGS, ".bc", WITHOUT, "", diag);
    if (status == RLX_OK)
        status = module_link(&compiled, diag);
    if (status == RLX_OK && library)
        status = object_link(&compiled, diag);
    if (status == RLX_OK)
        status = rlx_compiled_c_take(&compiled, "linked.bc", "kernel.bc", diag);
    for (int i = 0; i < n_taken && status == RLX_OK; i++)
        status = rlx_compiled_c_take(&compiled, taken[i], taken[i], diag);
    *out_figures = (rlx_target_figures_t){.n_files = n_taken + 1};
    rlx_compiled_c_end(&compiled, out_figures);
    return status;
}

static rlx_status_t keep_make(const rlx_target_job_t *job, rlx_target_figures_t *out_figures, rlx_diag_t *diag)
{
    static const char *const taken[] = {"kernel.c", "kernel.h", "kernel.ll", "librlx_kernel.so"};

    return files_make(job, true, taken, sizeof taken / sizeof *taken, out_figures, diag);
}

const rlx_target_t rlx_target_keep = {"keep", "kernel.c, .ll, .bc and librlx_kernel.so beside the bundle", keep_make};

static rlx_status_t make(const rlx_target_job_t *job, rlx_target_figures_t *out_figures, rlx_diag_t *diag)
{
    static const char *const taken[] = {"kernel.ll", "kernel.h", "weights.S", "weights.bin", "main.c"};
    rlx_target_job_t hosted = *job;

    hosted.freestanding = false;
    return files_make(&hosted, false, taken, sizeof taken / sizeof *taken, out_figures, diag);
}

const rlx_target_t rlx_target_llvm = {"llvm", "LLVM IR as text and bitcode", make};
