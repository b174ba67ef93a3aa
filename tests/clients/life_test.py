"""Deadlines, cancellation, and the end of a server (B207, B208)."""
import concurrent.futures
import signal
import time

import grpc
import numpy
import tritonclient.grpc as triton
from tritonclient.grpc import service_pb2, service_pb2_grpc

from harness import bundles, test, until
from rlxd import Rlxd

EYE = numpy.eye(512, dtype=numpy.float32)


def slow_inputs():
    entry = triton.InferInput("x", [512, 512], "FP32")
    entry.set_data_from_numpy(EYE)
    return [entry]


def slow_request():
    request = service_pb2.ModelInferRequest(model_name="slow")
    request.inputs.add(name="x", datatype="FP32", shape=[512, 512])
    request.raw_input_contents.append(EYE.tobytes())
    return request


def counts(c):
    stats = c.get_inference_statistics("slow").model_stats[0]
    return stats.inference_stats.success.count, stats.inference_stats.fail.count, stats.execution_count


@test
def what_nobody_waits_for_is_not_run():
    """B208: behind a busy worker, requests whose client gives up or goes are dropped, counted once, and never run."""
    with Rlxd(bundles("slow"), words=["--workers", "1"]) as own, triton.InferenceServerClient(own.url) as c:
        c.infer("slow", slow_inputs())  # the cost is known from here on
        before = counts(c)
        channel = grpc.insecure_channel(own.url)
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        other = grpc.insecure_channel(own.url, options=[("grpc.use_local_subchannel_pool", 1)])
        gone = service_pb2_grpc.GRPCInferenceServiceStub(other)
        running = stub.ModelInfer.future(slow_request())
        time.sleep(0.05)
        began = time.monotonic()
        try:
            stub.ModelInfer(slow_request(), timeout=0.1)
            raise AssertionError("answered")
        except grpc.RpcError as error:
            text = error.details()
            assert error.code() in (grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.RESOURCE_EXHAUSTED), text
        assert time.monotonic() - began < 1
        cancelled = stub.ModelInfer.future(slow_request())
        vanished = gone.ModelInfer.future(slow_request())
        time.sleep(0.1)
        cancelled.cancel()
        other.close()
        assert vanished.cancelled() or vanished.exception() is not None
        running.result(timeout=60)
        stub.ModelInfer(slow_request(), timeout=60)
        until(lambda: counts(c)[1] - before[1] == 3, f"3 failures, {before} -> {counts(c)}")
        after = counts(c)
        assert after[0] - before[0] == 2 and after[2] - before[2] == 2, (before, after)
        channel.close()


@test
def a_running_request_is_stopped_by_its_client():
    with Rlxd(bundles("slow"), words=["--workers", "1"]) as own, triton.InferenceServerClient(own.url) as c:
        began = time.monotonic()
        c.infer("slow", slow_inputs())
        alone = time.monotonic() - began
        with grpc.insecure_channel(own.url) as channel:
            future = service_pb2_grpc.GRPCInferenceServiceStub(channel).ModelInfer.future(slow_request())
            time.sleep(alone / 10)
            future.cancel()
            began = time.monotonic()
            c.infer("slow", slow_inputs())
            waited = time.monotonic() - began
        # Had it run to its end, the next one would have waited for nearly the whole of it.
        assert waited < 1.7 * alone, (alone, waited)


@test
def a_server_that_stops_finishes_and_refuses_retryably():
    """B207"""
    with Rlxd(bundles("slow"), words=["--workers", "1"]) as own:
        channel = grpc.insecure_channel(own.url)
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        accepted = [stub.ModelInfer.future(slow_request()) for _ in range(3)]
        with triton.InferenceServerClient(own.url) as c:
            until(lambda: own.get("/v2/health/live")[0] == 200, "live")
            time.sleep(0.3)
            assert c.is_server_ready()
        own.signal(signal.SIGTERM)
        refusals = []
        for _ in range(20):
            try:
                stub.ModelInfer(slow_request(), timeout=30)
            except grpc.RpcError as error:
                refusals.append(error)
            time.sleep(0.02)
        expected = accepted[0].result(timeout=60).raw_output_contents[0]
        for future in accepted[1:]:
            assert future.result(timeout=60).raw_output_contents[0] == expected
        assert refusals
        assert all(error.code() == grpc.StatusCode.UNAVAILABLE for error in refusals), [(e.code(), e.details()) for e in refusals]
        channel.close()
        assert own.wait() == 0
        assert own.process.poll() == 0


@test
def concurrent_clients_get_the_bits_of_a_lone_one(server):
    rng = numpy.random.default_rng(3)
    data = [rng.standard_normal((1 + i % 8, 4)).astype(numpy.float32) for i in range(64)]

    def call(x):
        with triton.InferenceServerClient(server.url) as c:
            entries = [triton.InferInput(name, list(x.shape), "FP32") for name in ("a", "b")]
            entries[0].set_data_from_numpy(x)
            entries[1].set_data_from_numpy(x * 3)
            return c.infer("sum", entries).as_numpy("total").tobytes()

    alone = [call(x) for x in data]
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        assert list(pool.map(call, data)) == alone


@test
def refusals_of_a_full_queue_come_at_once_and_are_counted():
    """B209: each request is answered once and counted once."""
    with Rlxd(bundles("slow"), words=["--workers", "1", "--queue", "2"]) as own, triton.InferenceServerClient(own.url) as c:
        c.infer("slow", slow_inputs())
        before = counts(c)
        with grpc.insecure_channel(own.url) as channel:
            stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
            futures = [stub.ModelInfer.future(slow_request()) for _ in range(8)]
            codes = [future.exception(timeout=60) for future in futures]
        good = sum(code is None for code in codes)
        full = [error for error in codes if error is not None]
        assert full and all(error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED and "RLX-1409" in error.details() for error in full), full
        after = counts(c)
        assert (after[0] - before[0], after[1] - before[1]) == (good, len(full)), (before, after, good)
