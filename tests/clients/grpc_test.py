"""tritonclient over gRPC: every call of the service, and what wrong requests are told."""
import queue

import numpy
import tritonclient.grpc as triton
from tritonclient.grpc import service_pb2, service_pb2_grpc
import grpc

from harness import expect_error, test

A = numpy.arange(8, dtype=numpy.float32).reshape(2, 4)
B = numpy.full((2, 4), 0.5, dtype=numpy.float32)
NUMPY = {"BOOL": numpy.bool_, "INT8": numpy.int8, "INT16": numpy.int16, "INT32": numpy.int32, "INT64": numpy.int64, "UINT8": numpy.uint8,
         "UINT16": numpy.uint16, "UINT32": numpy.uint32, "UINT64": numpy.uint64, "FP16": numpy.float16, "FP32": numpy.float32,
         "FP64": numpy.float64}


def client(server):
    return triton.InferenceServerClient(server.url)


def tensor(name, array, datatype=None):
    entry = triton.InferInput(name, list(array.shape), datatype or next(d for d, t in NUMPY.items() if t == array.dtype.type))
    if datatype is None:
        entry.set_data_from_numpy(array)
    return entry


def both(a=A, b=B):
    return [tensor("a", a), tensor("b", b)]


@test
def live_ready_and_metadata(server):
    with client(server) as c:
        assert c.is_server_live() and c.is_server_ready()
        assert c.is_model_ready("sum") and c.is_model_ready("sum", "1")
        assert not c.is_model_ready("sum", "9") and not c.is_model_ready("nobody")
        about = c.get_server_metadata()
        assert about.name == "rlx" and about.version
        wanted = {"binary_tensor_data", "model_configuration", "model_repository", "statistics", "system_shared_memory"}
        assert wanted <= set(about.extensions)
        model = c.get_model_metadata("sum")
        assert model.name == "sum" and list(model.versions) == ["1"]
        assert [(i.name, i.datatype, list(i.shape)) for i in model.inputs] == [("a", "FP32", [-1, 4]), ("b", "FP32", [-1, 4])]
        assert [o.name for o in model.outputs] == ["total", "difference"]


@test
def model_config_in_the_form_that_load_generators_read(server):
    with client(server) as c:
        config = c.get_model_config("sum").config
        batched = config.max_batch_size > 0
        assert config.name == "sum" and config.HasField("dynamic_batching") == batched
        assert list(config.input[0].dims) == ([4] if batched else [-1, 4])
        assert [int(i.data_type) for i in config.input] == [11, 11]
        assert not config.model_transaction_policy.decoupled
        plain = c.get_model_config("slow").config
        assert plain.max_batch_size == 0 and list(plain.input[0].dims) == [512, 512] and not plain.HasField("dynamic_batching")


@test
def inference_of_all_or_some_outputs(server):
    with client(server) as c:
        answer = c.infer("sum", both(), request_id="seven")
        assert (answer.as_numpy("total") == A + B).all() and (answer.as_numpy("difference") == A - B).all()
        response = answer.get_response()
        assert response.id == "seven" and response.model_name == "sum" and response.model_version == "1"
        assert response.parameters["rlx_device"].string_param.endswith("cpu:0")
        assert response.parameters["rlx_kernel_ns"].int64_param > 0 and response.parameters["rlx_queue_ns"].int64_param >= 0
        answer = c.infer("sum", both(), outputs=[triton.InferRequestedOutput("difference")])
        assert answer.as_numpy("total") is None and (answer.as_numpy("difference") == A - B).all()
        reordered = [triton.InferRequestedOutput("difference"), triton.InferRequestedOutput("total")]
        answer = c.infer("sum", both()[::-1], outputs=reordered)
        assert (answer.as_numpy("total") == A + B).all() and (answer.as_numpy("difference") == A - B).all()


@test
def every_type_goes_there_and_back(server):
    with client(server) as c:
        for datatype, kind in NUMPY.items():
            x = numpy.array([0, 1, 1], dtype=kind) if kind == numpy.bool_ else numpy.array([0, 1, 100], dtype=kind)
            answer = c.infer(f"twice_{datatype}", [tensor("x", x)])
            assert answer.as_numpy("y").dtype == x.dtype, datatype
            assert (answer.as_numpy("y") == numpy.concatenate([x, x])).all(), datatype


@test
def typed_contents_give_the_same_bits(server):
    with grpc.insecure_channel(server.url) as channel:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        for datatype, field, values in (("FP32", "fp32_contents", [1.5, -2]), ("INT8", "int_contents", [-128, 127]),
                                        ("BOOL", "bool_contents", [1, 0]), ("UINT64", "uint64_contents", [2**64 - 1, 3]),
                                        ("INT64", "int64_contents", [-1, 2**40]),
                                        ("UINT16", "uint_contents", [65535, 0]), ("FP64", "fp64_contents", [0.1, 2])):
            request = service_pb2.ModelInferRequest(model_name=f"twice_{datatype}")
            entry = request.inputs.add(name="x", datatype=datatype, shape=[2])
            getattr(entry.contents, field).extend(values)
            raw = stub.ModelInfer(request).raw_output_contents[0]
            assert raw == numpy.array(values * 2, dtype=NUMPY[datatype]).tobytes(), datatype


@test
def wrong_requests_get_the_right_status_and_a_hint(server):
    wrong_name = [tensor("a", A), tensor("c", B)]
    wrong_type = [tensor("a", A.astype(numpy.int32)), tensor("b", B)]
    wrong_output = [triton.InferRequestedOutput("z")]
    classes = [triton.InferRequestedOutput("total", class_count=2)]
    with client(server) as c:
        expect_error(lambda: c.infer("nobody", both()), "NOT_FOUND", "RLX-1603", "nobody")
        expect_error(lambda: c.infer("sum", both(), model_version="9"), "NOT_FOUND", "RLX-1603", "9")
        expect_error(lambda: c.infer("sum", wrong_name), "INVALID_ARGUMENT", "RLX-1401", "'c'")
        expect_error(lambda: c.infer("sum", both()[:1]), "INVALID_ARGUMENT", "RLX-1401", "b")
        expect_error(lambda: c.infer("sum", wrong_type), "INVALID_ARGUMENT", "RLX-1403", "'a'", "FP32")
        expect_error(lambda: c.infer("sum", both(A.reshape(4, 2))), "INVALID_ARGUMENT", "RLX-1402", "'a'")
        expect_error(lambda: c.infer("sum", both(A.reshape(8))), "INVALID_ARGUMENT", "RLX-1402", "'a'")
        expect_error(lambda: c.infer("sum", both(A[:1])), "INVALID_ARGUMENT", "RLX-1402")
        expect_error(lambda: c.infer("sum", both(numpy.zeros((9, 4), numpy.float32), numpy.zeros((9, 4), numpy.float32))),
                     "RESOURCE_EXHAUSTED", "RLX-1404", "9", "8")
        expect_error(lambda: c.infer("sum", both(), outputs=wrong_output), "INVALID_ARGUMENT", "RLX-1617", "'z'", "total")
        expect_error(lambda: c.infer("sum", both(), outputs=classes), "UNIMPLEMENTED", "RLX-1622")
        text = numpy.array([b"a", b"b"], dtype=object)
        entry = triton.InferInput("x", [2], "BYTES")
        entry.set_data_from_numpy(text)
        expect_error(lambda: c.infer("twice_FP32", [entry]), "INVALID_ARGUMENT", "'x'")
        assert (c.infer("sum", both()).as_numpy("total") == A + B).all()


@test
def raw_and_typed_contents_must_not_mix_and_counts_must_match(server):
    """B215"""
    def request(**changes):
        message = service_pb2.ModelInferRequest(model_name="sum")
        for name in ("a", "b"):
            message.inputs.add(name=name, datatype="FP32", shape=[2, 4])
        message.raw_input_contents.extend([A.tobytes(), B.tobytes()])
        for change in changes.values():
            change(message)
        return message

    def cut(message):
        del message.raw_input_contents[1:]

    def more(message):
        message.raw_input_contents.append(B.tobytes())

    def short(message):
        message.raw_input_contents[1] = B.tobytes()[:-1]

    def mixed(message):
        message.inputs[0].contents.fp32_contents.extend(A.flatten())

    def half(message):
        del message.raw_input_contents[:]
        for entry in message.inputs:
            entry.datatype = "FP16"
            entry.contents.fp32_contents.extend(A.flatten())

    def lengths(message):
        del message.raw_input_contents[:]
        message.inputs[0].contents.fp32_contents.extend(A.flatten()[:7])
        message.inputs[1].contents.fp32_contents.extend(B.flatten())

    with grpc.insecure_channel(server.url) as channel:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        expect_error(lambda: stub.ModelInfer(request(change=cut)), "INVALID_ARGUMENT", "'b'", "1 entries")
        expect_error(lambda: stub.ModelInfer(request(change=more)), "INVALID_ARGUMENT", "3 entries", "'b'")
        expect_error(lambda: stub.ModelInfer(request(change=short)), "INVALID_ARGUMENT", "'b'", "31", "32")
        expect_error(lambda: stub.ModelInfer(request(change=mixed)), "INVALID_ARGUMENT", "'a'", "raw_input_contents")
        expect_error(lambda: stub.ModelInfer(request(change=half)), "INVALID_ARGUMENT", "'a'")
        expect_error(lambda: stub.ModelInfer(request(change=lengths)), "INVALID_ARGUMENT", "'a'", "7", "8")
        assert stub.ModelInfer(request()).raw_output_contents[0] == (A + B).tobytes()


@test
def a_stream_answers_each_request_and_survives_errors(server):
    answers = queue.Queue()
    with client(server) as c:
        c.start_stream(callback=lambda result, error: answers.put((result, error)))
        for i in range(20):
            c.async_stream_infer("nobody" if i == 7 else "sum", both(A + i), request_id=str(i))
        got = [answers.get(timeout=30) for _ in range(20)]
        c.stop_stream()
    errors = [error for _, error in got if error is not None]
    assert len(errors) == 1 and "RLX-1603" in str(errors[0]) and "nobody" in str(errors[0]), errors
    ids = set()
    for result, error in got:
        if error is None:
            i = int(result.get_response().id)
            ids.add(i)
            assert (result.as_numpy("total") == A + i + B).all()
    assert ids == set(range(20)) - {7}


@test
def a_stream_of_many_small_requests_loses_none(server):
    def requests():
        for i in range(3000):
            message = service_pb2.ModelInferRequest(model_name="twice_INT32", id=str(i))
            message.inputs.add(name="x", datatype="INT32", shape=[1])
            message.raw_input_contents.append(int(i).to_bytes(4, "little"))
            yield message

    with grpc.insecure_channel(server.url) as channel:
        seen = set()
        for answer in service_pb2_grpc.GRPCInferenceServiceStub(channel).ModelStreamInfer(requests()):
            assert answer.error_message == "", answer.error_message
            assert answer.infer_response.raw_output_contents[0] == int(answer.infer_response.id).to_bytes(4, "little") * 2
            assert answer.infer_response.parameters["triton_final_response"].bool_param
            seen.add(answer.infer_response.id)
        assert len(seen) == 3000


@test
def statistics_count_every_request_once(server):
    """B209"""
    def figures(c):
        entry = c.get_inference_statistics("twice_UINT8").model_stats[0]
        stats = entry.inference_stats
        return stats.success.count, stats.fail.count, entry.inference_count, entry.execution_count

    x = numpy.zeros(4, numpy.uint8)
    with client(server) as c:
        before = figures(c)
        for _ in range(5):
            c.infer("twice_UINT8", [tensor("x", x)])
        for _ in range(3):
            expect_error(lambda: c.infer("twice_UINT8", [tensor("x", x.astype(numpy.int8))]), "INVALID_ARGUMENT")
        after = figures(c)
        assert after[0] - before[0] == 5 and after[1] - before[1] == 3, (before, after)
        assert after[2] - before[2] == 5 and 1 <= after[3] - before[3] <= 5
        assert {entry.name for entry in c.get_inference_statistics().model_stats} >= {"sum", "slow", "plus"}
        expect_error(lambda: c.get_inference_statistics("nobody"), "NOT_FOUND", "nobody")


@test
def messages_around_4_mib_and_above_the_limit(server):
    """B213: 4 MiB is no border here; 128 MiB is, and its refusal names both numbers."""
    options = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]
    with triton.InferenceServerClient(server.url, channel_args=options) as c:
        for count in ((4 << 20) // 4 - 1, (4 << 20) // 4, (4 << 20) // 4 + 1, (64 << 20) // 4):
            x = numpy.arange(count, dtype=numpy.float32)
            assert (c.infer("plus", [tensor("x", x)]).as_numpy("y") == x + 1).all()
        x = numpy.zeros((128 << 20) // 4 + 1, numpy.float32)
        expect_error(lambda: c.infer("plus", [tensor("x", x)]), "RESOURCE_EXHAUSTED", str(128 << 20))
        assert c.is_server_live()


@test
def what_this_server_does_not_have_is_said(server):
    with client(server) as c:
        expect_error(c.get_cuda_shared_memory_status, "UNIMPLEMENTED", "RLX-1622", "system shared memory")
        expect_error(lambda: c.update_trace_settings("sum", {"trace_level": ["TIMESTAMPS"]}), "UNIMPLEMENTED", "--profiling")
        expect_error(c.get_trace_settings, "UNIMPLEMENTED", "RLX-1622")
        expect_error(c.get_log_settings, "UNIMPLEMENTED", "RLX-1622")
    with grpc.insecure_channel(server.url) as channel:
        unknown = channel.unary_unary("/inference.GRPCInferenceService/Nothing")
        expect_error(lambda: unknown(b""), "UNIMPLEMENTED", "RLX-1611")
        broken = channel.unary_unary("/inference.GRPCInferenceService/ModelInfer")
        expect_error(lambda: broken(b"\xff\xff\xff\xff"), "INVALID_ARGUMENT", "RLX-1609", "ModelInferRequest")
        broken = channel.unary_unary("/inference.GRPCInferenceService/ModelReady")
        expect_error(lambda: broken(b"\x0a\x7f"), "INVALID_ARGUMENT", "RLX-1609")
