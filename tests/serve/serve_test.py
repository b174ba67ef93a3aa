#!/usr/bin/env python3
"""Runs rlxd, rlx run and rlxctl of RLX_BUILD. Prints "N passed, N failed, N skipped" last."""
import http.server
import json
import os
import pathlib
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import cases
import models
from cases import Skip, test
from daemon import RLX, RLXCTL, RLXD, Daemon, Systemd, wait_port_closed
from program import until

SANITIZED = os.environ.get("RLX_TEST_SANITIZED") == "1"
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SIDE = 512


class Kit:
    """A folder, and the bundles that tests share."""

    def __init__(self, folder):
        self.folder = folder
        self.add = models.add_one(folder)
        self.slow = models.slow(folder, 400)
        self.repository = folder / "repository"
        self.repository.mkdir()
        (self.repository / "add.rlxb").write_bytes(self.add.read_bytes())

    def config(self, text, name="c.yaml"):
        path = self.folder / name
        path.write_text(text)
        return path


def run(*words, **options):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=120, **options)


def expect(done, code, *words):
    text = done.stdout + done.stderr
    assert done.returncode == code, f"exit code {done.returncode}, expected {code}: {text}"
    for word in words:
        assert word in text, f"'{word}' is not in: {text}"


def slow_request(daemon, answers, index=0):
    """A request to the slow model in a thread of its own; its answer goes to answers[index]."""
    def ask():
        answers[index] = daemon.infer("slow", [0.001] * SIDE, [SIDE])

    thread = threading.Thread(target=ask)
    thread.start()
    until(lambda: '"running":1' in daemon.get("/v1/status")[1], "the slow request runs")
    return thread


@test
def rlxd_says_where_it_serves_and_answers(kit):
    with Daemon("--model", kit.add, "--port", 0) as daemon:
        assert re.fullmatch(r"RLX Runtime started on http://127\.0\.0\.1:\d+\n", daemon.first_line), daemon.first_line
        code, body = daemon.infer("add", [1, 2, 3], [3])
        assert code == 200 and json.loads(body)["outputs"][0]["data"] == [2, 3, 4], body
        assert daemon.get("/readyz")[0] == 200
        assert daemon.stop() == 0


@test
def example_configurations_mean_what_they_say(kit):
    local, cluster = ROOT / "examples/local.yaml", ROOT / "examples/cluster.yaml"
    expect(run(RLXD, "--config", local), 78, "RLX-1504", "cuda:0", "--devices auto", "local.yaml:4:5")
    expect(run(RLXD, "--config", local, "--devices", "auto", "--check"), 0, "node-0", "127.0.0.1:8080")
    expect(run(RLXD, "--config", cluster), 78, "RLX-1505", "gpu-node-01.internal", "cpu-node-01", "--node")
    expect(run(RLXD, "--config", cluster, "--node", "cpu-node-01"), 78, "RLX-1503", "distributed", "cluster.yaml:2:9")
    with Daemon("--config", local, "--devices", "auto", "--port", 0, "--model", kit.add) as daemon:
        assert json.loads(daemon.get("/v1/status")[1])["node"] == "node-0"


@test
def exit_codes_tell_command_line_configuration_and_failure_apart(kit):
    expect(run(RLXD, "--wrong"), 2, "RLX-1001")
    expect(run(RLXD, "--queue", "0"), 2, "--queue (scheduling.queue): 0 is outside")
    expect(run(RLXD, "--model", kit.add, "--model", kit.add), 2, "'add'", "NAME=FILE")
    expect(run(RLXD, "--config", kit.config("server: {prot: 1}\n")), 78, "RLX-1502", "c.yaml:1:10", "listen")
    expect(run(RLXD, "--config", kit.config("a: &x 1\n")), 78, "RLX-1501", "c.yaml:1:4")
    expect(run(RLXD, "--config", kit.folder / "absent.yaml"), 78, "absent.yaml")
    expect(run(RLXD, "--config", kit.config("server: {tls: {certificate: no.pem, key: no.pem}}\n"), "--port", 0), 78, "RLX-1602", "no.pem")
    with Daemon("--port", 0) as daemon:
        expect(run(RLXD, "--port", daemon.port), 1, "RLX-1601")
    expect(run(RLXD, "--port", 0, "--model", kit.folder / "absent.rlxb"), 1, "absent.rlxb")
    broken = kit.folder / "broken.rlxb"
    broken.write_bytes(kit.add.read_bytes()[:-5000] + b"x" * 5000)
    expect(run(RLXD, "--port", 0, "--model", broken), 1, "RLX-130")
    expect(run(RLXD, "--port", 0, "--models", kit.folder / "absent"), 1, "RLX-1002", "absent", "No such file")
    expect(run(RLXD, "--port", 0, "--models", kit.add), 1, "RLX-1002", "Not a directory")


@test
def what_keeps_rlxd_from_listening_is_named_with_what_helps(kit):
    taken = kit.folder / "taken.sock"
    taken.write_text("no socket")
    with Daemon("--port", 0) as daemon:
        expect(run(RLXD, "--port", daemon.port), 1, "Address already in use", f"port {daemon.port}", "ss -ltnp")
    expect(run(RLXD, "--port", 0, "--host", "192.0.2.1"), 1, "192.0.2.1", "no address of this machine")
    expect(run(RLXD, "--port", 0, "--unix", taken), 1, "RLX-1601", "no socket is in the way", "another path")
    expect(run(RLXD, "--port", 0, "--unix", kit.folder / "absent/rlxd.sock"), 1, "RLX-1601", "No such file", "folder")
    assert taken.read_text() == "no socket"


@test
def what_a_newcomer_tries_first_is_answered_with_what_works(kit):
    expect(run(RLXD, kit.add), 2, "RLX-1001", "--model FILE")
    model = kit.folder / "add.onnx"
    assert model.exists()
    expect(run(RLXD, "--port", 0, "--model", model), 1, "rlx run --model FILE")
    expect(run(RLXCTL, "--url", "127.0.0.1:8080", "status"), 2, "RLX-1704", "Write http://127.0.0.1:8080")
    empty = kit.folder / "empty"
    empty.mkdir()
    expect(run(RLXD, "--check", "--models", empty), 0, "no bundle is in", str(empty), "NAME.rlxb")
    with Daemon("--models", empty, "--port", 0) as daemon:
        assert daemon.stop() == 0
        assert "holds no bundle" in daemon.log() and str(empty) in daemon.log(), daemon.log()


@test
def a_bad_bundle_in_the_repository_does_not_keep_the_others_from_serving(kit):
    folder = kit.folder / "mixed"
    folder.mkdir()
    (folder / "add.rlxb").write_bytes(kit.add.read_bytes())
    (folder / "bad.rlxb").write_bytes(b"no bundle")
    (folder / "worse.rlxb").write_bytes(b"none either")
    with Daemon("--models", folder, "--port", 0) as daemon:
        assert daemon.infer("add", [1], [1])[0] == 200
        code, _ = daemon.get("/readyz")
        assert code == 503
        states = {row["name"]: row["state"] for row in json.loads(daemon.get("/v2/repository/index", {})[1])}
        assert states["add"] == "READY" and states["bad"] == "UNAVAILABLE", states
        daemon.stop()
        assert "bad.rlxb" in daemon.log() and "worse.rlxb" in daemon.log(), daemon.log()


@test
def alternative_spellings_are_accepted(kit):
    words = ["--heartbeat-interval=2000", "--health-check-timeout=5000", "--enable-rdma", "--enable-prefetch", "--vulkan-driver=adreno"]
    expect(run(RLXD, "--check", *words), 0)
    expect(run(RLXD, "--version"), 0, "rlxd ", "(commit: ")


@test
def rlx_run_serves_a_bundle_and_an_onnx_model_through_the_cache(kit):
    cache = kit.folder / "cache"
    environment = {"RLX_CACHE_DIR": str(cache)}
    words = ("run", "--port", 0, "--model", kit.add, "--model", "named=" + str(kit.folder / "add.onnx"), "--max", "n=4")
    for _ in range(2):
        with Daemon(*words, program=(RLX,), environment=environment) as daemon:
            assert daemon.infer("named", [1, 2], [2])[0] == 200
            assert daemon.infer("add", [1] * 9, [9])[0] == 200
            code, body = daemon.infer("named", [1] * 5, [5])
            assert code != 200 and "RLX-1404" in body, body
            assert daemon.stop() == 0
        entries = list((cache / "bundles").glob("*.rlxb"))
        assert len(entries) == 1, entries
        stamp = entries[0].stat().st_mtime_ns
    assert entries[0].stat().st_mtime_ns == stamp
    entries[0].write_bytes(b"damaged")
    with Daemon(*words, program=(RLX,), environment=environment) as daemon:
        assert daemon.infer("named", [1, 2], [2])[0] == 200
    with Daemon("run", "--port", 0, "--model", "named=" + str(kit.folder / "add.onnx"), program=(RLX,), environment=environment) as daemon:
        assert daemon.infer("named", [1] * 5, [5])[0] == 200  # another option, another entry
    assert len(list((cache / "bundles").glob("*.rlxb"))) == 2


@test
def a_changed_model_or_its_external_data_is_compiled_again(kit):
    import numpy
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    folder = kit.folder / "external"
    folder.mkdir()
    path = folder / "m.onnx"
    environment = {"RLX_CACHE_DIR": str(folder / "cache")}

    def save(constant):
        values = numpy_helper.from_array(numpy.full(512, constant, numpy.float32), "c")
        graph = helper.make_graph([helper.make_node("Add", ["x", "c"], ["y"])], "m", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [512])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, [512])], [values])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        if (folder / "w.bin").exists():
            (folder / "w.bin").unlink()
        onnx.save(model, path, save_as_external_data=True, location="w.bin", size_threshold=16)

    sources = set()
    for constant in (1.0, 5.0, 1.0):
        save(constant)
        sources.add(path.read_bytes())
        with Daemon("run", "--port", 0, "--model", path, program=(RLX,), environment=environment) as daemon:
            data = json.loads(daemon.infer("m", [0] * 512, [512])[1])["outputs"][0]["data"]
            assert data == [constant] * 512, data[:3]
    assert len(sources) == 1  # only the external file differed
    assert len(list((folder / "cache/bundles").glob("*.rlxb"))) == 2


@test
def sigterm_answers_what_was_accepted_and_ends_with_0(kit):
    answers = [None]
    with Daemon("--model", kit.slow, "--model", kit.add, "--port", 0) as daemon:
        thread = slow_request(daemon, answers)
        daemon.signal(signal.SIGTERM)
        until(lambda: daemon.get("/readyz")[0] == 503, "not ready")
        code, body = daemon.infer("add", [1], [1])
        assert code == 503 and "RLX-1606" in body, (code, body)
        assert daemon.get("/healthz")[0] == 200
        thread.join()
        assert answers[0][0] == 200, answers
        assert daemon.stop(0) == 0
        wait_port_closed(daemon.port)


@test
def an_idle_daemon_stops_at_once(kit):
    with Daemon("--model", kit.add, "--port", 0) as daemon:
        for number in (signal.SIGINT,):
            start = time.monotonic()
            assert daemon.stop(number) == 0
            assert time.monotonic() - start < 1


@test
def the_drain_deadline_and_a_second_signal_end_the_process_with_4(kit):
    for words, signals in ((("--drain-timeout", "200ms"), 1), (("--drain-timeout", "60s"), 2)):
        answers = [None]
        with Daemon("--model", kit.slow, "--port", 0, *words) as daemon:
            def ask():
                try:
                    daemon.infer("slow", [0.001] * SIDE, [SIDE])
                except OSError:
                    answers[0] = "cut"

            thread = threading.Thread(target=ask)
            thread.start()
            until(lambda: '"running":1' in daemon.get("/v1/status")[1], "the slow request runs")
            start = time.monotonic()
            for _ in range(signals):
                daemon.signal(signal.SIGTERM)
                time.sleep(0.05)
            code, error = daemon.stop(0), daemon.log()
            thread.join()
            assert code == 4 and "ending at once" in error, (code, error)
            assert time.monotonic() - start < (5 if SANITIZED else 1)
            assert answers[0] == "cut"


@test
def sighup_applies_what_it_can_and_says_what_needs_a_restart(kit):
    config = kit.config(f"models: {{repository: {kit.repository}}}\nlogging: {{level: info}}\n", "reload.yaml")
    systemd = Systemd(kit.folder)
    with Daemon("--config", config, "--port", 0, environment={"NOTIFY_SOCKET": systemd.path}) as daemon:
        systemd.wait_for("READY=1")
        assert daemon.infer("late", [1], [1])[0] == 404
        (kit.repository / "late.rlxb").write_bytes(kit.add.read_bytes())
        config.write_text(f"models: {{repository: {kit.repository}}}\nlogging: {{level: debug}}\nscheduling: {{queue: 3}}\n")
        systemd.heard.clear()
        daemon.signal(signal.SIGHUP)
        assert int(systemd.wait_for("MONOTONIC_USEC=").split("=")[1]) > 0
        systemd.wait_for("READY=1")
        assert systemd.lines()[0] == "RELOADING=1", systemd.lines()
        assert daemon.infer("late", [1], [1])[0] == 200
        config.write_text("models: {repositry: x}\n")
        systemd.heard.clear()
        daemon.signal(signal.SIGHUP)
        assert "reload refused" in systemd.wait_for("STATUS=Serving")
        assert daemon.infer("late", [1], [1])[0] == 200
        code, error = daemon.stop(), daemon.log()
    assert code == 0
    assert "configuration changed key=logging.level" in error, error
    assert "a restart is needed for it key=scheduling.queue" in error, error
    assert "RLX-1502" in error, error
    (kit.repository / "late.rlxb").unlink()


@test
def a_reload_or_a_stop_that_comes_while_models_load_is_not_lost(kit):
    systemd = Systemd(kit.folder)
    words = ("--model", kit.slow, "--port", 0, "--set", "models.warm_up=3")
    with Daemon(*words, environment={"NOTIFY_SOCKET": systemd.path}, wait=False) as daemon:
        systemd.wait_for("EXTEND_TIMEOUT_USEC=")
        daemon.signal(signal.SIGHUP)
        systemd.wait_for("READY=1", 30)
        systemd.wait_for("RELOADING=1")
    systemd = Systemd(kit.folder)
    with Daemon(*words, environment={"NOTIFY_SOCKET": systemd.path}, wait=False) as daemon:
        systemd.wait_for("EXTEND_TIMEOUT_USEC=")
        assert daemon.stop() == 0
        assert "READY=1" not in systemd.lines()


@test
def systemd_hears_ready_pings_and_the_stop(kit):
    systemd = Systemd(kit.folder)
    environment = {"NOTIFY_SOCKET": systemd.path, "WATCHDOG_USEC": "400000"}
    with Daemon("--model", kit.add, "--port", 0, environment=environment) as daemon:
        systemd.wait_for("READY=1")
        systemd.listen(1.05)
        pings = [at for at, line in systemd.heard if line == "WATCHDOG=1"]
        assert 4 <= len(pings) <= 8, systemd.lines()
        assert max(b - a for a, b in zip(pings, pings[1:])) < 0.35
        assert "Serving on " + daemon.url in systemd.wait_for("STATUS=Serving")
        assert daemon.stop() == 0
        systemd.wait_for("STOPPING=1")


@test
def a_long_start_and_a_long_drain_extend_systemds_timers(kit):
    answers = [None]
    systemd = Systemd(kit.folder)
    with Daemon("--model", kit.slow, "--port", 0, environment={"NOTIFY_SOCKET": systemd.path}) as daemon:
        systemd.wait_for("EXTEND_TIMEOUT_USEC=")  # while loading
        systemd.wait_for("READY=1")
        thread = slow_request(daemon, answers)
        systemd.heard.clear()
        daemon.signal(signal.SIGTERM)
        systemd.wait_for("STOPPING=1")
        assert int(systemd.wait_for("EXTEND_TIMEOUT_USEC=").split("=")[1]) >= 10_000_000
        thread.join()
        assert answers[0][0] == 200
        assert daemon.stop(0) == 0


@test
def pings_go_on_while_draining(kit):
    answers = [None]
    systemd = Systemd(kit.folder)
    with Daemon("--model", kit.slow, "--port", 0, environment={"NOTIFY_SOCKET": systemd.path, "WATCHDOG_USEC": "200000"}) as daemon:
        systemd.wait_for("READY=1")
        thread = slow_request(daemon, answers)
        daemon.signal(signal.SIGTERM)
        systemd.wait_for("STOPPING=1")
        systemd.heard.clear()
        systemd.listen(0.45)
        assert systemd.lines().count("WATCHDOG=1") >= 2, systemd.lines()
        thread.join()


@test
def a_run_without_progress_turns_ready_off_and_starves_the_watchdog(kit):
    answers = [None]
    systemd = Systemd(kit.folder)
    environment = {"NOTIFY_SOCKET": systemd.path, "WATCHDOG_USEC": "100000"}
    with Daemon("--model", kit.slow, "--port", 0, "--set", "scheduling.progress_timeout=100ms", environment=environment) as daemon:
        systemd.wait_for("READY=1")
        thread = slow_request(daemon, answers)
        until(lambda: daemon.get("/readyz")[0] == 503, "not ready")
        assert daemon.get("/healthz")[0] == 200
        systemd.listen(0.06)  # a ping that was on its way
        systemd.heard.clear()
        began = asked = starved_until = time.monotonic()
        while daemon.get("/readyz")[0] == 503:
            starved_until = asked
            systemd.listen(0.02)
            asked = time.monotonic()
        assert starved_until - began > 0.1, "the run was too short for this test"
        assert not [line for at, line in systemd.heard if line == "WATCHDOG=1" and at < starved_until], systemd.heard
        thread.join()
        assert daemon.get("/readyz")[0] == 200
        systemd.wait_for("WATCHDOG=1")


@test
def an_idle_daemon_does_not_wake_up(kit):
    if SANITIZED:
        raise Skip("sanitizers wake threads of their own")
    with Daemon("--model", kit.add, "--port", 0) as daemon:
        assert daemon.infer("add", [1], [1])[0] == 200
        time.sleep(1)

        def switches():
            total = 0
            for task in pathlib.Path(f"/proc/{daemon.pid}/task").iterdir():
                total += sum(map(int, re.findall(r"voluntary_ctxt_switches:\s+(\d+)", (task / "status").read_text())))
            return total

        before = switches()
        time.sleep(3)
        assert switches() - before <= 3, switches() - before


@test
def two_daemons_and_a_stale_socket_file(kit):
    path = kit.folder / "s.sock"
    memory = kit.folder / "m.sock"
    with Daemon("--port", 0, "--unix", path, "--memory-socket", memory, "--model", kit.add) as first:
        expect(run(RLXD, "--port", 0, "--unix", path), 1, "RLX-1601", "s.sock")
        first.signal(signal.SIGKILL)
        first.wait()
    assert path.exists()
    with Daemon("--port", 0, "--unix", path, "--memory-socket", memory, "--model", kit.add) as second:
        expect(run(RLXCTL, "--unix", path, "health"), 0, "ready")
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(memory))
            client.sendall(b"no request 16 B.")
            assert client.recv(100) == b""
        assert "rlx_handover_malformed_total 1\n" in second.get("/metrics")[1]
        assert second.stop() == 0
    assert not path.exists() and not memory.exists()


@test
def systemd_folders_hold_the_sockets(kit):
    folder = kit.folder / "runtime"
    folder.mkdir()
    with Daemon("--port", 0, "--model", kit.add, environment={"RUNTIME_DIRECTORY": str(folder)}) as daemon:
        assert sorted(path.name for path in folder.iterdir()) == ["memory.sock", "rlxd.sock"]
        expect(run(RLXCTL, "--unix", folder / "rlxd.sock", "-o", "json", "status"), 0, '"node"')
        assert daemon.stop() == 0


@test
def several_addresses_and_ipv6(kit):
    config = kit.config('server: {listen: ["127.0.0.1:0", "[::1]:0"]}\n')
    with Daemon("--config", config, "--model", kit.add) as daemon:
        assert daemon.get("/readyz")[0] == 200
        daemon.stop()
        error = daemon.log()
    assert re.search(r"listening url=http://\[::1\]:\d+", error), error


@test
def over_tls_the_port_speaks_https_and_the_socket_serves_rlxctl(kit):
    key, certificate, path = (kit.folder / name for name in ("key.pem", "cert.pem", "tls.sock"))
    expect(run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", "2", "-keyout", key, "-out", certificate), 0)
    words = ("--tls-certificate", certificate, "--tls-key", key, "--unix", path)
    with Daemon("--model", kit.add, "--port", 0, *words) as daemon:
        assert daemon.url.startswith("https://")
        expect(run("curl", "-sS", "--http1.1", "--cacert", certificate, f"https://localhost:{daemon.port}/readyz"), 0, "ok")
        expect(run(RLXCTL, "--unix", path, "status"), 0, "add")
        expect(run(RLXCTL, "--url", f"http://127.0.0.1:{daemon.port}", "--timeout", "5", "status"), 1)
        assert daemon.stop() == 0
    other = kit.folder / "other.pem"
    expect(run("openssl", "genrsa", "-out", other, "2048"), 0)
    expect(run(RLXD, "--port", 0, "--tls-certificate", certificate, "--tls-key", other), 78, "RLX-1602")


@test
def rlxctl_knows_every_command_in_three_forms(kit):
    with Daemon("--models", kit.repository, "--port", 0) as daemon:
        def ctl(*words):
            return run(RLXCTL, "--url", daemon.url, *words)

        expect(ctl("status"), 0, "models:", "add", "ready")
        expect(ctl("health"), 0, "true")
        expect(ctl("stacks"), 0, "worker")
        assert json.loads(ctl("-o", "json", "requests").stdout)["requests"] == []
        assert "requests: []" in ctl("-o", "yaml", "requests").stdout
        expect(ctl("models", "list"), 0, "add", "READY")
        expect(ctl("models", "unload", "add"), 0)
        assert daemon.infer("add", [1], [1])[0] != 200
        expect(ctl("models", "load", "add"), 0)
        assert daemon.infer("add", [1], [1])[0] == 200
        expect(ctl("models", "load", "absent"), 1, "absent")
        refused = ctl("-o", "json", "models", "load", "absent")
        assert refused.returncode == 1 and "error" in json.loads(refused.stdout)
        expect(ctl("trace", "77"), 1, "no request 77")
        for words in ((), ("models",), ("models", "load"), ("status", "x"), ("-o", "xml", "status"), ("--timeout", "0", "status"), ("frob",)):
            expect(ctl(*words), 2, "RLX-1001")
        url = daemon.url
    expect(run(RLXCTL, "--url", url, "status"), 3, "RLX-1701")
    expect(run(RLXCTL, "--url", "nonsense://", "status"), 2, "RLX-1704")


@test
def rlxctl_trace_and_stacks_show_a_request_that_runs(kit):
    answers = [None]
    with Daemon("--model", kit.slow, "--port", 0) as daemon:
        thread = slow_request(daemon, answers)
        listed = json.loads(run(RLXCTL, "--url", daemon.url, "-o", "json", "requests").stdout)["requests"]
        assert [row["state"] for row in listed] == ["running"] and listed[0]["model"] == "slow", listed
        expect(run(RLXCTL, "--url", daemon.url, "trace", listed[0]["request"]), 0, "running", "slow")
        expect(run(RLXCTL, "--url", daemon.url, "stacks"), 0, "slow")
        thread.join()


@test
def rlxctl_drain_waits_for_what_was_accepted(kit):
    answers = [None]
    with Daemon("--model", kit.slow, "--port", 0) as daemon:
        thread = slow_request(daemon, answers)
        expect(run(RLXCTL, "--url", daemon.url, "drain"), 0, "requests  0")
        thread.join()
        assert answers[0][0] == 200
        expect(run(RLXCTL, "--url", daemon.url, "health"), 1, "draining")
        assert daemon.infer("slow", [0.0] * SIDE, [SIDE])[0] == 503
        assert daemon.stop() == 0


class Odd(http.server.BaseHTTPRequestHandler):
    """A server that is not rlxd."""
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = b'{"text": "\\u001b[2Jred", "list": [1, 2]}'
        self.send_response(200)
        if self.path == "/v1/status":
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for at in range(0, len(body), 7):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(body[at:at + 7]), body[at:at + 7]))
            self.wfile.write(b"0\r\n\r\n")
        else:
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(body)
            self.close_connection = True

    def log_message(self, *_):
        pass


@test
def rlxctl_reads_chunks_escapes_controls_and_notices_a_cut_answer(kit):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Odd)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    expect(run(RLXCTL, "--url", url, "status"), 0, "\\x1b[2Jred", "[1,2]")
    assert "\x1b" not in run(RLXCTL, "--url", url, "-o", "yaml", "status").stdout
    expect(run(RLXCTL, "--url", url, "stacks"), 1, "RLX-1703", "cut off")
    server.shutdown()
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        expect(run(RLXCTL, "--url", f"http://127.0.0.1:{silent.getsockname()[1]}", "--timeout", "0.2", "status"), 3, "RLX-1702")


@test
def out_of_descriptors_the_daemon_goes_on(kit):
    if SANITIZED:
        raise Skip("sanitizers take descriptors")

    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

    with Daemon("--model", kit.add, "--port", 0, preexec_fn=limit) as daemon:
        clients = []
        for _ in range(200):
            client = socket.socket()
            client.setblocking(False)
            client.connect_ex(("127.0.0.1", daemon.port))
            clients.append(client)
        time.sleep(0.5)

        def cpu_seconds():
            fields = pathlib.Path(f"/proc/{daemon.pid}/stat").read_text().rsplit(")", 1)[1].split()
            return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")

        before = cpu_seconds()
        time.sleep(1)
        assert cpu_seconds() - before < 0.3, "accept spins"
        for client in clients:
            client.close()
        time.sleep(0.5)
        expect(run(RLXCTL, "--url", daemon.url, "health"), 0)
        assert daemon.stop() == 0, daemon.log()
        assert len(daemon.log().splitlines()) < 40, daemon.log()


def main():
    with tempfile.TemporaryDirectory(prefix="rlx-serve-") as folder:
        return cases.finish(*cases.run(Kit(pathlib.Path(folder))))


if __name__ == "__main__":
    sys.exit(main())
