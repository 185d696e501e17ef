const TOKEN = new URLSearchParams(location.search).get("token") || "";

/** The address of a request, with the token and further parameters. */
function address(path, parameters) {
  const query = new URLSearchParams({ token: TOKEN, ...parameters });
  return "api/" + path + "?" + query;
}

async function request(path, parameters, method) {
  const answer = await fetch(address(path, parameters), { method: method || "GET" });
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return answer.json();
}

/** The answer of an order, or why it was not carried out. */
async function order(path, parameters) {
  try {
    return await request(path, parameters, "POST");
  } catch (error) {
    return { problem: error.message };
  }
}

/** A file, or why there is none. */
async function content(url) {
  try {
    const answer = await fetch(url);
    return answer.ok ? { content: await answer.blob() } : { problem: (await answer.text()).trim() };
  } catch (error) {
    return { problem: error.message };
  }
}

export async function listJobs() {
  return (await request("jobs", {})).jobs;
}

/** The facts of one job, from the server. */
export class LiveSource {
  constructor(name) {
    this.name = name;
    this.live = true;
    this.traceUrl = address("trace", { job: name });
    this.reportUrl = address("report", { job: name });
  }

  now() { return Date.now() / 1000; }
  summary() { return request("job", { job: this.name }); }
  metrics(since) { return request("metrics", { job: this.name, since }); }
  metricsOf(name) { return request("metrics", { job: name, since: 0 }); }
  heat(since) { return request("heat", { job: this.name, since }); }
  ledger() { return request("ledger", { job: this.name }); }
  logs(since) { return request("logs", { job: this.name, since }); }
  /** A search in the files of one rank, or of all ranks if {@code rank} is empty. */
  search(text, rank) { return request("search", { job: this.name, text, rank }); }
  file(url) { return content(url); }
  stacks() { return order("stacks", { job: this.name }); }
  cancel() { return order("cancel", { job: this.name }); }
  jobs() { return listJobs(); }
}

/** Calls {@code changed} with the numbers of the last changes, one call after another. Returns what ends this. */
export function follow(name, changed, connected) {
  const stream = new EventSource(address("stream", name ? { job: name } : {}));
  let latest = null;
  let busy = false;
  const run = async () => {
    if (busy) return;
    busy = true;
    while (latest !== null) {
      const next = latest;
      latest = null;
      try { await changed(next); } catch (error) { connected(false, error.message); }
    }
    busy = false;
  };
  stream.onmessage = (event) => { latest = JSON.parse(event.data); connected(true); run(); };
  stream.onerror = () => connected(false, "no connection to jrun dashboard; is it still running?");
  return () => stream.close();
}
