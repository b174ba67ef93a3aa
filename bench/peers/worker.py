"""A process that holds one engine with one model. Speaks lines of JSON: {"output": PATH} saves the output as .npy,
{"seconds": S} runs for S seconds and answers with the latencies in milliseconds. Answers {"error": ...} once and ends when
the engine fails."""

import json
import os
import sys
import time

import numpy

import engines


def measure(engine, seconds):
    latencies, end = [], time.perf_counter() + seconds
    while not latencies or time.perf_counter() < end:
        start = time.perf_counter()
        engine.run()
        latencies.append((time.perf_counter() - start) * 1e3)
    return latencies


def serve(name, base, threads, work, answer):
    engine = engines.ALL[name](base, threads, work)
    engine.prepare(dict(numpy.load(base + ".npz")))
    engine.run()
    answer({"ready": True})
    for line in sys.stdin:
        request = json.loads(line)
        if "output" in request:
            numpy.save(request["output"], engine.output())
            answer({"saved": True})
        else:
            answer({"latencies": measure(engine, request["seconds"])})


def main():
    name, base, threads, work = sys.argv[1:]
    out = os.fdopen(os.dup(1), "w") # engines print to stdout
    os.dup2(2, 1)

    def answer(message):
        out.write(json.dumps(message) + "\n")
        out.flush()

    try:
        serve(name, base, int(threads), work, answer)
    except Exception as error: # any engine failure is a result
        answer({"error": f"{type(error).__name__}: {str(error)[:200]}"})


if __name__ == "__main__":
    main()
