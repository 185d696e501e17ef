import { el, duration, clock, stateLabel } from "./dom.js";
import { failureTitle } from "./panels.js";

/** A command without the folders of its files, and without java and its class path: TrainGpt --steps 100. */
function programText(command) {
  const words = command.map((word, index) => index === 0 || /^\/\S+$/.test(word) ? word.split("/").at(-1) : word);
  return words[0] === "java" && words[1] === "-cp" && words.length > 3
    ? [words[3].split(".").at(-1), ...words.slice(4)].join(" ") : words.join(" ");
}

/** The list of all jobs. */
export class JobList {
  constructor(open) {
    this.open = open;
    this.jobs = null;
    this.find = el("input", { type: "search", placeholder: "Filter by name, program or state", "aria-label": "Filter jobs", oninput: () => this.draw() });
    this.tbody = el("tbody");
    this.note = el("p", { class: "quiet empty" }, "Loading…");
    this.root = el("section", { class: "panel list" }, el("div", { class: "head" }, el("h2", {}, "Jobs"), el("span", { class: "grow" }), this.find),
      el("div", { class: "scroll" }, this.tableElement = el("table", {}, el("thead", {}, el("tr", {},
        ...["State", "Job", "Program", "Ranks", "Nodes", "Started", "Duration", "First failure"].map((head) => el("th", {}, head)))), this.tbody)), this.note);
  }

  put(jobs) {
    this.jobs = jobs;
    this.draw();
  }

  draw() {
    const wanted = this.find.value.toLowerCase();
    const now = Date.now() / 1000;
    const shown = this.jobs.filter((job) => (job.runId + " " + (job.command || []).join(" ") + " " + job.state).toLowerCase().includes(wanted));
    this.tbody.replaceChildren(...shown.map((job) => job.problem ? this.damaged(job) : this.row(job, now)));
    this.tableElement.hidden = shown.length === 0;
    this.note.textContent = this.jobs.length === 0 ? "No jobs yet. Start one: jrun --nproc-per-node=2 train.jar"
      : shown.length === 0 ? "No job matches." : "";
    this.note.hidden = this.note.textContent === "";
  }

  row(job, now) {
    const failure = job.failure ? failureTitle(job.failure) : job.state === "lost" ? "its launcher has ended without a report" : "";
    const program = programText(job.command || []);
    return el("tr", { class: failure ? "failed" : "" }, el("td", {}, stateLabel(job.state, job.exit)),
      el("td", { class: "name" }, el("a", { href: "#/job/" + encodeURIComponent(job.runId) }, job.runId)),
      el("td", { class: "program", title: (job.command || []).join(" ") }, program), el("td", {}, String(job.workerCount ?? "–")),
      el("td", { title: (job.hosts || []).join(", ") }, (job.hosts || []).length === 1 ? job.hosts[0] : (job.hosts || []).length || "–"),
      el("td", {}, clock(job.startTime)), el("td", {}, job.state === "lost" ? "–" : duration(Math.max(0, Math.round((job.endTime || now) - job.startTime)))),
      el("td", { class: "why", title: failure }, failure));
  }

  damaged(job) {
    return el("tr", { class: "failed" }, el("td", {}, el("span", { class: "state none" }, "unreadable")), el("td", { class: "name" }, job.runId),
      el("td", { class: "why", colspan: "6", title: job.problem }, job.problem));
  }
}
