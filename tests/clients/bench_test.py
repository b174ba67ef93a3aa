"""rlx bench --url: what it sends is what was asked for, and what it tells adds up with the server's own books."""
import json
import os
import subprocess
import tempfile

from harness import bundles, test
from rlxd import Rlxd


def bench(server, *words, model="plus", fails=False):
    run = subprocess.run([os.environ["RLX"], "bench", "--url", f"grpc://{server.url}", "--model", model, "--duration", "0.4", "--warmup", "0.1",
                          "--json", "-", *words], capture_output=True, text=True, timeout=120)
    assert (run.returncode != 0) == fails, run.stdout + run.stderr
    return run.stderr if fails else json.loads(run.stdout)


def served(server, model):
    import tritonclient.grpc as triton
    with triton.InferenceServerClient(server.url) as client:
        return client.get_inference_statistics(model).model_stats[0].inference_stats


@test
def a_closed_loop_counts_what_the_server_counts():
    with Rlxd(bundles("plus")) as own:
        result = bench(own, "--shape", "x=4096", "--concurrency", "8", "--connections", "2", "--warmup", "0")
        assert result["input_bytes"] == result["output_bytes"] == 16384
        assert (result["connections"], result["concurrency"]) == (2, 8)
        assert result["status"] == {"OK": result["latency_us"]["count"]}
        assert result["device"].endswith("cpu:0")
        assert result["server_kernel_us"]["count"] == result["latency_us"]["count"]
        stats = served(own, "plus")
        # Besides what was counted: one before the load, and those that were open at its end.
        assert result["latency_us"]["count"] < stats.success.count <= result["latency_us"]["count"] + 1 + 8
        assert stats.fail.count == 0
        assert result["latency_us"]["p50"] <= result["latency_us"]["p99"] <= result["latency_us"]["p99.9"] <= result["latency_us"]["max"]
        assert 0 < result["connection_min"] <= result["connection_max"]


@test
def an_open_loop_keeps_its_rate(server):
    result = bench(server, "--shape", "x=16", "--rate", "500", "--duration", "1")
    assert result["latency_us"]["count"] == 500
    assert abs(result["throughput"] - 500) < 50


@test
def an_open_loop_counts_latency_from_when_a_request_was_due():
    """Coordinated omission: "slow" runs a few times a second; 200 a second are due. What waits for its turn in the client waits visibly."""
    with Rlxd(bundles("slow")) as own:
        bench(own, model="slow")
        result = bench(own, "--rate", "200", "--concurrency", "1", "--duration", "1.5", model="slow")
        assert result["never_sent"] > 100
        assert result["latency_us"]["max"] > 500000


@test
def refusals_are_counted_by_status_and_apart(server):
    result = bench(server, "--timeout", "1ms", model="slow")
    assert set(result["status"]) <= {"DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED"}
    assert result["latency_us"]["count"] == 0
    assert result["refused_us"]["count"] > 0
    assert "RLX-" in result["first_failure"]


@test
def a_fixed_batch_becomes_requests_in_flight_and_an_open_one_rows(server):
    fixed = bench(server, "--batch-size", "4", model="resnet18_stem")
    assert fixed["concurrency"] == 4
    assert "in flight" in fixed["note"]
    rows = bench(server, "--batch-size", "4", model="sum")
    assert rows["concurrency"] == 1
    assert rows["input_bytes"] == 2 * 4 * 4 * 4
    assert rows["note"] == ""


@test
def tensors_go_through_shared_memory():
    with tempfile.TemporaryDirectory() as folder:
        socket = f"{folder}/memory.sock"
        with Rlxd(bundles("plus"), words=["--memory-socket", socket]) as own:
            for words in (["--shared-memory=memfd", "--memory-socket", socket], ["--shared-memory=system"]):
                result = bench(own, "--shape", "x=100000", *words)
                assert set(result["status"]) == {"OK"}
            metrics = own.get("/metrics")[1].decode()
            assert 'rlx_shared_memory_regions{kind="sealed"} 0' in metrics
            assert 'rlx_shared_memory_regions{kind="system"} 0' in metrics


@test
def think_time_is_kept(server):
    result = bench(server, "--shape", "x=16", "--think", "20ms", "--duration", "1")
    assert 20 <= result["latency_us"]["count"] <= 50


@test
def what_cannot_be_measured_is_said(server):
    assert "RLX-1603" in bench(server, model="nope", fails=True)
    assert "exclude" in bench(server, "--rate", "5", "--think", "5ms", "--shape", "x=1", fails=True)
    run = subprocess.run([os.environ["RLX"], "bench", "--url", "http://127.0.0.1:9", "--model", "x"], capture_output=True, text=True)
    assert run.returncode == 1
    assert "refused" in run.stderr
