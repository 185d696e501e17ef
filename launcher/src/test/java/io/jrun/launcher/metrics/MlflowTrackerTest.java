package io.jrun.launcher.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.jrun.agent.node.ProcessIdentity;
import io.jrun.launcher.event.JobEvent;
import io.jrun.launcher.event.JobFailure;
import io.jrun.launcher.json.JsonLine;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The tracker against a server that follows MLflow's REST API 2.0 and its limits. */
@Timeout(60)
class MlflowTrackerTest {
    private final List<String> notices = Collections.synchronizedList(new ArrayList<>());
    private final List<String> problems = Collections.synchronizedList(new ArrayList<>());
    private final Map<String, Double> metrics = Collections.synchronizedMap(new TreeMap<>());
    private final Map<String, Object> run = Collections.synchronizedMap(new TreeMap<>());
    private final AtomicInteger refused = new AtomicInteger();
    private final CountDownLatch logged = new CountDownLatch(1);
    private volatile boolean isEndless;
    private HttpServer server;

    @BeforeEach
    void serve() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 8);
        server.createContext("/api/2.0/mlflow/", this::answer);
        server.start();
    }

    @AfterEach
    void stop() {
        server.stop(0);
    }

    private URI url() {
        return URI.create("http://127.0.0.1:" + server.getAddress().getPort() + "/");
    }

    private void answer(HttpExchange exchange) throws IOException {
        try (exchange) {
            String path = exchange.getRequestURI().getPath().replaceFirst("/api/2.0/mlflow/", "");
            String text = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
            Map<String, Object> body = text.isEmpty() ? Map.of() : JsonLine.read(text);
            if (isEndless) {
                exchange.sendResponseHeaders(200, 0);
                byte[] piece = new byte[1 << 16];
                while (true) {
                    exchange.getResponseBody().write(piece);
                }
            }
            if (body.containsKey("metrics") && refused.getAndDecrement() > 0) {
                exchange.sendResponseHeaders(503, 4);
                exchange.getResponseBody().write("busy".getBytes(StandardCharsets.UTF_8));
                return;
            }
            String reply = reply(path, body);
            exchange.sendResponseHeaders(reply.startsWith("{\"error_code\"") ? 404 : 200, reply.length());
            exchange.getResponseBody().write(reply.getBytes(StandardCharsets.UTF_8));
        } catch (RuntimeException e) {
            problems.add(e.toString());
            throw e;
        }
    }

    private String reply(String path, Map<String, Object> body) {
        return switch (path) {
            case "experiments/get-by-name" -> "{\"error_code\":\"RESOURCE_DOES_NOT_EXIST\"}";
            case "experiments/create" -> "{\"experiment_id\":\"7\"}";
            case "runs/create" -> {
                run.putAll(body);
                yield "{\"run\":{\"info\":{\"run_id\":\"r1\",\"status\":\"RUNNING\"}}}";
            }
            case "runs/update" -> {
                run.putAll(body);
                yield "{\"run_info\":{}}";
            }
            case "runs/log-batch" -> {
                log(body);
                yield "{}";
            }
            default -> throw new IllegalArgumentException(path + " is no request of MLflow");
        };
    }

    private void log(Map<String, Object> body) {
        List<?> batch = (List<?>) body.getOrDefault("metrics", List.of());
        if (batch.size() > 1000 || !"r1".equals(body.get("run_id"))) {
            throw new IllegalArgumentException("MLflow refuses this batch");
        }
        for (Object each : batch) {
            Map<?, ?> metric = (Map<?, ?>) each;
            if (!(metric.get("timestamp") instanceof Long) || !(metric.get("step") instanceof Long)) {
                throw new IllegalArgumentException("MLflow refuses this metric: " + metric);
            }
            metrics.put(
                    metric.get("key") + " " + metric.get("step"),
                    Double.parseDouble(String.valueOf(metric.get("value"))));
            logged.countDown();
        }
    }

    private static JobEvent started() {
        return new JobEvent.JobStarted(
                "nightly",
                "0.1.0",
                ProcessIdentity.current(),
                false,
                1000,
                Path.of("/data"),
                List.of("jrun", "x".repeat(9000)),
                List.of("java", "Train"),
                List.of(),
                List.of(),
                List.of());
    }

    private static JobEvent ended(int exitCode) {
        return new JobEvent.JobEnded(
                exitCode,
                0,
                1,
                exitCode == 0
                        ? Optional.empty()
                        : Optional.of(new JobFailure("signal", OptionalInt.empty(), "", "SIGTERM")),
                Map.of(),
                List.of());
    }

    @Test
    void allValuesOfAJobAreInItsRun() {
        try (MlflowTracker tracker = MlflowTracker.begin(url(), notices::add)) {
            tracker.on(1000, started());
            for (int step = 0; step < 1500; step++) {
                tracker.on(2000 + step, new JobEvent.MetricReported(1, 0, step, Map.of("loss", 1.0 / (step + 1))));
                tracker.on(2000 + step, new JobEvent.MetricReported(1, 3, step, Map.of("loss", 2.0)));
            }
            tracker.on(9000, ended(0));
        }
        assertThat(problems).isEmpty();
        assertThat(notices).isEmpty();
        assertThat(metrics).hasSize(3000).containsEntry("loss 3", 0.25).containsEntry("rank-3/loss 1499", 2.0);
        assertThat(run)
                .containsEntry("experiment_id", "7")
                .containsEntry("run_name", "nightly")
                .containsEntry("status", "FINISHED")
                .containsEntry("start_time", 1000L)
                .containsEntry("end_time", 9000L);
    }

    @Test
    void aStoppedJobIsKilled() {
        try (MlflowTracker tracker = MlflowTracker.begin(url(), notices::add)) {
            tracker.on(1000, started());
            tracker.on(9000, ended(143));
        }
        assertThat(run).containsEntry("status", "KILLED");
    }

    @Test
    void aBatchThatTheServerRefusesIsSentAgain() throws InterruptedException {
        refused.set(2);
        try (MlflowTracker tracker = MlflowTracker.begin(url(), notices::add)) {
            tracker.on(1000, started());
            tracker.on(2000, new JobEvent.MetricReported(1, 0, 1, Map.of("loss", 3.0)));
            assertThat(logged.await(30, TimeUnit.SECONDS)).isTrue();
            tracker.on(2000, new JobEvent.MetricReported(1, 0, 2, Map.of("loss", 2.0)));
            tracker.on(9000, ended(0));
        }
        assertThat(metrics).containsEntry("loss 1", 3.0).containsEntry("loss 2", 2.0);
        assertThat(run).containsEntry("status", "FINISHED");
        assertThat(notices)
                .singleElement()
                .asString()
                .contains("does not take the metrics: runs/log-batch was answered with status 503 busy");
    }

    @Test
    void anAnswerWithoutEndIsRefused() {
        isEndless = true;
        try (MlflowTracker tracker = MlflowTracker.begin(url(), notices::add)) {
            tracker.on(1000, started());
            tracker.on(9000, ended(0));
        }
        assertThat(notices).singleElement().asString().contains("does not take this job: ");
    }

    @Test
    void aServerThatIsNotThereIsOneMessage() {
        stop();
        try (MlflowTracker tracker = MlflowTracker.begin(url(), notices::add)) {
            tracker.on(1000, started());
            tracker.on(9000, ended(0));
        }
        assertThat(notices)
                .singleElement()
                .asString()
                .startsWith("--track: the MLflow server at " + url() + " does not take this job: ");
    }
}
