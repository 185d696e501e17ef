package io.jrun.launcher.metrics;

import io.jrun.comm.file.FileError;
import io.jrun.launcher.event.JobEvent;
import io.jrun.launcher.event.JobEvent.JobEnded;
import io.jrun.launcher.event.JobEvent.JobStarted;
import io.jrun.launcher.event.JobEvent.MetricReported;
import io.jrun.launcher.event.JobEventListener;
import io.jrun.launcher.json.JsonLine;
import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Sends the metrics of a job to an MLflow server as one run, over MLflow's REST API 2.0. A thread of the tracker sends
 * once a second, so a slow server delays nothing. A batch that the server does not take is sent again. When the server
 * takes less than the workers report, the oldest values are dropped. Thread-safe.
 */
public final class MlflowTracker implements JobEventListener, AutoCloseable {
    private static final String API = "/api/2.0/mlflow/";
    private static final String EXPERIMENT = "jrun";

    /** The limit of MLflow for one request. */
    private static final int MOST_IN_BATCH = 1000;

    private static final int MOST_QUEUED = 20_000;

    /** Values of further ranks would fill MLflow's list of metrics. */
    private static final int MOST_RANKS = 64;

    private static final long PERIOD_MILLIS = 1000;
    private static final Duration REQUEST_TIMEOUT = Duration.ofSeconds(10);

    /** The longest delay of the job's end: a batch that is under way, and the last batches. */
    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(15);

    private static final int MOST_PARAM_CHARS = 500;

    /** The answers of MLflow have some hundred bytes. */
    private static final long MOST_ANSWER_BYTES = 1 << 20;

    private static final HttpResponse.BodyHandler<String> ANSWER =
            HttpResponse.BodyHandlers.limiting(HttpResponse.BodyHandlers.ofString(), MOST_ANSWER_BYTES);

    private static final String NO_MLFLOW = "the answer is not the answer of MLflow's REST API";

    private final URI server;
    private final Consumer<String> notices;
    private final HttpClient http =
            HttpClient.newBuilder().connectTimeout(REQUEST_TIMEOUT).build();
    private final ArrayDeque<Map<String, Object>> queue = new ArrayDeque<>();
    private final Thread sender =
            Thread.ofPlatform().daemon().name("jrun-mlflow").unstarted(this::run);
    private @Nullable JobStarted job;
    private @Nullable JobEnded end;
    private long startMillis;
    private long endMillis;
    private long dropped;

    private MlflowTracker(URI server, Consumer<String> notices) {
        this.server = server;
        this.notices = notices;
    }

    /**
     * Begins to track a job.
     *
     * @param server the address of the server, such as {@code http://host:5000}
     * @param notices receives one message if the server refuses the run, and one about dropped values
     */
    public static MlflowTracker begin(URI server, Consumer<String> notices) {
        MlflowTracker tracker = new MlflowTracker(server, notices);
        tracker.sender.start();
        return tracker;
    }

    @Override
    public synchronized void on(long timeMillis, JobEvent event) {
        switch (event) {
            case JobStarted started -> {
                job = started;
                startMillis = timeMillis;
                notifyAll();
            }
            case MetricReported report -> add(timeMillis, report);
            case JobEnded ended -> {
                end = ended;
                endMillis = timeMillis;
                notifyAll();
            }
            default -> {} // MLflow has no place for the other events.
        }
    }

    private void add(long timeMillis, MetricReported report) {
        if (report.rank() >= MOST_RANKS) {
            return;
        }
        String prefix = report.rank() == 0 ? "" : "rank-" + report.rank() + "/";
        report.values().forEach((name, value) -> {
            if (queue.size() == MOST_QUEUED) {
                queue.remove();
                dropped++;
            }
            Map<String, Object> metric = new LinkedHashMap<>();
            metric.put("key", prefix + name);
            metric.put("value", value);
            metric.put("timestamp", timeMillis);
            metric.put("step", report.step());
            queue.add(metric);
        });
    }

    private void run() {
        try {
            String run = create(awaitJob());
            boolean isAnswered = true;
            while (!awaitPeriod()) {
                try {
                    send(run);
                    isAnswered = true;
                } catch (IOException e) {
                    if (isAnswered) {
                        notices.accept("--track: the MLflow server at " + server + " does not take the metrics: "
                                + FileError.reason(e) + ". jrun tries again once a second.");
                    }
                    isAnswered = false;
                }
            }
            send(run);
            finish(run);
        } catch (IOException e) {
            notices.accept(
                    "--track: the MLflow server at " + server + " does not take this job: " + FileError.reason(e));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private synchronized JobStarted awaitJob() throws InterruptedException {
        while (job == null) {
            wait();
        }
        return job;
    }

    /** Waits for a second, or for the end of the job. Returns whether the job is over. */
    private synchronized boolean awaitPeriod() throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(PERIOD_MILLIS);
        for (long left = deadline - System.nanoTime(); end == null && left > 0; left = deadline - System.nanoTime()) {
            TimeUnit.NANOSECONDS.timedWait(this, left);
        }
        return end != null;
    }

    private String create(JobStarted started) throws IOException, InterruptedException {
        Map<String, Object> run = new LinkedHashMap<>();
        run.put("experiment_id", experiment());
        run.put("run_name", started.runId());
        run.put("start_time", startMillis);
        run.put(
                "tags",
                List.of(
                        tag("mlflow.source.name", String.join(" ", started.command())),
                        tag("jrun.version", started.version()),
                        tag("mlflow.user", System.getProperty("user.name", ""))));
        Map<?, ?> made = object(object(post("runs/create", run).get("run")).get("info"));
        String id = String.valueOf(made.get("run_id"));
        Map<String, Object> params = new LinkedHashMap<>();
        params.put("run_id", id);
        params.put(
                "params",
                List.of(
                        tag("command", cut(String.join(" ", started.typed()))),
                        tag("workdir", cut(started.workdir().toString())),
                        tag("host", started.launcher().host())));
        post("runs/log-batch", params);
        return id;
    }

    private static Map<String, Object> tag(String key, String value) {
        Map<String, Object> tag = new LinkedHashMap<>();
        tag.put("key", key);
        tag.put("value", value);
        return tag;
    }

    private static String cut(String text) {
        return text.length() <= MOST_PARAM_CHARS ? text : text.substring(0, MOST_PARAM_CHARS);
    }

    private String experiment() throws IOException, InterruptedException {
        String query =
                "experiments/get-by-name?experiment_name=" + URLEncoder.encode(EXPERIMENT, StandardCharsets.UTF_8);
        HttpResponse<String> found = http.send(request(query).GET().build(), ANSWER);
        if (found.statusCode() == 200) {
            return String.valueOf(object(json(found).get("experiment")).get("experiment_id"));
        }
        return String.valueOf(
                post("experiments/create", Map.of("name", EXPERIMENT)).get("experiment_id"));
    }

    private void send(String run) throws IOException, InterruptedException {
        for (List<Map<String, Object>> batch = take(); !batch.isEmpty(); batch = take()) {
            Map<String, Object> body = new LinkedHashMap<>();
            body.put("run_id", run);
            body.put("metrics", batch);
            try {
                post("runs/log-batch", body);
            } catch (IOException e) {
                putBack(batch);
                throw e;
            }
        }
    }

    private synchronized List<Map<String, Object>> take() {
        List<Map<String, Object>> batch = new ArrayList<>();
        while (batch.size() < MOST_IN_BATCH && !queue.isEmpty()) {
            batch.add(queue.remove());
        }
        return batch;
    }

    private synchronized void putBack(List<Map<String, Object>> batch) {
        List<Map<String, Object>> fitting =
                batch.subList(Math.max(0, batch.size() + queue.size() - MOST_QUEUED), batch.size());
        dropped += batch.size() - fitting.size();
        fitting.reversed().forEach(queue::addFirst);
    }

    private void finish(String run) throws IOException, InterruptedException {
        Map<String, Object> body = new LinkedHashMap<>();
        body.put("run_id", run);
        synchronized (this) {
            boolean succeeded = end != null && end.exitCode() == 0;
            boolean stopped = end != null
                    && end.cause()
                            .filter(cause -> cause.kind().equals("signal"))
                            .isPresent();
            body.put("status", succeeded ? "FINISHED" : stopped ? "KILLED" : "FAILED");
            body.put("end_time", endMillis);
        }
        post("runs/update", body);
    }

    private Map<String, Object> post(String path, Map<String, Object> body) throws IOException, InterruptedException {
        HttpRequest request = request(path)
                .header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString(JsonLine.of(body)))
                .build();
        HttpResponse<String> answer = http.send(request, ANSWER);
        if (answer.statusCode() != 200) {
            String text = answer.body().strip().lines().findFirst().orElse("");
            throw new IOException(path + " was answered with status " + answer.statusCode() + " "
                    + text.substring(0, Math.min(text.length(), MOST_PARAM_CHARS)));
        }
        return answer.body().isBlank() ? Map.of() : json(answer);
    }

    private static Map<String, Object> json(HttpResponse<String> answer) throws IOException {
        try {
            return JsonLine.read(answer.body());
        } catch (IOException e) {
            throw new IOException(NO_MLFLOW, e);
        }
    }

    private HttpRequest.Builder request(String path) {
        String base = server.toString().replaceFirst("/+$", "");
        return HttpRequest.newBuilder(URI.create(base + API + path)).timeout(REQUEST_TIMEOUT);
    }

    private static Map<?, ?> object(@Nullable Object json) throws IOException {
        if (json instanceof Map<?, ?> map) {
            return map;
        }
        throw new IOException(NO_MLFLOW);
    }

    /** Sends the remaining values, for 15 s at most. */
    @Override
    public void close() {
        try {
            if (!sender.join(CLOSE_TIMEOUT)) {
                notices.accept("--track: the MLflow server at " + server + " is too slow; the last values are missing");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        if (dropped > 0) {
            notices.accept("--track: " + dropped + " values were dropped, because the MLflow server at " + server
                    + " is too slow");
        }
    }
}
