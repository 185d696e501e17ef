package io.jrun.launcher.dashboard;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.jrun.comm.file.FileError;
import io.jrun.launcher.job.UsageException;
import io.jrun.launcher.record.JobIndex;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * Serves the pages about all jobs of the user at 127.0.0.1. Each request needs a token that only the URL has. A virtual
 * thread answers each request, so that an open stream delays no other request. Thread-safe.
 */
public final class DashboardServer implements AutoCloseable {
    private static final String ASSETS = "/assets/";
    private static final int BACKLOG = 128;

    private final HttpServer server;
    private final AccessCheck access;
    private final JobPages pages;
    private final CountDownLatch closed = new CountDownLatch(1);
    private final ExecutorService requests = Executors.newThreadPerTaskExecutor(
            Thread.ofVirtual().name("jrun-dashboard-", 0).factory());

    static {
        // Read by the server's classes when they are loaded.
        System.setProperty("sun.net.httpserver.nodelay", "true");
        System.setProperty("jdk.httpserver.maxConnections", "512");
        System.setProperty("sun.net.httpserver.maxReqTime", "20"); // seconds for a client that sends half of a request
    }

    private DashboardServer(int port, JobIndex index) throws IOException {
        server = HttpServer.create(
                new InetSocketAddress(InetAddress.getByAddress(new byte[] {127, 0, 0, 1}), port), BACKLOG);
        access = new AccessCheck(server.getAddress().getPort());
        pages = new JobPages(new OpenJobs(index));
        server.createContext("/", this::answer);
        server.setExecutor(requests);
    }

    /**
     * Begins to serve.
     *
     * @param port 0 for a free port
     * @throws UsageException with one line if the server cannot listen there
     */
    public static DashboardServer open(int port, JobIndex index) {
        try {
            DashboardServer made = new DashboardServer(port, index);
            made.server.start();
            return made;
        } catch (IOException e) {
            throw new UsageException("--port: cannot listen at 127.0.0.1:" + port + ": " + FileError.reason(e)
                    + ". Choose another port, or 0 for a free one.");
        }
    }

    /** The address of the page, with the token. */
    public String url() {
        return "http://127.0.0.1:" + server.getAddress().getPort() + "/?token=" + access.token();
    }

    /** Opens the page in the user's browser, if this machine has one. */
    public void openBrowser() {
        try {
            Process _ = new ProcessBuilder("xdg-open", url())
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .start();
        } catch (IOException e) {
            // a machine without a desktop; the user opens the URL
        }
    }

    /** Waits until {@link #close} or the end of the process. */
    public void await() throws InterruptedException {
        closed.await();
    }

    private void answer(HttpExchange exchange) throws IOException {
        try (exchange) {
            exchange.getResponseHeaders().set("X-Content-Type-Options", "nosniff");
            exchange.getResponseHeaders().set("Referrer-Policy", "no-referrer");
            exchange.getResponseHeaders().set("Cache-Control", "no-store");
            exchange.getResponseHeaders()
                    .set(
                            "Content-Security-Policy",
                            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'"
                                    + " data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
            Optional<String> problem = access.problem(exchange.getRequestHeaders());
            String path = exchange.getRequestURI().getPath();
            if (problem.isPresent()) {
                Replies.text(exchange, 403, problem.get());
            } else if (path.startsWith(ASSETS)) {
                asset(exchange, path.substring(ASSETS.length()));
            } else if (!access.isAuthorized(exchange.getRequestURI())) {
                Replies.text(
                        exchange, 403, "the URL has no valid token; use the URL that 'jrun dashboard' has printed");
            } else if (path.equals("/")) {
                Replies.send(exchange, 200, "text/html; charset=utf-8", Assets.text("index.html"));
            } else {
                pages.answer(exchange, path);
            }
        } catch (UncheckedIOException | IOException e) {
            // the browser has closed the connection
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static void asset(HttpExchange exchange, String name) throws IOException {
        String type = Assets.TYPES.get(name);
        if (type == null) {
            Replies.text(exchange, 404, "there is no such file");
        } else {
            Replies.send(exchange, 200, type, Assets.text(name));
        }
    }

    @Override
    public void close() {
        closed.countDown();
        requests.shutdownNow();
        server.stop(0);
    }
}
