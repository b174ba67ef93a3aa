/* --target aarch64 and riscv64: libraries for Linux on another machine, by clang's cross compiler. It needs no libc to be installed here. */
#include "target/compiled.h"

/* One library, static and shared, for machines with these instructions. */
typedef struct variant {
    const char *library, *flags;
} variant_t;

static rlx_status_t libraries_link(const rlx_compiled_c_t *compiled, const char *library, const char *emulation, rlx_diag_t *diag)
{
    rlx_tool_t archive = {0}, shared = {0};

    rlx_tool_words(&archive, "llvm-ar-19 rcsD");
    rlx_tool_word(&archive, "%s.a", library);
    rlx_compiled_c_objects(compiled, "fma.c", "", ".o", &archive);
    RLX_TRY(rlx_tool_run(&archive, compiled->work, diag));
    rlx_tool_words(&shared, "ld.lld-19 -shared --gc-sections --build-id=none -z noexecstack -m");
    rlx_tool_word(&shared, "%s", emulation);
    rlx_tool_word(&shared, "-soname=%s.so", library);
    rlx_tool_word(&shared, "-o");
    rlx_tool_word(&shared, "%s.so", library);
    rlx_compiled_c_objects(compiled, "fma.c", "", ".o", &shared);
    return rlx_tool_run(&shared, compiled->work, diag);
}

static rlx_status_t variant_make(const rlx_compiled_c_t *compiled, const variant_t *variant, const char *emulation, rlx_diag_t *diag)
{
    static const char *const endings[] = {"a", "so"};
    rlx_status_t status = rlx_compiled_c_clang(compiled, variant->flags, ".o", "fma.c", "", diag);
    char name[64];

    if (status == RLX_OK)
        status = libraries_link(compiled, variant->library, emulation, diag);
    for (int i = 0; i < 2 && status == RLX_OK; i++) {
        snprintf(name, sizeof name, "%s.%s", variant->library, endings[i]);
        status = rlx_compiled_c_take(compiled, name, name, diag);
    }
    return status;
}

static rlx_status_t native_make(const rlx_target_job_t *job, const variant_t *variants, int n, const char *emulation,
                                rlx_target_figures_t *out_figures, rlx_diag_t *diag)
{
    static const char *const taken[] = {"kernel.h", "main.c"};
    rlx_target_job_t hosted = *job;
    rlx_compiled_c_t compiled;
    rlx_status_t status;

    hosted.freestanding = false;
    RLX_TRY(rlx_compiled_c_begin(&hosted, &compiled, diag));
    status = RLX_OK;
    for (int i = 0; i < n && status == RLX_OK; i++)
        status = variant_make(&compiled, &variants[i], emulation, diag);
    for (size_t i = 0; i < sizeof taken / sizeof *taken && status == RLX_OK; i++)
        status = rlx_compiled_c_take(&compiled, taken[i], taken[i], diag);
    *out_figures = (rlx_target_figures_t){.n_files = 2 * n + (int)(sizeof taken / sizeof *taken)};
    rlx_compiled_c_end(&compiled, out_figures);
    return status;
}

static rlx_status_t aarch64_make(const rlx_target_job_t *job, rlx_target_figures_t *out_figures, rlx_diag_t *diag)
{
    static const variant_t variants[] = {{"librlx_kernel", "--target=aarch64-linux-gnu -march=armv8-a -mno-outline-atomics -fPIC"}};

    return native_make(job, variants, 1, "aarch64linux", out_figures, diag);
}

/* Vector registers of 128 bits or more: code for 128 runs on all of them. */
static rlx_status_t riscv64_make(const rlx_target_job_t *job, rlx_target_figures_t *out_figures, rlx_diag_t *diag)
{
    static const variant_t variants[] = {{"librlx_kernel", "--target=riscv64-linux-gnu -march=rv64gc -mabi=lp64d -fPIC"},
                                         {"librlx_kernel_rvv", "--target=riscv64-linux-gnu -march=rv64gcv -mabi=lp64d -fPIC"}};

    return native_make(job, variants, 2, "elf64lriscv", out_figures, diag);
}

const rlx_target_t rlx_target_aarch64 = {"aarch64", "a library for Linux on ARMv8 (NEON)", aarch64_make};
const rlx_target_t rlx_target_riscv64 = {"riscv64", "libraries for Linux on rv64gc and rv64gcv", riscv64_make};
