/* Part 2: the flame chart. */
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
