/* The page's script, part 1: helpers, head, kernels, roofline. scripts/embed_page.py joins the parts in one scope. */
const D = JSON.parse(document.getElementById("data").textContent);
const $ = id => document.getElementById(id);
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const el = (tag, props, ...inner) => {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(props || {}))
    if (key === "style") node.style.cssText = value; else if (key in node) node[key] = value; else node.setAttribute(key, value);
  node.append(...inner.filter(x => x !== null && x !== undefined));
  return node;
};
const svg = (tag, props, ...inner) => {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(props || {})) node.setAttribute(key, value);
  node.append(...inner);
  return node;
};
const digits = (x, n) => x === 0 ? "0" : Math.abs(x) >= 100 ? x.toFixed(0) : Math.abs(x) >= 10 ? x.toFixed(Math.min(1, n)) : x.toFixed(n);
const time = ns => ns >= 1e9 ? digits(ns / 1e9, 2) + " s" : ns >= 1e6 ? digits(ns / 1e6, 2) + " ms" : ns >= 1e3 ? digits(ns / 1e3, 1) + " \u00b5s" : ns.toFixed(0) + " ns";
const percent = x => x >= 9.995 ? Math.round(x * 100) + " %" : (100 * x).toFixed(x < 0.0995 && x > 0 ? 1 : 0) + " %";
const count = x => x >= 1e9 ? digits(x / 1e9, 2) + " G" : x >= 1e6 ? digits(x / 1e6, 2) + " M" : x >= 1e3 ? digits(x / 1e3, 1) + " k" : x.toFixed(0);
const verdicts = {"compute-bound": "--compute", "memory-bound": "--memory", "network-bound": "--network", "overhead-bound": "--overhead", "no single limit": "--none"};
const color = verdict => `var(${verdicts[verdict] || "--none"})`;

/* Every kernel keeps one colour on the whole page. */
const dark = matchMedia("(prefers-color-scheme: dark)");
const printing = matchMedia("print");
const isDark = () => dark.matches && !printing.matches;
const hues = [205, 168, 38, 262, 350, 92, 18, 228, 186, 312, 60, 140];
const hueOf = new Map(D.kernels.map((k, i) => [k.kernel, i]));
const kernelColor = kernel => {
  const i = hueOf.get(kernel) ?? 11;
  const light = isDark() ? 56 - 8 * (Math.floor(i / 12) % 2) : 58 + 8 * (Math.floor(i / 12) % 2);
  return `hsl(${hues[i % 12]} ${isDark() ? 40 : 46}% ${light}%)`;
};
const tip = $("tip");
const tipShow = (event, title, lines) => {
  tip.replaceChildren(el("b", {textContent: title}), ...lines.map(line => el("div", {textContent: line})));
  tip.style.display = "block";
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(6, Math.min(event.clientX + 14, innerWidth - box.width - 8)) + "px";
  tip.style.top = (event.clientY + box.height + 22 > innerHeight ? event.clientY - box.height - 12 : event.clientY + 16) + "px";
};
const tipHide = () => { tip.style.display = "none"; };

/* Head. */
const M = D.meta, O = D.overall;
const ran = new Set(D.steps.filter(s => s.count > 0).map(s => s.model));
const names = D.models.filter((_, i) => ran.has(i)).map(m => m.name);
$("title").textContent = names.length === 0 ? "nothing ran" : names.length <= 3 ? names.join(", ") : `${names.slice(0, 2).join(", ")} and ${names.length - 2} more`;
document.title = `${$("title").textContent} \u2013 RLX profile`;
const when = M.unix_ms > 0 ? new Date(M.unix_ms).toISOString().slice(0, 16).replace("T", " ") + " UTC" : "";
$("facts").append(...[`${M.program} ${M.version}`, M.node, `${M.isa}, ${M.threads} ${M.threads === 1 ? "thread" : "threads"}`,
  `${digits(M.peak_gflops, 1)} GF/s, ${digits(M.peak_gbytes, 1)} GB/s measured`, when].filter(Boolean).map(text => el("span", {textContent: text})));
if (M.note) { $("note").textContent = M.note; $("note").hidden = false; }
const headlines = {"compute-bound": "Compute-bound", "memory-bound": "Memory-bound", "network-bound": "Network-bound", "overhead-bound": "Overhead-bound", "no single limit": "No single limit"};
$("headline").textContent = O.count > 0 ? headlines[O.verdict] : "No steps in the trace";
$("headline").style.color = color(O.verdict);
$("why").textContent = O.why;
$("knob").textContent = O.knob;
$("knob").hidden = !O.knob;
for (const [label, value, line, hue] of [
  ["workers busy", O.busy, `${percent(O.busy)} of ${M.threads} \u00d7 ${time(O.window)}`, "--compute"],
  ["FMA peak", O.fma, O.window > 0 ? `${digits(O.flops / O.window, 1)} of ${digits(M.peak_gflops, 1)} GF/s` : "", "--accent"],
  ["memory", O.bandwidth, O.window > 0 ? `${digits(O.bytes / O.window, 1)} of ${digits(M.peak_gbytes, 1)} GB/s` : "", "--memory"]])
  $("gauges").append(el("div", {className: "gauge"},
    el("div", {className: "top"}, el("b", {textContent: percent(value)}), el("span", {textContent: `${label} \u2013 ${line}`})),
    el("div", {className: "track"}, el("i", {style: `width:${Math.min(100, 100 * value)}%;background:var(${hue})`}))));
{
  const running = Math.max(0, O.window - O.transfer - O.idle);
  const parts = [["a run under way", running, "--running"], ["bytes moving, no run", O.transfer, "--receiving"], ["waiting, neither", O.idle, "--queued"]];
  $("split").append(el("div", {className: "parts"}, ...parts.map(([, ns, hue]) => el("i", {style: `flex:${O.window > 0 ? ns / O.window : 0};background:var(${hue})`}))),
    el("div", {className: "legend"}, ...parts.map(([label, ns, hue]) => el("span", {}, el("i", {className: "dot", style: `background:var(${hue})`}), `${label} `, el("b", {textContent: percent(O.window > 0 ? ns / O.window : 0)}))),
      el("span", {}, `${time(O.window)} with requests in flight, `, el("b", {textContent: `${O.runs} ${O.runs === 1 ? "run" : "runs"}`}))));
}

/* Kernels and steps. */
const columns = [
  ["kernel", "kernel", row => row.name ?? row.kernel], ["verdict", "limit", row => row.verdict], ["count", "times", row => row.count],
  ["mean", "mean", row => row.ns / row.count], ["ns", "time", row => row.ns], ["fma", "GF/s", row => row.flops / row.ns],
  ["fmaPart", "FMA", row => row.fma], ["gbytes", "GB/s", row => row.bytes / row.ns], ["bandwidth", "memory", row => row.bandwidth], ["busy", "busy", row => row.busy]];
const view = {level: "kernels", key: "ns", up: false, filter: "", open: new Set(), all: false};
const ROWS = 40;
const meter = (value, hue) => el("td", {className: "meter"}, el("div", {className: "track"}, el("i", {style: `width:${Math.min(100, 100 * value)}%;background:${hue}`})), el("span", {textContent: percent(value)}));
const tableRow = row => {
  const title = row.name ?? row.kernel;
  const sub = row.name ? row.kernel : row.steps > 1 ? `${row.steps} steps` : "1 step";
  const key = view.level + (row.name ? `${row.model}/${row.step}` : row.kernel);
  const cells = el("tr", {className: "row"},
    el("td", {className: "name", title: row.source ? `${title}: ${row.source}` : title}, el("i", {className: "dot", style: `background:${kernelColor(row.kernel)}`}), title, el("span", {className: "sub", textContent: sub})),
    el("td", {className: "left"}, el("span", {className: "chip", style: `--c:${color(row.verdict)}`, textContent: row.verdict})),
    el("td", {textContent: row.count}), el("td", {textContent: time(row.ns / row.count)}),
    meter(O.ns > 0 ? row.ns / O.ns : 0, kernelColor(row.kernel)),
    el("td", {textContent: row.flops > 0 ? digits(row.flops / row.ns, 1) : "\u2013"}), row.flops > 0 ? meter(row.fma, "var(--accent)") : el("td", {textContent: "\u2013"}),
    el("td", {textContent: digits(row.bytes / row.ns, 1)}), meter(row.bandwidth, "var(--memory)"), meter(row.busy, "var(--compute)"));
  const out = [cells];
  if (view.open.has(key))
    out.push(el("tr", {className: "explain"}, el("td", {colSpan: columns.length},
      el("p", {textContent: row.why}), el("p", {textContent: row.knob}),
      row.source ? el("p", {}, `${row.source}. ${digits(row.tiles, 0)} tiles, ${digits(row.team, 1)} workers, longest ${time(row.longest)}, ${count(row.flops / row.count)}flop and ${count(row.bytes / row.count)}B a time.`) : null)));
  cells.addEventListener("click", () => { view.open.has(key) ? view.open.delete(key) : view.open.add(key); tableDraw(); });
  return out;
};
const tableDraw = () => {
  const get = columns.find(c => c[0] === view.key)[2];
  const wanted = view.filter.toLowerCase();
  const rows = D[view.level].filter(r => r.count > 0 && (!wanted || `${r.name ?? ""} ${r.kernel} ${r.source ?? ""} ${r.verdict}`.toLowerCase().includes(wanted)))
    .sort((a, b) => { const x = get(a), y = get(b), order = typeof x === "string" ? x.localeCompare(y) : y - x; return view.up ? -order : order; });
  $("table").tHead.replaceChildren(el("tr", {}, ...columns.map(([key, label], i) => {
    const head = el("th", {textContent: key === "ns" ? "share of time" : i === 0 && view.level === "steps" ? "step" : label, className: `${i === 1 ? "left " : ""}${key === view.key ? "on" : ""}${view.up ? " up" : ""}`});
    head.dataset.key = key;
    head.addEventListener("click", () => { view.up = view.key === key ? !view.up : false; view.key = key; tableDraw(); });
    return head;
  })));
  $("table").tBodies[0].replaceChildren(...rows.slice(0, view.all ? rows.length : ROWS).flatMap(tableRow));
  $("more").replaceChildren(...(rows.length > ROWS && !view.all ? [`${ROWS} of ${rows.length} rows. `, el("a", {href: "#kernels", textContent: "Show all", onclick: event => { event.preventDefault(); view.all = true; tableDraw(); }})] : []));
};
$("level").addEventListener("click", event => {
  if (!event.target.dataset.level) return;
  view.level = event.target.dataset.level;
  view.all = false;
  for (const button of $("level").children) button.classList.toggle("on", button === event.target);
  tableDraw();
});
$("filter").addEventListener("input", () => { view.filter = $("filter").value; tableDraw(); });

/* The roofline: attainable GF/s over operations per byte. */
const roofDraw = () => {
  const W = 1180, H = 400, left = 56, right = 24, top = 14, bottom = 44;
  const points = D.kernels.filter(k => k.flops > 0 && k.bytes > 0 && k.ns > 0);
  const steps = D.steps.filter(s => s.count > 0 && s.flops > 0 && s.bytes > 0 && s.ns > 0);
  const all = [...points, ...steps];
  const peak = M.peak_gflops, rate = M.peak_gbytes;
  if (all.length === 0 || !(peak > 0) || !(rate > 0)) { $("roof").hidden = true; return; }
  const ridge = peak / rate;
  const xs = all.map(k => k.flops / k.bytes), ys = all.map(k => k.flops / k.ns);
  const x0 = Math.min(ridge / 8, ...xs) / 1.6, x1 = Math.max(ridge * 8, ...xs) * 1.6, y1 = Math.max(peak, ...ys) * 1.7;
  const y0 = Math.max(y1 / 1e5, Math.min(peak / 30, ...ys) / 1.6);
  const X = x => left + (W - left - right) * Math.log(x / x0) / Math.log(x1 / x0);
  const Y = y => H - bottom - (H - top - bottom) * Math.log(Math.max(y, y0) / y0) / Math.log(y1 / y0);
  const root = svg("svg", {viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": "roofline"});
  for (let e = Math.ceil(Math.log10(x0)); e <= Math.log10(x1); e++) {
    const x = X(10 ** e);
    root.append(svg("line", {class: "grid", x1: x, x2: x, y1: top, y2: H - bottom}), svg("text", {x, y: H - bottom + 18, "text-anchor": "middle"}, String(10 ** e < 1 ? (10 ** e).toPrecision(1) : 10 ** e)));
  }
  for (let e = Math.ceil(Math.log10(y0)); e <= Math.log10(y1); e++) {
    const y = Y(10 ** e);
    root.append(svg("line", {class: "grid", x1: left, x2: W - right, y1: y, y2: y}), svg("text", {x: left - 10, y: y + 4, "text-anchor": "end"}, String(10 ** e < 1 ? (10 ** e).toPrecision(1) : 10 ** e)));
  }
  root.append(svg("line", {class: "axis", x1: left, x2: W - right, y1: H - bottom, y2: H - bottom}),
    svg("text", {x: W - right, y: H - 8, "text-anchor": "end"}, "floating-point operations per byte"), svg("text", {x: left, y: H - 8}, "GF/s, upwards"));
  const roof = (gflops, gbytes, kind) => svg("path", {class: `roof ${kind}`, d: `M${X(Math.max(x0, y0 / gbytes))},${Y(Math.max(x0, y0 / gbytes) * gbytes)} L${X(gflops / gbytes)},${Y(gflops)} L${X(x1)},${Y(gflops)}`});
  root.append(roof(peak, rate, ""), svg("text", {x: W - right - 4, y: Y(peak) - 8, "text-anchor": "end"}, `${digits(peak, 1)} GF/s, ${M.threads} ${M.threads === 1 ? "thread" : "threads"}`));
  if (M.threads > 1)
    root.append(roof(M.thread_gflops, M.thread_gbytes, "one"), svg("text", {x: W - right - 4, y: Y(M.thread_gflops) - 8, "text-anchor": "end"}, `${digits(M.thread_gflops, 1)} GF/s, one thread`));
  const tell = (node, title, k) => {
    node.addEventListener("mousemove", event => tipShow(event, title, [`${digits(k.flops / k.ns, 1)} GF/s at ${digits(k.flops / k.bytes, 2)} flop/B`, `${percent(k.fma)} of the FMA peak, ${percent(k.bandwidth)} of memory`, `${percent(k.ns / O.ns)} of the time; ${k.verdict}`]));
    node.addEventListener("mouseleave", tipHide);
    return node;
  };
  for (const s of steps)
    root.append(tell(svg("circle", {cx: X(s.flops / s.bytes), cy: Y(s.flops / s.ns), r: 3, fill: kernelColor(s.kernel), "fill-opacity": .42}), s.name, s));
  const labels = [];
  for (const k of [...points].sort((a, b) => b.ns - a.ns)) {
    const x = X(k.flops / k.bytes), y = Y(k.flops / k.ns), r = 5 + 24 * Math.sqrt(k.ns / O.ns);
    root.append(tell(svg("circle", {cx: x, cy: y, r, fill: kernelColor(k.kernel), "fill-opacity": .5, stroke: kernelColor(k.kernel), "stroke-width": 1.5}), k.kernel, k));
    labels.push([x, y, r, k.kernel]);
  }
  const taken = [];
  for (const [x, y, r, name] of labels) { /* beside its circle, or else above or below, where nobody stands yet */
    const width = 7.2 * name.length;
    for (const [lx, ly] of [[x + r + 6, y + 4], [x - r - 6 - width, y + 4], [x - width / 2, y - r - 7], [x - width / 2, y + r + 16]]) {
      if (lx < left || lx + width > W - right || ly > H - bottom - 4 || ly < top + 10 || taken.some(([a, b, w]) => lx < a + w + 4 && a < lx + width + 4 && Math.abs(ly - b) < 15)) continue;
      taken.push([lx, ly, width]);
      root.append(svg("text", {class: "tag", x: lx, y: ly}, name));
      break;
    }
  }
  $("roof-plot").replaceChildren(root);
  const without = D.kernels.filter(k => !(k.flops > 0));
  $("roof-note").textContent = `circles: kernels, by share of time; dots: steps${without.length ? `. Without arithmetic, not in the plot: ${without.slice(0, 6).map(k => k.kernel).join(", ")}${without.length > 6 ? " \u2026" : ""}` : ""}`;
};
