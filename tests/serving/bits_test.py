"""An answer has the bits of `rlx infer`, whatever way it came and whoever ran beside it."""
import asyncio
import concurrent.futures
import itertools
import os
import queue
import subprocess
import tempfile

import numpy
import tritonclient.grpc as triton
import tritonclient.http as triton_http
import tritonclient.utils.shared_memory as shared
from tritonclient.grpc import service_pb2

from suite import ALL, MODELS, bundles, metrics, say, size, test
from rlxd import Rlxd

import rlx_client

ROWS = 8


class Cases:
    """Inputs of 1 to 8 rows, and what `rlx infer` makes of each."""

    def __init__(self, folder):
        rng = numpy.random.default_rng(6)
        self.inputs = [rng.standard_normal((1 + i % ROWS, 64)).astype(numpy.float32) for i in range(16)]
        self.expected = []
        for i, x in enumerate(self.inputs):
            numpy.savez(f"{folder}/{i}.npz", x=x)
            subprocess.run([os.environ["RLX"], "infer", str(MODELS / "classify.rlxb"), "--input", f"{folder}/{i}.npz", "--output", f"{folder}/o{i}.npz",
                            "--quiet"], check=True, capture_output=True)
            self.expected.append(numpy.load(f"{folder}/o{i}.npz")["y"].tobytes())


def entry(kind, x):
    return kind.InferInput("x", list(x.shape), "FP32")


class Raw:
    def __init__(self, server, socket):
        self.client = triton.InferenceServerClient(server.url)

    def ask(self, x):
        made = entry(triton, x)
        made.set_data_from_numpy(x)
        return self.client.infer("classify", [made]).as_numpy("y")


class Typed(Raw):
    def ask(self, x):
        request = service_pb2.ModelInferRequest(model_name="classify")
        tensor = request.inputs.add(name="x", datatype="FP32", shape=x.shape)
        tensor.contents.fp32_contents.extend(x.ravel().tolist())
        answer = self.client._client_stub.ModelInfer(request)
        return numpy.frombuffer(answer.raw_output_contents[0], numpy.float32)


class Stream(Raw):
    def __init__(self, server, socket):
        super().__init__(server, socket)
        self.answers = queue.Queue()
        self.client.start_stream(lambda result, error: self.answers.put((result, error)))

    def ask(self, x):
        made = entry(triton, x)
        made.set_data_from_numpy(x)
        self.client.async_stream_infer("classify", [made])
        result, error = self.answers.get(timeout=30)
        assert error is None, error
        return result.as_numpy("y")


class Json:
    binary = False

    def __init__(self, server, socket):
        self.client = triton_http.InferenceServerClient(server.url, network_timeout=60, connection_timeout=60)

    def ask(self, x):
        made = entry(triton_http, x)
        made.set_data_from_numpy(x, binary_data=self.binary)
        output = triton_http.InferRequestedOutput("y", binary_data=self.binary)
        return self.client.infer("classify", [made], outputs=[output]).as_numpy("y")


class Binary(Json):
    binary = True


class SystemMemory(Raw):
    numbers = itertools.count()

    def __init__(self, server, socket):
        super().__init__(server, socket)
        self.name = f"bits-{os.getpid()}-{next(self.numbers)}"
        self.handle = shared.create_shared_memory_region(self.name, "/" + self.name, 4096)
        self.client.register_system_shared_memory(self.name, "/" + self.name, 4096)

    def ask(self, x):
        shared.set_shared_memory_region(self.handle, [x])
        made = entry(triton, x)
        made.set_shared_memory(self.name, x.nbytes)
        output = triton.InferRequestedOutput("y")
        output.set_shared_memory(self.name, x.shape[0] * 40, 2048)
        self.client.infer("classify", [made], outputs=[output])
        return shared.get_contents_as_numpy(self.handle, numpy.float32, [x.shape[0], 10], 2048)

    def close(self):
        self.client.unregister_system_shared_memory(self.name)
        shared.destroy_shared_memory_region(self.handle)


class SealedMemory:
    def __init__(self, server, socket):
        self.client = rlx_client.RLXClient([f"http://{server.url}"], memory_socket=socket)
        self.x = self.client.empty((ROWS, 64))
        self.y = self.client.empty((ROWS, 10))

    def ask(self, x):
        n = x.shape[0]
        self.x[:n] = x
        return self.client.infer("classify", {"x": self.x[:n]}, outputs={"y": self.y[:n]})["y"]


WAYS = [Raw, Typed, Stream, Json, Binary, SystemMemory, SealedMemory]


def drive(server, socket, cases, clients, rounds, first=0):
    """`clients` threads, of all ways in turn from `first` on, each asks every case; how many answers."""
    def work(number):
        way = WAYS[(first + number) % len(WAYS)](server, socket)
        order = numpy.random.default_rng(number).permutation(len(cases.inputs) * rounds) % len(cases.inputs)
        for i in order:
            answer = way.ask(cases.inputs[i])
            assert numpy.asarray(answer).tobytes() == cases.expected[i], f"{type(way).__name__}: other bits for {cases.inputs[i].shape[0]} rows"
        if hasattr(way, "close"):
            way.close()
        return len(order)
    with concurrent.futures.ThreadPoolExecutor(clients) as pool:
        return sum(pool.map(work, range(clients)))


@test
def answers_have_the_bits_of_rlx_infer_by_every_way_at_every_concurrency_batched_or_not():
    rounds = size(1, 4, 1)
    with tempfile.TemporaryDirectory() as folder:
        cases = Cases(folder)
        for words in (["--workers", "2"], ["--workers", "1", "--set", "scheduling.batch_delay_us=2000us"], ["--workers", "3"]):
            socket = f"{folder}/memory.sock"
            with Rlxd(bundles("classify"), words=["--memory-socket", socket, *words]) as server:
                answers = 0
                for clients in (1, 2, 4, 7, 8, 16, 21, 32) if ALL else (1, 7, 32):
                    for first in range(0, len(WAYS), clients):
                        answers += drive(server, socket, cases, clients, rounds, first)
                # The same requests in flight together, rows side by side in runs.
                wide(server, cases, size(400, 4000, 60))
                numbers = metrics(server)
                say(f"{' '.join(words)}: {answers} answers by {len(WAYS)} ways, {numbers['rlx_batched_requests_total']:.0f} ran together with others, "
                    f"{numbers['rlx_runs_total']:.0f} runs")
                assert numbers["rlx_batched_requests_total"] > 0
                assert numbers['rlx_model_requests_total{model="classify",version="1",result="success"}'] >= answers


def wide(server, cases, requests):
    """32 in flight on one connection."""
    async def all_of_them():
        gate = asyncio.Semaphore(32)

        async def one(client, i):
            async with gate:
                answer = await client.infer("classify", {"x": cases.inputs[i % len(cases.inputs)]})
                assert answer["y"].tobytes() == cases.expected[i % len(cases.inputs)], i
        async with rlx_client.AsyncRLXClient([f"http://{server.url}"]) as client:
            await asyncio.gather(*(one(client, i) for i in range(requests)))
    asyncio.run(all_of_them())
