#include "cli/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/steps.h"

#define STEP_NAME "rlx:step"
#define KEY_NAME "rlx:key"

static size_t tensor_bytes(const rlx_tensor_t *tensor)
{
    int64_t count = 0;

    return rlx_dims_count(tensor->dims, tensor->rank, &count) ? (size_t)count * rlx_dtype_size(tensor->dtype) : 0;
}

static void input_key(rlx_text_t *key, const char *name, const rlx_tensor_t *tensor)
{
    uint8_t digest[RLX_BLAKE2B_BYTES];

    rlx_digest_blake2b(tensor->data, tensor_bytes(tensor), digest);
    rlx_text_printf(key, "input %s %s", name, rlx_dtype_name(tensor->dtype));
    for (int i = 0; i < tensor->rank; i++)
        rlx_text_printf(key, " %lld", (long long)tensor->dims[i]);
    rlx_text_add(key, digest, sizeof digest);
}

rlx_status_t rlx_checkpoint_key(const rlx_session_t *session, const rlx_io_t *inputs, const rlx_carry_t *carries, int n_carries,
                                uint8_t out_key[RLX_BLAKE2B_BYTES], rlx_diag_t *diag)
{
    rlx_status_t status = RLX_OK;
    const char *name;
    rlx_text_t key;

    rlx_text_init(&key, (size_t)16 << 20);
    rlx_text_puts(&key, "rlx checkpoint 1\n");
    rlx_text_add(&key, rlx_bundle_manifest_digest(session->bundle), RLX_BUNDLE_DIGEST);
    for (int i = 0; i < n_carries; i++)
        rlx_text_printf(&key, "carry %d %d\n", carries[i].output, carries[i].input);
    for (int i = 0; i < rlx_session_n_inputs(session); i++) {
        (void)rlx_session_input(session, i, &name);
        input_key(&key, name, &inputs[i].tensor);
    }
    if (key.full)
        status = rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    else
        rlx_digest_blake2b(key.data, key.bytes, out_key);
    rlx_text_fini(&key);
    return status;
}

static bool sync_path(const char *path, int flags)
{
    int fd = open(path, flags | O_CLOEXEC);
    bool done = fd >= 0 && fsync(fd) == 0;

    if (fd >= 0)
        close(fd);
    return done;
}

/* The new file's bytes reach the disk before its name does. */
static rlx_status_t place(const char *partial, const char *path, rlx_diag_t *diag)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash == NULL ? strdup(".") : strndup(path, (size_t)(slash - path) + 1);
    bool done = folder != NULL && sync_path(partial, O_RDONLY) && rename(partial, path) == 0 && sync_path(folder, O_RDONLY | O_DIRECTORY);

    if (!done)
        rlx_fail(diag, RLX_E_FILE_WRITE, "cannot write the checkpoint %s: %s", path, strerror(errno));
    free(folder);
    return done ? RLX_OK : RLX_UNAVAILABLE;
}

rlx_status_t rlx_checkpoint_write(const char *path, const uint8_t key[RLX_BLAKE2B_BYTES], const rlx_carry_t *carries, int n_carries,
                                  const rlx_io_t *inputs, int64_t done, rlx_diag_t *diag)
{
    rlx_npz_array_t arrays[RLX_STEPS_CARRIES_MAX + 2];
    char *partial;
    rlx_status_t status;

    for (int i = 0; i < n_carries; i++)
        arrays[i] = (rlx_npz_array_t){.name = carries[i].name, .tensor = inputs[carries[i].input].tensor};
    arrays[n_carries] = (rlx_npz_array_t){.name = STEP_NAME, .tensor = {.dtype = RLX_I64, .data = &done}};
    arrays[n_carries + 1] = (rlx_npz_array_t){.name = KEY_NAME, .tensor = {.dtype = RLX_U8, .rank = 1, .dims = {RLX_BLAKE2B_BYTES},
                                                                           .data = (void *)(uintptr_t)key}};
    if (asprintf(&partial, "%s.new", path) < 0)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    status = rlx_npz_write(partial, arrays, n_carries + 2, diag);
    if (status == RLX_OK)
        status = place(partial, path, diag);
    free(partial);
    return status;
}

static bool same_shape(const rlx_tensor_t *a, const rlx_tensor_t *b)
{
    return a->dtype == b->dtype && a->rank == b->rank && memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0;
}

static rlx_status_t contents_take(const rlx_npz_t *npz, const uint8_t key[RLX_BLAKE2B_BYTES], const rlx_carry_t *carries, int n_carries,
                                  rlx_io_t *inputs, int64_t *out_done, rlx_diag_t *diag)
{
    const rlx_tensor_t *step = rlx_npz_find(npz, STEP_NAME), *own = rlx_npz_find(npz, KEY_NAME);

    if (step == NULL || own == NULL || step->dtype != RLX_I64 || step->rank != 0 || *(const int64_t *)step->data < 1 || own->dtype != RLX_U8 ||
        tensor_bytes(own) != RLX_BLAKE2B_BYTES)
        return rlx_fail(diag, RLX_E_CHECKPOINT, "the file is no checkpoint");
    if (memcmp(own->data, key, RLX_BLAKE2B_BYTES) != 0)
        return rlx_fail(diag, RLX_E_CHECKPOINT, "the checkpoint is of another bundle, other inputs or another feedback");
    for (int i = 0; i < n_carries; i++) {
        const rlx_tensor_t *from = rlx_npz_find(npz, carries[i].name);
        rlx_tensor_t *to = &inputs[carries[i].input].tensor;

        if (from == NULL || !same_shape(from, to))
            return rlx_fail(diag, RLX_E_CHECKPOINT, "the checkpoint lacks '%s', or has it in another shape", carries[i].name);
        memcpy(to->data, from->data, tensor_bytes(to));
    }
    *out_done = *(const int64_t *)step->data;
    return RLX_OK;
}

rlx_status_t rlx_checkpoint_read(const char *path, const uint8_t key[RLX_BLAKE2B_BYTES], const rlx_carry_t *carries, int n_carries,
                                 rlx_io_t *inputs, int64_t *out_done, rlx_diag_t *diag)
{
    rlx_npz_t npz;
    rlx_status_t status;

    RLX_TRY(rlx_npz_read(path, &npz, diag));
    status = contents_take(&npz, key, carries, n_carries, inputs, out_done, diag);
    rlx_npz_fini(&npz);
    return status == RLX_OK ? RLX_OK : rlx_diag_at(diag, "%s", path);
}
