/* External data: files beside the model. A location is relative, stays below the model's folder and passes through no link (base/beneath.h). */
#include <unistd.h>

#include "base/beneath.h"
#include "ir/onnx/model.h"

rlx_status_t rlx_onnx_external_read(int dir_fd, const char *location, uint64_t offset, void *out, size_t bytes, rlx_diag_t *diag)
{
    uint64_t file_bytes, end;
    rlx_status_t status;
    int fd;

    if (dir_fd < 0)
        return rlx_fail(diag, RLX_E_ONNX_EXTERNAL, "the model has external data, and no folder to read it from");
    RLX_TRY(rlx_beneath_open(dir_fd, location, RLX_E_ONNX_EXTERNAL, "external data", &fd, &file_bytes, diag));
    if (__builtin_add_overflow(offset, (uint64_t)bytes, &end) || end > file_bytes)
        status = rlx_fail(diag, RLX_E_ONNX_EXTERNAL, "external data '%s' has %llu bytes; offset %llu and length %zu reach past its end", location,
                          (unsigned long long)file_bytes, (unsigned long long)offset, bytes);
    else
        status = rlx_beneath_read(fd, offset, out, bytes, RLX_E_ONNX_EXTERNAL, "external data", diag);
    close(fd);
    return status;
}
