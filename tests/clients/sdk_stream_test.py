"""Streams of librlx and rlx_client against a real rlxd: one connection's stream carries many requests; what happens to one is its own."""
import asyncio
import struct
import threading
import time

import numpy as np

import sdk
from fake import FakeServer, begin, field, message, output, raw, trailers
from harness import bundles, test
from program import until
from rlxd import Rlxd

import rlx_client  # after sdk, which says where it is

assert sdk.ROOT


def calls_begun(own):
    line = next(line for line in own.get("/metrics")[1].decode().splitlines() if line.startswith("rlx_rpc_calls_total"))
    return int(line.split()[-1])


@test
def many_requests_go_by_one_call_of_grpc_and_find_their_answers():
    with Rlxd(bundles("plus")) as own, rlx_client.RLXClient(f"http://{own.url}") as client:
        before = calls_begun(own)
        with client.stream() as stream:
            arrays = [np.arange(i + 1, dtype=np.float32) for i in range(200)]
            futures = [stream.submit("plus", {"x": array}) for array in arrays]
            for array, future in zip(arrays, futures):
                assert (future.result(30)["y"] == array + 1).all()
            assert stream.infer("plus", {"x": arrays[3]}, request_id="mine").id == "mine"
        assert calls_begun(own) - before == 1
        assert own.get("/readyz")[0] == 200


@test
def an_error_belongs_to_its_request_and_the_stream_goes_on():
    with Rlxd(bundles("plus")) as own, rlx_client.RLXClient(f"http://{own.url}") as client:
        x = np.float32([1, 2])
        with client.stream() as stream:
            bad = stream.submit("absent", {"x": x})
            worse = stream.submit("plus", {"x": x.astype(np.int32)})
            assert (stream.infer("plus", {"x": x})["y"] == x + 1).all()
            for future, kind, code in ((bad, rlx_client.NotFound, 1603), (worse, rlx_client.InvalidArgument, 1403)):
                error = future.exception(30)
                assert isinstance(error, kind) and error.code == code, error
        try:
            stream.submit("plus", {"x": x})
            raise AssertionError("submitted to a closed stream")
        except rlx_client.Cancelled:
            pass


@test
def outputs_that_the_user_has_a_place_for_are_written_there():
    with Rlxd(bundles("plus")) as own, rlx_client.RLXClient(f"http://{own.url}") as client, client.stream() as stream:
        x, y = np.arange(300000, dtype=np.float32), np.zeros(300000, np.float32)
        result = stream.submit("plus", {"x": x}, outputs={"y": y}).result(30)
        assert (y == x + 1).all() and result["y"] is y


@test
def calls_of_a_stream_whose_server_goes_are_answered_by_another():
    with Rlxd(bundles("plus")) as first, Rlxd(bundles("plus")) as second:
        with rlx_client.RLXClient([f"http://{first.url}", f"http://{second.url}"], timeout=20) as client:
            x = np.arange(1000, dtype=np.float32)
            answered, seen = 0, set()

            def end_first():
                time.sleep(0.1)
                first.kill()

            thread = threading.Thread(target=end_first)
            thread.start()
            with client.stream() as stream:
                until = time.monotonic() + 1
                while time.monotonic() < until:
                    for future in [stream.submit("plus", {"x": x}) for _ in range(16)]:
                        result = future.result(20)
                        assert (result["y"] == x + 1).all()
                        seen.add(result.endpoint)
                        answered += 1
            thread.join()
            assert answered > 100 and f"http://{second.url}" in seen, (answered, seen)


@test
def a_stream_awaits_and_cancels_with_asyncio():
    async def work(url):
        async with rlx_client.AsyncRLXClient(f"http://{url}") as client, client.stream() as stream:
            arrays = [np.float32([i]) for i in range(50)]
            results = await asyncio.gather(*(stream.infer("plus", {"x": array}) for array in arrays))
            assert [float(result["y"][0]) for result in results] == [i + 1.0 for i in range(50)]
            task = asyncio.create_task(stream.infer("slow", {"x": np.zeros((512, 512), np.float32)}))
            await asyncio.sleep(0.02)
            task.cancel()
            try:
                await task
                raise AssertionError("not cancelled")
            except asyncio.CancelledError:
                pass
            assert (await stream.infer("plus", {"x": arrays[0]}))["y"][0] == 1

    with Rlxd(bundles("plus", "slow")) as own:
        asyncio.run(work(own.url))


def told(kind, code, answer, *words, **options):
    """What a server that answers so makes of a call on a stream."""
    with FakeServer(answer, each=True) as server, rlx_client.RLXClient(f"http://{server.url}", timeout=5) as client, client.stream() as stream:
        error = stream.submit("plus", {"x": np.float32([41])}, **options).exception(30)
        assert isinstance(error, kind) and error.code == code, repr(error)
        for word in words:
            assert word in str(error), f"'{word}' is not in: {error}"


def answer_of(number):
    return field(2, field(3, str(number).encode()) + output() + raw(struct.pack("<f", 42)))


@test
def what_a_server_does_wrong_on_a_stream_is_told_and_bounded_in_time():
    told(rlx_client.DeadlineExceeded, 1702, lambda stream: b"", "300 ms", timeout=0.3)
    told(rlx_client.DeadlineExceeded, 1702, lambda stream: begin(stream) + message(stream, answer_of(77)), timeout=0.3)
    told(rlx_client.DeadlineExceeded, 1702, lambda stream: begin(stream) + message(stream, b""), timeout=0.3)
    for body in (b"\xff\xff\xff", b"\x12\x7f", field(2, b"\x1a\x7f")):
        told(rlx_client.RLXError, 1703, lambda stream, body=body: begin(stream) + message(stream, body), "ModelStreamInferResponse")
    told(rlx_client.Unavailable, 0, lambda stream: begin(stream) + trailers(stream), "ended the stream before")
    told(rlx_client.ResourceExhausted, 0, lambda stream: begin(stream) + trailers(stream, 8, "enough"), "enough")
    told(rlx_client.RLXError, 0, lambda stream: begin(stream) + message(stream, field(1, b"no code here") + field(2, field(3, b"1"))), "no code here")
    told(rlx_client.NotFound, 1603, lambda stream: begin(stream) + message(stream, field(1, b"RLX-1603: not here") + field(2, field(3, b"1"))),
         "not here")
    told(rlx_client.RLXError, 1703, lambda stream: begin(stream) + message(stream, field(2, field(3, b"1") + output() + raw(b"short"))))


@test
def answers_in_any_order_and_repeated_ones_find_their_calls_once():
    sent = []

    def answer(stream):
        sent.append(stream)
        if len(sent) < 3:
            return b""
        return begin(stream) + b"".join(message(stream, answer_of(number)) for number in (3, 1, 3, 9, 2))

    with FakeServer(answer, each=True) as server, rlx_client.RLXClient(f"http://{server.url}", timeout=5) as client, client.stream() as stream:
        futures = []
        for _ in range(3):  # one piece each: the next goes when the server has this one
            futures.append(stream.submit("plus", {"x": np.float32([41])}))
            until(lambda: len(sent) >= len(futures), "the message came")
        assert [future.result(10)["y"].tolist() for future in futures] == [[42], [42], [42]]


@test
def a_client_that_closes_with_a_stream_open_ends_its_calls():
    with Rlxd(bundles("slow")) as own:
        client = rlx_client.RLXClient(f"http://{own.url}")
        stream = client.stream()
        future = stream.submit("slow", {"x": np.zeros((512, 512), np.float32)})
        client.close()
        assert isinstance(future.exception(30), rlx_client.Cancelled), future.exception()
        stream.close()
