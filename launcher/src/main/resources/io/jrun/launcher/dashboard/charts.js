import { el, colour, metricText, metricTitle, duration } from "./dom.js";

/** The phases of a step in their order, as in docs/training.md. */
const PHASES = ["data", "forward", "backward", "exposed_communication", "optimizer"];

/** Metrics that have a chart of their own, or belong to another one. */
const SHOWN_ELSEWHERE = new Set(["planned_steps", "step_seconds", ...PHASES.map((name) => name + "_seconds")]);

const FIRST_CHARTS = ["loss", "tokens_per_second"];

/** The columns of a job, as the server sends them. */
export class MetricTable {
  constructor() {
    this.names = [];
    this.columns = new Map();
    this.steps = [];
    this.width = 1;
  }

  put(changes) {
    if (changes.whole) this.columns.clear();
    this.width = changes.width;
    this.names = changes.names;
    for (const [step, time, values] of changes.columns) this.columns.set(step, { time, values });
    this.steps = [...this.columns.keys()].sort((a, b) => a - b);
  }

  isEmpty() {
    return this.columns.size === 0;
  }

  /** The least (0), mean (1) or largest (2) values of a metric, by step; null without a value. */
  values(name, which) {
    const index = this.names.indexOf(name);
    return this.steps.map((step) => this.columns.get(step).values[index]?.[which] ?? null);
  }

  last(name) {
    const index = this.names.indexOf(name);
    for (let i = this.steps.length - 1; i >= 0; i--) {
      const value = this.columns.get(this.steps[i]).values[index];
      if (value) return value[1];
    }
    return null;
  }
}

/** An exponential mean; factor 0 leaves the values as they are. Starts without a bias towards 0. */
function smoothed(values, factor) {
  let mean = 0;
  let weight = 0;
  return values.map((value) => {
    if (value == null || factor === 0) return value;
    mean = mean * factor + value * (1 - factor);
    weight = weight * factor + (1 - factor);
    return mean / weight;
  });
}

/** All charts of a job. */
export class Charts {
  constructor() {
    this.root = el("div", { class: "charts" });
    this.plots = new Map();
    this.factor = 0;
    this.table = null;
    this.other = null;
    this.smoothing = el("input", { type: "range", min: "0", max: "0.98", step: "0.02", value: "0",
      "aria-label": "Smoothing", oninput: () => { this.factor = Number(this.smoothing.value); this.draw(); } });
    new ResizeObserver(() => this.resize()).observe(this.root);
  }

  put(table) {
    this.table = table;
    this.draw();
  }

  compare(name, table) {
    this.other = table && !table.isEmpty() ? { name, table } : null;
    this.rebuild();
  }

  rebuild() {
    for (const { plot, box } of this.plots.values()) { plot.destroy(); box.remove(); }
    this.plots.clear();
    this.draw();
  }

  draw() {
    if (!this.table || this.table.isEmpty()) return;
    const names = this.table.names.filter((name) => !SHOWN_ELSEWHERE.has(name));
    names.sort((a, b) => (FIRST_CHARTS.indexOf(b) - FIRST_CHARTS.indexOf(a)) || 0);
    const ordered = [...FIRST_CHARTS.filter((name) => names.includes(name)), "split",
      ...names.filter((name) => !FIRST_CHARTS.includes(name))];
    for (const name of ordered) {
      if (name === "split") this.drawSplit();
      else this.drawMetric(name);
    }
  }

  drawMetric(name) {
    const [x, byStep] = this.union(name);
    const mean = this.table.values(name, 1);
    const data = [x, byStep(this.table.steps, this.table.values(name, 0)), byStep(this.table.steps, this.table.values(name, 2)),
      byStep(this.table.steps, smoothed(mean, this.factor))];
    if (this.other) data.push(byStep(this.other.table.steps, smoothed(this.other.table.values(name, 1), this.factor)));
    const last = this.table.last(name);
    this.show(name, metricTitle(name), metricText(name, last), data, () => ({
      series: [{ label: "step" },
        { label: "least", stroke: "transparent", points: { show: false } },
        { label: "largest", stroke: "transparent", points: { show: false } },
        { label: "mean of the ranks", stroke: colour("accent"), width: 1.5, points: { show: x.length < 3, size: 5 } },
        ...(this.other ? [{ label: this.other.name, stroke: colour("second"), width: 1.5, dash: [5, 4], points: { show: false } }] : [])],
      bands: [{ series: [2, 1], fill: colour("band") }],
      text: (value) => metricText(name, value),
    }), this.other ? [el("span", { class: "key run" }, "this run"), el("span", { class: "key other" }, this.other.name)] : []);
  }

  /** The steps of both runs, and a function that puts values of one run at their places. */
  union(name) {
    const theirs = this.other && this.other.table.names.includes(name) ? this.other.table.steps : [];
    const x = theirs.length === 0 ? this.table.steps : [...new Set([...this.table.steps, ...theirs])].sort((a, b) => a - b);
    const place = new Map(x.map((step, index) => [step, index]));
    return [x, (steps, values) => {
      if (steps === x) return values;
      const placed = new Array(x.length).fill(null);
      steps.forEach((step, index) => { placed[place.get(step)] = values[index]; });
      return placed;
    }];
  }

  /** The phases one upon another. */
  drawSplit() {
    const phases = PHASES.filter((name) => this.table.names.includes(name + "_seconds"));
    if (phases.length === 0) return;
    const sums = new Array(this.table.steps.length).fill(0);
    const data = [this.table.steps];
    for (const phase of phases) {
      smoothed(this.table.values(phase + "_seconds", 1), this.factor).forEach((value, index) => { sums[index] += value || 0; });
      data.push([...sums]);
    }
    const label = (phase) => phase.replaceAll("_", " ");
    this.show("split", "step split", duration(this.table.last("step_seconds")), data, () => ({
      series: [{ label: "step" }, ...phases.map((phase, index) => ({
        label: label(phase), stroke: colour("phase" + PHASES.indexOf(phase)), width: 1, points: { show: false },
        fill: index === 0 ? colour("phase" + PHASES.indexOf(phase) + "-fill") : undefined }))],
      bands: phases.slice(1).map((phase, index) => ({
        series: [index + 2, index + 1], fill: colour("phase" + PHASES.indexOf(phase) + "-fill") })),
      text: duration,
    }), phases.map((phase) => el("span", { class: "key phase" + PHASES.indexOf(phase) }, label(phase))));
  }

  show(name, title, value, data, options, keys) {
    let shown = this.plots.get(name);
    if (!shown) {
      const number = el("span", { class: "number" });
      const legend = el("div", { class: "keys" }, ...(keys || []));
      const holder = el("div", { class: "plot" });
      const box = el("figure", { class: "chart" }, el("figcaption", {}, el("span", {}, title), el("span", { class: "grow" }), number), holder, legend);
      this.root.append(box);
      shown = { box, holder, number, plot: this.plot(holder, options(), data) };
      this.plots.set(name, shown);
    } else {
      shown.plot.setData(data);
    }
    shown.number.textContent = value;
  }

  plot(holder, options, data) {
    const axis = (more) => ({ stroke: colour("quiet"), grid: { stroke: colour("line"), width: 1 }, ticks: { show: false },
      font: "11px system-ui, sans-serif", ...more });
    return new uPlot({
      width: Math.max(160, holder.clientWidth), height: 170,
      scales: { x: { time: false } },
      legend: { show: false },
      cursor: { points: { size: 6 }, y: false },
      padding: [8, 22, 0, 0],
      axes: [axis({ size: 26, values: (_, splits) => splits.map((value) => Number.isInteger(value) ? value.toLocaleString("en-US") : "") }),
        axis({ size: (_, labels) => 14 + 6.5 * Math.max(3, ...(labels || []).map((label) => label.length)), gap: 4, values: (_, splits) => axisTexts(splits, options.text) })],
      series: options.series,
      bands: options.bands,
      plugins: [hoverText(holder, options.text)],
    }, data, holder);
  }

  resize() {
    for (const { plot, holder } of this.plots.values()) {
      if (holder.clientWidth > 0 && plot.width !== holder.clientWidth) plot.setSize({ width: holder.clientWidth, height: 170 });
    }
  }
}

/** The texts of the marks of an axis. Marks that would have the same text have all their digits. */
function axisTexts(splits, text) {
  const short = splits.map((value) => text(value).replace(" tokens/s", ""));
  return new Set(short).size === short.length ? short : splits.map((value) => String(Number(value.toPrecision(12))));
}

/** The values under the cursor, in a small box. */
function hoverText(holder, text) {
  const tip = el("div", { class: "tip", hidden: true });
  holder.append(tip);
  return { hooks: { setCursor: (plot) => {
    const index = plot.cursor.idx;
    tip.hidden = index == null || plot.cursor.left < 0;
    if (tip.hidden) return;
    const stacked = plot.series.length > 2 && plot.bands.length === plot.series.length - 2 && plot.series[1].label !== "least";
    const rows = plot.series.slice(1).map((series, i) => {
      const value = plot.data[i + 1][index];
      const below = stacked && i > 0 ? plot.data[i][index] : 0;
      return value == null ? null : el("span", {}, series.label + " " + text(value - below));
    });
    tip.replaceChildren(el("b", {}, "step " + plot.data[0][index].toLocaleString("en-US")), ...rows.filter(Boolean));
    tip.style.left = Math.max(0, Math.min(plot.cursor.left + 60, holder.clientWidth - tip.offsetWidth)) + "px";
    tip.style.top = "8px";
  } } };
}
