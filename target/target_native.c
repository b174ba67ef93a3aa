/* --target aarch64 and riscv64: a library for Linux on another machine, by clang's cross compiler. It needs no libc to be installed here. */
#include "target/compiled.h"

static rlx_status_t libraries_link(const rlx_compiled_c_t *compiled, const char *emulation, rlx_diag_t *diag)
{
    rlx_tool_t archive = {0}, shared = {0};

    rlx_tool_words(&archive, "llvm-ar-19 rcsD librlx_kernel.a");
    rlx_compiled_c_objects(compiled, "fma.c", "", ".o", &archive);
    RLX_TRY(rlx_tool_run(&archive, compiled->work, diag));
    rlx_tool_words(&shared, "ld.lld-19 -shared --gc-sections --build-id=none -z noexecstack -soname librlx_kernel.so -o librlx_kernel.so -m");
    rlx_tool_word(&shared, "%s", emulation);
    rlx_compiled_c_objects(compiled, "fma.c", "", ".o", &shared);
    return rlx_tool_run(&shared, compiled->work, diag);
}

static rlx_status_t native_make(const rlx_target_job_t *job, const char *flags, const char *emulation, rlx_target_figures_t *out_figures,
                                rlx_diag_t *diag)
{
    static const char *const taken[] = {"librlx_kernel.a", "librlx_kernel.so", "kernel.h", "main.c"};
    rlx_target_job_t hosted = *job;
    rlx_compiled_c_t compiled;
    rlx_status_t status;

    hosted.freestanding = false;
    RLX_TRY(rlx_compiled_c_begin(&hosted, &compiled, diag));
    status = rlx_compiled_c_clang(&compiled, flags, ".o", "fma.c", "", diag);
    if (status == RLX_OK)
        status = libraries_link(&compiled, emulation, diag);
    for (size_t i = 0; i < sizeof taken / sizeof *taken && status == RLX_OK; i++)
        status = rlx_compiled_c_take(&compiled, taken[i], taken[i], diag);
    *out_figures = (rlx_target_figures_t){.n_files = sizeof taken / sizeof *taken};
    rlx_compiled_c_end(&compiled, out_figures);
    return status;
}

static rlx_status_t aarch64_make(const rlx_target_job_t *job, rlx_target_figures_t *out_figures, rlx_diag_t *diag)
{
    return native_make(job, "--target=aarch64-linux-gnu -march=armv8-a -mno-outline-atomics -fPIC", "aarch64linux", out_figures, diag);
}

static rlx_status_t riscv64_make(const rlx_target_job_t *job, rlx_target_figures_t *out_figures, rlx_diag_t *diag)
{
    return native_make(job, "--target=riscv64-linux-gnu -march=rv64gc -mabi=lp64d -fPIC", "elf64lriscv", out_figures, diag);
}

const rlx_target_t rlx_target_aarch64 = {"aarch64", "a library for Linux on ARMv8 (NEON)", aarch64_make};
const rlx_target_t rlx_target_riscv64 = {"riscv64", "a library for Linux on rv64gc", riscv64_make};
