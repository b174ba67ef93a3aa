"""What tests of the front end expect of an error, and how they read /metrics."""
from prometheus_client.parser import text_string_to_metric_families

HEADER = "Inference-Header-Content-Length"


def refused(answer, code, *words):
    """An error is one object with a single string, and says what to do."""
    got, body = answer
    assert got == code, f"code {got}, expected {code}: {body}"
    assert list(body) == ["error"], body
    assert isinstance(body["error"], str), body
    for word in words:
        assert word in body["error"], f"'{word}' is not in: {body['error']}"


def scrape(server):
    code, headers, body = server.ask("GET", "/metrics")
    assert code == 200 and "version=0.0.4" in headers["content-type"]
    return {sample: value for family in text_string_to_metric_families(body.decode()) for sample, value in
            (((s.name, tuple(sorted(s.labels.items()))), s.value) for s in family.samples)}
