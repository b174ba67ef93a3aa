/* Every stable error: RLX_ERROR(name, number, status, title, cause, fix). Numbers are never reused.
 * 1000-1099 command line and files, 1100-1199 ONNX import, 1200-1299 IR and shapes, 1300-1399 bundle,
 * 1400-1499 execution, 1500-1599 configuration, 1600-1699 serving, 1700-1799 clients, 1800-1899 profiling,
 * 2000-2099 RLX-IR text.
 * docs/ERRORS.md is generated from this list by scripts/gen_errors.py. */
RLX_ERROR(USAGE, 1001, RLX_INVALID_ARGUMENT, "command line not understood",
          "An option or its value is unknown, missing or malformed.",
          "`--help` lists the options; `rlx help VERB` those of a verb, with examples.")
RLX_ERROR(FILE_OPEN, 1002, RLX_NOT_FOUND, "file cannot be opened",
          "The path does not exist or may not be read.", "Check the path and its permissions.")
RLX_ERROR(FILE_WRITE, 1003, RLX_UNAVAILABLE, "file cannot be written",
          "The folder does not exist, is read-only, or the disk is full.", "Check the folder and the free space.")
RLX_ERROR(NO_MEMORY, 1004, RLX_RESOURCE_EXHAUSTED, "out of memory",
          "An allocation failed or passed its cap.", "Lower the declared maxima or give the process more memory.")
RLX_ERROR(NPZ, 1005, RLX_INVALID_ARGUMENT, ".npz or .npy file not understood",
          "The archive is damaged, encrypted, or holds an array that is not a plain C-order number array.",
          "Write it with numpy.savez(path, name=array).")
RLX_ERROR(TUNE_LOG, 1006, RLX_INVALID_ARGUMENT, "not a log of tuning",
          "The file given with --tune-from was not written by --tune-log of this version, or was changed.",
          "Tune again with rlx compile --tune --tune-log FILE.")
RLX_ERROR(INTERNAL, 1099, RLX_INTERNAL, "internal error", "RLX broke one of its own rules.",
          "Please report it with the input that shows it.")
RLX_ERROR(ONNX_MALFORMED, 1101, RLX_INVALID_ARGUMENT, "not a valid ONNX file",
          "The bytes are no ONNX protobuf, are cut off, or nest too deeply.", "Check it with onnx.checker and export it again.")
RLX_ERROR(ONNX_LIMIT, 1102, RLX_RESOURCE_EXHAUSTED, "model exceeds a limit",
          "A count or size in the file is above what RLX accepts.", "Split or simplify the model.")
RLX_ERROR(ONNX_OPSET, 1103, RLX_UNIMPLEMENTED, "opset not supported",
          "The model uses an opset version outside 7 to 26.", "Convert it with onnx.version_converter.")
RLX_ERROR(ONNX_OPERATOR, 1104, RLX_UNIMPLEMENTED, "operator not supported",
          "RLX has no such operator, or not with this attribute or type.",
          "Replace the operator there, or export the model with another opset.")
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
          "Two extents that must agree do not.", "Correct the model there, or the extents given with --shape and --max.")
RLX_ERROR(SHAPE_UNKNOWN, 1202, RLX_UNIMPLEMENTED, "extent depends on data",
          "An extent can only be known after computing tensor data.",
          "Make the shape a constant, an input, or arithmetic on input shapes.")
RLX_ERROR(IR_INVALID, 1203, RLX_INTERNAL, "IR broken by a pass", "The verifier found a broken rule after a pass.", "Please report it.")
RLX_ERROR(IR_LIMIT, 1204, RLX_RESOURCE_EXHAUSTED, "graph exceeds a limit",
          "Rank, extent, element count or constant size is above what RLX accepts.", "Split or simplify the model.")
RLX_ERROR(CONST_VALUE, 1205, RLX_INVALID_ARGUMENT, "constant operand out of range",
          "An index, axis, size or divisor known at compile time is invalid.", "Correct the model there and export it again.")
RLX_ERROR(BUNDLE_MALFORMED, 1301, RLX_DATA_LOSS, "damaged bundle",
          "Not an RLX bundle, cut off, or inconsistent.", "`rlx compile` makes bundles; copy or compile it again.")
RLX_ERROR(BUNDLE_DIGEST, 1302, RLX_DATA_LOSS, "bundle digest mismatch",
          "A segment's bytes differ from the digest in the manifest.", "Copy or compile it again; do not run it.")
RLX_ERROR(BUNDLE_VERSION, 1303, RLX_FAILED_PRECONDITION, "bundle version not supported",
          "The bundle's major version or kernel ABI differs from this program's.", "Compile the model again with this version.")
RLX_ERROR(BUNDLE_TARGET, 1304, RLX_FAILED_PRECONDITION, "no code for this machine",
          "The bundle has no code object that this CPU can run.", "x86-64 needs AVX2 and FMA; compile for this target.")
RLX_ERROR(BUNDLE_UNTRUSTED, 1305, RLX_FAILED_PRECONDITION, "bundle not signed by a trusted key",
          "Signatures are verified here, and the bundle has none, or none of a key in the folder of trusted keys.",
          "Sign it with a trusted key (rlx sign), or put its signer's public key into that folder; docs/SIGNING.md tells more.")
RLX_ERROR(BUNDLE_SIGNATURE, 1306, RLX_DATA_LOSS, "signature does not fit",
          "A signature, or what it covers, was changed after signing.", "Do not use it; get it again from whoever signed it, or sign it again.")
RLX_ERROR(KEY_FILE, 1307, RLX_INVALID_ARGUMENT, "key file refused",
          "A file of keys or signatures is damaged, of another kind, or open to others.", "`rlx keygen` makes keys, `rlx sign` signatures.")
RLX_ERROR(INPUT_NAME, 1401, RLX_INVALID_ARGUMENT, "input missing or unknown",
          "A required input is absent or an array has no input of its name.", "Give the inputs that the model has, each once.")
RLX_ERROR(INPUT_SHAPE, 1402, RLX_INVALID_ARGUMENT, "input shape refused",
          "Rank or an extent differs from what the model declares, or two inputs disagree.",
          "Give it the shape that the model declares; an extent `?` may be any.")
RLX_ERROR(INPUT_DTYPE, 1403, RLX_INVALID_ARGUMENT, "input type refused",
          "The array's element type differs from what the model declares.", "Convert it, for example array.astype(numpy.float32).")
RLX_ERROR(INPUT_MAXIMUM, 1404, RLX_RESOURCE_EXHAUSTED, "request above the declared maximum",
          "An extent is above the maximum declared at compile or load time.", "Send less, or compile with a larger --max.")
RLX_ERROR(INPUT_VALUE, 1405, RLX_INVALID_ARGUMENT, "input value refused",
          "A shape, axis, index or divisor in the input's data is invalid.", "Correct the values of that input.")
RLX_ERROR(PLAN_OVERFLOW, 1406, RLX_OUT_OF_RANGE, "size overflows",
          "Extents multiply to more than RLX accepts.", "Send smaller inputs.")
RLX_ERROR(ARENA_LIMIT, 1407, RLX_RESOURCE_EXHAUSTED, "request needs too much memory",
          "The plan's arena is larger than the limit.", "Send smaller inputs or raise the limit.")
RLX_ERROR(CANCELLED, 1408, RLX_CANCELLED, "request cancelled",
          "The caller withdrew the request while it ran.", "Nothing to fix; send it again if it is still wanted.")
RLX_ERROR(QUEUE_FULL, 1409, RLX_RESOURCE_EXHAUSTED, "queue full",
          "More requests wait than the queue holds.", "Send them more slowly, or raise the queue's capacity.")
RLX_ERROR(LOOP_LIMIT, 1410, RLX_RESOURCE_EXHAUSTED, "loop runs too long",
          "A loop of the model has run more iterations than RLX allows.", "Check the input that decides when the loop ends.")
RLX_ERROR(CHECKPOINT, 1411, RLX_FAILED_PRECONDITION, "checkpoint refused",
          "The checkpoint belongs to another bundle, other inputs or another feedback, is past the steps that are asked for, or is damaged.",
          "Continue with what it was begun with, or remove the file to begin anew.")
RLX_ERROR(CONFIG_SYNTAX, 1501, RLX_INVALID_ARGUMENT, "configuration is not valid YAML",
          "The file is not the YAML that RLX reads: no anchors, aliases, tags, duplicate keys or several documents; at most 256 KiB.",
          "Correct the file there.")
RLX_ERROR(CONFIG_KEY, 1502, RLX_INVALID_ARGUMENT, "unknown key in the configuration",
          "A key is misspelt, or stands at the wrong level.", "Correct its spelling or indentation; `rlxd --help-config` lists all keys.")
RLX_ERROR(CONFIG_VALUE, 1503, RLX_INVALID_ARGUMENT, "configuration value refused",
          "A value is missing, of the wrong kind or out of range.", "Correct the value; `rlxd --help-config` says what each key takes.")
RLX_ERROR(CONFIG_DEVICE, 1504, RLX_FAILED_PRECONDITION, "device missing",
          "The configuration lists a device that this machine does not have.", "Correct the list, or start with --devices auto.")
RLX_ERROR(CONFIG_NODE, 1505, RLX_NOT_FOUND, "no entry for this machine",
          "No node of the configuration has this host's name.", "Name one with --node ID.")
RLX_ERROR(LISTEN, 1601, RLX_UNAVAILABLE, "cannot listen",
          "The address is in use, not this machine's, or not permitted.",
          "Configure an address of this machine that is free and permitted.")
RLX_ERROR(TLS, 1602, RLX_FAILED_PRECONDITION, "TLS cannot start",
          "Certificate or key is missing, unreadable or does not match.",
          "Check that the file is there, that rlxd may read it, that it is PEM, and that key and certificate belong together.")
RLX_ERROR(MODEL_UNKNOWN, 1603, RLX_NOT_FOUND, "unknown model",
          "No model of that name and version is served.", "Correct the name, or load the model.")
RLX_ERROR(MODEL_LOADING, 1604, RLX_UNAVAILABLE, "model not ready",
          "The model is loading, or its load failed.", "Try again; the repository index tells the state and the reason.")
RLX_ERROR(MODEL_NAME, 1605, RLX_INVALID_ARGUMENT, "invalid model name",
          "A name has 1 to 127 letters, digits and . _ - /", "Rename it; `--model NAME=FILE` serves a bundle under another name.")
RLX_ERROR(DRAINING, 1606, RLX_UNAVAILABLE, "server is stopping",
          "The server finishes what it accepted and takes nothing new.", "Send the request to another node.")
RLX_ERROR(DEADLINE_UNREACHABLE, 1607, RLX_RESOURCE_EXHAUSTED, "deadline cannot be met",
          "The work ahead of the request and its own cost end after its deadline.", "Allow more time, send less, or add a node.")
RLX_ERROR(DEADLINE_PASSED, 1608, RLX_DEADLINE_EXCEEDED, "deadline passed",
          "The request's deadline passed before it ran.", "Allow more time.")
RLX_ERROR(REQUEST_MALFORMED, 1609, RLX_INVALID_ARGUMENT, "malformed request",
          "The message is not a valid request of this protocol.", "Correct the request there.")
RLX_ERROR(REQUEST_LARGE, 1610, RLX_RESOURCE_EXHAUSTED, "message too large",
          "The message is above the server's limit.", "Send less, or raise the server's limit.")
RLX_ERROR(METHOD_UNKNOWN, 1611, RLX_UNIMPLEMENTED, "unknown method",
          "The server has no such method or route.", "Server reflection, docs/PROTOCOL.md and docs/REST.md list what there is.")
RLX_ERROR(REGION_UNKNOWN, 1612, RLX_NOT_FOUND, "unknown shared-memory region",
          "No region of that name is registered.", "Register it first; its status call lists them.")
RLX_ERROR(REGION_RANGE, 1613, RLX_INVALID_ARGUMENT, "shared-memory range refused",
          "Offset and size do not lie inside the region, or differ from the tensor's size.", "Correct offset and size.")
RLX_ERROR(REGION_BUSY, 1614, RLX_FAILED_PRECONDITION, "shared-memory region in use",
          "Requests still use the region.", "Wait for their answers.")
RLX_ERROR(REGION_EXISTS, 1615, RLX_ALREADY_EXISTS, "shared-memory region exists",
          "A region of that name is registered.", "Unregister it, or choose another name.")
RLX_ERROR(REGION_FILE, 1616, RLX_INVALID_ARGUMENT, "shared memory refused",
          "The object does not exist, is smaller than declared, or is not sealed.",
          "Correct key, offset and size; seal a memfd against shrinking and growing.")
RLX_ERROR(OUTPUT_NAME, 1617, RLX_INVALID_ARGUMENT, "unknown output",
          "A requested output is not one of the model's, or is asked for twice.", "Ask for outputs that the model has, each once.")
RLX_ERROR(SERVER_MEMORY, 1618, RLX_RESOURCE_EXHAUSTED, "server is out of request memory",
          "The requests that are arriving or waiting take all the memory they may.", "Try again, send less, or raise the limit.")
RLX_ERROR(MODEL_BUSY, 1619, RLX_FAILED_PRECONDITION, "model is being changed",
          "Another load or unload of this model runs.", "Wait for it to end.")
RLX_ERROR(MODEL_LIMIT, 1620, RLX_RESOURCE_EXHAUSTED, "too many models",
          "The server's table of model versions is full.", "Unload some.")
RLX_ERROR(STALLED, 1621, RLX_DEADLINE_EXCEEDED, "message stalled",
          "The peer sent no byte of an unfinished message for too long.", "Check the network between client and server.")
RLX_ERROR(PROTOCOL_PART, 1622, RLX_UNIMPLEMENTED, "part of the protocol not supported",
          "The call or parameter is known, and this server has no such feature.",
          "Leave it out; docs/PROTOCOL.md says what this server has.")
RLX_ERROR(CONNECT, 1701, RLX_UNAVAILABLE, "cannot reach the server",
          "The connection was refused, timed out or broke.", "Check address and port, and that rlxd runs.")
RLX_ERROR(CLIENT_TIMEOUT, 1702, RLX_DEADLINE_EXCEEDED, "no answer in time",
          "Connecting, transfer or computing took longer than allowed.", "Allow more time.")
RLX_ERROR(ANSWER_MALFORMED, 1703, RLX_INTERNAL, "answer not understood",
          "The server's answer is no valid answer of this protocol.",
          "Check that the address is a server of the Open Inference Protocol.")
RLX_ERROR(ENDPOINT, 1704, RLX_INVALID_ARGUMENT, "invalid endpoint",
          "An endpoint reads http://HOST:PORT, grpc://HOST:PORT, https://HOST:PORT or unix:PATH.", "Correct the address.")
RLX_ERROR(TRACE_MALFORMED, 1801, RLX_INVALID_ARGUMENT, "not a trace of RLX",
          "The file is damaged or was not written by --profiling.", "Record it again.")
RLX_ERROR(TARGET_UNKNOWN, 1901, RLX_UNIMPLEMENTED, "unknown target",
          "No such target exists, or it is not there yet.", "Name targets that are there: `rlx help compile` lists them.")
RLX_ERROR(TARGET_MODEL, 1902, RLX_UNIMPLEMENTED, "model not possible for this target",
          "The model needs something that the target does not have.", "Change the model or its shapes, or choose another target.")
RLX_ERROR(TARGET_TOOL, 1903, RLX_FAILED_PRECONDITION, "tool missing or failed",
          "A target is made by clang and its tools, which are not installed or reported an error.",
          "Install clang-19, lld-19 and llvm-19 (apt-get install clang-19 lld-19 llvm-19).")
RLX_ERROR(SYNTAX, 2001, RLX_INVALID_ARGUMENT, "syntax error",
          "The text does not have the form that must stand there.", "docs/LANGUAGE.md shows both forms.")
RLX_ERROR(TOKEN, 2002, RLX_INVALID_ARGUMENT, "text not understood",
          "A character, number or string is malformed: no such character, a digit missing, a quote or bracket never closed, no UTF-8.",
          "Correct what is underlined.")
RLX_ERROR(INDENT, 2003, RLX_INVALID_ARGUMENT, "indentation wrong",
          "A line of the module form is indented unlike its neighbours, or tabs and spaces are mixed.",
          "Indent the body of a function by four spaces, every line alike.")
RLX_ERROR(TEXT_LIMIT, 2004, RLX_RESOURCE_EXHAUSTED, "text exceeds a limit",
          "The file is too large, or something in it nests too deeply or has too many parts.",
          "Split the module, and keep large constants in .npy or .safetensors files beside it.")
RLX_ERROR(NOT_LANGUAGE, 2005, RLX_UNIMPLEMENTED, "not part of the language",
          "The module form has the syntax of Python, but describes a graph: no loops over tensors, no conditions on them, no classes, no imports.",
          "Write what the message says, or trace a Python program with @rlx.jit.")
RLX_ERROR(NAME_UNKNOWN, 2006, RLX_NOT_FOUND, "name not defined",
          "A value, function or word is used that nothing above it defines.", "Define it before it is used, or correct the spelling.")
RLX_ERROR(NAME_TWICE, 2007, RLX_ALREADY_EXISTS, "name defined twice",
          "A value, function, argument or key has the name of an earlier one.", "Give one of them another name.")
RLX_ERROR(OP_UNKNOWN, 2008, RLX_NOT_FOUND, "no such operator",
          "RLX has no operator or function of that name.", "docs/LANGUAGE.md lists all of them.")
RLX_ERROR(ARG_UNKNOWN, 2009, RLX_INVALID_ARGUMENT, "no such argument",
          "The operator has no argument or attribute of that name, or takes fewer.", "Remove it, or correct the spelling.")
RLX_ERROR(ARG_MISSING, 2010, RLX_INVALID_ARGUMENT, "argument missing",
          "The operator needs an argument or attribute that is not given.", "Add it.")
RLX_ERROR(ARG_TYPE, 2011, RLX_INVALID_ARGUMENT, "argument of the wrong kind",
          "An argument is a number where a list is expected, a tensor where a constant is expected, and the like.",
          "Write what is expected.")
RLX_ERROR(ARG_VALUE, 2012, RLX_INVALID_ARGUMENT, "argument out of range",
          "An argument has a value that the operator does not allow.", "Correct it as the message says.")
RLX_ERROR(TYPE_MISMATCH, 2013, RLX_INVALID_ARGUMENT, "element types do not fit",
          "Operands have different element types, or one that the operator does not take.", "Convert one of them with rlx.cast.")
RLX_ERROR(SHAPE_TEXT, 2014, RLX_INVALID_ARGUMENT, "shapes do not fit",
          "Two extents that must agree do not, or an extent or rank is not allowed.",
          "Shapes are logical: N,C,H,W for activations and O,I,H,W for weights, whatever the layout.")
RLX_ERROR(LAYOUT_TEXT, 2015, RLX_INVALID_ARGUMENT, "layout not allowed",
          "The layout is unknown, does not fit the tensor's rank, or conflicts with an operator.",
          "Leave it out: the compiler chooses. Layouts are NCHW, NHWC, OIHW, HWIO and blocked ones such as NCHW16c.")
RLX_ERROR(AFFINITY, 2016, RLX_INVALID_ARGUMENT, "memory affinity not understood",
          "A field of memory_affinity is unknown or its value malformed.",
          "Write {\"location\": \"DDR\", \"bandwidth\": \"32GB/s\", \"latency\": \"80ns\", \"coherence\": \"MESI\"}.")
RLX_ERROR(DEVICE_TEXT, 2017, RLX_INVALID_ARGUMENT, "device or sharding not understood",
          "A device is not KIND:NUMBER, or the sharding strategy is unknown or does not fit the operator.",
          "Devices are \"gpu:0\", \"cpu:0\" and so on; strategies data_parallel, tensor_parallel, pipeline_parallel.")
RLX_ERROR(SCHEDULE_TEXT, 2018, RLX_INVALID_ARGUMENT, "schedule cannot be obeyed",
          "A tile, loop order or vector dimension conflicts with the operator or with another attribute.",
          "Change it as the message says, or leave it out: then the compiler chooses.")
RLX_ERROR(SYNC_MODE, 2019, RLX_INVALID_ARGUMENT, "sync_mode missing or wrong",
          "An operator that crosses devices has no sync_mode, or an unknown one; there is no default.",
          "Write sync_mode = \"barrier\", \"async_barrier\" or \"stream_ordered\".")
RLX_ERROR(SCHEMA_VERSION, 2020, RLX_FAILED_PRECONDITION, "schema version",
          "The text has no schema version, or one that this program does not read.",
          "Write the version that the message names; `rlx dump` writes texts of the current one.")
RLX_ERROR(OUTPUTS, 2021, RLX_INVALID_ARGUMENT, "outputs not understood",
          "The module returns nothing, or something that is no tensor.", "Return a tensor, or a dictionary of names and tensors.")
RLX_ERROR(CONST_FILE, 2022, RLX_INVALID_ARGUMENT, "constant's file refused",
          "A file of data beside the text is missing, outside its folder, damaged, or not what the text says.",
          "Keep .npy, .npz and .safetensors files as plain files in the folder of the text, or below.")
RLX_ERROR(NOT_YET, 2023, RLX_UNIMPLEMENTED, "cannot be run yet",
          "The text is right, but this version cannot compile what it describes.", "Leave it out, or wait for the version that has it.")
RLX_ERROR(UNUSED, 2024, RLX_INVALID_ARGUMENT, "value not used",
          "Nothing uses the value, so it is left out.", "Return it, use it, or remove it.")
RLX_ERROR(COMMENT, 2025, RLX_INVALID_ARGUMENT, "comment looks like an attribute",
          "A comment reads like an attribute, and comments mean nothing.", "Write it as an attribute.")
RLX_ERROR(SAFETENSORS, 2026, RLX_INVALID_ARGUMENT, ".safetensors file not understood",
          "The file is damaged, or its header breaks the format's rules.", "Write it again with the safetensors library or with rlx dump.")
RLX_ERROR(NOT_FOLLOWED, 2027, RLX_UNIMPLEMENTED, "kept, but not followed",
          "The text names a memory that the target does not have, or a schedule or layout that this optimisation level does not follow.",
          "Compile with --opt-level 3 (schedules, layouts); leave the memory out, or keep it for a target that has it. Results are the same bits.")
RLX_ERROR(COHERENCE, 2028, RLX_FAILED_PRECONDITION, "incoherent memory read without a sync",
          "An operator reads a tensor whose memory has coherence \"none\", and nothing makes it wait for the writer.",
          "Give the operator a sync_mode; operators on the device that computed the tensor need none.")
RLX_ERROR(PLACEMENT, 2029, RLX_FAILED_PRECONDITION, "placement not feasible",
          "Devices or the sharding of an operator contradict each other, or do not suit it.",
          "Name every device of its tensors in target_device_set, and take a strategy along which it can be split.")
RLX_ERROR(CUSTOM_MISSING, 2030, RLX_FAILED_PRECONDITION, "code of a custom_op missing",
          "A custom_op calls a function whose source was not given, or a source was given that nothing calls.",
          "Name the source: rlx compile --custom NAME=FILE.c, or FILE.f90 with bind(C).")
RLX_ERROR(CUSTOM_CODE, 2031, RLX_INVALID_ARGUMENT, "code of a custom_op refused",
          "The source does not compile, does not define its function, calls what is not in it, or has variables that outlive a call.",
          "Write a pure function of its arguments: no libraries, no input or output, no allocation, no static variables (docs/CUSTOM.md).")
RLX_ERROR(STABILITY, 2032, RLX_INVALID_ARGUMENT, "stability_requirement cannot be kept",
          "Operands or results of the custom_op are not float64, its step size is missing, or the tolerance is below rounding.",
          "Use dtype float64 throughout, and give the step size as one scalar operand.")
RLX_ERROR(COPY_SILENT, 2033, RLX_FAILED_PRECONDITION, "copied between devices in silence",
          "A tensor is read on another device than its own, and does not say how its buffer is shared.",
          "Write its buffer_sharing_capability; \"none\" says that the copy is meant.")
RLX_ERROR(TILE_REFUSED, 2034, RLX_FAILED_PRECONDITION, "tile cannot be obeyed",
          "The operator's kernel cannot cut its work into tiles of that size: the message names the rule.",
          "Take a size that the rule allows, or leave tile_layout out: the compiler chooses.")
RLX_ERROR(VECTORIZE_REFUSED, 2035, RLX_FAILED_PRECONDITION, "dimension cannot be vectorised",
          "Vector lanes hold neighbours in memory; the named dimension is none, or the operator's algorithm needs others.",
          "Take a dimension that the message names, or leave vectorize_dim out.")
RLX_ERROR(PARALLEL_REFUSED, 2036, RLX_FAILED_PRECONDITION, "threads cannot be spread so",
          "Threads take whole tiles of the operator's kernel; the named dimensions are not those that its tiles divide.",
          "Name the dimensions of the message, or leave parallel_dims out.")
RLX_ERROR(LOOP_ORDER_REFUSED, 2037, RLX_FAILED_PRECONDITION, "loops cannot be ordered so",
          "The operator's kernel has no nest of loops in that order, or it would change the order of a sum.",
          "Order the loops as in the message, or leave loop_order out.")
RLX_ERROR(UNROLL_REFUSED, 2038, RLX_FAILED_PRECONDITION, "loop cannot be unrolled so",
          "The unrolled loops would not fit the registers, do not divide the tile, or the kernel chooses its register tile itself.",
          "Take a factor that the message allows, or leave unroll out.")
RLX_ERROR(LAYOUT_REFUSED, 2039, RLX_FAILED_PRECONDITION, "layout cannot be obeyed",
          "No buffer of this version can have that physical order, or the kernel that reads the constant needs another.",
          "Take a layout that the message names, or leave it out: the compiler chooses.")
RLX_ERROR(COALESCE_REFUSED, 2040, RLX_FAILED_PRECONDITION, "accesses cannot be merged so",
          "The operator's kernel merges its accesses in another way.", "Take a word of the message, or leave memory_coalesce out.")
RLX_ERROR(GOSSIP_BROKEN, 2101, RLX_INVALID_ARGUMENT, "message of the state service not understood",
          "A node or replica sent bytes that are malformed or above a bound of the protocol.",
          "Look for a foreign program on the port, or for a version that does not fit; the connection was closed.")
RLX_ERROR(GSS_SNAPSHOT_BROKEN, 2102, RLX_DATA_LOSS, "snapshot of the state service damaged",
          "The file does not match its digest or cannot be read.",
          "Check the disk; the other generation or the other replicas have the state: move the file away and start again.")
RLX_ERROR(GSS_SNAPSHOT_NEWER, 2103, RLX_FAILED_PRECONDITION, "snapshot of a newer version",
          "A newer rlx-gss has written the state on this disk; reading it with this one would lose what it does not know.",
          "Install the newer version again, or move the file away: the other replicas have the state.")
