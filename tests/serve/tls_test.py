#!/usr/bin/env python3
"""TLS as an operator meets it: rlxctl over https, certificates that change while rlxd serves, and what --check says of files.
Prints "N passed, N failed, N skipped" last."""
import pathlib
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile

import cases
import models
from cases import test
from daemon import RLXCTL, RLXD, Daemon
from program import until


class Kit:
    """Models, and an authority "good" with certificates of its own; "other" is one that nobody trusts."""

    def __init__(self, folder):
        self.folder = folder
        self.add = models.add_one(folder)
        for name in ("good", "other"):
            self.authority(name)
        self.certificate("server", "good", "DNS:localhost,IP:127.0.0.1")
        self.certificate("renewed", "good", "DNS:localhost,IP:127.0.0.1")
        self.certificate("foreign", "other", "DNS:localhost,IP:127.0.0.1")
        self.certificate("client", "good", "DNS:client")
        self.certificate("stranger", "other", "DNS:client")

    def __getitem__(self, name):
        return self.folder / name

    def authority(self, name):
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", f"/CN={name}",
                "-keyout", self[f"{name}.key"], "-out", self[f"{name}.pem"])

    def certificate(self, name, issuer, alternative):
        self["extensions"].write_text(f"subjectAltName={alternative}\n")
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", f"/CN={name}", "-keyout",
                self[f"{name}.key"], "-out", self[f"{name}.csr"])
        openssl("x509", "-req", "-in", self[f"{name}.csr"], "-CA", self[f"{issuer}.pem"], "-CAkey", self[f"{issuer}.key"], "-CAcreateserial",
                "-days", "2", "-extfile", self["extensions"], "-out", self[f"{name}.pem"])

    def live(self, name):
        """The files that a daemon is told to read now hold the certificate `name`."""
        shutil.copy(self[f"{name}.pem"], self["live.pem"])
        shutil.copy(self[f"{name}.key"], self["live.key"])
        return ("--tls-certificate", self["live.pem"], "--tls-key", self["live.key"])


def run(*words, **options):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, errors="replace", timeout=60, **options)


def openssl(*words):
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)


def expect(done, code, *words):
    text = done.stdout + done.stderr
    assert done.returncode == code, f"exit code {done.returncode}, not {code}: {text}"
    for word in words:
        assert str(word) in text, f"'{word}' is not in: {text}"


def served_by(daemon):
    """The common name of the certificate that a new connection gets, as `openssl s_client` sees it."""
    done = run("openssl", "s_client", "-connect", f"127.0.0.1:{daemon.port}", "-alpn", "h2", stdin=subprocess.DEVNULL)
    return re.search(r"subject=\s*CN\s*=\s*(\S+)", done.stdout)[1]


def hangup(daemon, line):
    """SIGHUP; returns when the log has `line` once more."""
    before = daemon.log().count(line)
    daemon.signal(signal.SIGHUP)
    until(lambda: daemon.log().count(line) > before, f"'{line}' is not in the log")


@test
def rlxctl_trusts_whom_it_is_told_to(kit):
    with Daemon("--model", kit.add, "--port", 0, *kit.live("server")) as daemon:
        url = f"https://127.0.0.1:{daemon.port}"
        expect(run(RLXCTL, "--url", url, "--ca", kit["good.pem"], "status"), 0, "add", "ready")
        expect(run(RLXCTL, "--url", f"https://127.0.0.1:{daemon.port}", "--ca", kit["good.pem"], "health"), 0)
        expect(run(RLXCTL, "--url", url, "--insecure", "models", "list"), 0, "READY")
        expect(run(RLXCTL, "--url", url, "--ca", kit["other.pem"], "status"), 3, "RLX-1602", "certificate")
        expect(run(RLXCTL, "--url", url, "status"), 3, "RLX-1602", "certificate")
        expect(run(RLXCTL, "--url", url, "--ca", kit["good.pem"], "--server-name", "elsewhere", "status"), 3, "RLX-1602", "mismatch")
        expect(run(RLXCTL, "--url", url, "--ca", kit["absent.pem"], "status"), 3, "RLX-1602", "absent.pem")
        expect(run(RLXCTL, "--url", f"http://127.0.0.1:{daemon.port}", "status"), 1, "https://")
        assert daemon.stop() == 0
    with Daemon("--model", kit.add, "--port", 0) as daemon:
        expect(run(RLXCTL, "--url", f"https://127.0.0.1:{daemon.port}", "--insecure", "status"), 3, "RLX-1602")


@test
def rlxctl_shows_its_certificate_where_one_is_asked_for(kit):
    with Daemon("--model", kit.add, "--port", 0, *kit.live("server"), "--tls-client-ca", kit["good.pem"]) as daemon:
        def ctl(*words):
            return run(RLXCTL, "--url", f"https://127.0.0.1:{daemon.port}", "--ca", kit["good.pem"], *words, "status")

        expect(ctl("--certificate", kit["client.pem"], "--key", kit["client.key"]), 0, "add")
        expect(ctl(), 3, "RLX-1602")
        expect(ctl("--certificate", kit["stranger.pem"], "--key", kit["stranger.key"]), 3, "RLX-1602")
        expect(ctl("--certificate", kit["client.pem"]), 2, "RLX-1001", "--key")
        expect(ctl("--certificate", kit["client.pem"], "--key", kit["good.key"]), 3, "RLX-1602", "good.key")
    expect(run(RLXCTL, "--url", "http://127.0.0.1:1", "--insecure", "status"), 2, "RLX-1001", "https://")


@test
def a_renewed_certificate_is_served_after_sighup_and_open_connections_stay(kit):
    with Daemon("--model", kit.add, "--port", 0, *kit.live("server")) as daemon:
        assert served_by(daemon) == "server"
        context = ssl.create_default_context(cafile=kit["good.pem"])
        with socket.create_connection(("127.0.0.1", daemon.port), 10) as plain, context.wrap_socket(plain, server_hostname="localhost") as open_one:
            def ask():
                open_one.sendall(b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n")
                return open_one.recv(1000)

            assert b"200" in ask()
            kit.live("renewed")
            assert served_by(daemon) == "server", "read before it was told to"
            hangup(daemon, "reloaded")
            assert served_by(daemon) == "renewed"
            assert b"200" in ask(), "the open connection broke"
        expect(run("curl", "-sS", "--cacert", kit["good.pem"], f"https://localhost:{daemon.port}/metrics"), 0, "rlx_rpc_tls_reloads_total 1",
               "rlx_rpc_tls_reload_failures_total 0")
        assert daemon.stop() == 0


@test
def a_bad_file_keeps_the_old_certificate_is_logged_and_counted(kit):
    with Daemon("--model", kit.add, "--port", 0, *kit.live("server")) as daemon:
        def spoil(path, data):
            whole = path.read_bytes()
            path.write_bytes(data)
            hangup(daemon, "TLS files refused")
            assert served_by(daemon) == "server"
            path.write_bytes(whole)

        spoil(kit["live.pem"], b"nonsense")
        spoil(kit["live.key"], kit["renewed.key"].read_bytes())
        kit["live.key"].rename(kit["away.key"])
        hangup(daemon, "TLS files refused")
        assert served_by(daemon) == "server"
        kit["away.key"].rename(kit["live.key"])
        log = daemon.log()
        assert "live.pem" in log and "does not belong to certificate" in log and "No such file" in log, log
        expect(run("curl", "-sS", "--cacert", kit["good.pem"], f"https://localhost:{daemon.port}/metrics"), 0, "rlx_rpc_tls_reloads_total 0",
               "rlx_rpc_tls_reload_failures_total 3")
        kit.live("renewed")
        hangup(daemon, "TLS files read again")
        assert served_by(daemon) == "renewed"
        assert daemon.stop() == 0


@test
def names_of_tls_files_and_the_client_ca_change_at_a_reload_but_tls_stays_on(kit):
    config = kit["tls.yaml"]

    def write(name, *more):
        files = [f"certificate: {kit[f'{name}.pem']}", f"key: {kit[f'{name}.key']}", *more]
        config.write_text(f"server: {{tls: {{{', '.join(files)}}}}}\n" if name else "logging: {level: info}\n")

    def status(*words):
        return run(RLXCTL, "--url", f"https://127.0.0.1:{daemon.port}", "--ca", kit["good.pem"], *words, "health")

    write("server")
    with Daemon("--config", config, "--model", kit.add, "--port", 0) as daemon:
        expect(status(), 0)
        write("renewed", f"client_ca: {kit['good.pem']}")
        hangup(daemon, "reloaded")
        assert "configuration changed key=server.tls.client_ca" in daemon.log(), daemon.log()
        expect(status(), 3, "RLX-1602")
        expect(status("--certificate", kit["client.pem"], "--key", kit["client.key"]), 0)
        write("renewed", f"client_ca: {kit['other.pem']}")
        hangup(daemon, "reloaded")
        expect(status("--certificate", kit["client.pem"], "--key", kit["client.key"]), 3)
        expect(status("--certificate", kit["stranger.pem"], "--key", kit["stranger.key"]), 0)
        write("")
        hangup(daemon, "reloaded")
        assert "a restart is needed for it key=server.tls.certificate" in daemon.log(), daemon.log()
        expect(status("--certificate", kit["stranger.pem"], "--key", kit["stranger.key"]), 0)
        write("server")
        hangup(daemon, "reloaded")
        expect(status(), 0)
        assert served_by(daemon) == "server"
        assert daemon.stop() == 0


@test
def a_client_that_negotiates_http2_and_asks_for_rest_is_served_by_http1(kit):
    body = '{"inputs": [{"name": "x", "datatype": "FP32", "shape": [2], "data": [1, 2]}]}'
    with Daemon("--model", kit.add, "--port", 0, *kit.live("server")) as daemon:
        def curl(*words):
            return run("curl", "-sS", "-w", "%{http_version} %{http_code}", "--cacert", kit["good.pem"], *words)

        url = f"https://127.0.0.1:{daemon.port}"
        expect(curl("--http2", f"{url}/readyz"), 0, "1.1 200")
        expect(curl("--http2", "-d", body, f"{url}/v2/models/add/infer"), 0, "1.1 200", '"data":[2.0,3.0]')
        expect(curl("--http2", f"{url}/absent"), 0, "1.1 404")


@test
def check_names_tls_files_that_a_start_would_refuse(kit):
    good = ("--tls-certificate", kit["server.pem"], "--tls-key", kit["server.key"])
    expect(run(RLXD, "--check", *good), 0, "TLS is good", kit["server.pem"])
    expect(run(RLXD, "--check", *good, "--tls-client-ca", kit["good.pem"]), 0, "client CA")
    expect(run(RLXD, "--check", *good, "--tls-client-ca", kit["absent.pem"]), 78, "RLX-1602", kit["absent.pem"], "No such file")
    expect(run(RLXD, "--check", "--tls-certificate", kit["server.pem"], "--tls-key", kit["client.key"]), 78, "RLX-1602",
           "does not belong to certificate", kit["client.key"])
    kit["empty.pem"].write_text("")
    expect(run(RLXD, "--check", "--tls-certificate", kit["empty.pem"], "--tls-key", kit["server.key"]), 78, "RLX-1602", kit["empty.pem"])


@test
def check_opens_every_bundle_and_names_all_that_are_bad(kit):
    repository = kit["checked"]
    (repository / "two/3").mkdir(parents=True)
    shutil.copy(kit.add, repository / "one.rlxb")
    shutil.copy(kit.add, repository / "two/3/m.rlxb")
    done = run(RLXD, "--check", "--models", repository)
    expect(done, 0, "model 'one' version 1 is good", "model 'two' version 3 is good", repository / "two/3/m.rlxb")
    whole = kit.add.read_bytes()
    (repository / "cut.rlxb").write_bytes(whole[:-100])
    (repository / "spoilt.rlxb").write_bytes(whole[:-5000] + b"x" * 5000)
    (repository / "empty.rlxb").write_bytes(b"")
    done = run(RLXD, "--check", "--models", repository)
    expect(done, 1, "model 'one' version 1 is good", *(repository / f"{name}.rlxb" for name in ("cut", "spoilt", "empty")))
    assert done.stderr.count("error RLX-") == 3, done.stderr
    expect(run(RLXD, "--check", "--models", kit["nowhere"]), 1, "RLX-1002", kit["nowhere"])
    expect(run(RLXD, "--check", "--model", kit["nowhere.rlxb"]), 1, kit["nowhere.rlxb"])
    expect(run(RLXD, "--check", "--model", f"x y={kit.add}"), 1, "no model name")
    store = kit["store-to-be"]
    expect(run(RLXD, "--check", "--model", kit.add, "--store", store), 0)
    assert not store.exists(), "a check wrote something"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="rlx-tls-") as name:
        sys.exit(cases.finish(*cases.run(Kit(pathlib.Path(name)))))
