"""Runs inside of the container, as a service of its systemd. Prints "N passed, N failed, N skipped" last."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import time
import traceback
import urllib.error
import urllib.request

SHARE = pathlib.Path("/run/rlx-test")
URL = "http://127.0.0.1:8080"
SIDE = 512


def run(*words, check=True):
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert not check or done.returncode == 0, f"{' '.join(words)}: code {done.returncode}: {done.stdout}{done.stderr}{journal()}"
    return done.stdout


def journal():
    return subprocess.run(["systemctl", "status", "--no-pager", "--lines=15", "rlxd"], capture_output=True, text=True).stdout


def show(name):
    return run("systemctl", "show", "--value", "-p", name, "rlxd").strip()


def request(path, body=None, timeout=60):
    try:
        with urllib.request.urlopen(urllib.request.Request(URL + path, data=body and json.dumps(body).encode()), timeout=timeout) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def infer(model, values):
    return request(f"/v2/models/{model}/infer", {"inputs": [{"name": "x", "datatype": "FP32", "shape": [len(values)], "data": values}]})


def drop_in(text):
    folder = pathlib.Path("/etc/systemd/system/rlxd.service.d")
    folder.mkdir(exist_ok=True)
    (folder / "test.conf").write_text(text)
    run("systemctl", "daemon-reload")


def configure(more=""):
    shutil.copy(SHARE / "deploy/rlxd.yaml", "/etc/rlx/rlxd.yaml")
    with open("/etc/rlx/rlxd.yaml", "a") as config:
        config.write(more)


def fresh(unit="", config="", models=("add",)):
    """The service started anew with these settings."""
    run("systemctl", "stop", "rlxd", check=False)
    run("systemctl", "reset-failed", "rlxd", check=False)
    for path in pathlib.Path("/srv/rlx/models").glob("*.rlxb"):
        path.unlink()
    for name in models:
        shutil.copy(SHARE / f"models/{name}.rlxb", "/srv/rlx/models/")
    drop_in("[Service]\n" + unit)
    configure(config)
    run("systemctl", "start", "rlxd")


def wait_until(what, seconds=20):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, f"what was waited for did not come: {journal()}"
        time.sleep(0.05)


def answering():
    try:
        return request("/readyz", timeout=2)[0] == 200
    except OSError:
        return False


def slow_request():
    answers = []
    thread = threading.Thread(target=lambda: answers.append(infer("slow", [0.001] * SIDE)))
    thread.start()
    wait_until(lambda: '"running":1' in run("rlxctl", "--unix", "/run/rlxd/rlxd.sock", "-o", "json", "status").replace(" ", ""))
    return thread, answers


def install():
    for name in ("rlxd", "rlx", "rlxctl"):
        shutil.copy(SHARE / name, "/usr/bin/")
    shutil.copy(SHARE / "deploy/rlxd.service", "/etc/systemd/system/")
    shutil.copy(SHARE / "deploy/rlxd.sysusers", "/usr/lib/sysusers.d/rlxd.conf")
    shutil.copy(SHARE / "deploy/rlxd.tmpfiles", "/usr/lib/tmpfiles.d/rlxd.conf")
    run("systemd-sysusers", "/usr/lib/sysusers.d/rlxd.conf")
    run("systemd-tmpfiles", "--create", "/usr/lib/tmpfiles.d/rlxd.conf")
    shutil.copy(SHARE / "test.pub", "/etc/rlx/keys/")


def test_the_unit_starts_serves_and_runs_without_rights():
    fresh()
    assert show("ActiveState") == "active"
    assert show("StatusText") == f"Serving on {URL}"
    assert infer("add", [1, 2])[0] == 200
    status = pathlib.Path(f"/proc/{show('MainPID')}/status").read_text()
    user = run("id", "-u", "rlx").strip()
    assert f"Uid:\t{user}\t" in status
    assert "CapEff:\t0000000000000000" in status and "NoNewPrivs:\t1" in status
    assert sorted(os.listdir("/run/rlxd")) == ["memory.sock", "rlxd.sock"]
    assert os.listdir("/var/lib/rlxd/store")


def test_reload_returns_when_it_is_done():
    fresh()
    pid = show("MainPID")
    shutil.copy(SHARE / "models/add.rlxb", "/srv/rlx/models/late.rlxb")
    run("systemctl", "reload", "rlxd")
    wait_until(lambda: infer("late", [1])[0] == 200, 5)
    assert show("MainPID") == pid and show("ActiveState") == "active"


def test_a_refused_configuration_is_not_restarted():
    fresh()
    configure("servr: {}\n")
    run("systemctl", "restart", "rlxd", check=False)
    wait_until(lambda: show("ActiveState") == "failed")
    time.sleep(2)
    assert show("ExecMainStatus") == "78" and show("NRestarts") == "0", journal()


def test_a_killed_daemon_is_back_at_once():
    fresh()
    pid = int(show("MainPID"))
    start = time.monotonic()
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: show("NRestarts") == "1" and answering())
    print(f"killed and ready again: {time.monotonic() - start:.2f} s, with RestartSec=1")
    assert int(show("MainPID")) != pid


def test_a_daemon_that_hangs_is_restarted_by_the_watchdog():
    fresh("WatchdogSec=1\n")
    os.kill(int(show("MainPID")), signal.SIGSTOP)
    wait_until(lambda: show("NRestarts") == "1" and answering())


def test_workers_that_hang_are_restarted_by_the_watchdog_too():
    fresh("WatchdogSec=1\n", "scheduling: {progress_timeout: 200ms}\n", ("slow",))
    threading.Thread(target=lambda: ignore(infer, "slow", [0.001] * SIDE), daemon=True).start()
    wait_until(lambda: show("NRestarts") == "1")


def ignore(function, *arguments):
    try:
        function(*arguments)
    except OSError:
        pass


def test_a_start_longer_than_its_limit_is_extended():
    start = time.monotonic()
    fresh("TimeoutStartSec=1\nExecStart=\nExecStart=/usr/bin/rlxd --config /etc/rlx/rlxd.yaml --set models.warm_up=2\n", "", ("slow",))
    took = time.monotonic() - start
    print(f"start took {took:.1f} s with TimeoutStartSec=1")
    assert took > 1, "the model loads too fast for this test"
    assert show("ActiveState") == "active" and show("NRestarts") == "0"


def test_a_stop_longer_than_its_limit_answers_what_was_accepted():
    fresh("TimeoutStopSec=1\n", "", ("slow",))
    thread, answers = slow_request()
    start = time.monotonic()
    run("systemctl", "stop", "rlxd")
    print(f"stop took {time.monotonic() - start:.1f} s with TimeoutStopSec=1")
    thread.join()
    assert answers and answers[0][0] == 200, answers
    assert show("Result") == "success" and show("ExecMainStatus") == "0", journal()
    assert not os.path.exists("/run/rlxd")


def test_the_unit_is_hardened():
    text = run("systemd-analyze", "security", "--no-pager", "rlxd")
    line = next(line for line in text.splitlines() if "Overall exposure level" in line)
    print(line.strip())
    assert float(line.split(":")[1].split()[0]) <= 2.0, line


def main():
    passed = failed = 0
    install()
    for name, case in list(globals().items()):
        if not name.startswith("test_"):
            continue
        try:
            case()
            passed += 1
            print(f"ok      {name}", flush=True)
        except Exception:  # noqa: BLE001
            failed += 1
            print(f"FAILED  {name}\n{traceback.format_exc()}", flush=True)
    print(f"{passed} passed, {failed} failed, 0 skipped", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
