import { el, setText, duration, count, metricText, stateLabel, section, digits } from "./dom.js";
import { HeatMap } from "./heatmap.js";
import { Charts, MetricTable } from "./charts.js";
import { LogPanel } from "./logs.js";
import { FailureCard, RankTable, NodePanel, LedgerPanel, MeshPanel, EnvironmentPanel } from "./panels.js";

/** The page of one job. A source gives the facts: the server, or the data of a report. */
export class JobPage {
  constructor(source) {
    this.source = source;
    this.table = new MetricTable();
    this.heat = new HeatMap();
    this.charts = new Charts();
    this.failure = new FailureCard();
    this.ranks = new RankTable();
    this.nodes = new NodePanel();
    this.ledger = new LedgerPanel(() => !source.live || this.summary?.state === "ended" || this.summary?.state === "lost");
    this.mesh = new MeshPanel();
    this.logs = new LogPanel(source);
    this.environment = new EnvironmentPanel();
    this.figures = el("div", { class: "figures" });
    this.title = el("h1");
    this.state = el("span");
    this.about = el("p", { class: "quiet about" });
    this.problems = el("div");
    this.tools = el("div", { class: "tools" });
    this.straggler = el("span", { class: "quiet" });
    const heat = section("heat", "Ranks over steps", this.straggler, this.heat.modes);
    heat.body.append(this.heat.root);
    this.heatRoot = heat.root;
    this.comparison = el("select", { "aria-label": "Compare with", onchange: () => this.compare() });
    const charts = section("curves", "Curves", el("label", {}, "Smoothing ", this.charts.smoothing), source.live ? this.comparison : null);
    charts.body.append(this.charts.root);
    this.chartsRoot = charts.root;
    this.empty = el("p", { class: "quiet empty" });
    this.dialog = el("dialog", { class: "dialog" });
    this.root = el("div", { class: "job" }, el("div", { class: "jobhead" }, el("div", { class: "names" }, el("div", { class: "titleline" }, this.title, this.state), this.about), this.tools),
      this.problems, this.failure.root, this.figures, this.empty, this.heatRoot, this.chartsRoot, this.ranks.root, this.nodes.root,
      this.mesh.root, this.ledger.root, this.logs.root, this.environment.root, this.dialog);
    this.heatRoot.hidden = true;
    this.chartsRoot.hidden = true;
    if (source.live) this.addTools();
  }

  addTools() {
    this.stop = el("button", { type: "button", class: "danger", onclick: () => this.askCancel() }, "Cancel job");
    this.stacks = el("button", { type: "button", onclick: () => this.showStacks() }, "Stacks");
    this.tools.append(this.stacks, this.saving("Trace", this.source.traceUrl, ".trace.json"), this.saving("Report", this.source.reportUrl, ".report.html"), this.stop);
  }

  /** A button that saves a file of the server, or shows why there is none. */
  saving(title, url, ending) {
    return el("button", { type: "button", onclick: async () => {
      const file = await this.source.file(url);
      if (file.problem) return this.openDialog(title, el("p", {}, file.problem));
      const link = el("a", { href: URL.createObjectURL(file.content), download: this.source.name + ending });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    } }, title);
  }

  putSummary(summary) {
    this.summary = summary;
    setText(this.title, summary.runId);
    const exit = summary.exit;
    if (this.state.dataset.state !== summary.state + exit) {
      this.state.dataset.state = summary.state + exit;
      this.state.replaceChildren(stateLabel(summary.state, exit));
    }
    setText(this.about, (summary.command || []).join(" "));
    this.problems.replaceChildren(...(summary.problems || []).map((text) => el("p", { class: "warn" }, text)));
    this.failure.put(summary);
    this.ranks.put(summary);
    this.nodes.put(summary);
    this.mesh.put(summary);
    this.environment.put(summary);
    this.putFigures();
    if (this.stop) {
      const over = summary.state === "ended" || summary.state === "lost";
      this.stop.hidden = over;
      this.stacks.hidden = over;
    }
  }

  /** The numbers that people look for first. */
  putFigures() {
    const summary = this.summary;
    const over = summary.state === "ended" || summary.state === "lost";
    const seconds = summary.state === "lost" ? null : (summary.endTime ?? this.source.now()) - summary.startTime;
    const step = Math.max(0, ...(summary.latest || []).map((report) => report.step));
    const planned = this.table.last("planned_steps");
    const stepTime = this.table.last("step_seconds");
    const rows = [[over ? "Duration" : "Running for", duration(seconds && Math.max(0, seconds))],
      ["Ranks", summary.workerCount + " on " + (summary.hosts || []).length + ((summary.hosts || []).length === 1 ? " node" : " nodes")]];
    if (!this.table.isEmpty()) {
      rows.push(["Step", step.toLocaleString("en-US") + (planned ? " of " + planned.toLocaleString("en-US") : "")]);
      if (planned && stepTime && !over) rows.push(["Time left", duration(Math.max(0, planned - step) * stepTime)]);
      for (const name of ["loss", "tokens_per_second", "step_seconds", "mfu"]) {
        if (this.table.last(name) != null) rows.push([({ loss: "Loss", tokens_per_second: "Throughput", step_seconds: "Step time", mfu: "MFU" })[name], metricText(name, this.table.last(name))]);
      }
      const step1 = this.table.last("step_seconds");
      const wait = this.table.last("exposed_communication_seconds");
      if (step1 && wait != null) rows.push(["Waiting for ranks", digits(Math.round(100 * wait / step1)) + " %"]);
    }
    if (summary.restarts > 0) rows.push(["Restarts", String(summary.restarts)]);
    if (this.figures.children.length !== rows.length) {
      this.figures.replaceChildren(...rows.map(() => el("div", {}, el("span", { class: "label" }), el("span", { class: "value" }))));
    }
    rows.forEach(([label, value], index) => {
      setText(this.figures.children[index].children[0], label);
      setText(this.figures.children[index].children[1], value);
    });
    this.empty.hidden = !this.table.isEmpty();
    setText(this.empty, over ? "This job has reported no metrics." : "No metrics yet. A program reports them with world.metrics(); train.jar does so every few steps.");
  }

  putMetrics(changes) {
    this.table.put(changes);
    this.chartsRoot.hidden = this.table.isEmpty();
    this.charts.put(this.table);
    if (this.summary) this.putFigures();
  }

  putHeat(changes) {
    this.heatRoot.hidden = changes.columns.length === 0 && this.heat.isEmpty();
    this.heat.put(changes);
    const slow = this.heat.slowest();
    this.straggler.className = slow ? "warn" : "quiet";
    setText(this.straggler, slow ? "rank " + slow.rank + " is the straggler: " + slow.times.toFixed(1) + " times the median" : "no straggler");
  }

  redraw() {
    this.heat.draw();
    this.charts.rebuild();
  }

  async offerComparison() {
    const jobs = (await this.source.jobs()).filter((job) => job.runId !== this.source.name && !job.problem);
    this.comparison.replaceChildren(el("option", { value: "" }, "Compare with…"), ...jobs.map((job) => el("option", { value: job.runId }, job.runId)));
  }

  async compare() {
    const name = this.comparison.value;
    if (name === "") return this.charts.compare("", null);
    const table = new MetricTable();
    table.put(await this.source.metricsOf(name));
    this.charts.compare(name, table);
  }

  async showStacks() {
    this.openDialog("Stacks of all ranks", el("p", { class: "quiet" }, "Asking the workers…"));
    const answer = await this.source.stacks();
    this.openDialog("Stacks of all ranks", el("pre", { tabindex: "0" }, answer.problem || answer.lines.join("\n") || "no rank runs at the moment"));
  }

  askCancel() {
    const button = el("button", { type: "button", class: "danger", onclick: async () => {
      const answer = await this.source.cancel();
      if (answer.problem) this.openDialog("Cancel job", el("p", {}, answer.problem));
      else this.dialog.close();
    } }, "Cancel the job");
    this.openDialog("Cancel " + this.source.name + "?", el("p", {}, "All workers get SIGTERM, and SIGKILL after the grace period. The job cannot be continued except from a checkpoint."), button);
  }

  openDialog(title, ...content) {
    this.dialog.replaceChildren(el("h2", {}, title), ...content.slice(0, 1),
      el("div", { class: "tools" }, el("button", { type: "button", onclick: () => this.dialog.close() }, "Close"), ...content.slice(1)));
    if (!this.dialog.open) this.dialog.showModal();
  }
}
