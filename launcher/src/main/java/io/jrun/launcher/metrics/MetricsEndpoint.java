package io.jrun.launcher.metrics;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.jrun.agent.LauncherAddress;
import io.jrun.launcher.event.JobEvent;
import io.jrun.launcher.event.JobEventListener;
import io.jrun.launcher.job.UsageException;
import io.prometheus.metrics.config.EscapingScheme;
import io.prometheus.metrics.expositionformats.OpenMetricsTextFormatWriter;
import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * Serves the latest metrics of each rank over HTTP, in OpenMetrics text format. Without authentication: the default
 * address is the loopback interface. Thread-safe.
 */
public final class MetricsEndpoint implements JobEventListener, Closeable {
    private static final String PATH = "/metrics";

    /** Connections that wait to be accepted: collectors come every few seconds. */
    private static final int BACKLOG = 16;

    private final JobMetricSnapshots snapshots;
    private final LauncherAddress address;
    private final HttpServer server;
    /** A thread for each connection: a client that sends half of a request delays no other client. */
    private final ExecutorService requests = Executors.newThreadPerTaskExecutor(
            Thread.ofVirtual().name("jrun-metrics-", 0).factory());

    private MetricsEndpoint(InetSocketAddress requested, String runId) throws IOException {
        snapshots = new JobMetricSnapshots(runId);
        server = HttpServer.create(new InetSocketAddress(requested.getHostString(), requested.getPort()), BACKLOG);
        address = new LauncherAddress(
                requested.getHostString(), server.getAddress().getPort());
        server.createContext(PATH, this::answer);
        server.setExecutor(requests);
    }

    /**
     * Begins to serve.
     *
     * @param address where to listen; port 0 takes a free port
     * @throws UsageException if the launcher cannot listen there
     */
    public static MetricsEndpoint open(InetSocketAddress address, String runId) {
        try {
            MetricsEndpoint endpoint = new MetricsEndpoint(address, runId);
            endpoint.server.start();
            return endpoint;
        } catch (IOException | RuntimeException e) {
            throw new UsageException("--metrics-port: cannot listen at " + address.getHostString() + ":"
                    + address.getPort() + ": " + e.getMessage() + ". Choose another port, or 0 for a free one.");
        }
    }

    /** The URL of the metrics for collectors. */
    public String url() {
        return "http://" + address + PATH;
    }

    @Override
    public void on(long timeMillis, JobEvent event) {
        snapshots.on(event);
    }

    private void answer(HttpExchange exchange) throws IOException {
        try (exchange) {
            if (!exchange.getRequestURI().getPath().equals(PATH)) {
                exchange.sendResponseHeaders(404, -1);
            } else if (exchange.getRequestMethod().equals("GET")) {
                ByteArrayOutputStream text = new ByteArrayOutputStream();
                OpenMetricsTextFormatWriter.create()
                        .write(text, snapshots.current(), EscapingScheme.UNDERSCORE_ESCAPING);
                exchange.getResponseHeaders().set("Content-Type", OpenMetricsTextFormatWriter.CONTENT_TYPE);
                exchange.sendResponseHeaders(200, text.size());
                text.writeTo(exchange.getResponseBody());
            } else {
                exchange.sendResponseHeaders(405, -1);
            }
        }
    }

    @Override
    public void close() {
        server.stop(0);
        requests.shutdownNow();
    }
}
