import { el, installTheme, clock } from "./dom.js";
import { JobPage } from "./job.js";

const data = JSON.parse(document.getElementById("data").textContent);
installTheme(document.getElementById("theme"), () => reported.redraw());
const reported = new JobPage({ live: false, name: data.summary.runId, now: () => data.madeTime });
document.getElementById("main").replaceChildren(reported.root);
document.getElementById("crumbs").append(el("span", {}, "/ " + data.summary.runId));
document.getElementById("link").append("report of " + clock(data.madeTime));
document.title = data.summary.runId + " – jrun report";
reported.putMetrics(data.metrics);
reported.putHeat(data.heat);
reported.putSummary(data.summary);
reported.ledger.put(data.ledger);
reported.logs.put(data.logs);
addEventListener("resize", () => reported.heat.draw());
