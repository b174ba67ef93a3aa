/* Sampling and transforms: Resize and Upsample of all opsets onto one op, grids, regions, Fourier transforms. */
#include "ir/onnx/convert.h"

#include <string.h>

static const char *one_of(rlx_onnx_call_t *call, const char *name, const char *text, const char *const *known)
{
    for (int i = 0; known[i] != NULL; i++)
        if (strcmp(known[i], text) == 0)
            return text;
    return rlx_call_fail(call, RLX_E_ONNX_OPERATOR, "%s '%s' is not supported", name, text);
}

/* nearest, linear, cubic; Upsample's and GridSample's older names are translated. */
static const char *mode_read(rlx_onnx_call_t *call, const char *fallback)
{
    static const char *const known[] = {"nearest", "linear", "cubic", NULL};
    const char *mode = rlx_call_string(call, "mode", fallback);

    if (strcmp(mode, "bilinear") == 0)
        mode = "linear";
    else if (strcmp(mode, "bicubic") == 0)
        mode = "cubic";
    return one_of(call, "mode", mode, known);
}

/* An operand that is given as an empty tensor counts as absent. */
static rlx_value_t *present(rlx_onnx_call_t *call, int index)
{
    rlx_value_t *value = rlx_call_in(call, index);

    if (value != NULL && value->rank == 1 && rlx_expr_is(call->graph->exprs, value->dims[0], 0))
        return NULL;
    return value;
}

static rlx_value_t *floats_known(rlx_onnx_call_t *call, rlx_value_t *value, const char *what)
{
    value = rlx_call_const_resolve(call, value);
    if (value == NULL || rlx_value_is_const(value) || value->is_input)
        return value;
    return rlx_call_fail(call, RLX_E_SHAPE_UNKNOWN,
                         "%s must be constant floats or an input of the model; give sizes instead where they are worked out at run time",
                         what);
}

static void resize_attrs(rlx_onnx_call_t *call, rlx_op_t *op)
{
    static const char *const coords[] = {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                                         "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize", NULL};
    static const char *const roundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil", NULL};
    static const char *const policies[] = {"stretch", "not_larger", "not_smaller", NULL};
    bool old = call->opset < 11; /* no attributes yet: asymmetric, floor */
    int n;
    const int64_t *axes = rlx_call_ints(call, "axes", &n);

    rlx_call_set_string(call, op, "coord",
                        one_of(call, "coordinate_transformation_mode",
                               rlx_call_string(call, "coordinate_transformation_mode", old ? "asymmetric" : "half_pixel"), coords));
    rlx_call_set_string(
        call, op, "nearest_mode",
        one_of(call, "nearest_mode", rlx_call_string(call, "nearest_mode", old ? "floor" : "round_prefer_floor"), roundings));
    rlx_call_set_string(call, op, "policy",
                        one_of(call, "keep_aspect_ratio_policy", rlx_call_string(call, "keep_aspect_ratio_policy", "stretch"), policies));
    rlx_call_set_float(call, op, "cubic_coeff_a", rlx_call_float(call, "cubic_coeff_a", -0.75f));
    rlx_call_set_int(call, op, "exclude_outside", rlx_call_int(call, "exclude_outside", 0));
    rlx_call_set_float(call, op, "extrapolation_value", rlx_call_float(call, "extrapolation_value", 0.0f));
    rlx_call_set_int(call, op, "antialias", rlx_call_int(call, "antialias", 0));
    rlx_call_set_ints(call, op, "axes", axes, n);
}

static rlx_value_t *resize(rlx_onnx_call_t *call, rlx_value_t *roi, rlx_value_t *scales, rlx_value_t *sizes)
{
    const char *mode = mode_read(call, "nearest"), *coord = rlx_call_string(call, "coordinate_transformation_mode", "half_pixel");
    rlx_value_t *in[4] = {call->in[0], NULL, NULL, sizes};
    rlx_op_t *op;

    if (rlx_call_ok(call) && (scales == NULL) == (sizes == NULL))
        return rlx_call_fail(call, RLX_E_ONNX_NODE, "exactly one of scales and sizes must be given");
    if (strcmp(coord, "tf_crop_and_resize") == 0)
        in[1] = roi;
    in[2] = floats_known(call, scales, "scales");
    op = rlx_call_begin(call, RLX_OP_resize, 4, in, 1);
    rlx_call_set_string(call, op, "mode", mode);
    resize_attrs(call, op);
    return rlx_call_end(call, op);
}

/* Operands: scales at opset 10; roi, scales, sizes from 11 on. */
void rlx_convert_resize(rlx_onnx_call_t *call)
{
    bool old = call->opset < 11;

    rlx_call_out(call, 0, resize(call, old ? NULL : present(call, 1), present(call, old ? 1 : 2), old ? NULL : present(call, 3)));
}

/* scales is an attribute before opset 9. */
void rlx_convert_upsample(rlx_onnx_call_t *call)
{
    rlx_value_t *scales = rlx_call_in(call, 1);
    int n;

    if (call->opset >= 11)
        rlx_call_fail(call, RLX_E_ONNX_NODE, "Upsample ended with opset 9; the model uses opset %lld", (long long)call->opset);
    if (call->opset < 9) {
        const float *list = rlx_call_floats(call, "scales", &n);
        rlx_tensor_t tensor = {.dtype = RLX_F32, .rank = 1, .dims = {n}};

        tensor.data = rlx_graph_alloc(call->graph, (size_t)n * sizeof *list + 64);
        if (n > 0)
            memcpy(tensor.data, list, (size_t)n * sizeof *list);
        scales = list != NULL ? rlx_call_const_tensor(call, &tensor) : NULL;
    }
    rlx_call_out(call, 0, resize(call, NULL, scales, NULL));
}

void rlx_convert_grid_sample(rlx_onnx_call_t *call)
{
    static const char *const paddings[] = {"zeros", "border", "reflection", NULL};
    const char *mode = mode_read(call, "linear");
    rlx_op_t *op = rlx_call_begin(call, RLX_OP_grid_sample, 2, call->in, 1);

    rlx_call_set_string(call, op, "mode", mode);
    rlx_call_set_string(call, op, "padding_mode", one_of(call, "padding_mode", rlx_call_string(call, "padding_mode", "zeros"), paddings));
    rlx_call_set_int(call, op, "align_corners", rlx_call_int(call, "align_corners", 0));
    rlx_call_out(call, 0, rlx_call_end(call, op));
}

void rlx_convert_affine_grid(rlx_onnx_call_t *call)
{
    rlx_op_t *op = rlx_call_begin(call, RLX_OP_affine_grid, 2, call->in, 1);

    rlx_call_set_int(call, op, "align_corners", rlx_call_int(call, "align_corners", 0));
    rlx_call_out(call, 0, rlx_call_end(call, op));
}

/* Before opset 16 coordinates are those of output_half_pixel. */
void rlx_convert_roi_align(rlx_onnx_call_t *call)
{
    static const char *const modes[] = {"avg", "max", NULL}, *const coords[] = {"half_pixel", "output_half_pixel", NULL};
    const char *fallback = call->opset < 16 ? "output_half_pixel" : "half_pixel";
    rlx_op_t *op = rlx_call_begin(call, RLX_OP_roi_align, 3, call->in, 1);

    rlx_call_set_string(call, op, "mode", one_of(call, "mode", rlx_call_string(call, "mode", "avg"), modes));
    rlx_call_set_string(
        call, op, "coord",
        one_of(call, "coordinate_transformation_mode", rlx_call_string(call, "coordinate_transformation_mode", fallback), coords));
    rlx_call_set_int(call, op, "output_height", rlx_call_int(call, "output_height", 1));
    rlx_call_set_int(call, op, "output_width", rlx_call_int(call, "output_width", 1));
    rlx_call_set_int(call, op, "sampling_ratio", rlx_call_int(call, "sampling_ratio", 0));
    rlx_call_set_float(call, op, "spatial_scale", rlx_call_float(call, "spatial_scale", 1.0f));
    rlx_call_out(call, 0, rlx_call_end(call, op));
}

void rlx_convert_max_roi_pool(rlx_onnx_call_t *call)
{
    int n;
    const int64_t *shape = rlx_call_ints(call, "pooled_shape", &n);
    rlx_op_t *op = rlx_call_begin(call, RLX_OP_max_roi_pool, 2, call->in, 1);

    if (n != 2)
        rlx_call_fail(call, RLX_E_ONNX_NODE, "pooled_shape must have two entries");
    rlx_call_set_ints(call, op, "pooled_shape", shape, n);
    rlx_call_set_float(call, op, "spatial_scale", rlx_call_float(call, "spatial_scale", 1.0f));
    rlx_call_out(call, 0, rlx_call_end(call, op));
}

/* axis is an attribute (default 1) before opset 20, an operand (default -2) from then on. */
void rlx_convert_dft(rlx_onnx_call_t *call)
{
    int64_t axis = call->opset < 20 ? rlx_call_int(call, "axis", 1) : -2;
    rlx_value_t *in[3] = {call->in[0], rlx_call_in(call, 1), rlx_call_in(call, 2)};
    rlx_op_t *op;

    if (in[2] == NULL)
        in[2] = rlx_call_scalar(call, RLX_I64, (double)axis);
    op = rlx_call_begin(call, RLX_OP_dft, 3, in, 1);
    rlx_call_set_int(call, op, "inverse", rlx_call_int(call, "inverse", 0));
    rlx_call_set_int(call, op, "onesided", rlx_call_int(call, "onesided", 0));
    rlx_call_out(call, 0, rlx_call_end(call, op));
}

void rlx_convert_stft(rlx_onnx_call_t *call)
{
    rlx_op_t *op = rlx_call_begin(call, RLX_OP_stft, call->n_in, call->in, 1);

    rlx_call_set_int(call, op, "onesided", rlx_call_int(call, "onesided", 1));
    rlx_call_out(call, 0, rlx_call_end(call, op));
}
