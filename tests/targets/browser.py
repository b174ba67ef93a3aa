"""A WebAssembly module in headless Chromium: a page that fetches run.mjs, the module and the inputs, runs it, and sends the outputs back."""
import http.server
import shutil
import subprocess
import tempfile
import threading

import numpy

PAGE = """<!doctype html><title>module</title><script type="module">
const send = (path, body) => fetch(path, {method: "POST", body});
const bytes = async (path) => new Uint8Array(await (await fetch(path)).arrayBuffer());
try {
  const {load} = await import("/run.mjs");
  const run = await load(await bytes("/module"));
  const inputs = [];
  for (let i = 0; i < %d; i++) inputs.push(await bytes(`/input/${i}`));
  const outputs = run(inputs);
  for (const output of outputs) await send("/output", output.slice());
  await send("/done", "");
} catch (error) { await send("/failed", String(error)); }
</script>"""
SECONDS = 300


def chromium():
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Served(http.server.BaseHTTPRequestHandler):
    """`files`: path -> (type, bytes); what comes back is kept in `outputs`, and `over` is set by the last word."""
    protocol_version = "HTTP/1.1"

    def log_message(self, *words):
        pass

    def answer(self, code, kind, body):
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        kind, body = self.server.files.get(self.path, ("text/plain", None))
        self.answer(404 if body is None else 200, kind, body or b"")

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(200, "text/plain", b"")
        if self.path == "/output":
            self.server.outputs.append(body)
        else:
            self.server.said = self.path[1:], body.decode()
            self.server.over.set()


def serve(files):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Served)
    server.files, server.outputs, server.said, server.over = files, [], ("nothing", ""), threading.Event()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def run(model, module):
    """The bytes of all outputs."""
    files = {"/": ("text/html", (PAGE % len(model.inputs)).encode()), "/module": ("application/wasm", module.read_bytes()),
             "/run.mjs": ("text/javascript", (module.parent / "run.mjs").read_bytes())}
    files |= {f"/input/{i}": ("application/octet-stream", numpy.load(path).tobytes()) for i, path in enumerate(model.inputs)}
    server = serve(files)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = subprocess.Popen([chromium(), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}",
                                    "--remote-debugging-port=0", f"http://127.0.0.1:{server.server_port}/"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        server.over.wait(SECONDS)
        browser.terminate()
        browser.wait()
    server.shutdown()
    assert server.said[0] == "done", f"the page said {server.said}"
    return server.outputs
