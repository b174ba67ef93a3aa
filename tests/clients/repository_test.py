"""The repository: index, load, unload, replace; readiness while that goes on (B205, B206)."""
import threading

import grpc
import numpy
import tritonclient.grpc as triton
from tritonclient.grpc import service_pb2, service_pb2_grpc

from harness import MODELS, bundles, expect_error, test
from rlxd import Rlxd

A = numpy.arange(8, dtype=numpy.float32).reshape(2, 4)


def inputs():
    entries = [triton.InferInput(name, [2, 4], "FP32") for name in ("a", "b")]
    for entry in entries:
        entry.set_data_from_numpy(A)
    return entries


def index(c):
    return {entry.name: entry.state for entry in c.get_model_repository_index().models}


@test
def unload_and_load_change_readiness_and_the_index():
    """B205: the status code, or the field of the gRPC answer, says so."""
    with Rlxd(bundles("sum", "plus")) as own, triton.InferenceServerClient(own.url) as c:
        assert index(c) == {"sum": "READY", "plus": "READY"}
        assert own.get("/v2/models/sum/ready")[0] == 200
        c.unload_model("sum")
        assert not c.is_model_ready("sum")
        assert own.get("/v2/models/sum/ready")[0] in (400, 404, 503)
        assert index(c).get("sum") != "READY" and index(c)["plus"] == "READY"
        expect_error(lambda: c.infer("sum", inputs()), "NOT_FOUND", "sum")
        assert c.is_model_ready("plus")
        c.load_model("sum")
        assert c.is_model_ready("sum") and own.get("/v2/models/sum/ready")[0] == 200
        assert (c.infer("sum", inputs()).as_numpy("total") == 2 * A).all()
        expect_error(lambda: c.load_model("nobody"), "NOT_FOUND", "nobody")
        expect_error(lambda: c.unload_model("nobody"), "NOT_FOUND", "nobody")


@test
def parameters_of_a_load_are_refused_clearly():
    with Rlxd(bundles("sum")) as own, triton.InferenceServerClient(own.url) as c:
        expect_error(lambda: c.load_model("sum", config="{}"), "UNIMPLEMENTED", "RLX-1622", "config")
        expect_error(lambda: c.load_model("sum", config="{}", files={"file:1/model.onnx": b"x" * 10}), "UNIMPLEMENTED", "RLX-1622")
        with grpc.insecure_channel(own.url) as channel:
            stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
            request = service_pb2.RepositoryModelLoadRequest(model_name="sum")
            request.parameters["file:1/model.onnx"].bytes_param = b"x" * 1000
            expect_error(lambda: stub.RepositoryModelLoad(request), "UNIMPLEMENTED", "repository folder")
            request.parameters["file:1/model.onnx"].bytes_param = b"x" * (2 << 20)
            expect_error(lambda: stub.RepositoryModelLoad(request), "RESOURCE_EXHAUSTED", "1048576", "repository folder")
            other = service_pb2.RepositoryIndexRequest(repository_name="other")
            expect_error(lambda: stub.RepositoryIndex(other), "UNIMPLEMENTED", "repository_name")
        assert c.is_model_ready("sum")


@test
def a_model_is_replaced_under_traffic_and_a_bad_one_never_takes_over():
    stop = threading.Event()
    totals, errors = set(), []

    def traffic(url):
        with triton.InferenceServerClient(url) as c:
            while not stop.is_set():
                try:
                    totals.add(float(c.infer("sum", inputs()).as_numpy("total")[0, 1]))
                except Exception as error:  # reported below
                    errors.append(error)

    with Rlxd(bundles("sum")) as own, triton.InferenceServerClient(own.url) as c:
        threads = [threading.Thread(target=traffic, args=(own.url,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        own.add("sum", MODELS / "sum2.rlxb")
        c.load_model("sum")
        assert c.infer("sum", inputs()).as_numpy("total")[0, 1] == 3
        broken = own.folder / "broken.rlxb"
        data = bytearray((MODELS / "sum.rlxb").read_bytes())
        data[5000] ^= 1
        broken.write_bytes(data)
        own.add("sum", broken)
        expect_error(lambda: c.load_model("sum"), "DATA_LOSS", "RLX-13")
        assert c.infer("sum", inputs()).as_numpy("total")[0, 1] == 3
        stop.set()
        for thread in threads:
            thread.join()
    assert not errors, errors[0]
    assert totals == {2.0, 3.0}, totals


@test
def statistics_of_a_version_go_on_when_its_bundle_is_replaced_or_loaded_again():
    """Monitoring reads them as counters: they never go back while the daemon runs, and requests of the replaced bundle count too."""
    with Rlxd(bundles("sum")) as own, triton.InferenceServerClient(own.url) as c:
        def counted():
            stats = c.get_inference_statistics("sum").model_stats
            assert [entry.version for entry in stats] == ["1"], stats
            text = own.get("/metrics")[1].decode()
            line = next(line for line in text.splitlines() if line.startswith("rlx_model_requests_total{") and 'result="success"' in line)
            assert int(line.split()[-1]) == stats[0].inference_stats.success.count, line
            return stats[0].inference_stats.success.count, stats[0].inference_count, stats[0].execution_count

        def ask(times):
            return [float(c.infer("sum", inputs()).as_numpy("total")[0, 1]) for _ in range(times)]

        assert ask(3) == [2.0] * 3
        assert counted()[0] == 3
        own.add("sum", MODELS / "sum2.rlxb")
        c.load_model("sum")
        assert counted()[0] == 3, "replacing began anew"
        assert ask(2) == [3.0] * 2
        assert counted()[0] == 5
        c.unload_model("sum")
        c.load_model("sum")
        assert counted()[0] == 5, "loading again began anew"
        assert ask(1) == [3.0]
        assert counted()[0] == 6


@test
def others_stay_ready_while_a_model_loads():
    """B206"""
    stop = threading.Event()
    seen = set()

    def poll(url):
        with triton.InferenceServerClient(url) as c:
            while not stop.is_set():
                seen.add((c.is_server_live(), c.is_model_ready("plus")))

    with Rlxd(bundles("plus")) as own, triton.InferenceServerClient(own.url) as c:
        thread = threading.Thread(target=poll, args=(own.url,))
        thread.start()
        own.add("slow", MODELS / "slow.rlxb")
        for _ in range(3):
            c.load_model("slow")
            c.unload_model("slow")
        stop.set()
        thread.join()
    assert seen == {(True, True)}, seen
