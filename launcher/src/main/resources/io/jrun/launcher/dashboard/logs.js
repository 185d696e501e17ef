import { el, section } from "./dom.js";

/** Terminal colours mean nothing in a page. */
const ESCAPES = /\u001b\[[0-9;?]*[A-Za-z]/g;

/** Lines in the page; a search looks at all. */
const MOST_SHOWN = 1000;

/** The output of all ranks, with a search and a choice of ranks. */
export class LogPanel {
  constructor(source) {
    this.source = source;
    this.lines = [];
    this.last = 0;
    /** Whether the result of a search in the whole files is shown. */
    this.showsSearch = false;
    this.find = el("input", { type: "search", placeholder: "Search", "aria-label": "Search in the logs",
      oninput: () => this.show(), onkeydown: (event) => { if (event.key === "Enter") this.search(); } });
    this.rank = el("input", { class: "short", placeholder: "Ranks: 0,2-5", "aria-label": "Only these ranks", oninput: () => this.show() });
    this.errors = el("input", { type: "checkbox", onchange: () => this.show() });
    this.whole = el("button", { type: "button", title: "Search in the whole files (Enter)", onclick: () => this.search() }, "Whole files");
    this.list = el("div", { class: "log", tabindex: "0", role: "log", "aria-label": "Output of the workers" });
    this.foot = el("p", { class: "quiet" });
    const { root, body } = section("logs", "Logs", this.find, source.live ? this.whole : null, this.rank,
      el("label", {}, this.errors, " stderr only"));
    body.append(this.list, this.foot);
    this.root = root;
  }

  put(page) {
    this.last = page.last;
    if (page.lines.length === 0) {
      if (this.lines.length === 0) this.foot.textContent = "No output yet.";
      return;
    }
    this.lines.push(...page.lines);
    if (this.lines.length > 5000) this.lines.splice(0, this.lines.length - 5000);
    if (!this.showsSearch) this.show();
  }

  show() {
    this.showsSearch = false;
    const wanted = this.find.value.toLowerCase();
    const ranks = rankFilter(this.rank.value);
    const found = this.lines.filter((line) => ranks(line.rank) && (!this.errors.checked || line.stream === "stderr")
      && (wanted === "" || line.text.toLowerCase().includes(wanted)));
    this.render(found, found.length + " of the last " + this.lines.length + " lines");
  }

  async search() {
    if (this.find.value === "" || !this.source.live) return this.show();
    const ranks = rankFilter(this.rank.value);
    const one = /^\s*(\d*)\s*$/.exec(this.rank.value); // the server searches one rank or all
    const page = await this.source.search(this.find.value, one ? one[1] : "");
    const found = page.lines.filter((line) => ranks(line.rank) && (!this.errors.checked || line.stream === "stderr"));
    this.showsSearch = true;
    this.render(found, found.length + " matches in the whole files" + (page.cut ? ", and there may be more" : ""));
  }

  render(found, words) {
    const atEnd = this.list.scrollTop + this.list.clientHeight >= this.list.scrollHeight - 24;
    this.list.replaceChildren(...found.slice(-MOST_SHOWN).map((line) => el("div", { class: line.stream === "stderr" ? "err" : "" },
      el("span", { class: "who" }, String(line.rank)), el("span", { class: "text" }, line.text.replace(ESCAPES, "")))));
    this.foot.textContent = words + (found.length > MOST_SHOWN ? ", the last " + MOST_SHOWN + " are shown" : "");
    if (atEnd) this.list.scrollTop = this.list.scrollHeight;
  }
}

/** Whether a rank is chosen by a text such as 0,2-5. */
function rankFilter(text) {
  const ranges = text.split(",").map((part) => part.trim().match(/^(\d+)(?:-(\d+))?$/)).filter(Boolean)
    .map((match) => [Number(match[1]), Number(match[2] ?? match[1])]);
  return (rank) => ranges.length === 0 || ranges.some(([from, to]) => from <= rank && rank <= to);
}
