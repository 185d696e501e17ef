package io.jrun.launcher.dashboard;

import com.sun.net.httpserver.HttpExchange;
import io.jrun.comm.file.FileError;
import io.jrun.launcher.job.UsageException;
import io.jrun.launcher.json.JsonLine;
import io.jrun.launcher.record.JobControlRequest;
import io.jrun.launcher.trace.TraceCommand;
import io.jrun.launcher.view.CollectiveLedger;
import io.jrun.launcher.view.OpenJobs;
import io.jrun.launcher.view.OpenJobs.OpenJob;
import java.io.IOException;
import java.io.OutputStream;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/** Answers the requests of the scripts: facts of jobs as JSON, changes as a stream, and orders to jobs. Thread-safe. */
final class JobPages {
    /** The changes of a job, or of the list of jobs. */
    private static final String STREAM = "/api/stream";

    /** Requests that change something. */
    private static final Set<String> ORDERS = Set.of("/api/stacks", "/api/cancel");

    /** Browsers open six connections to a server; a user has some tabs. */
    private static final int MOST_STREAMS = 64;

    private static final long POLL_MILLIS = 500;

    /** Turns without a change after which a stream writes a comment, to find out that the browser is gone. */
    private static final int TURNS_OF_SILENCE = 20;

    private final OpenJobs jobs;
    private final Semaphore streams = new Semaphore(MOST_STREAMS);

    JobPages(OpenJobs jobs) {
        this.jobs = jobs;
    }

    void answer(HttpExchange exchange, String path) throws IOException, InterruptedException {
        String method = exchange.getRequestMethod();
        boolean isOrder = ORDERS.contains(path);
        if (!method.equals(isOrder ? "POST" : "GET")) {
            Replies.text(exchange, 405, "this request needs another method");
            return;
        }
        Query query = Query.of(exchange.getRequestURI());
        if (path.equals("/api/jobs")) {
            Replies.json(exchange, JsonLine.of(Map.of("jobs", jobs.list())));
        } else if (path.equals(STREAM)) {
            stream(exchange, query);
        } else {
            ofJob(exchange, path, query);
        }
    }

    private void ofJob(HttpExchange exchange, String path, Query query) throws IOException {
        OpenJob job;
        try {
            job = jobs.find(query.text("job"));
            job.view().refreshMetrics();
        } catch (IOException e) {
            Replies.text(exchange, 404, FileError.reason(e));
            return;
        }
        switch (path) {
            case "/api/job" -> Replies.json(exchange, JsonLine.of(job.view().summary()));
            case "/api/metrics" -> Replies.json(exchange, JsonLine.of(job.view().metrics(query.number("since"))));
            case "/api/heat" -> Replies.json(exchange, JsonLine.of(job.view().heat(query.number("since"))));
            case "/api/ledger" -> Replies.json(exchange, JsonLine.of(CollectiveLedger.json(job.view())));
            case "/api/logs" -> Replies.json(exchange, JsonLine.of(job.logs().since(query.number("since"))));
            case "/api/search" ->
                Replies.json(exchange, JsonLine.of(job.logs().search(query.text("text"), query.rank())));
            case "/api/report" -> {
                exchange.getResponseHeaders().set("Content-Disposition", "attachment; filename=\"report.html\"");
                Replies.send(exchange, 200, "text/html; charset=utf-8", HtmlReport.of(job.view()));
            }
            case "/api/trace" -> trace(exchange, job);
            case "/api/stacks" -> order(exchange, job, "stack");
            case "/api/cancel" -> order(exchange, job, query.text("now").isEmpty() ? "cancel" : "kill");
            default -> Replies.text(exchange, 404, "there is no such page");
        }
    }

    private static void trace(HttpExchange exchange, OpenJob job) throws IOException {
        StringWriter trace = new StringWriter();
        try {
            TraceCommand.write(job.view(), trace, _ -> {});
        } catch (UsageException e) {
            Replies.text(exchange, 409, String.valueOf(e.getMessage()));
            return;
        }
        exchange.getResponseHeaders().set("Content-Disposition", "attachment; filename=\"trace.json\"");
        Replies.json(exchange, trace.toString());
    }

    private static void order(HttpExchange exchange, OpenJob job, String line) throws IOException {
        try {
            List<String> answer = JobControlRequest.send(job.view().logs(), line);
            Replies.json(exchange, JsonLine.of(Map.of("lines", answer)));
        } catch (IOException e) {
            Replies.text(exchange, 409, "the launcher of this job cannot be reached from here: " + FileError.reason(e));
        }
    }

    /** Writes the numbers of the latest changes whenever they rise; the script then reads what it shows. */
    private void stream(HttpExchange exchange, Query query) throws IOException, InterruptedException {
        if (!streams.tryAcquire()) {
            Replies.text(exchange, 503, "too many pages are open: more than " + MOST_STREAMS);
            return;
        }
        try {
            exchange.getResponseHeaders().set("Content-Type", "text/event-stream");
            exchange.sendResponseHeaders(200, 0);
            OutputStream out = exchange.getResponseBody();
            String last = "";
            for (int silent = 0; ; silent++) {
                String next = changes(query.text("job"));
                if (!next.equals(last) || silent >= TURNS_OF_SILENCE) {
                    String message = next.equals(last) ? ":\n\n" : "data: " + next + "\n\n";
                    out.write(message.getBytes(StandardCharsets.UTF_8));
                    out.flush();
                    last = next;
                    silent = 0;
                }
                TimeUnit.MILLISECONDS.sleep(POLL_MILLIS);
            }
        } finally {
            streams.release();
        }
    }

    private String changes(String name) throws IOException {
        if (name.isEmpty()) {
            return JsonLine.of(
                    Map.of("list", Integer.toHexString(JsonLine.of(jobs.list()).hashCode())));
        }
        try {
            OpenJob job = jobs.find(name);
            job.view().refreshMetrics();
            return JsonLine.of(
                    Map.of("job", job.view().revision(), "metrics", job.view().metricsRevision()));
        } catch (IOException e) {
            return JsonLine.of(Map.of("problem", FileError.reason(e)));
        }
    }
}
