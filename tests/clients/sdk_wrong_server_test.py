"""rlx_client against servers that refuse, lie, or are none: what is safe to repeat is repeated elsewhere, everything else is told."""
import struct
import time

import numpy as np

import sdk
import fake
from fake import FakeServer, begin, frame, message, output, raw, trailers, varint
from harness import test

import rlx_client  # after sdk, which says where it is

X = {"x": np.float32([41])}
ONE = struct.pack("<f", 42)


def good(stream):
    return begin(stream) + message(stream, output() + raw(ONE)) + trailers(stream)


def ask(server, **options):
    with rlx_client.RLXClient(f"http://{server.url}", **{"timeout": 10, **options}) as client:
        return client.infer("plus", X)


def told(kind, answer, *words, code=None, **options):
    """A server that answers so is reported so."""
    with FakeServer(answer) as server:
        try:
            ask(server, **options)
        except kind as error:
            for word in words:
                assert word in str(error), f"'{word}' is not in: {error}"
            assert code is None or error.code == code, error
            return
        raise AssertionError("no error")


def ready_await(client):
    """Both endpoints take part: requests are spread over those that are ready."""
    for _ in range(200):
        if all(endpoint["state"] == "ready" for endpoint in client.state()["endpoints"]):
            return
        time.sleep(0.01)


def repeated(answer):
    """A request that is answered so goes to the other endpoint, and is answered."""
    with FakeServer(answer) as bad, FakeServer(good) as other:
        with rlx_client.RLXClient([f"http://{bad.url}", f"http://{other.url}"], timeout=10) as client:
            ready_await(client)
            for _ in range(6):
                assert client.infer("plus", X)["y"].tolist() == [42]
            assert bad.requests > 0
            assert client.state()["retries"] == bad.requests


@test
def an_answer_in_any_pieces_is_read():
    def pieces(stream):
        body = output(more=fake.field(4, fake.field(1, b"other") + fake.field(2, varint(1 << 3) + b"\1"))) + raw(ONE)
        whole = b"\0" + struct.pack(">I", len(body)) + body
        return begin(stream) + b"".join(frame(fake.DATA, 0, stream, whole[i:i + 1]) for i in range(len(whole))) + trailers(stream)

    for answer in (good, pieces, lambda s: begin(s) + message(s, raw(ONE) + output()) + trailers(s)):
        with FakeServer(answer) as server:
            assert ask(server)["y"].tolist() == [42]


@test
def refused_streams_go_elsewhere():
    repeated(lambda stream: frame(fake.RST_STREAM, 0, stream, struct.pack(">I", 7)))


@test
def unavailable_goes_elsewhere():
    repeated(lambda stream: fake.headers(stream, True, status=200, content_type="application/grpc", grpc_status=14, grpc_message="later"))


@test
def requests_beyond_a_goaway_go_elsewhere():
    repeated(lambda stream: frame(fake.GOAWAY, 0, 0, struct.pack(">II", max(0, stream - 2), 0)))


@test
def other_failures_are_not_repeated():
    with FakeServer(lambda stream: begin(stream) + trailers(stream, 13, "RLX-1099: bro%6ben%20in two")) as bad, FakeServer(good) as other:
        with rlx_client.RLXClient([f"http://{bad.url}", f"http://{other.url}"], timeout=10) as client:
            ready_await(client)
            failed = 0
            for _ in range(20):
                try:
                    client.infer("plus", X)
                except rlx_client.Internal as error:
                    failed += 1
                    assert str(error) == "RLX-1099: broken in two"
            assert failed == bad.requests > 0
            assert client.state()["retries"] == 0


@test
def answers_that_lie_are_refused():
    malformed = {"code": 1703}
    told(rlx_client.Internal, lambda s: begin(s) + message(s, output() + raw(ONE), flag=1) + trailers(s), "compressed", **malformed)
    told(rlx_client.Internal, lambda s: begin(s) + message(s, output() + raw(ONE), claimed=500) + trailers(s), "cut off", **malformed)
    told(rlx_client.Internal, lambda s: begin(s) + trailers(s), "no message", **malformed)
    told(rlx_client.Internal, lambda s: begin(s) + message(s, b"\xff" * 30) + trailers(s), **malformed)
    told(rlx_client.Internal, lambda s: begin(s) + message(s, output()) + trailers(s), "no data", **malformed)
    told(rlx_client.Internal, lambda s: begin(s) + message(s, output() + raw(ONE) + raw(ONE)) + trailers(s), "1 outputs and 2", **malformed)
    # Nobody reads past the data because a shape says so.
    told(rlx_client.Internal, lambda s: begin(s) + message(s, output(shape=(1000,)) + raw(ONE)) + trailers(s), "4000", "4 bytes", **malformed)
    told(rlx_client.Internal, lambda s: begin(s) + message(s, output(shape=(1 << 40, 1 << 40)) + raw(ONE)) + trailers(s), "overflows", **malformed)
    told(rlx_client.Internal, lambda s: begin(s) + message(s, output(shape=(1,) * 9) + raw(ONE)) + trailers(s), "extents", **malformed)
    told(rlx_client.Internal, lambda s: begin(s) + message(s, output(datatype=b"BYTES") + raw(ONE)) + trailers(s), "BYTES", **malformed)
    region = fake.field(4, fake.field(1, b"shared_memory_region") + fake.field(2, fake.field(3, b"mine")))
    told(rlx_client.Internal, lambda s: begin(s) + message(s, output(more=region)) + trailers(s), "region", **malformed)


@test
def an_answer_above_the_limit_is_refused_with_both_numbers():
    body = output() + raw(bytes(4000))
    told(rlx_client.ResourceExhausted, lambda s: begin(s) + message(s, body) + trailers(s), f"{len(body)} bytes", "1000", code=1610,
         max_answer_bytes=1000)


@test
def a_server_that_is_no_grpc_server_is_named_so():
    told(rlx_client.Unimplemented, lambda s: fake.headers(s, True, status=404), "404", code=1703)
    told(rlx_client.Unavailable, lambda s: fake.headers(s, True, status=503), "503")
    for greeting, word in ((b"HTTP/1.1 400 Bad Request\r\n\r\n", "HTTP/2"), (b"", "closed it")):
        with FakeServer(greeting=greeting) as server:
            try:
                ask(server, connect_timeout=0.5)
                raise AssertionError("answered")
            except rlx_client.RLXError as error:
                assert word in str(error), error


@test
def a_server_without_settings_meets_the_connect_limit():
    with FakeServer(good, settings=False) as server:
        began = time.monotonic()
        try:
            ask(server, connect_timeout=0.3)
            raise AssertionError("answered")
        except rlx_client.RLXError as error:
            assert "300 ms" in str(error), error
        assert time.monotonic() - began < 5


@test
def a_server_that_goes_away_in_the_middle_is_told():
    with FakeServer(lambda s: begin(s) + message(s, b"", claimed=100)) as server:
        with rlx_client.RLXClient(f"http://{server.url}", timeout=10) as client:
            future = client.submit("plus", X)
            time.sleep(0.2)
            server.__exit__()
            try:
                future.result(5)
                raise AssertionError("answered")
            except rlx_client.Unavailable as error:
                assert error.code == 1701, error
