"""The Trace Event Format as published ("Trace Event Format", Google, sections "JSON Array Format" and "Event Descriptions"), with what
Perfetto's importer adds to it: it sorts events by time, equal times in the order of the file, drops spans of a track that overlap without
nesting, async ends without a begin, and counters whose value is no number. check(text) raises AssertionError at the first event that it
would drop or misread."""
import json
import math

REQUIRED = {
    "X": {"name": str, "cat": str, "ph": str, "ts": float, "dur": float, "pid": int, "tid": int},
    "i": {"name": str, "cat": str, "ph": str, "ts": float, "pid": int, "tid": int, "s": str},
    "C": {"name": str, "ph": str, "ts": float, "pid": int, "args": dict},
    "M": {"name": str, "ph": str, "pid": int, "args": dict},
    "b": {"name": str, "cat": str, "ph": str, "ts": float, "pid": int, "id": str},
    "e": {"name": str, "cat": str, "ph": str, "ts": float, "pid": int, "id": str},
}
ALLOWED = {"args", "cat", "tid"}
METADATA = {"process_name": ("name", str), "thread_name": ("name", str), "thread_sort_index": ("sort_index", int)}


def _pairs(pairs):
    keys = [key for key, _ in pairs]
    assert len(keys) == len(set(keys)), f"a key comes twice: {keys}"
    return dict(pairs)


def _refuse(constant):
    raise AssertionError(f"{constant} is no JSON")


def _fields(event):
    required = REQUIRED.get(event.get("ph"))
    assert required is not None, f"unknown phase: {event}"
    for key, kind in required.items():
        value = event.get(key)
        fits = isinstance(value, (int, float) if kind is float else kind) and not isinstance(value, bool)
        assert fits, f"'{key}' is {value!r}, not {kind.__name__}: {event}"
        assert kind is not float or (math.isfinite(value) and value >= 0), f"'{key}' is {value}: {event}"
        assert kind is not int or 0 <= value < 1 << 32, f"'{key}' is {value}: {event}"
    assert event.keys() <= required.keys() | ALLOWED, f"fields that the phase does not have: {event.keys() - required.keys() - ALLOWED}"
    assert event["name"], f"an empty name: {event}"
    assert isinstance(event.get("args", {}), dict), event
    if event["ph"] == "i":
        assert event["s"] in ("g", "p", "t"), event
    if event["ph"] == "C":
        assert event["args"], event
        for value in event["args"].values():
            assert isinstance(value, (int, float)) and not isinstance(value, bool), event
    if event["ph"] == "M":
        key, kind = METADATA[event["name"]]
        assert isinstance(event["args"][key], kind), event


def _spans(events):
    """Complete spans of each track, as an importer meets them: sorted by begin, equal ones as they stand in the file."""
    tracks = {}
    for event in sorted((e for e in events if e["ph"] == "X"), key=lambda e: e["ts"]):
        stack = tracks.setdefault((event["pid"], event["tid"]), [])
        begin, end = round(event["ts"] * 1000), round(event["ts"] * 1000) + round(event["dur"] * 1000)
        while stack and stack[-1] <= begin:
            stack.pop()
        assert not stack or end <= stack[-1], f"overlaps the span around it by {end - stack[-1]} ns: {event}"
        stack.append(end)


def _async(events):
    stacks = {}
    for event in sorted((e for e in events if e["ph"] in "be"), key=lambda e: e["ts"]):
        stack = stacks.setdefault((event["cat"], event["id"]), [])
        if event["ph"] == "b":
            stack.append(event["name"])
        else:
            assert stack and stack[-1] == event["name"], f"ends what is not open ({stack}): {event}"
            stack.pop()
    assert not any(stacks.values()), f"never end: {[key for key, stack in stacks.items() if stack]}"


def check(text):
    """A whole file, one event a line; returns its events."""
    lines = text.removesuffix("\n").split("\n")  # other line breaks may stand in strings
    assert lines[0] == "[" and lines[-1] == "]", (lines[0], lines[-1])
    events = [json.loads(line.removesuffix(","), object_pairs_hook=_pairs, parse_constant=_refuse) for line in lines[1:-1]]
    assert all(line.endswith(",") for line in lines[1:-2]) and not lines[-2].endswith(","), "commas"
    for event in events:
        _fields(event)
    named = {(e["pid"], e["tid"]) for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    used = {(e["pid"], e["tid"]) for e in events if e["ph"] == "X"}
    assert used <= named, f"tracks without a name: {used - named}"
    _spans(events)
    _async(events)
    return events
