// Elements, and numbers with their units. Text of jobs reaches the page only as text nodes, never as HTML.

/** An element. A property that begins with "on" is a listener; children are elements or text. */
export function el(name, properties, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties || {})) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value != null) element.setAttribute(key, value);
  }
  for (const child of children.flat()) if (child != null) element.append(child);
  return element;
}

/** Sets a text only if it has changed, which costs the browser nothing otherwise. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** A section with a heading. Further elements stand at the right of the heading. */
export function section(id, title, ...tools) {
  const body = el("div", { class: "body" });
  const root = el("section", { id, class: "panel", "aria-label": title },
    el("div", { class: "head" }, el("h2", {}, title), el("span", { class: "grow" }), ...tools), body);
  return { root, body };
}

/** Seconds as 850 us, 12.3 ms, 4.56 s, 3 min 20 s, 2 h 05 min or 3 d 4 h. */
export function duration(seconds) {
  if (seconds == null || !isFinite(seconds)) return "–";
  const s = Math.abs(seconds);
  if (s === 0) return "0 s";
  if (s < 1e-3) return digits(seconds * 1e6) + " µs";
  if (s < 1) return digits(seconds * 1e3) + " ms";
  if (s < 60) return digits(seconds) + " s";
  const whole = Math.round(s);
  if (s < 3600) return Math.floor(whole / 60) + " min " + (whole % 60) + " s";
  if (s < 86400) return Math.floor(whole / 3600) + " h " + String(Math.floor(whole / 60) % 60).padStart(2, "0") + " min";
  return Math.floor(whole / 86400) + " d " + Math.floor(whole / 3600) % 24 + " h";
}

/** A number with three digits, or with all digits of a whole number. */
export function digits(value) {
  if (value == null || !isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e7)) return value.toExponential(2);
  if (size >= 100) return Math.round(value).toLocaleString("en-US");
  return String(Number(value.toPrecision(3)));
}

/** A count as 950, 16.2 k, 3.40 M. */
export function count(value) {
  if (value == null || !isFinite(value)) return "–";
  for (const [size, unit] of [[1e9, " G"], [1e6, " M"], [1e4, " k"]]) {
    if (Math.abs(value) >= size) return (value / (size === 1e4 ? 1e3 : size)).toPrecision(3) + unit;
  }
  return Math.abs(value) >= 100 ? String(Math.round(value)) : digits(value);
}

/** Bytes as 12 KiB, 3.4 MiB, 1.2 GiB. */
export function bytes(value) {
  if (value == null || !isFinite(value)) return "–";
  let size = value;
  for (const unit of ["B", "KiB", "MiB", "GiB"]) {
    if (size < 1024 || unit === "GiB") return (size < 10 && unit !== "B" ? size.toFixed(1) : Math.round(size)) + " " + unit;
    size /= 1024;
  }
  return "";
}

/** A time of day, with the date if it is not today. */
export function clock(seconds) {
  const time = new Date(seconds * 1000);
  const text = time.toLocaleTimeString("en-GB");
  return time.toDateString() === new Date().toDateString() ? text : time.toLocaleDateString("en-CA") + " " + text;
}

/** The unit of a metric by its name. */
export function metricText(name, value) {
  if (value == null) return "–";
  if (name.endsWith("_seconds")) return duration(value);
  if (name.endsWith("_bytes")) return bytes(value);
  if (name === "mfu") return digits(100 * value) + " %";
  if (name === "tokens_per_second") return count(value) + " tokens/s";
  return Math.abs(value) >= 1e4 ? count(value) : String(Number(value.toPrecision(4)));
}

/** The name of a metric in words. */
export function metricTitle(name) {
  const text = name.replace(/_seconds$/, "").replaceAll("_", " ");
  return name.endsWith("_seconds") ? text + " time" : text;
}

/** A label of a state, with a shape besides the colour. */
export function stateLabel(state, text) {
  const kind = state === "ended" ? (text === "exit 0" ? "good" : "bad")
    : ({ running: "live", starting: "live", lost: "bad", failed: "bad", succeeded: "good" })[state] || "none";
  return el("span", { class: "state " + kind }, state === "ended" ? (kind === "good" ? "succeeded" : "failed") : state);
}

/** Switches between light and dark; the choice stays. */
export function installTheme(button, changed) {
  const kept = () => { try { return localStorage.getItem("jrun-theme"); } catch { return null; } };
  const apply = (theme) => { if (theme) document.documentElement.dataset.theme = theme; };
  apply(kept());
  button.addEventListener("click", () => {
    const next = isDark() ? "light" : "dark";
    try { localStorage.setItem("jrun-theme", next); } catch { /* the browser keeps nothing */ }
    apply(next);
    changed();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
}

export function isDark() {
  const theme = document.documentElement.dataset.theme;
  return theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

/** The value of a colour of page.css. */
export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
}
