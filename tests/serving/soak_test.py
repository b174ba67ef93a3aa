"""Requests of every fate over many connections: each is answered or was given up, memory stays, and the numbers add up."""
import json

import numpy
import tritonclient.grpc as triton

import suite
from suite import MIB, bundles, metrics, quiet, resident, results, say, size, test
from rlxd import Rlxd
from storm import Request, Storm, encoded

ROUNDS = 10


def sums(n=16):
    """Requests to `sum` of 1 to 8 rows, and the bytes of their total."""
    rng = numpy.random.default_rng(4)
    made = []
    for i in range(n):
        a, b = rng.standard_normal((2, 1 + i % 8, 4)).astype(numpy.float32)
        made.append(Request(encoded("sum", a=a, b=b), ((a + b).tobytes(),)))
    return made


def wrong():
    good = numpy.ones((1, 4), numpy.float32)
    cut = encoded("sum", a=good, b=good)[:-3]
    many = numpy.ones((9, 4), numpy.float32)
    refused = [(encoded("nobody", a=good, b=good), 5), (encoded("sum", a=good), 3), (encoded("sum", a=good, b=good[:, :3]), 3),
               (encoded("sum", a=many, b=many), 8), (cut, 3), (b"\xff" * 20, 3)]
    return [Request(data, statuses=(status,)) for data, status in refused]


def count_everywhere(server, model):
    """(success, failed) as gRPC's statistics, REST's and /metrics have them, which must be the same."""
    found = results(metrics(server), model)
    success, failed = found["success"], sum(found.values()) - found["success"]
    rest = json.loads(server.get(f"/v2/models/{model}/stats")[1])["model_stats"][0]["inference_stats"]
    with triton.InferenceServerClient(server.url) as c:
        grpc = c.get_inference_statistics(model).model_stats[0].inference_stats
    assert (grpc.success.count, grpc.fail.count) == (success, failed), (grpc, found)
    assert (rest["success"]["count"], rest["fail"]["count"]) == (success, failed), (rest, found)
    return success, failed


@test
def every_request_of_every_fate_is_answered_once_counted_once_and_leaves_no_memory_behind():
    requests = size(1500, 10000, 300)
    with Rlxd(bundles("sum", "work"), words=["--workers", "2"]) as server:
        x = numpy.ones(256, numpy.float32)
        with triton.InferenceServerClient(server.url) as c:
            entry = triton.InferInput("x", [256], "FP32")
            entry.set_data_from_numpy(x)
            expected = c.infer("work", [entry]).as_numpy("y").tobytes()
        requests_made = sums(30) + [Request(encoded("work", x=x), (expected,))]  # some work, so that others wait and time out
        before = quiet(server)
        began = {model: count_everywhere(server, model) for model in ("sum", "work")}
        storm = Storm(server.port, requests_made, wrong())
        sizes = []
        for round_ in range(ROUNDS + 1):
            storm.run(requests if round_ else max(requests, size(6000, 10000, 0)))  # the first warms up
            numbers = quiet(server)
            sizes.append(resident(server))
        storm.close()
        numbers = suite.until(lambda: (n := metrics(server))['rlx_connections{protocol="grpc"}'] == 0 and n, "the connections are gone")
        say(f"{sum(storm.counts[fate] for fate in storm.fates)} requests: {dict(storm.counts)}, answers {dict(storm.statuses)}")
        say(f"resident after each round, KiB: {[n // 1024 for n in sizes]}")
        # The server's books: what it opened, refused at open, and finished.
        total = {key: 0 for key in results(numbers, "sum")}
        for model in ("sum", "work"):
            count_everywhere(server, model)
            for key, value in results(numbers, model).items():
                total[key] += value
        finished = sum(total.values()) - sum(map(sum, began.values()))
        opened = numbers["rlx_requests_opened_total"] - before["rlx_requests_opened_total"]
        malformed = numbers["rlx_requests_malformed_total"] - before["rlx_requests_malformed_total"]
        say(f"finished by result: {total}, opened {opened:.0f}, malformed {malformed:.0f}")
        assert opened == finished - total["input"] - total["rejected"] + numbers_rejected_open(numbers, before), (opened, total)
        # The client's books: those that were sent whole on a connection that stayed, and those nobody can be sure of.
        uncertain = storm.counts["cut"] + storm.counts["gone"] + storm.counts["reset within"] + storm.counts["lost with their connection"]
        sent = sum(storm.counts[fate] for fate in storm.fates)
        assert sent - uncertain <= finished + malformed <= sent, (sent, uncertain, finished, malformed)
        assert total["success"] - sum(s for s, _ in began.values()) >= storm.statuses[0]
        assert numbers["rlx_request_memory_bytes"] == 0 and numbers["process_open_fds"] <= before["process_open_fds"], numbers["process_open_fds"]
        if not suite.SANITIZED:
            assert max(sizes) - sizes[0] <= MIB, sizes


def numbers_rejected_open(numbers, before):
    """Requests that were refused after they had a place: by a deadline that cannot be met, or a full queue."""
    return sum(numbers[key] - before[key] for key in (f'rlx_requests_refused_total{{reason="{reason}"}}'
                                                      for reason in ("deadline_unreachable", "queue_full")))


@test
def without_cancellation_and_loss_the_statistics_are_exactly_what_was_sent():
    requests = size(3000, 10000, 300)
    with Rlxd(bundles("sum")) as server:
        storm = Storm(server.port, sums(), fates={"whole": 60, "pieces": 20, "wrong": 20}, wrong=wrong(), seed=2)
        storm.run(requests)
        storm.close()
        numbers = quiet(server)
        success, failed = count_everywhere(server, "sum")
        malformed = numbers["rlx_requests_malformed_total"]
        assert storm.counts["answered"] == requests and success == storm.statuses[0], (storm.counts, success)
        assert success + failed + malformed == requests, (success, failed, malformed)
        assert numbers["rlx_rpc_calls_total"] == requests, numbers["rlx_rpc_calls_total"]
