"""One port for all: TLS, mutual TLS, and HTTP/1.1 that is handed over."""
import contextlib
import os
import re
import signal
import socket
import ssl
import struct
import subprocess
import time

import grpc

import h2
from h2 import SETTINGS, WINDOW_UPDATE, frame, message, setting
from harness import SERVER, Server, expect, fails, test, unary, work


def certificates():
    paths = {name: os.path.join(work.name, name + ".pem") for name in ("ca", "ca.key", "server", "server.key", "client", "client.key")}
    if os.path.exists(paths["client"]):
        return paths

    def run(*arguments):
        subprocess.run(["openssl", *arguments], check=True, capture_output=True)

    run("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "3650", "-subj", "/CN=test ca", "-keyout",
        paths["ca.key"], "-out", paths["ca"])
    for name, subject, extension in (("server", "/CN=localhost", "subjectAltName=DNS:localhost,IP:127.0.0.1"),
                                     ("client", "/O=rlx/CN=node-7", "extendedKeyUsage=clientAuth")):
        request, extensions = paths[name] + ".csr", paths[name] + ".ext"
        with open(extensions, "w") as file:
            file.write(extension + "\n")
        run("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", subject, "-keyout", paths[name + ".key"], "-out",
            request)
        run("x509", "-req", "-in", request, "-CA", paths["ca"], "-CAkey", paths["ca.key"], "-CAcreateserial", "-days", "3650", "-extfile",
            extensions, "-out", paths[name])
    return paths


def read(path):
    with open(path, "rb") as file:
        return file.read()


@test
def over_tls_messages_of_every_size_come_back():
    paths = certificates()
    with Server("--tls", paths["server"], paths["server.key"]) as server:
        credentials = grpc.ssl_channel_credentials(read(paths["ca"]))
        with grpc.secure_channel("localhost:%d" % server.port, credentials, options=[("grpc.max_receive_message_length", -1)]) as channel:
            echo = unary(channel, "/test/Echo")
            for size in (0, 1, 16384, 1 << 20, 8 << 20):
                payload = os.urandom(size)
                expect(echo(payload, timeout=30) == payload, size)
            expect(len(unary(channel, "/test/Big")(b"30000000", timeout=60)) == 30000000)
            expect(b"subject -" in unary(channel, "/test/Info")(b"", timeout=5))
            with fails(grpc.StatusCode.DEADLINE_EXCEEDED):
                unary(channel, "/test/Silent")(b"", timeout=0.1)
        context = ssl.create_default_context(cafile=paths["ca"])
        context.set_alpn_protocols(["h2"])
        with server.raw(tls=context) as raw:
            expect(raw.call("/test/Counters")[0]["grpc-status"] == "0")


@test
def mutual_tls_shows_the_subject_and_refuses_strangers():
    paths = certificates()
    with Server("--tls", paths["server"], paths["server.key"], "--ca", paths["ca"]) as server:
        mutual = grpc.ssl_channel_credentials(read(paths["ca"]), read(paths["client.key"]), read(paths["client"]))
        with grpc.secure_channel("localhost:%d" % server.port, mutual) as channel:
            info = unary(channel, "/test/Info")(b"", timeout=5).decode()
            expect("O" in info and "rlx" in info and "node-7" in info, info)
            with grpc.secure_channel("localhost:%d" % server.port, grpc.ssl_channel_credentials(read(paths["ca"]))) as stranger:
                with fails(grpc.StatusCode.UNAVAILABLE):
                    unary(stranger, "/test/Echo")(b"", timeout=2)
            text = unary(channel, "/test/Counters")(b"", timeout=5).decode()
            expect(re.search(r"tls_failures [1-9]", text), text)


@test
def tls_files_that_do_not_fit_are_named():
    paths = certificates()
    for arguments, part in ((["/nonexistent.pem", paths["server.key"]], "/nonexistent.pem"), ([paths["server"], paths["client.key"]], "client.key"),
                            ([paths["server"], paths["server"]], "server.pem")):
        result = subprocess.run([SERVER, "--tls", *arguments], capture_output=True, text=True, timeout=5)
        expect(result.returncode == 1 and "RLX-1602" in result.stderr and part in result.stderr, result.stderr)


@test
def plain_bytes_to_a_tls_port_and_tls_to_a_plain_one_are_refused():
    paths = certificates()
    with Server("--tls", paths["server"], paths["server.key"]) as server, server.raw() as raw:
        raw.closed()
        with socket.create_connection(("127.0.0.1", server.port)) as plain:
            plain.sendall(b"GET / HTTP/1.1\r\n\r\n")
            plain.settimeout(3)
            while plain.recv(1000):
                pass
        server.stop_signal = signal.SIGINT
    with Server() as server:
        context = ssl.create_default_context(cafile=paths["ca"])
        try:
            server.raw(tls=context)
        except (ssl.SSLError, ConnectionResetError, OSError):
            pass
        expect(server.counters()["preface_bad"] == 1)


@test
def a_tls_connection_that_is_closed_while_a_large_answer_leaves_frees_everything():
    paths = certificates()
    with Server("--tls", paths["server"], paths["server.key"], stop=signal.SIGINT) as server:
        context = ssl.create_default_context(cafile=paths["ca"])
        context.set_alpn_protocols(["h2"])
        for _ in range(5):
            with server.raw(setting(4, 0x7fffffff), tls=context, rcvbuf=4096) as raw:
                raw.send(frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 0x7fff0000)))
                stream = raw.open("/test/Big")
                raw.data(stream, message(b"50000000"), end=True)
                time.sleep(0.05)


@test
def http1_is_handed_over_untouched_however_slowly_it_comes():
    with Server() as server:
        for request in (b"GET /x HTTP/1.1\r\n\r\n", b"POST /p HTTP/1.1\r\n\r\n", b"PRX /t HTTP/1.1\r\n\r\n"):
            for pause in (0, 0.02):
                with socket.create_connection(("127.0.0.1", server.port)) as client:
                    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    for piece in ([request] if not pause else [request[i:i + 1] for i in range(len(request))]):
                        client.sendall(piece)
                        time.sleep(pause)
                    client.settimeout(3)
                    answer = b""
                    while more := client.recv(1000):
                        answer += more
                    expect(answer.endswith(b"\r\n\r\n" + request.split(b"\r\n")[0]), answer)
        expect(subprocess.run(["curl", "-s", "http://%s/by/curl" % server.target], capture_output=True, timeout=5).stdout == b"GET /by/curl HTTP/1.1")
        expect(server.counters()["http_connections"] == 7)


@test
def an_http2_preface_that_comes_byte_by_byte_is_understood_without_spinning():
    with Server() as server, server.raw(begin=False) as raw:
        cpu = server.cpu()
        for byte in h2.PREFACE[:3]:
            raw.send(bytes([byte]))
            time.sleep(0.3)
        expect(server.cpu() - cpu < 0.1, "the server spun")
        for byte in h2.PREFACE[3:] + frame(SETTINGS):
            raw.send(bytes([byte]))
            time.sleep(0.002)
        expect(raw.call("/test/Echo", b"x")[1] == b"x")


@test
def http1_over_tls_goes_through_a_pair():
    paths = certificates()
    with Server("--tls", paths["server"], paths["server.key"]) as server:
        curl = ["curl", "-s", "--http1.1", "--cacert", paths["ca"]]
        url = "https://localhost:%d" % server.port
        expect(subprocess.run([*curl, url + "/tls"], capture_output=True, timeout=5).stdout == b"GET /tls HTTP/1.1")
        expect(subprocess.run([*curl, url + "/big/20000000"], capture_output=True, timeout=20).stdout == bytes(20000000))
        expect(subprocess.run([*curl, "--no-alpn", url + "/none"], capture_output=True, timeout=5).stdout == b"GET /none HTTP/1.1")
        slow = subprocess.run([*curl, "--limit-rate", "10M", url + "/big/5000000"], capture_output=True, timeout=20).stdout
        expect(slow == bytes(5000000), len(slow))
        # Gone in the middle.
        context = ssl.create_default_context(cafile=paths["ca"])
        with context.wrap_socket(socket.create_connection(("127.0.0.1", server.port)), server_hostname="localhost") as client:
            client.sendall(b"GET /big/50000000 HTTP/1.1\r\n\r\n")
            client.recv(1000)


@test
def without_an_http_server_such_peers_are_closed_and_counted():
    with Server("--no-http") as server:
        with socket.create_connection(("127.0.0.1", server.port)) as client:
            client.sendall(b"GET / HTTP/1.1\r\n\r\n")
            client.settimeout(3)
            with contextlib.suppress(ConnectionResetError):
                expect(client.recv(100) == b"")
        expect(server.counters()["preface_bad"] == 1)
