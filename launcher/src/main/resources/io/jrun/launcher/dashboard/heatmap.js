import { el, duration, colour, isDark } from "./dom.js";

/** The height of the map in pixels. */
const MOST_HEIGHT = 360;

/** What a cell shows, from the step time and the wait in microseconds, and the median of the own times of the column. */
const HEAT_MODES = {
  relative: { label: "own time to median", value: (step, wait, median) => (step - wait) / median, text: (value) => value.toFixed(1) + " ×" },
  own: { label: "own time", value: (step, wait) => step - wait, text: (value) => duration(value / 1e6) },
  wait: { label: "waiting", value: (step, wait) => wait, text: (value) => duration(value / 1e6) },
  step: { label: "step time", value: (step) => step, text: (value) => duration(value / 1e6) },
};

/** The middle of the known values; 0 without one. */
function heatMedian(values) {
  const known = values.filter((value) => value >= 0).sort((a, b) => a - b);
  return known.length === 0 ? 0 : known[Math.floor((known.length - 1) / 2)];
}

/** Ranks by steps, as one picture of one pixel a cell that the browser enlarges: 1,000 ranks cost some milliseconds. */
export class HeatMap {
  constructor() {
    this.columns = new Map();
    this.order = [];
    this.ranks = 0;
    this.width = 1;
    this.mode = "relative";
    this.canvas = el("canvas", { class: "heat", tabindex: "0", role: "img" });
    this.tip = el("div", { class: "tip", hidden: true });
    this.scale = el("div", { class: "scale" });
    this.root = el("div", { class: "heatbox" }, el("div", { class: "heatrow" },
      el("div", { class: "axis" }, this.top = el("span"), el("span", { class: "grow" }), this.bottom = el("span")),
      el("div", { class: "heatcolumn" }, this.canvas,
        el("div", { class: "heatfoot" }, this.first = el("span"), this.scale, this.last = el("span")))), this.tip);
    this.modes = el("select", { "aria-label": "Colour by", onchange: () => { this.mode = this.modes.value; this.draw(); } },
      Object.entries(HEAT_MODES).map(([value, mode]) => el("option", { value }, mode.label)));
    this.canvas.addEventListener("pointermove", (event) => this.pointAt(event));
    this.canvas.addEventListener("pointerleave", () => { this.tip.hidden = true; });
    this.canvas.addEventListener("blur", () => { this.tip.hidden = true; });
    this.canvas.addEventListener("keydown", (event) => this.move(event));
    this.cursor = [0, 0];
  }

  put(changes) {
    if (changes.whole) this.columns.clear();
    this.width = changes.width;
    this.ranks = Math.max(this.ranks, changes.ranks);
    for (const [step, steps, waits] of changes.columns) {
      const median = Math.max(1, heatMedian(steps.map((value, rank) => value < 0 ? -1 : value - waits[rank])));
      this.columns.set(step, { steps, waits, median });
    }
    this.order = [...this.columns.keys()].sort((a, b) => a - b);
    this.draw();
  }

  isEmpty() {
    return this.columns.size === 0;
  }

  cell(column, rank) {
    const { steps, waits, median } = this.columns.get(this.order[column]);
    const step = steps[rank];
    return step == null || step < 0 ? NaN : HEAT_MODES[this.mode].value(step, waits[rank], median);
  }

  draw() {
    if (this.isEmpty()) return;
    const columns = this.order.length;
    // With more ranks than rows of pixels, a row shows the largest value of its ranks, so that no slow rank is lost.
    const rows = Math.min(this.ranks, MOST_HEIGHT);
    const values = new Float32Array(columns * rows).fill(NaN);
    for (let column = 0; column < columns; column++) {
      for (let rank = 0; rank < this.ranks; rank++) {
        const at = Math.floor(rank * rows / this.ranks) * columns + column;
        const value = this.cell(column, rank);
        if (!(values[at] >= value)) values[at] = value;
      }
    }
    // Some thousand values give the quantiles; sorting all would hold up the page.
    const stride = Math.max(1, Math.floor(values.length / 4000)) | 1;
    const known = values.filter((value, index) => index % stride === 0 && !isNaN(value)).sort();
    // Equal ranks have the colour of the page, and a few slow first steps do not take all colours.
    const isRelative = this.mode === "relative";
    const low = isRelative ? 1 : known[Math.floor(known.length * 0.02)] || 0;
    const high = isRelative ? Math.min(4, Math.max(1.6, known[Math.floor(known.length * 0.98)] || 0))
      : Math.max(known[Math.floor(known.length * 0.95)] || 1, low * 1.2 + 1);
    const dark = isDark();
    const colours = heatColours(dark);
    const pixels = new ImageData(columns, rows);
    const words = new Uint32Array(pixels.data.buffer);
    const factor = (colours.length - 1) / (high - low);
    for (let i = 0; i < values.length; i++) {
      if (!isNaN(values[i])) words[i] = colours[Math.max(0, Math.min(colours.length - 1, Math.round((values[i] - low) * factor)))];
    }
    const picture = new OffscreenCanvas(columns, rows);
    picture.getContext("2d").putImageData(pixels, 0, 0);
    const ratio = window.devicePixelRatio || 1;
    const width = this.canvas.clientWidth || 600;
    const height = Math.max(48, Math.min(MOST_HEIGHT, this.ranks * Math.max(2, Math.min(26, 208 / this.ranks))));
    this.canvas.style.height = height + "px";
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    const context = this.canvas.getContext("2d");
    context.imageSmoothingEnabled = false;
    context.drawImage(picture, 0, 0, this.canvas.width, this.canvas.height);
    if (this.ranks <= 32) this.rule(context);
    this.top.textContent = "rank 0";
    this.bottom.textContent = this.ranks > 1 ? "rank " + (this.ranks - 1) : "";
    this.first.textContent = "step " + this.order[0].toLocaleString("en-US");
    this.last.textContent = "step " + this.order.at(-1).toLocaleString("en-US");
    this.legend(low, high, dark);
    this.canvas.setAttribute("aria-label", HEAT_MODES[this.mode].label + " of " + this.ranks + " ranks over "
      + columns + " columns of steps");
  }

  rule(context) {
    context.fillStyle = colour("panel");
    for (let rank = 1; rank < this.ranks; rank++) {
      context.fillRect(0, Math.round(rank * this.canvas.height / this.ranks), this.canvas.width, 1);
    }
  }

  legend(low, high, dark) {
    const steps = [0, 0.25, 0.5, 0.75, 1].map((part) => "rgb(" + heatColour(part, dark).slice(0, 3).join(" ") + ")");
    const bar = el("span", { class: "ramp" });
    bar.style.background = "linear-gradient(90deg," + steps.join(",") + ")";
    const text = HEAT_MODES[this.mode].text;
    this.scale.replaceChildren(text(low), bar, text(high));
  }

  pointAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left) / box.width * this.order.length);
    const rank = Math.floor((event.clientY - box.top) / box.height * this.ranks);
    this.show(column, rank);
  }

  move(event) {
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (moves[event.key] && !this.isEmpty()) {
      event.preventDefault();
      this.show(this.cursor[0] + moves[event.key][0], this.cursor[1] + moves[event.key][1]);
    }
  }

  show(column, rank) {
    if (this.isEmpty()) return;
    column = Math.max(0, Math.min(this.order.length - 1, column));
    rank = Math.max(0, Math.min(this.ranks - 1, rank));
    this.cursor = [column, rank];
    const { steps, waits } = this.columns.get(this.order[column]);
    const known = steps[rank] != null && steps[rank] >= 0;
    this.tip.replaceChildren(el("b", {}, "rank " + rank + ", step " + this.order[column]),
      el("span", {}, known ? "own " + duration((steps[rank] - waits[rank]) / 1e6) + ", waits "
        + duration(waits[rank] / 1e6) : "no report"));
    this.tip.hidden = false;
    const box = this.root.getBoundingClientRect();
    const canvas = this.canvas.getBoundingClientRect();
    const x = canvas.left - box.left + (column + 0.5) / this.order.length * canvas.width;
    const y = canvas.top - box.top + (rank + 1) / this.ranks * canvas.height;
    this.tip.style.left = Math.max(0, Math.min(x - this.tip.offsetWidth / 2, box.width - this.tip.offsetWidth)) + "px";
    this.tip.style.top = y + 6 + "px";
  }

  /** The rank whose own time is the largest lately, and how many times the median; null if the ranks are alike. */
  slowest() {
    if (this.ranks < 2 || this.isEmpty()) return null;
    const sums = new Array(this.ranks).fill(0);
    const counts = new Array(this.ranks).fill(0);
    for (const step of this.order.slice(-20)) {
      const { steps, waits, median } = this.columns.get(step);
      for (let rank = 0; rank < this.ranks; rank++) {
        if (steps[rank] >= 0) {
          sums[rank] += (steps[rank] - waits[rank]) / median;
          counts[rank]++;
        }
      }
    }
    const means = sums.map((sum, rank) => counts[rank] === 0 ? 0 : sum / counts[rank]);
    const rank = means.indexOf(Math.max(...means));
    return means[rank] > 1.15 ? { rank, times: means[rank] } : null;
  }
}

/** All colours of the map as the words of a picture. */
function heatColours(dark) {
  return Uint32Array.from({ length: 256 }, (_, index) => {
    const [r, g, b] = heatColour(index / 255, dark);
    return (255 << 24) | (b << 16) | (g << 8) | r;
  });
}

/** From the colour of the page to a strong one: the eye finds the slow cells. */
function heatColour(part, dark) {
  const ramp = dark
    ? [[27, 33, 44], [36, 68, 110], [60, 121, 160], [226, 160, 73], [255, 107, 97]]
    : [[236, 240, 246], [176, 203, 230], [95, 150, 204], [233, 154, 62], [200, 55, 45]];
  const at = Math.max(0, Math.min(0.9999, part)) * (ramp.length - 1);
  const index = Math.floor(at);
  const mix = at - index;
  return [...[0, 1, 2].map((i) => Math.round(ramp[index][i] * (1 - mix) + ramp[index + 1][i] * mix)), 255];
}
