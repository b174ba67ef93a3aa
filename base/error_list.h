/* Every stable error: RLX_ERROR(name, number, status, title, cause, fix). Numbers are never reused.
 * 1000-1099 command line and files, 1100-1199 ONNX import, 1200-1299 IR and shapes, 1300-1399 bundle,
 * 1400-1499 execution. docs/ERRORS.md is generated from this list by scripts/gen_errors.py. */
RLX_ERROR(USAGE, 1001, RLX_INVALID_ARGUMENT, "command line not understood",
          "An option or its value is unknown, missing or malformed.", "Run `rlx help VERB` for the options and examples.")
RLX_ERROR(FILE_OPEN, 1002, RLX_NOT_FOUND, "file cannot be opened",
          "The path does not exist or may not be read.", "Check the path and its permissions.")
RLX_ERROR(FILE_WRITE, 1003, RLX_UNAVAILABLE, "file cannot be written",
          "The folder does not exist, is read-only, or the disk is full.", "Check the folder and the free space.")
RLX_ERROR(NO_MEMORY, 1004, RLX_RESOURCE_EXHAUSTED, "out of memory",
          "An allocation failed or passed its cap.", "Lower the declared maxima or give the process more memory.")
RLX_ERROR(NPZ, 1005, RLX_INVALID_ARGUMENT, ".npz or .npy file not understood",
          "The archive is damaged, encrypted, or holds an array that is not a plain C-order number array.",
          "Write it with numpy.savez(path, name=array).")
RLX_ERROR(INTERNAL, 1099, RLX_INTERNAL, "internal error", "RLX broke one of its own rules.",
          "Please report it with the input that shows it.")
RLX_ERROR(ONNX_MALFORMED, 1101, RLX_INVALID_ARGUMENT, "not a valid ONNX file",
          "The bytes are no ONNX protobuf, are cut off, or nest too deeply.", "Check it with onnx.checker and export it again.")
RLX_ERROR(ONNX_LIMIT, 1102, RLX_RESOURCE_EXHAUSTED, "model exceeds a limit",
          "A count or size in the file is above what RLX accepts.", "The message names the limit; split or simplify the model.")
RLX_ERROR(ONNX_OPSET, 1103, RLX_UNIMPLEMENTED, "opset not supported",
          "The model uses an opset version outside 7 to 26.", "Convert it with onnx.version_converter.")
RLX_ERROR(ONNX_OPERATOR, 1104, RLX_UNIMPLEMENTED, "operator not supported",
          "RLX has no such operator, or not with this attribute or type.", "The message names node, operator and what is missing.")
RLX_ERROR(ONNX_NODE, 1105, RLX_INVALID_ARGUMENT, "invalid node",
          "A node's inputs, outputs, attributes or types break the operator's definition.", "Check the model with onnx.checker.")
RLX_ERROR(ONNX_GRAPH, 1106, RLX_INVALID_ARGUMENT, "invalid graph",
          "Nodes are not in topological order, a name is defined twice, or a value is missing.", "Check the model with onnx.checker.")
RLX_ERROR(ONNX_TENSOR, 1107, RLX_INVALID_ARGUMENT, "invalid tensor",
          "A stored tensor's size and dimensions disagree, or its type is unknown.", "Export the model again.")
RLX_ERROR(ONNX_EXTERNAL, 1108, RLX_INVALID_ARGUMENT, "external data refused",
          "The file lies outside the model's folder, is a link, or is shorter than declared.",
          "Keep external data as plain files beside the model.")
RLX_ERROR(SHAPE_MISMATCH, 1201, RLX_INVALID_ARGUMENT, "shapes do not fit",
          "Two extents that must agree do not.", "The message names operator, axis and both extents.")
RLX_ERROR(SHAPE_UNKNOWN, 1202, RLX_UNIMPLEMENTED, "extent depends on data",
          "An extent can only be known after computing tensor data.", "Make the shape a constant, an input, or arithmetic on input shapes.")
RLX_ERROR(IR_INVALID, 1203, RLX_INTERNAL, "IR broken by a pass", "The verifier found a broken rule after a pass.", "Please report it.")
RLX_ERROR(IR_LIMIT, 1204, RLX_RESOURCE_EXHAUSTED, "graph exceeds a limit",
          "Rank, extent, element count or constant size is above what RLX accepts.", "The message names the limit.")
RLX_ERROR(CONST_VALUE, 1205, RLX_INVALID_ARGUMENT, "constant operand out of range",
          "An index, axis, size or divisor known at compile time is invalid.", "The message names node and value.")
RLX_ERROR(BUNDLE_MALFORMED, 1301, RLX_DATA_LOSS, "damaged bundle",
          "Not an RLX bundle, cut off, or inconsistent.", "Copy or compile it again.")
RLX_ERROR(BUNDLE_DIGEST, 1302, RLX_DATA_LOSS, "bundle digest mismatch",
          "A segment's bytes differ from the digest in the manifest.", "Copy or compile it again; do not run it.")
RLX_ERROR(BUNDLE_VERSION, 1303, RLX_FAILED_PRECONDITION, "bundle version not supported",
          "The bundle's major version or kernel ABI differs from this program's.", "Compile the model again with this version.")
RLX_ERROR(BUNDLE_TARGET, 1304, RLX_FAILED_PRECONDITION, "no code for this machine",
          "The bundle has no code object that this CPU can run.", "x86-64 needs AVX2 and FMA; compile for this target.")
RLX_ERROR(INPUT_NAME, 1401, RLX_INVALID_ARGUMENT, "input missing or unknown",
          "A required input is absent or an array has no input of its name.", "The message lists the model's inputs.")
RLX_ERROR(INPUT_SHAPE, 1402, RLX_INVALID_ARGUMENT, "input shape refused",
          "Rank or an extent differs from what the model declares, or two inputs disagree.", "The message names input and axis.")
RLX_ERROR(INPUT_DTYPE, 1403, RLX_INVALID_ARGUMENT, "input type refused",
          "The array's element type differs from what the model declares.", "Convert it, for example array.astype(numpy.float32).")
RLX_ERROR(INPUT_MAXIMUM, 1404, RLX_RESOURCE_EXHAUSTED, "request above the declared maximum",
          "An extent is above the maximum declared at compile or load time.", "Send less, or compile with a larger --max.")
RLX_ERROR(INPUT_VALUE, 1405, RLX_INVALID_ARGUMENT, "input value refused",
          "A shape, axis, index or divisor in the input's data is invalid.", "The message names the operator.")
RLX_ERROR(PLAN_OVERFLOW, 1406, RLX_OUT_OF_RANGE, "size overflows",
          "Extents multiply to more than RLX accepts.", "Send smaller inputs.")
RLX_ERROR(ARENA_LIMIT, 1407, RLX_RESOURCE_EXHAUSTED, "request needs too much memory",
          "The plan's arena is larger than the limit.", "Send smaller inputs or raise the limit.")
RLX_ERROR(CANCELLED, 1408, RLX_CANCELLED, "request cancelled",
          "The caller withdrew the request while it ran.", "Nothing to fix; send it again if it is still wanted.")
RLX_ERROR(QUEUE_FULL, 1409, RLX_RESOURCE_EXHAUSTED, "queue full",
          "More requests wait than the queue holds.", "Send them more slowly, or raise the queue's capacity.")
