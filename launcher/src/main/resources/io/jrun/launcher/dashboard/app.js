import { el, installTheme } from "./dom.js";
import { JobList } from "./jobs.js";
import { JobPage } from "./job.js";
import { LiveSource, follow, listJobs } from "./live.js";

const main = document.getElementById("main");
const crumbs = document.getElementById("crumbs");
const link = document.getElementById("link");
/** The longest age of the numbers in the table of ranks while no event happens. */
const SUMMARY_MILLIS = 2000;

let leave = () => {};
let page = null;
/** Counts the pages. A page that the user has left before its first answer is not shown. */
let visit = 0;

function connected(isConnected, problem) {
  link.textContent = isConnected ? "" : problem;
  link.className = isConnected ? "" : "warn";
}

async function showList() {
  const own = visit;
  const list = new JobList();
  main.replaceChildren(list.root);
  crumbs.replaceChildren();
  document.title = "jrun";
  list.put(await listJobs());
  if (own !== visit) return;
  leave = follow("", async () => list.put(await listJobs()), connected);
}

async function showJob(name) {
  const own = visit;
  const source = new LiveSource(name);
  const shown = new JobPage(source);
  page = shown;
  crumbs.replaceChildren(el("span", {}, "/ "), el("span", {}, name));
  document.title = name + " – jrun";
  const known = { job: -1, metrics: 0, heat: 0, summaryTime: 0 };
  const update = async (changes) => {
    if (changes.problem) throw new Error(changes.problem);
    const work = [];
    if (changes.metrics !== known.shown) {
      work.push(source.metrics(known.metrics).then((answer) => { known.metrics = answer.revision; shown.putMetrics(answer); }));
      work.push(source.heat(known.heat).then((answer) => { known.heat = answer.revision; shown.putHeat(answer); }));
    }
    // The facts of a thousand ranks are long. Without an event only their steps and loads change.
    if (changes.job !== known.job || performance.now() - known.summaryTime > SUMMARY_MILLIS) {
      known.job = changes.job;
      known.summaryTime = performance.now();
      work.push(source.summary().then((answer) => shown.putSummary(answer)));
    }
    await Promise.all(work);
    known.shown = changes.metrics;
  };
  try {
    shown.putSummary(await source.summary());
  } catch (error) {
    if (own === visit) main.replaceChildren(el("p", { class: "warn" }, name + ": " + error.message));
    return;
  }
  if (own !== visit) return;
  main.replaceChildren(shown.root);
  shown.offerComparison();
  const stop = follow(name, update, connected);
  let left = false;
  const slow = async () => {
    while (!left) {
      try {
        shown.logs.put(await source.logs(shown.logs.last));
        shown.ledger.put(await source.ledger());
      } catch { /* the stream says that there is no connection */ }
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  };
  slow();
  const clockwork = setInterval(() => shown.putFigures(), 1000);
  leave = () => { left = true; clearInterval(clockwork); stop(); };
}

/** A name from an address; text that encodes nothing stays as it is, and there is no such job. */
function decoded(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}

function route() {
  leave();
  leave = () => {};
  page = null;
  visit++;
  const match = /^#\/job\/(.+)$/.exec(location.hash);
  (match ? showJob(decoded(match[1])) : showList()).catch((error) => connected(false, error.message));
}

installTheme(document.getElementById("theme"), () => { if (page) page.redraw(); });
addEventListener("hashchange", route);
addEventListener("resize", () => { if (page) page.heat.draw(); });
route();
