import { el, section, setText, duration, bytes, count, clock, digits, stateLabel } from "./dom.js";

/** The failure first: what failed, why, who waited, and the end of the output. */
export class FailureCard {
  constructor() {
    this.root = el("section", { id: "failure", class: "failure", role: "alert", hidden: true });
  }

  put(summary) {
    const failure = summary.failure;
    const lost = summary.state === "lost";
    this.root.hidden = !failure && !lost;
    if (this.root.hidden) return;
    const worker = failure ? (summary.workers || []).find((each) => each.rank === failure.rank) : null;
    const title = lost && !failure ? "The launcher of this job has ended without a report" : failureTitle(failure);
    const facts = [];
    if (failure?.time) facts.push("at " + clock(failure.time));
    if (worker?.pid) facts.push("pid " + worker.pid);
    if (worker?.seconds != null) facts.push("after " + duration(worker.seconds));
    if (summary.exitCode != null) facts.push("exit code " + summary.exitCode);
    if (worker?.oomKilled) facts.push("the kernel killed it because memory ran out");
    const waits = (summary.stragglers || []).map((each) => "rank " + each.rank + " was late: others of group " + each.group
      + " waited " + duration(each.othersWaitedSeconds) + " (" + Math.round(100 * each.share) + " % of the job)");
    const children = [el("h2", {}, title), el("p", { class: "facts" }, facts.join(" · "))];
    if (failure?.text && !title.includes(failure.text)) children.push(el("p", {}, failure.text));
    if (waits.length > 0) children.push(el("p", {}, waits.join("; ")));
    if ((summary.report || []).length > 0) {
      children.push(el("pre", { tabindex: "0" }, summary.report.join("\n")));
    } else if (worker?.error) {
      children.push(el("pre", { tabindex: "0" }, worker.error));
    }
    this.root.replaceChildren(...children);
  }
}

export function failureTitle(failure) {
  const who = failure.rank == null ? "" : "Rank " + failure.rank + (failure.host ? " on " + failure.host : "") + " ";
  const text = failure.text || "";
  switch (failure.kind) {
    case "workerFailed": return who + (text || "failed");
    case "workerHung": return who + (text || "hangs");
    case "peersLost": return who + "has lost its peers";
    case "agentLost": return "The agent of " + failure.host + " is lost";
    case "notStarted": return "The job could not be started";
    case "timeout": return "The job took longer than --timeout allows";
    case "signal": return "Stopped by " + (text || "a signal");
    default: return who + text;
  }
}

/** All ranks, the failed ones first. */
export class RankTable {
  constructor() {
    this.heads = ["Rank", "State", "Host", "Place", "PID", "GPU", "Step", "Step time", "Waits", "CPU", "Memory"];
    this.rows = new Map();
    this.tbody = el("tbody");
    this.all = el("button", { type: "button", hidden: true, onclick: () => { this.most = Infinity; this.put(this.summary); } });
    this.most = 64;
    const { root, body } = section("ranks", "Ranks", this.all);
    body.append(el("div", { class: "scroll" }, el("table", {}, el("thead", {}, el("tr", {}, ...this.heads.map((head) => el("th", {}, head)))), this.tbody)));
    this.root = root;
  }

  put(summary) {
    this.summary = summary;
    const latest = new Map((summary.latest || []).map((report) => [report.rank, report]));
    this.axes = new MeshAxes(summary.workers);
    const bad = (worker) => worker.state === "failed" ? 0 : 1;
    const workers = [...summary.workers].sort((a, b) => bad(a) - bad(b) || a.rank - b.rank);
    const shown = workers.slice(0, this.most);
    this.all.hidden = shown.length === workers.length;
    setText(this.all, "Show all " + workers.length);
    const order = shown.map((worker) => this.row(worker, latest.get(worker.rank)));
    if (order.length !== this.tbody.children.length || order.some((row, index) => this.tbody.children[index] !== row)) {
      this.tbody.replaceChildren(...order);
    }
  }

  row(worker, report) {
    let row = this.rows.get(worker.rank);
    if (!row) {
      row = el("tr", {}, ...this.heads.map(() => el("td")));
      this.rows.set(worker.rank, row);
    }
    const values = report?.values || {};
    const cells = [worker.rank, null, worker.host, this.axes.place(worker) || "–", worker.pid || "–", worker.device || "–",
      report ? report.step.toLocaleString("en-US") : "–", duration(values.step_seconds), duration(values.exposed_communication_seconds),
      worker.cpuPercent == null ? "–" : Math.round(worker.cpuPercent) + " %", bytes(worker.residentBytes)];
    cells.forEach((text, index) => { if (text !== null) setText(row.children[index], String(text)); });
    const state = worker.state + (worker.end ? worker.end : "");
    if (row.dataset.state !== state) {
      row.dataset.state = state;
      row.className = worker.state;
      row.children[1].replaceChildren(stateLabel(worker.state), worker.end && worker.exitCode !== 0 ? " " + worker.end : "");
    }
    return row;
  }
}

/** Nodes with their GPUs. */
export class NodePanel {
  constructor() {
    const { root, body } = section("nodes", "Nodes");
    this.root = root;
    this.body = body;
  }

  put(summary) {
    const gpu = (each) => {
      const v = each.values;
      const parts = [];
      if (v.utilizationPercent != null) parts.push(digits(v.utilizationPercent) + " %");
      if (v.memoryUsedBytes != null) parts.push(bytes(v.memoryUsedBytes) + (v.memoryTotalBytes ? " of " + bytes(v.memoryTotalBytes) : ""));
      if (v.temperatureCelsius != null) parts.push(digits(v.temperatureCelsius) + " °C");
      if (v.powerWatts != null) parts.push(digits(v.powerWatts) + " W");
      return el("li", {}, el("b", {}, "GPU " + each.device), " " + each.name + ": " + parts.join(", "));
    };
    const byHost = new Map();
    for (const worker of summary.workers) {
      if (!byHost.has(worker.host)) byHost.set(worker.host, []);
      byHost.get(worker.host).push(worker);
    }
    const key = JSON.stringify([summary.nodes, summary.workers.map((worker) => worker.residentBytes)]);
    if (key === this.key) return;
    this.key = key;
    this.body.replaceChildren(el("div", { class: "cards" }, ...(summary.nodes || []).map((node) => {
      const workers = byHost.get(node.host) || [];
      const cpu = workers.reduce((sum, worker) => sum + (worker.cpuPercent || 0), 0);
      const memory = workers.reduce((sum, worker) => sum + (worker.residentBytes || 0), 0);
      return el("div", { class: "card" + (node.lost ? " bad" : "") }, el("b", {}, node.host),
        el("p", { class: "quiet" }, [node.address, node.cores + " cores", workers.length + " ranks"].filter(Boolean).join(" · ")),
        cpu > 0 ? el("p", {}, "workers: " + (cpu / 100).toFixed(1) + " cores busy, " + bytes(memory) + " memory") : null,
        node.lost ? el("p", {}, "lost: " + node.lost) : null,
        (node.gpus || []).length > 0 ? el("ul", {}, ...node.gpus.map(gpu)) : null);
    })));
  }
}

/** How far each rank is in the collectives of each group. */
export class LedgerPanel {
  /** @param isOver whether the job has ended, so that its ranks stay where they are */
  constructor(isOver) {
    this.isOver = isOver;
    this.before = new Map();
    const { root, body } = section("collectives", "Collectives");
    this.root = root;
    this.body = body;
  }

  put(ledger) {
    this.root.hidden = ledger.groups.length === 0;
    const places = new Map();
    this.body.replaceChildren(el("div", { class: "cards" }, ...ledger.groups.map((group) => {
      // The ranks are read one after another. Only a rank that has stayed where it was is missing.
      const stays = (row) => this.isOver() || this.before.get(group.name + " " + row.rank) === row.sequence;
      for (const row of group.ranks) places.set(group.name + " " + row.rank, row.sequence);
      for (const row of group.ranks) if (!stays(row)) row.behind = 0;
      const behind = group.ranks.filter((row) => row.behind > 0);
      const rows = group.ranks.map((row) => el("tr", { class: row.behind > 0 || row.state === "failed" ? "failed" : "" },
        ...[row.rank, "#" + row.sequence, row.operation, row.bytes > 0 ? bytes(row.bytes) : "–", row.state,
          row.behind > 0 ? row.behind + " behind" : "–",
          row.waitedFor == null ? "–" : duration(row.waitedSeconds) + ", most for rank " + row.waitedFor].map((text) => el("td", {}, String(text)))));
      return el("div", { class: "card wide" }, el("b", {}, "group " + group.name),
        el("p", { class: behind.length > 0 ? "warn" : "quiet" }, behind.length > 0
          ? "missing: " + behind.map((row) => "rank " + row.rank).join(", ") : "all ranks are at the same collective"),
        el("div", { class: "scroll" }, el("table", {}, el("thead", {}, el("tr", {},
          ...["Rank", "Last", "Operation", "Bytes", "State", "Behind", "Waited"].map((head) => el("th", {}, head)))), el("tbody", {}, ...rows))));
    })));
    this.before = places;
  }
}

/** Which rank holds which stage, shard and part: a box for each rank, by node and by its place in the mesh. */
export class MeshPanel {
  constructor() {
    const { root, body } = section("mesh", "Layout");
    this.root = root;
    this.body = body;
  }

  put(summary) {
    const workers = summary.workers;
    const key = workers.map((worker) => worker.host + worker.place + worker.state).join();
    if (key === this.key) return;
    this.key = key;
    const hosts = new Map();
    for (const worker of workers) {
      if (!hosts.has(worker.host)) hosts.set(worker.host, []);
      hosts.get(worker.host).push(worker);
    }
    const axes = new MeshAxes(workers);
    const words = axes.words() || "Each rank holds the whole model, or its program has not reported a mesh.";
    this.body.replaceChildren(el("p", { class: "quiet" }, words), el("div", { class: "hosts" }, ...[...hosts].map(([host, ranks]) =>
      el("div", { class: "hostbox" }, el("span", { class: "quiet" }, host), el("div", { class: "cells" }, ...ranks.map((worker) =>
        el("div", { class: "cell " + worker.state + " stage" + stageOf(worker.place), title: "rank " + worker.rank + " on " + host },
          el("b", {}, String(worker.rank)), axes.place(worker).split(" ").filter(Boolean).map((part) => el("small", {}, part)))))))));
  }
}

/** The axes of a mesh that have more than one place, from the places of all ranks: "pp=1 dp=0 tp=0". */
class MeshAxes {
  constructor(workers) {
    this.sizes = new Map();
    for (const worker of workers) {
      for (const part of (worker.place || "").split(" ").filter(Boolean)) {
        const [axis, index] = part.split("=");
        this.sizes.set(axis, Math.max(this.sizes.get(axis) || 0, Number(index) + 1));
      }
    }
  }

  place(worker) {
    return (worker.place || "").split(" ").filter((part) => this.sizes.get(part.split("=")[0]) > 1).join(" ");
  }

  words() {
    return [...this.sizes].filter(([, size]) => size > 1).map(([axis, size]) => axis + " " + size).join(" × ");
  }
}

/** The number of the pipeline stage, for the colour of a cell. */
function stageOf(place) {
  const match = /(?:^| )pp=(\d+)/.exec(place || "");
  return match ? Number(match[1]) % 4 : 0;
}

/** Command, versions and folders. */
export class EnvironmentPanel {
  constructor() {
    const { root, body } = section("environment", "Environment");
    this.root = root;
    this.body = body;
  }

  put(summary) {
    const rows = [["Typed", (summary.typed || []).join(" ")], ["Worker", (summary.command || []).join(" ")],
      ["Working folder", summary.workdir], ["Log folder", summary.logDir], ["jrun", summary.version],
      ["Launcher", summary.launcherHost + ", pid " + summary.launcherPid + (summary.detached ? ", detached" : "")],
      ["Started", clock(summary.startTime)], ["Restarts", String(summary.restarts)],
      ["Variables given with --env", (summary.variables || []).join(", ")],
      ["Network variables", (summary.networkVariables || []).join(" ")]];
    if (summary.droppedMetrics > 0) rows.push(["Dropped metric reports", count(summary.droppedMetrics)]);
    this.body.replaceChildren(el("dl", {}, ...rows.filter(([, text]) => text).flatMap(([name, text]) => [el("dt", {}, name), el("dd", {}, text)])),
      (summary.notices || []).length === 0 ? "" : el("details", {}, el("summary", {}, "Messages of jrun (" + summary.notices.length + ")"),
        el("pre", {}, summary.notices.map((notice) => clock(notice.time) + "  " + notice.text).join("\n"))));
  }
}
