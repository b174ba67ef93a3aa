// Runs the model: `await load(bytes)` gives run(inputs), from ArrayBuffer views to Uint8Arrays, one per tensor, dense and row-major.
// In a browser:  const run = await load(await (await fetch("kernel.wasm")).arrayBuffer());
// By node:       node run.mjs kernel.wasm IN0.bin ... OUT0.bin ...     (raw elements)
export async function load(bytes) {
  const { instance } = await WebAssembly.instantiate(bytes, {});
  const e = instance.exports;
  return (inputs) => {
    inputs.forEach((view, i) => {
      const bytes = e.rlx_input_bytes(i) >>> 0; // places and sizes may lie above 2 GiB
      if (view.byteLength !== bytes) throw new Error(`input ${i} has ${view.byteLength} bytes, not ${bytes}`);
      new Uint8Array(e.memory.buffer, e.rlx_input(i) >>> 0, view.byteLength).set(new Uint8Array(view.buffer, view.byteOffset, view.byteLength));
    });
    const error = e.rlx_run();
    if (error) throw new Error(["", "an index lies outside its axis", "an integer is divided by zero"][error] ?? "a value lies outside its domain");
    return Array.from({ length: e.rlx_outputs() }, (_, i) => new Uint8Array(e.memory.buffer, e.rlx_output(i) >>> 0, e.rlx_output_bytes(i) >>> 0).slice());
  };
}

if (typeof process !== "undefined" && process.argv?.[1] && import.meta.url.endsWith(process.argv[1].split("/").pop())) {
  const { readFileSync, writeFileSync } = await import("node:fs");
  const [module, ...files] = process.argv.slice(2);
  const bytes = readFileSync(module);
  const { instance } = await WebAssembly.instantiate(bytes, {});
  const n = instance.exports.rlx_inputs();
  const outputs = (await load(bytes))(files.slice(0, n).map((file) => readFileSync(file)));
  outputs.forEach((data, i) => writeFileSync(files[n + i], data));
}
