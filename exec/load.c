/* Entry points are image base plus offset: the image is position-independent and has no relocations, so mapping it was loading it. */
#include "exec/load.h"

#include <string.h>

#include "exec/model.h"

/* Kernels that have a form for a CPU with more than the image's ISA: same arguments, same bits. */
static const struct {
    rlx_kernel_id_t kernel, form;
    const char *image, *isa;
} extended_forms[] = {
    {RLX_K_qconv, RLX_K_qconv_vnni, "x86-64-v4", "x86-64-v4-vnni"},
    {RLX_K_qlstm, RLX_K_qlstm_vnni, "x86-64-v4", "x86-64-v4-vnni"},
};

static void table_extend(rlx_kernel_table_t *table)
{
    for (size_t i = 0; i < sizeof extended_forms / sizeof *extended_forms; i++)
        if (table->entry[extended_forms[i].form] != NULL && strcmp(table->target, extended_forms[i].image) == 0 &&
            rlx_isa_runs(extended_forms[i].isa))
            table->entry[extended_forms[i].kernel] = table->entry[extended_forms[i].form];
}

rlx_status_t rlx_kernel_table_load(const rlx_bundle_t *bundle, rlx_kernel_table_t *out_table, rlx_diag_t *diag)
{
    const rlx_bundle_image_t *image = rlx_bundle_code(bundle);

    if (image == NULL)
        return rlx_fail(diag, RLX_E_BUNDLE_TARGET, "the bundle was opened without code");
    memset(out_table, 0, sizeof *out_table);
    out_table->target = image->isa;
    for (uint32_t i = 0; i < image->n_entries; i++) {
        uintptr_t address = (uintptr_t)image->data + image->entries[i].offset;

        out_table->entry[image->entries[i].kernel] = (rlx_kernel_fn_t *)address;
    }
    table_extend(out_table);
    return RLX_OK;
}

rlx_status_t rlx_model_from_bundle(const rlx_bundle_t *bundle, rlx_model_t **out_model, rlx_diag_t *diag)
{
    rlx_kernel_table_t table;
    size_t bytes;

    RLX_TRY(rlx_kernel_table_load(bundle, &table, diag));
    return rlx_model_create(rlx_bundle_program(bundle), rlx_bundle_constants(bundle, &bytes), &table, out_model, diag);
}

static void bundle_close(void *context) { rlx_bundle_close(context); }

rlx_status_t rlx_model_open(const char *path, unsigned flags, rlx_model_t **out_model, rlx_diag_t *diag)
{
    rlx_bundle_t *bundle;
    rlx_status_t status;

    RLX_TRY(rlx_bundle_open(path, flags, &bundle, diag));
    status = rlx_model_from_bundle(bundle, out_model, diag);
    if (status != RLX_OK) {
        rlx_diag_at(diag, "%s", path);
        rlx_bundle_close(bundle);
        return status;
    }
    rlx_model_on_destroy(*out_model, bundle_close, bundle);
    return RLX_OK;
}
