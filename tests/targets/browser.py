"""A WebAssembly module in headless Chromium: a page with module and inputs in it runs run.mjs and leaves the outputs in its text."""
import base64
import re
import shutil
import subprocess

import numpy

PAGE = """<!doctype html><pre id="out">waiting</pre><script type="module">
%s
const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
try {
  const run = await load(bytes("%s"));
  const outputs = run([%s].map(bytes));
  document.getElementById("out").textContent = "done " + outputs.map((o) => Array.from(o, (b) => b.toString(16).padStart(2, "0")).join("")).join(" ");
} catch (error) { document.getElementById("out").textContent = "failed " + error; }
</script>"""


def chromium():
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def run(model, module):
    """The bytes of all outputs."""
    text = (module.parent / "run.mjs").read_text()
    library = text[:text.index('if (typeof process')].replace("export async", "async")
    inputs = ", ".join(f'"{base64.b64encode(numpy.load(path).tobytes()).decode()}"' for path in model.inputs)
    page = module.with_suffix(".html")
    page.write_text(PAGE % (library, base64.b64encode(module.read_bytes()).decode(), inputs))
    done = subprocess.run([chromium(), "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=60000", "--dump-dom", page.as_uri()],
                          capture_output=True, text=True, timeout=120)
    said = re.search(r'id="out">(\w+) ?(.*?)</pre>', done.stdout, re.S)
    assert said and said[1] == "done", f"{said and said[0][:200]} {done.stderr[-300:]}"
    return [bytes.fromhex(part) for part in said[2].split()]
