"""rlx_client (Python) against real servers: types, scalars, errors, endpoints that die and come back, limits, threads, asyncio."""
import asyncio
import gc
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np

import sdk
from harness import bundles, test, until
from rlxd import Rlxd

import rlx_client  # after sdk, which says where it is

A = np.arange(8, dtype=np.float32).reshape(2, 4)
B = np.full((2, 4), 0.5, dtype=np.float32)


def client_of(*servers, **options):
    return rlx_client.RLXClient([f"http://{server.url}" for server in servers], **{"timeout": 20, **options})


def raises(kind, call, *words, code=None):
    try:
        call()
    except kind as error:
        for word in words:
            assert word in str(error), f"'{word}' is not in: {error}"
        assert code is None or error.code == code, error
        return error
    raise AssertionError(f"no {kind.__name__}")


@test
def every_type_goes_and_comes_back(server):
    with client_of(server) as client:
        for name, dtype in (("BOOL", "bool"), ("INT8", "int8"), ("INT16", "int16"), ("INT32", "int32"), ("INT64", "int64"), ("UINT8", "uint8"),
                            ("UINT16", "uint16"), ("UINT32", "uint32"), ("UINT64", "uint64"), ("FP16", "float16"), ("FP32", "float32"),
                            ("FP64", "float64")):
            x = (np.arange(300) % 2).astype(dtype)
            y = client.infer(f"twice_{name}", {"x": x})["y"]
            assert y.dtype == x.dtype, name
            assert (y == np.concatenate([x, x])).all(), name


@test
def arrays_of_any_layout_are_sent_as_their_values(server):
    with client_of(server) as client:
        for a in (A.T.copy().T, A[:, ::-1], np.asfortranarray(A), A.astype(">f4"), np.broadcast_to(np.float32(3), (2, 4))):
            result = client.infer("sum", {"a": a, "b": B})
            assert (result["total"] == a + B).all()
            assert (result["difference"] == a - B).all()


@test
def python_numbers_take_the_type_of_the_model(server):
    with client_of(server) as client:
        assert client.infer("plus", {"x": [1, 2, 3]})["y"].tolist() == [2, 3, 4]
        assert client.infer("twice_INT64", {"x": [True, False]})["y"].dtype == np.int64
        assert client.infer("plus", {"x": np.float32([1.5])})["y"].tolist() == [2.5]
        # A scalar is rank 0: refused here because of its rank, not of its type.
        raises(rlx_client.InvalidArgument, lambda: client.infer("plus", {"x": 3.5}), "'x'", code=1402)
        raises(rlx_client.InvalidArgument, lambda: client.infer("plus", {"x": np.float64([1])}), "FP64", code=1403)


@test
def scalars_are_mixed_with_arrays(server):
    with client_of(server) as client:
        x = np.arange(4, dtype=np.float32)
        for factor, offset in ((2.0, 1), (np.float32(2), np.int64(1)), (2, True), (np.array(2, np.float32), 1)):
            assert client.infer("scaled", {"x": x, "factor": factor, "offset": offset})["y"].tolist() == [1, 3, 5, 7]
        raises(rlx_client.InvalidArgument, lambda: client.infer("scaled", {"x": x, "factor": [2.0], "offset": 1}), "factor", code=1402)


@test
def the_result_is_a_mapping_that_says_who_served_it(server):
    with client_of(server) as client:
        result = client.infer("sum", {"a": A, "b": B}, schedule_hint={"preferred_devices": ["cuda:0"], "output_location": "cpu:0"},
                              request_id="seven")
        assert list(result) == ["total", "difference"]
        assert len(result) == 2
        assert result.device.endswith("cpu:0")
        assert result.model_version == "1"
        assert result.id == "seven"
        assert result.endpoint == f"http://{server.url}"
        assert result.kernel_ns > 0
        raises(KeyError, lambda: result["nope"], "total, difference")
        assert list(client.infer("sum", {"a": A, "b": B}, outputs=["difference"])) == ["difference"]


@test
def results_outlive_their_client_and_are_not_copied(server):
    client = client_of(server)
    x = np.random.default_rng(1).standard_normal(100000).astype(np.float32)
    first = client.infer("plus", {"x": x})["y"]
    kept = [client.infer("plus", {"x": x + i})["y"] for i in range(5)]
    client.close()
    del client
    gc.collect()
    assert (first == x + 1).all()
    assert all((y == x + i + 1).all() for i, y in enumerate(kept))
    assert first.base is not None


@test
def outputs_are_written_into_given_arrays(server):
    with client_of(server) as client:
        x, y = np.arange(1000, dtype=np.float32), np.zeros(1000, np.float32)
        assert client.infer("plus", {"x": x}, outputs={"y": y})["y"] is y
        assert (y == x + 1).all()
        raises(rlx_client.RLXError, lambda: client.infer("plus", {"x": x}, outputs={"y": np.zeros(999, np.float32)}), "4000", "3996", code=1613)
        raises(rlx_client.RLXError, lambda: client.infer("plus", {"x": x}, outputs={"y": np.zeros(2000, np.float32)[::2]}), "contiguous")
        assert (client.infer("plus", {"x": x})["y"] == x + 1).all()


@test
def errors_are_classes_with_the_code_of_the_server(server):
    with client_of(server) as client:
        raises(rlx_client.NotFound, lambda: client.infer("nope", {"x": A}), "nope", "sum", code=1603)
        raises(rlx_client.InvalidArgument, lambda: client.infer("sum", {"a": A}), code=1401)
        raises(rlx_client.InvalidArgument, lambda: client.infer("sum", {"a": A, "b": B[:, :3]}), code=1402)
        raises(rlx_client.ResourceExhausted, lambda: client.infer("sum", {"a": np.zeros((9, 4), np.float32), "b": np.zeros((9, 4), np.float32)}),
               "9", "8", code=1404)
        raises(rlx_client.InvalidArgument, lambda: client.infer("sum", {"a": A, "b": B}, outputs=["zz"]), "zz", code=1617)
        raises(rlx_client.InvalidArgument, lambda: client.infer("sum", {"a": np.array(["text"]), "b": B}), code=1403)
        raises(rlx_client.InvalidArgument, lambda: client.infer("sum", {"a": A, "b": B}, schedule_hint={"devices": []}), "preferred_devices")
        raises(ValueError, lambda: client.infer("sum", {"a": A, "b": B}, timeout=-1))
    raises(rlx_client.InvalidArgument, lambda: rlx_client.RLXClient(["ftp://host"]), "ftp://host", code=1704)
    raises(rlx_client.InvalidArgument, lambda: rlx_client.RLXClient([]), code=1704)
    raises(rlx_client.Cancelled, lambda: client.infer("sum", {"a": A, "b": B}), "closed")


@test
def health_metadata_statistics_and_repository(server):
    with Rlxd(bundles("sum")) as own, client_of(own) as client:
        assert client.is_live()
        assert client.is_ready()
        assert client.is_ready("sum")
        assert {"name": "a", "datatype": "FP32", "shape": [-1, 4]} in client.metadata("sum")["inputs"]
        assert "statistics" in client.metadata()["extensions"]
        client.infer("sum", {"a": A, "b": B})
        assert client.statistics("sum")[0]["inference_stats"]["success"]["count"] == 1
        own.add("plus", bundles("plus")["plus"])
        client.load("plus")
        assert client.infer("plus", {"x": [1]})["y"].tolist() == [2]
        assert {entry["name"]: entry["state"] for entry in client.models()}["plus"] == "READY"
        client.unload("plus")
        raises(rlx_client.RLXError, lambda: client.infer("plus", {"x": np.float32([1])}))
        assert client.state()["endpoints"][0]["state"] == "ready"


@test
def nobody_there_is_told_at_once_with_the_reason():
    client = rlx_client.RLXClient(["http://127.0.0.1:9", "http://no-such-host.invalid:80"], timeout=20)
    began = time.monotonic()
    error = raises(rlx_client.Unavailable, lambda: client.infer("sum", {"a": A}), "127.0.0.1:9", "refused", "no-such-host.invalid", code=1701)
    assert isinstance(error, ConnectionError)
    assert time.monotonic() - began < 10
    client.close()


@test
def requests_are_spread_over_endpoints():
    with Rlxd(bundles("sum")) as one, Rlxd(bundles("sum")) as two, client_of(one, two) as client:
        until(lambda: all(e["state"] == "ready" for e in client.state()["endpoints"]), "both are ready")
        for _ in range(40):
            client.infer("sum", {"a": A, "b": B})
        assert [e["answered"] for e in client.state()["endpoints"]] == [20, 20]


@test
def a_killed_server_is_left_and_found_again():
    """No request of a client with two endpoints fails while one of them is killed and started again."""
    with Rlxd(bundles("sum")) as one, Rlxd(bundles("sum")) as two, client_of(one, two) as client:
        stop, failures, answered = threading.Event(), [], [0]

        def work():
            while not stop.is_set():
                try:
                    assert (client.infer("sum", {"a": A, "b": B})["total"] == A + B).all()
                    answered[0] += 1
                except Exception as error:
                    failures.append(error)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        try:
            time.sleep(0.3)
            two.kill()
            until(lambda: client.state()["endpoints"][1]["state"] != "ready", "the dead one is noticed")
            before = answered[0]
            until(lambda: answered[0] > before + 20, "the other one goes on")
            two.start(["--port", str(two.port)])
            until(lambda: client.state()["endpoints"][1]["state"] == "ready", "it is found again", 20)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        assert not failures, failures[0]


@test
def a_draining_server_costs_no_request():
    with Rlxd(bundles("sum")) as one, Rlxd(bundles("sum")) as two, client_of(one, two) as client:
        stop, failures = threading.Event(), []

        def work():
            while not stop.is_set():
                try:
                    client.infer("sum", {"a": A, "b": B})
                except Exception as error:
                    failures.append(error)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        try:
            time.sleep(0.2)
            assert two.stop() == 0
            time.sleep(0.2)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        assert not failures, failures[0]


@test
def a_server_that_was_restarted_serves_the_next_request():
    with Rlxd(bundles("sum")) as own, client_of(own) as client:
        client.infer("sum", {"a": A, "b": B})
        own.kill()
        raises(rlx_client.Unavailable, lambda: client.infer("sum", {"a": A, "b": B}))
        own.start(["--port", str(own.port)])
        until(lambda: client.state()["endpoints"][0]["state"] == "ready" or client.infer("sum", {"a": A, "b": B}), "it is served again")
        assert (client.infer("sum", {"a": A, "b": B})["total"] == A + B).all()


@test
def limits_of_time_say_which(server):
    x = np.eye(512, dtype=np.float32)
    with client_of(server) as client:
        error = raises(rlx_client.DeadlineExceeded, lambda: client.infer("slow", {"x": x}, compute_timeout=0.03), "computing", "30 ms", code=1702)
        assert isinstance(error, TimeoutError)
        began = time.monotonic()
        # Either the server refuses what cannot be in time, or the time runs out.
        raises((rlx_client.DeadlineExceeded, rlx_client.ResourceExhausted), lambda: client.infer("slow", {"x": x}, timeout=0.1))
        assert time.monotonic() - began < 5


@test
def a_stopped_server_meets_the_connect_and_the_total_limit():
    with Rlxd(bundles("sum")) as own:
        client = client_of(own)
        client.infer("sum", {"a": A, "b": B})
        own.signal(signal.SIGSTOP)
        try:
            began = time.monotonic()
            raises(rlx_client.DeadlineExceeded, lambda: client.infer("sum", {"a": A, "b": B}, timeout=0.3), "300 ms", code=1702)
            with client_of(own, connect_timeout=0.3) as late:
                raises(rlx_client.RLXError, lambda: late.infer("sum", {"a": A, "b": B}), "300 ms")
            assert time.monotonic() - began < 5
        finally:
            own.signal(signal.SIGCONT)
        client.close()


@test
def threads_share_a_client(server):
    with client_of(server) as client:
        failures = []

        def work(number):
            try:
                for i in range(100):
                    x = np.full(2000, number * 1000 + i, np.float32)
                    assert (client.infer("plus", {"x": x})["y"] == x + 1).all()
            except Exception as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures, failures[0]


@test
def other_threads_run_while_one_waits(server):
    """The GIL is free during a call."""
    with client_of(server) as client:
        ticks, stop = [0], threading.Event()

        def tick():
            while not stop.wait(0.002):
                ticks[0] += 1

        thread = threading.Thread(target=tick)
        thread.start()
        began = time.monotonic()
        client.infer("slow", {"x": np.eye(512, dtype=np.float32)})
        seconds = time.monotonic() - began
        stop.set()
        thread.join()
        assert ticks[0] > seconds / 0.002 / 10, f"{ticks[0]} ticks in {seconds:.2f} s"


@test
def futures_and_the_cap_of_calls_in_flight(server):
    with client_of(server, max_in_flight=4) as client:
        x = np.eye(512, dtype=np.float32)
        futures = [client.submit("slow", {"x": x}) for _ in range(4)]
        raises(rlx_client.ResourceExhausted, lambda: client.infer("slow", {"x": x}), "4", code=1409)
        for future in futures:
            future.result(60)
        assert (client.submit("plus", {"x": np.float32([1])}).result(20)["y"] == 2).all()
        failed = client.submit("nope", {"x": x})
        raises(rlx_client.NotFound, failed.result)


@test
def asyncio_awaits_many_and_cancels(server):
    async def main():
        async with rlx_client.AsyncRLXClient(f"http://{server.url}", timeout=60) as client:
            arrays = [np.full(500, i, np.float32) for i in range(200)]
            results = await asyncio.gather(*(client.infer("plus", {"x": x}) for x in arrays))
            assert all((r["y"] == x + 1).all() for r, x in zip(results, arrays))
            assert (await client.infer("plus", {"x": [1, 2]}))["y"].tolist() == [2, 3]
            assert await client.is_ready("plus")
            assert (await client.metadata("plus"))["name"] == "plus"
            task = asyncio.create_task(client.infer("slow", {"x": np.eye(512, dtype=np.float32)}))
            await asyncio.sleep(0.1)
            task.cancel()
            try:
                await task
                raise AssertionError("not cancelled")
            except asyncio.CancelledError:
                pass
            for _ in range(500):
                if client.state()["open"] == 0:
                    break
                await asyncio.sleep(0.01)
            assert client.state()["open"] == 0
            try:
                await client.infer("nope", {"x": arrays[0]})
                raise AssertionError("no error")
            except rlx_client.NotFound:
                pass

    asyncio.run(main())


@test
def tensors_in_shared_memory_are_used_in_place():
    with tempfile.TemporaryDirectory() as folder:
        socket = f"{folder}/memory.sock"
        with Rlxd(bundles("plus"), words=["--memory-socket", socket]) as own, client_of(own, memory_socket=socket) as client:
            x, y = client.empty(1000), client.empty(1000)
            x[:] = np.arange(1000)
            result = client.infer("plus", {"x": x}, outputs={"y": y})
            assert result["y"] is y
            assert (y == np.arange(1000) + 1).all()
            # A contiguous part stays shared; anything else is sent as its values.
            assert (client.infer("plus", {"x": x[100:200]})["y"] == x[100:200] + 1).all()
            assert (client.infer("plus", {"x": x[::2]})["y"] == x[::2] + 1).all()
            assert (client.infer("plus", {"x": x * 2})["y"] == x * 2 + 1).all()
            # A restarted server has forgotten the memory; it is handed over again.
            own.kill()
            own.start(["--port", str(own.port), "--memory-socket", socket])
            until(lambda: client.state()["endpoints"][0]["state"] == "ready" or time.sleep(0.05), "it is back", 20)
            assert (client.infer("plus", {"x": x}, outputs={"y": y})["y"] == x + 1).all()
            del x, y, result
            gc.collect()
            # What nobody holds is given back.
            until(lambda: b'rlx_shared_memory_regions{kind="sealed"} 0' in own.get("/metrics")[1], "the regions are released")
    raises(rlx_client.RLXError, lambda: rlx_client.RLXClient("http://192.0.2.1:80").empty(4), "on this machine")


@test
def memory_does_not_grow(server):
    def resident():
        return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    with client_of(server) as client:
        x = np.zeros(50000, np.float32)
        for _ in range(200):
            client.infer("plus", {"x": x})
        before = resident()
        for _ in range(1000):
            client.infer("plus", {"x": x})
        assert resident() - before < 2 << 20, resident() - before


@test
def the_example_works_as_it_stands():
    """examples/infer.py, with its host names made to resolve to a server here, and a model of its name and shape."""
    with Rlxd(bundles("resnet18_stem")) as own:
        text = (sdk.ROOT / "examples" / "infer.py").read_text()
        assert 'endpoints=["http://gpu-node-01:8080", "http://gpu-node-02:8080"]' in text
        # This machine's resolver is not ours to change: only the addresses differ.
        text = text.replace("http://gpu-node-01:8080", "http://127.0.0.1:9").replace("gpu-node-02:8080", own.url)
        run = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60,
                             env={**os.environ, "PYTHONPATH": str(sdk.ROOT / "sdk" / "python")})
        assert run.stdout == "Output shape: (1, 64, 112, 112)\n", run.stdout + run.stderr


@test
def the_wheel_installs_and_works_in_a_fresh_environment(server):
    with tempfile.TemporaryDirectory() as folder:
        build = pathlib.Path(os.environ["RLX_LIBRARY"]).parent.parent
        run = subprocess.run([sys.executable, sdk.ROOT / "scripts" / "build_wheel", "--build", build, "--output", folder], capture_output=True,
                             text=True)
        assert run.returncode == 0, run.stderr
        wheel = run.stdout.split()[-1]
        site = f"{folder}/site"
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", site, wheel], check=True)
        program = (f"import rlx_client, numpy; assert rlx_client.__file__.startswith({site!r})\n"
                   f"print(rlx_client.RLXClient('http://{server.url}').infer('plus', {{'x': numpy.float32([41])}})['y'][0])")
        environment = {name: value for name, value in os.environ.items() if name not in ("RLX_LIBRARY", "PYTHONPATH")}
        run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env={**environment, "PYTHONPATH": site})
        assert run.stdout == "42.0\n", run.stdout + run.stderr
