"""The end of a daemon, and workers that hang (B207, B217)."""
import ctypes
import os
import pathlib
import signal
import time
import urllib.error
import urllib.request

import grpc
import numpy
from tritonclient.grpc import service_pb2, service_pb2_grpc

from suite import MODELS, Skip, bundles, metrics, say, status, test, until
from change_test import pair
from rlxd import Rlxd
from storm import Storm

EYE = numpy.eye(512, dtype=numpy.float32)


def slow_request():
    request = service_pb2.ModelInferRequest(model_name="slow")
    request.inputs.add(name="x", datatype="FP32", shape=[512, 512])
    request.raw_input_contents.append(EYE.tobytes())
    return request


@test
def sigterm_turns_ready_off_at_once_finishes_what_was_accepted_and_refuses_the_rest_retryably():
    """B207: one runs, two wait, then a new one every 20 ms by gRPC and REST; on old connections and on new ones."""
    with Rlxd({"slow": MODELS / "slow.rlxb", "sum": MODELS / "sum.rlxb"}, words=["--workers", "1"]) as server:
        channel = grpc.insecure_channel(server.url)
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        accepted = [stub.ModelInfer.future(slow_request()) for _ in range(3)]
        until(lambda: metrics(server)["rlx_requests_submitted_total"] == 3 and metrics(server)["rlx_workers_busy"] == 1, "one runs, two wait")
        server.signal(signal.SIGTERM)
        began = time.monotonic()
        until(lambda: server.get("/readyz")[0] == 503, "ready turns 503")
        turned = time.monotonic() - began
        codes, rest, health = [], [], []
        while not accepted[-1].done():
            try:
                stub.ModelInfer(slow_request(), timeout=30)
                codes.append("OK")
            except grpc.RpcError as error:
                codes.append(error.code().name)
            try:
                rest.append(post(server, "/v2/models/slow/infer"))
                health.append((server.get("/readyz")[0], server.get("/healthz")[0]))
            except OSError:  # it has just ended
                break
            time.sleep(0.02)
        bits = {future.result(timeout=60).raw_output_contents[0] for future in accepted}
        channel.close()
        say(f"ready off after {turned * 1000:.1f} ms; while draining: gRPC {sorted(set(codes))} of {len(codes)}, REST {sorted(set(rest))} of {len(rest)}")
        assert len(bits) == 1
        assert server.wait(30) == 0
        assert set(codes) == {"UNAVAILABLE"}, set(codes)
        assert set(rest) == {503}, set(rest)
        assert set(health) == {(503, 200)}, health


def post(server, path):
    body = b'{"inputs":[{"name":"x","datatype":"FP32","shape":[512,512],"data":[%s]}]}' % b",".join([b"0"] * (512 * 512))
    try:
        with urllib.request.urlopen(urllib.request.Request(f"http://{server.url}{path}", data=body), timeout=30) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


@test
def a_worker_that_hangs_turns_ready_off_until_it_goes_on():
    """B217: a run that makes no progress, since its thread was stopped from outside, is seen by its age."""
    with Rlxd(bundles("slow", "sum"), words=["--workers", "1", "--set", "scheduling.progress_timeout=1s"]) as server:
        tasks = pathlib.Path(f"/proc/{server.process.pid}/task")
        worker = next(int(task.name) for task in tasks.iterdir() if (task / "comm").read_text().startswith("rlx-worker"))
        channel = grpc.insecure_channel(server.url)
        future = service_pb2_grpc.GRPCInferenceServiceStub(channel).ModelInfer.future(slow_request())
        until(lambda: metrics(server)["rlx_workers_busy"] == 1, "it runs")
        freeze(worker)
        try:
            until(lambda: server.get("/readyz")[0] == 503, "ready turns off", 5)
            assert server.get("/healthz")[0] == 200
            state = status(server)
            assert not state["ready"] and state["reason"], state
            say(f"not ready: {state['reason']}")
        finally:
            thaw(worker)
        future.result(timeout=60)
        channel.close()
        until(lambda: server.get("/readyz")[0] == 200, "ready again", 5)
        storm = Storm(server.port, [pair("sum")], fates={"whole": 1}, connections=1)
        storm.run(10)
        storm.close()


LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
SEIZE, INTERRUPT, DETACH, WALL = 0x4206, 0x4207, 17, 0x40000000


def freeze(thread):
    """A stop signal stops whole processes, so the thread alone is held as a debugger does it."""
    for call in (SEIZE, INTERRUPT):
        if LIBC.ptrace(call, thread, None, None) != 0:
            raise Skip(f"ptrace: {os.strerror(ctypes.get_errno())}")


def thaw(thread):
    os.waitpid(thread, WALL)
    LIBC.ptrace(DETACH, thread, None, None)
