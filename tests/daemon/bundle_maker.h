/* Small bundles for tests: y = x + addend, i32. */
#ifndef RLX_TESTS_DAEMON_BUNDLE_MAKER_H
#define RLX_TESTS_DAEMON_BUNDLE_MAKER_H

#include "bundle/bundle.h"
#include "kernels/abi.h"
#include "tests/exec/program_builder.h"
#include "tests/unit/check.h"

/* Writes the bundle; `padding` bytes of constants make it larger. One element, or with `batched` n rows along an independent symbol. */
static inline void bundle_make(const char *path, int8_t addend, size_t padding, bool batched)
{
    /* Kernel 240: copies one int32 of in[0] to out[0], plus the addend. */
    const uint8_t code[] = {
        0x48, 0x8b, 0x07, 0x48, 0x8b, 0x00,         /* mov rax, [rdi]; mov rax, [rax]       in[0].base */
        0x8b, 0x08, 0x8d, 0x49, (uint8_t)addend,    /* mov ecx, [rax]; lea ecx, [rcx + addend] */
        0x48, 0x8b, 0x47, 0x08,                     /* mov rax, [rdi + 8] */
        0x48, 0x8b, 0x00, 0x89, 0x08, 0xc3,         /* mov rax, [rax]; mov [rax], ecx; ret */
    };
    static pb_t pb;
    const rlx_bundle_entry_t entry = {240, 0};
    const rlx_bundle_image_t image = {"x86-64-v3", code, sizeof code, &entry, 1};
    rlx_bundle_parts_t parts = {
        .name = "inc", .compiler = "test", .kernel_abi = RLX_KERNEL_ABI, .ir_text = "", .images = &image, .n_images = 1};
    rlx_ref_t dims[1] = {pb_number(1)}, bytes = pb_number(4);
    uint32_t x, y;

    pb_init(&pb);
    if (batched) {
        pb_symbol(&pb, "n", RLX_SYMBOL_INPUT_AXIS, 0, 0, 1, 8);
        dims[0] = pb_slot(0);
        bytes = pb_slot(pb_scale(&pb, 0, 4));
    }
    x = pb_value(&pb, RLX_VALUE_INPUT, "x", RLX_I32, 1, dims, pb_number(0), bytes);
    y = pb_value(&pb, RLX_VALUE_OUTPUT, "y", RLX_I32, 1, dims, pb_number(0), bytes);
    if (batched)
        pb.values[x].batch_symbol = pb.values[y].batch_symbol = 0;
    pb_step(&pb, 240, 1, 1, (uint32_t[]){x, y}, pb_number(1));
    parts.program = pb_finish(&pb, pb_number(0), &parts.program_bytes);
    parts.constants = calloc(1, padding + 1);
    parts.constants_bytes = padding;
    assert_non_null(parts.constants);
    memset((void *)(uintptr_t)parts.constants, addend, padding);
    assert_ok(rlx_bundle_write(path, &parts, &diag));
    free((void *)(uintptr_t)parts.constants);
}

#endif
