/* Reads the array of a tensor ("data") straight into its memory, a piece at a time, so that the loop is never held by a large one.
 *
 * The array is flat, or nested as deep as the shape has axes and then with its extents; anything between is refused, since the numbers
 * might be meant otherwise. Pure but for the memory that it writes. */
#ifndef RLX_DAEMON_JSON_DATA_H
#define RLX_DAEMON_JSON_DATA_H

#include "base/diag.h"
#include "base/tensor.h"

typedef struct rlx_json_data {
    const char *at, *end; /* from '[' to past its ']': brackets match (scan.h) */
    rlx_tensor_t tensor;  /* data: room for all elements */
    int64_t count, done;
    int depth, nested; /* of now; of numbers: 0 not known yet, else 1 or the rank */
    int64_t children[RLX_RANK_MAX + 1]; /* by depth */
    bool comma;        /* an element or array came: a comma or a bracket follows */
    bool begun;
} rlx_json_data_t;

void rlx_json_data_init(rlx_json_data_t *data, const char *begin, const char *end, const rlx_tensor_t *tensor);
/* Reads about `text_max` bytes of text more. RLX_OK: look at rlx_json_data_ended. The message does not name the tensor: add where. */
rlx_status_t rlx_json_data_step(rlx_json_data_t *data, size_t text_max, rlx_diag_t *diag);
static inline bool rlx_json_data_ended(const rlx_json_data_t *data) { return data->begun && data->depth == 0; }

#endif
