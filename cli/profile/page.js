"use strict";
(() => {
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

/* Flame chart: rows of spans that do not overlap, so that what is in view is found by halving. */
const STEP = 0, HELP = 1, RUN = 2, TURN = 3;
const rows = [], counterRows = [];
const spans = {n: D.spans.length / 5};
const begins = new Float64Array(spans.n), ends = new Float64Array(spans.n), kinds = new Uint8Array(spans.n), ofs = new Uint32Array(spans.n), trackOf = new Uint32Array(spans.n);
{
  let at = 0;
  const stacks = new Map(), byRow = new Map();
  for (let i = 0; i < spans.n; i++) {
    const [track, kind, of, delta, duration] = D.spans.slice(5 * i, 5 * i + 5);
    at += delta;
    begins[i] = at; ends[i] = at + duration; kinds[i] = kind; ofs[i] = of; trackOf[i] = track;
    if (!stacks.has(track)) stacks.set(track, []);
    const stack = stacks.get(track);
    while (stack.length && stack[stack.length - 1] <= at) stack.pop();
    const key = `${track}/${stack.length}`;
    if (!byRow.has(key)) byRow.set(key, {track, depth: stack.length, items: []});
    byRow.get(key).items.push(i);
    stack.push(at + duration);
  }
  for (const row of byRow.values()) row.items = Uint32Array.from(row.items);
  rows.push(...[...byRow.values()].sort((a, b) => a.track - b.track || a.depth - b.depth));
}
/* Requests stand in as few lanes as they fit. */
const REQ = {model: 0, begin: 1, phases: 2, total: 6, rows: 7, run: 8, outcome: 9, id: 10, traceparent: 11};
const lanes = [];
const LANES = 10;
let lanesHidden = 0;
for (let i = 0; i < D.requests.length; i++) {
  const request = D.requests[i];
  let lane = lanes.findIndex(l => l.end <= request[REQ.begin]);
  if (lane < 0) {
    if (lanes.length === LANES) { lanesHidden++; continue; }
    lanes.push({items: [], end: 0});
    lane = lanes.length - 1;
  }
  lanes[lane].items.push(i);
  lanes[lane].end = request[REQ.begin] + request[REQ.total];
}
const phaseNames = ["receiving", "queued", "running", "replying"];
const chart = $("chart"), map = $("map");
const end = Math.max(1, M.end);
const look = {from: 0, to: end, hover: null, pinned: null, find: ""};
const GUTTER = 104, ROW = 21, GAP = 9, HEAD = 24, COUNTER = 34;
const layout = () => {
  const out = [];
  let y = HEAD;
  const order = ["in flight", "queued", "running"];
  for (const c of [...D.counters].sort((a, b) => (order.indexOf(a.name) + 9) % 9 - (order.indexOf(b.name) + 9) % 9)) { if (c.points.length < 4) continue; out.push({kind: "counter", y, h: COUNTER, counter: c, label: c.name}); y += COUNTER + 4; }
  if (out.length) y += GAP - 4;
  lanes.forEach((lane, i) => { out.push({kind: "lane", y, h: ROW - 4, lane, label: i === 0 ? "requests" : ""}); y += ROW - 3; });
  if (lanes.length) y += GAP;
  let track = null;
  for (const row of rows) {
    if (track !== null && row.track !== track) y += GAP;
    out.push({kind: "row", y, h: ROW - 1, row, label: row.track !== track ? D.tracks[row.track] || `track ${row.track}` : ""});
    track = row.track;
    y += ROW;
  }
  out.height = y + 4;
  return out;
};
const plan = layout();
const prepare = (canvas, height) => {
  const ratio = devicePixelRatio || 1, width = canvas.clientWidth;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.height = height + "px";
  const g = canvas.getContext("2d");
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.clearRect(0, 0, width, height);
  g.font = "11.5px Inter, system-ui, 'DejaVu Sans', sans-serif";
  g.textBaseline = "middle";
  return [g, width];
};
const firstAfter = (items, ns, endOf) => { let low = 0, high = items.length; while (low < high) { const mid = (low + high) >> 1; if (endOf(items[mid]) <= ns) low = mid + 1; else high = mid; } return low; };
const spanTitle = i => kinds[i] === RUN ? D.models[ofs[i]].name : kinds[i] === TURN ? "long turn of the loop" : D.steps[ofs[i]].name;
const spanLines = i => {
  const ns = ends[i] - begins[i];
  if (kinds[i] === RUN) return [`run, ${time(ns)}`];
  if (kinds[i] === TURN) return [`${time(ns)} without looking at the sockets`];
  const s = D.steps[ofs[i]];
  if (kinds[i] === HELP) return [`tiles taken by a helper, ${time(ns)}`, s.kernel];
  return [`${time(ns)} (mean ${time(s.ns / s.count)})`, `${s.kernel} \u2013 ${s.source}`, s.flops > 0 ? `${digits(s.flops / s.count / ns, 1)} GF/s, ${digits(s.bytes / s.count / ns, 1)} GB/s` : `${digits(s.bytes / s.count / ns, 1)} GB/s`, `${digits(s.tiles, 0)} tiles, ${digits(s.team, 0)} ${s.team === 1 ? "worker" : "workers"}; ${s.verdict}`];
};
const fits = (g, text, width) => {
  if (width < 26) return "";
  if (g.measureText(text).width <= width) return text;
  const keep = Math.floor(text.length * (width - 8) / g.measureText(text).width);
  return keep < 3 ? "" : text.slice(0, keep) + "\u2026";
};
const axis = (g, width) => {
  const ns = look.to - look.from, want = ns / Math.max(3, (width - GUTTER) / 130);
  let unit = 10 ** Math.floor(Math.log10(want));
  for (const k of [1, 2, 5, 10]) if (unit * k >= want) { unit *= k; break; }
  g.fillStyle = css("--faint"); g.strokeStyle = css("--line"); g.lineWidth = 1;
  for (let t = Math.ceil(look.from / unit) * unit; t <= look.to; t += unit) {
    const x = GUTTER + (t - look.from) / ns * (width - GUTTER);
    g.beginPath(); g.moveTo(x + .5, HEAD - 6); g.lineTo(x + .5, plan.height); g.stroke();
    const scale = unit >= 1e9 ? [1e9, "s"] : look.to >= 1e7 ? [1e6, "ms"] : look.to >= 1e4 ? [1e3, "\u00b5s"] : [1, "ns"];
    const text = `${(t / scale[0]).toFixed(Math.max(0, Math.ceil(Math.log10(scale[0] / unit) - 1e-9)))} ${scale[1]}`;
    if (x + g.measureText(text).width < width) g.fillText(text, x + 4, 9);
  }
};
const chartDraw = () => {
  const [g, width] = prepare(chart, plan.height);
  const ns = look.to - look.from, X = t => GUTTER + (t - look.from) / ns * (width - GUTTER);
  const ink = isDark() ? "#10141a" : "#ffffff", find = look.find.toLowerCase();
  axis(g, width);
  g.save();
  g.beginPath(); g.rect(GUTTER, 0, width - GUTTER, plan.height); g.clip();
  for (const line of plan) {
    if (line.kind === "counter") {
      const p = line.counter.points;
      let top = 0, x = 0, last = 0;
      for (let i = 1; i < p.length; i += 2) top = Math.max(top, p[i]);
      g.fillStyle = isDark() ? "hsl(210 22% 38% / .55)" : "hsl(210 32% 62% / .38)";
      g.beginPath(); g.moveTo(GUTTER, line.y + line.h);
      for (let i = 0; i < p.length; i += 2) {
        x = X(p[i]);
        const y = line.y + line.h - (top > 0 ? last / top * (line.h - 3) : 0);
        if (x > GUTTER) { g.lineTo(Math.min(x, width), y); if (x > width) break; }
        last = p[i + 1];
        if (x >= GUTTER) g.lineTo(x, line.y + line.h - (top > 0 ? last / top * (line.h - 3) : 0)); else g.lineTo(GUTTER, line.y + line.h - (top > 0 ? last / top * (line.h - 3) : 0));
      }
      g.lineTo(Math.min(width, Math.max(X(end), x)), line.y + line.h - (top > 0 ? last / top * (line.h - 3) : 0));
      g.lineTo(Math.min(width, Math.max(X(end), x)), line.y + line.h); g.closePath(); g.fill();
      g.fillStyle = css("--soft");
      const most = Number.isInteger(top) ? String(top) : digits(top, 1) + (line.counter.name === "resident memory" ? " MiB" : "");
      g.fillText(most, width - g.measureText(most).width - 4, line.y + 10);
    } else if (line.kind === "lane") {
      const items = line.lane.items;
      for (let k = firstAfter(items, look.from, i => D.requests[i][REQ.begin] + D.requests[i][REQ.total]), mark = -1; k < items.length; k++) {
        const request = D.requests[items[k]];
        let at = request[REQ.begin];
        if (at > look.to) break;
        if (X(at + request[REQ.total]) - X(at) < .6 && Math.floor(X(at)) === mark) continue;
        mark = Math.floor(X(at));
        for (let phase = 0; phase < 4; phase++) {
          const length = request[REQ.phases + phase];
          if (length === 0) continue;
          g.fillStyle = css("--" + phaseNames[phase]);
          g.fillRect(X(at), line.y, Math.max(.6, X(at + length) - X(at) - .5), line.h);
          at += length;
        }
        if (look.hover?.request === items[k]) { g.strokeStyle = css("--ink"); g.lineWidth = 1.5; g.strokeRect(X(request[REQ.begin]), line.y + .5, Math.max(2, X(request[REQ.begin] + request[REQ.total]) - X(request[REQ.begin])), line.h - 1); }
      }
    } else {
      const items = line.row.items;
      for (let k = firstAfter(items, look.from, i => ends[i]), mark = -1; k < items.length; k++) {
        const i = items[k];
        if (begins[i] > look.to) break;
        const x = Math.max(X(begins[i]), GUTTER - 2), w = Math.min(X(ends[i]), width + 2) - x;
        if (w < .6 && Math.floor(x) === mark) continue;
        mark = Math.floor(x);
        const kind = kinds[i], title = spanTitle(i);
        const dim = find && !`${title} ${kind === STEP || kind === HELP ? D.steps[ofs[i]].kernel + " " + D.steps[ofs[i]].source : ""}`.toLowerCase().includes(find);
        g.globalAlpha = dim ? .18 : kind === HELP ? .78 : 1;
        g.fillStyle = kind === RUN ? css("--run") : kind === TURN ? css("--overhead") : kernelColor(D.steps[ofs[i]].kernel);
        g.fillRect(x, line.y, Math.max(.6, w - (w > 3 ? 1 : 0)), line.h);
        const text = w > 26 ? fits(g, title, w - 10) : "";
        if (text) { g.fillStyle = kind === RUN ? css("--run-ink") : ink; g.fillText(text, x + 5, line.y + line.h / 2 + .5); }
        if (look.hover?.span === i || look.pinned === i) { g.strokeStyle = css("--ink"); g.lineWidth = 1.5; g.strokeRect(x + .5, line.y + .5, Math.max(2, w - 1.5), line.h - 1); }
        g.globalAlpha = 1;
      }
    }
  }
  g.restore();
  for (const line of plan) if (line.label) { g.fillStyle = css("--soft"); g.fillText(fits(g, line.label, GUTTER - 10), 0, line.y + line.h / 2 + .5); }
  $("flame-note").textContent = `${time(ns)} in view` + (D.spans_all > spans.n ? `; the first ${spans.n.toLocaleString("en")} of ${D.spans_all.toLocaleString("en")} spans are drawn` : "") + (lanesHidden ? `; ${lanesHidden} requests beyond ${LANES} lanes are not drawn` : "");
};
/* The strip above: how busy the workers were over the whole trace, and which part is in view. */
let density = null;
const mapDraw = () => {
  const [g, width] = prepare(map, 34);
  if (!density || density.length !== Math.max(1, Math.floor(width))) {
    density = new Float64Array(Math.max(1, Math.floor(width)));
    for (let i = 0; i < spans.n; i++) {
      if (kinds[i] !== STEP && kinds[i] !== HELP) continue;
      let a = begins[i] / end * width;
      const b = ends[i] / end * width;
      for (; a < b; a = Math.floor(a) + 1) if (Math.floor(a) < density.length) density[Math.floor(a)] += Math.min(b, Math.floor(a) + 1) - a;
    }
  }
  g.fillStyle = isDark() ? "hsl(190 30% 45% / .6)" : "hsl(190 38% 50% / .45)";
  const scale = Math.max(1, M.threads);
  for (let x = 0; x < density.length; x++) if (density[x] > 0) { const h = Math.max(1, Math.min(1, density[x] / scale) * 30); g.fillRect(x, 32 - h, 1, h); }
  const a = look.from / end * width, b = Math.max(a + 2, look.to / end * width);
  g.fillStyle = isDark() ? "rgba(10,12,16,.55)" : "rgba(246,245,242,.72)";
  g.fillRect(0, 0, a, 34); g.fillRect(b, 0, width - b, 34);
  g.strokeStyle = css("--accent"); g.lineWidth = 1.5; g.strokeRect(a + .75, .75, Math.max(2, b - a - 1.5), 32.5);
};
let asked = false;
const redraw = () => { if (!asked) { asked = true; requestAnimationFrame(() => { asked = false; chartDraw(); mapDraw(); }); } };
const show = (from, to) => {
  const length = Math.min(end, Math.max(200, to - from));
  look.from = Math.max(0, Math.min(from, end - length));
  look.to = look.from + length;
  redraw();
};
const zoom = (factor, at) => { const ns = look.to - look.from, share = (at - look.from) / ns; show(at - share * ns * factor, at + (1 - share) * ns * factor); };
const timeAt = x => look.from + Math.max(0, x - GUTTER) / Math.max(1, chart.clientWidth - GUTTER) * (look.to - look.from);
const hit = event => {
  const box = chart.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
  const line = plan.find(l => y >= l.y && y < l.y + l.h), slack = (look.to - look.from) / Math.max(1, chart.clientWidth) * 2;
  if (!line || x < GUTTER) return null;
  const t = timeAt(x);
  if (line.kind === "row") {
    const k = firstAfter(line.row.items, t - slack, i => ends[i]), i = line.row.items[k];
    return k < line.row.items.length && begins[i] <= t + slack ? {span: i} : null;
  }
  if (line.kind === "lane") {
    const k = firstAfter(line.lane.items, t - slack, i => D.requests[i][REQ.begin] + D.requests[i][REQ.total]), i = line.lane.items[k];
    return k < line.lane.items.length && D.requests[i][REQ.begin] <= t + slack ? {request: i} : null;
  }
  return null;
};
const requestLines = r => [`${time(r[REQ.total])} in all; ${r[REQ.outcome]}, ${r[REQ.rows]} ${r[REQ.rows] === 1 ? "row" : "rows"}`, ...phaseNames.map((name, i) => `${name} ${time(r[REQ.phases + i])}`), r[REQ.id] ? `id ${r[REQ.id]}` : "", r[REQ.traceparent] ? `traceparent ${r[REQ.traceparent]}` : ""].filter(Boolean);
let drag = null;
chart.addEventListener("pointerdown", event => { drag = {x: event.clientX, from: look.from, to: look.to, moved: false}; chart.setPointerCapture(event.pointerId); });
chart.addEventListener("pointermove", event => {
  if (drag) {
    const ns = (drag.x - event.clientX) / Math.max(1, chart.clientWidth - GUTTER) * (drag.to - drag.from);
    drag.moved = drag.moved || Math.abs(drag.x - event.clientX) > 3;
    if (drag.moved) { tipHide(); show(drag.from + ns, drag.to + ns); }
    return;
  }
  const found = hit(event);
  if (found?.span !== look.hover?.span || found?.request !== look.hover?.request) { look.hover = found; redraw(); }
  if (!found) tipHide();
  else if (found.span !== undefined) tipShow(event, spanTitle(found.span), spanLines(found.span));
  else tipShow(event, `request: ${D.models[D.requests[found.request][REQ.model]].name}`, requestLines(D.requests[found.request]));
});
chart.addEventListener("pointerup", event => {
  if (drag && !drag.moved) {
    const found = hit(event);
    look.pinned = found?.span ?? null;
    const text = found?.span !== undefined ? [spanTitle(found.span), ...spanLines(found.span)] : found ? [`request ${D.models[D.requests[found.request][REQ.model]].name}`, ...requestLines(D.requests[found.request])] : [];
    $("detail").replaceChildren(...text.map((line, i) => i === 0 ? el("span", {}, el("b", {textContent: line})) : el("span", {textContent: line})));
    redraw();
  }
  drag = null;
});
chart.addEventListener("pointerleave", () => { look.hover = null; tipHide(); redraw(); });
chart.addEventListener("dblclick", event => {
  const found = hit(event);
  if (found?.span !== undefined && ends[found.span] - begins[found.span] < (look.to - look.from) * .7) { const ns = ends[found.span] - begins[found.span]; show(begins[found.span] - ns * .15, ends[found.span] + ns * .15); }
  else zoom(.4, timeAt(event.clientX - chart.getBoundingClientRect().left));
});
chart.addEventListener("wheel", event => {
  if (event.ctrlKey || event.metaKey) { event.preventDefault(); zoom(Math.exp(event.deltaY * .0022), timeAt(event.clientX - chart.getBoundingClientRect().left)); }
  else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) { event.preventDefault(); const ns = (event.deltaX || event.deltaY) / chart.clientWidth * (look.to - look.from); show(look.from + ns, look.to + ns); }
}, {passive: false});
chart.addEventListener("keydown", event => {
  const ns = look.to - look.from, middle = (look.from + look.to) / 2;
  const act = {ArrowLeft: () => show(look.from - ns * .2, look.to - ns * .2), a: () => show(look.from - ns * .2, look.to - ns * .2), ArrowRight: () => show(look.from + ns * .2, look.to + ns * .2), d: () => show(look.from + ns * .2, look.to + ns * .2), w: () => zoom(.7, middle), ArrowUp: () => zoom(.7, middle), s: () => zoom(1.4, middle), ArrowDown: () => zoom(1.4, middle), Escape: () => show(0, end)}[event.key];
  if (act && !event.ctrlKey && !event.metaKey && !event.altKey) { event.preventDefault(); act(); }
});
const mapMove = event => { const box = map.getBoundingClientRect(), ns = look.to - look.from, at = (event.clientX - box.left) / box.width * end; show(at - ns / 2, at + ns / 2); };
map.addEventListener("pointerdown", event => { map.setPointerCapture(event.pointerId); mapMove(event); map.onpointermove = mapMove; });
map.addEventListener("pointerup", () => { map.onpointermove = null; });
$("whole").onclick = () => show(0, end);
$("in").onclick = () => zoom(.5, (look.from + look.to) / 2);
$("out").onclick = () => zoom(2, (look.from + look.to) / 2);
$("find").addEventListener("input", () => { look.find = $("find").value; redraw(); });
/* The median run of the model that takes most of the time. */
const oneRun = () => {
  const sums = new Map(), runs = [];
  for (let i = 0; i < spans.n; i++) if (kinds[i] === RUN) sums.set(ofs[i], (sums.get(ofs[i]) || 0) + ends[i] - begins[i]);
  const model = [...sums].sort((a, b) => b[1] - a[1])[0]?.[0];
  for (let i = 0; i < spans.n; i++) if (kinds[i] === RUN && ofs[i] === model) runs.push(i);
  if (runs.length === 0) return show(0, end);
  runs.sort((a, b) => (ends[a] - begins[a]) - (ends[b] - begins[b]));
  const run = runs[runs.length >> 1], ns = ends[run] - begins[run];
  show(begins[run] - ns * .06, ends[run] + ns * .06);
};
$("one").onclick = oneRun;

/* Requests. */
const latencyDraw = which => {
  const L = D.latency[which], marks = ["p50", "p90", "p99", "p99.9", "max"];
  const model = L.model < 0 ? null : L.model;
  const mine = D.requests.filter(r => model === null || r[REQ.model] === model).sort((a, b) => a[REQ.total] - b[REQ.total]);
  const longest = mine.length ? mine[Math.min(mine.length - 1, Math.ceil(.99 * mine.length) - 1)][REQ.total] : 1;
  const near = share => { /* the mean split of requests around a percentile: percentiles of parts do not add up */
    const at = Math.min(mine.length - 1, Math.max(0, Math.ceil(share * mine.length) - 1)), wide = Math.max(0, Math.min(20, Math.floor(mine.length * .01)));
    const some = mine.slice(Math.max(0, at - wide), at + wide + 1);
    return {total: mine[at][REQ.total], parts: phaseNames.map((_, p) => some.reduce((sum, r) => sum + r[REQ.phases + p], 0) / some.length)};
  };
  $("phases").replaceChildren(el("div", {className: "label", textContent: "where the time goes"}), ...[["p50", .5], ["p90", .9], ["p99", .99]].map(([name, share]) => {
    const at = near(share), sum = at.parts.reduce((a, b) => a + b, 0) || 1;
    return el("div", {className: "stack"}, el("span", {textContent: name}), el("div", {className: "parts"}, ...at.parts.map((ns, p) => el("i", {style: `width:${100 * ns / sum * Math.min(1, at.total / longest)}%;background:var(--${phaseNames[p]})`, title: `${phaseNames[p]} ${time(ns)}`}))), el("span", {textContent: time(at.total)}));
  }), el("div", {className: "legend"}, ...phaseNames.map(name => el("span", {}, el("i", {className: "dot", style: `background:var(--${name})`}), name))));
  const W = 460, H = 132, low = Math.max(1, mine[0][REQ.total]), high = Math.max(low * 1.2, mine[mine.length - 1][REQ.total]), bins = 40, counts = new Array(bins).fill(0);
  for (const r of mine) counts[Math.min(bins - 1, Math.floor(Math.log(Math.max(1, r[REQ.total]) / low) / Math.log(high / low) * bins))]++;
  const top = Math.max(...counts), plot = svg("svg", {viewBox: `0 0 ${W} ${H}`, style: "width:100%;display:block"});
  counts.forEach((n, i) => plot.append(svg("rect", {x: i * W / bins + 1, width: W / bins - 2, y: H - 20 - n / top * (H - 26), height: n / top * (H - 26), rx: 1.5, fill: "var(--running)", "fill-opacity": .75})));
  plot.append(svg("line", {class: "axis", x1: 0, x2: W, y1: H - 20, y2: H - 20}), svg("text", {x: 0, y: H - 4}, time(low)), svg("text", {x: W, y: H - 4, "text-anchor": "end"}, time(high)), svg("text", {x: W / 2, y: H - 4, "text-anchor": "middle"}, time(Math.sqrt(low * high))));
  $("spread").replaceChildren(el("div", {className: "label", textContent: `spread of ${L.n} ${L.n === 1 ? "request" : "requests"}`}), plot);
  const line = (name, numbers) => el("tr", {}, el("td", {textContent: name}), ...numbers.map(ns => el("td", {textContent: time(ns)})));
  $("latency").replaceChildren(el("thead", {}, el("tr", {}, el("th", {textContent: "phase"}), el("th", {textContent: "mean"}), ...marks.map(m => el("th", {textContent: m})))), el("tbody", {}, ...phaseNames.map((name, p) => line(name, L.phases[p])), line("all", L.total)));
  $("slowest").replaceChildren(el("thead", {}, el("tr", {}, ...["request", "model", "at", "receiving", "queued", "running", "replying", "all", "outcome"].map((t, i) => el("th", {textContent: t, className: i === 1 ? "left" : ""})))),
    el("tbody", {}, ...mine.slice(-8).reverse().map(r => {
      const row = el("tr", {className: "row"}, el("td", {className: "name", textContent: r[REQ.id] || `run ${r[REQ.run]}`, title: r[REQ.traceparent]}), el("td", {className: "left", textContent: D.models[r[REQ.model]].name}), el("td", {textContent: time(r[REQ.begin])}), ...phaseNames.map((_, p) => el("td", {textContent: time(r[REQ.phases + p])})), el("td", {textContent: time(r[REQ.total])}), el("td", {textContent: r[REQ.outcome]}));
      row.addEventListener("click", () => { show(r[REQ.begin] - r[REQ.total] * .2, r[REQ.begin] + r[REQ.total] * 1.2); $("flame").scrollIntoView({behavior: "smooth"}); });
      return row;
    })));
};
if (D.requests.length === 0 || D.latency.length === 0) $("requests").hidden = true;
else {
  if (D.latency.length > 1) D.latency.forEach((l, i) => $("which").append(el("button", {textContent: l.model < 0 ? "all" : D.models[l.model].name, className: i === 0 ? "on" : "", onclick: event => { for (const b of $("which").children) b.classList.toggle("on", b === event.target); latencyDraw(i); }})));
  else $("which").hidden = true;
  latencyDraw(0);
}
$("models").replaceChildren(el("thead", {}, el("tr", {}, ...["model", "version", "code", "steps", "digest"].map(t => el("th", {textContent: t})))),
  el("tbody", {}, ...D.models.map(m => el("tr", {}, el("td", {textContent: m.name}), el("td", {textContent: m.version}), el("td", {textContent: m.isa}), el("td", {textContent: m.steps}), el("td", {}, el("code", {textContent: m.digest}))))));

const drawAll = () => { tableDraw(); roofDraw(); density = null; chartDraw(); mapDraw(); };
if (spans.n === 0 && lanes.length === 0) $("flame").hidden = true;
if (D.kernels.length === 0) $("kernels").hidden = true;
O.runs > 1 ? oneRun() : show(0, end);
drawAll();
new ResizeObserver(redraw).observe(chart);
dark.addEventListener("change", drawAll);
addEventListener("beforeprint", drawAll);
addEventListener("afterprint", drawAll);
})();
