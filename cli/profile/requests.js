/* Part 3: requests, models, and the first drawing. */
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
