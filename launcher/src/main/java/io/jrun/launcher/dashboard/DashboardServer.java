package io.jrun.launcher.dashboard;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import io.jrun.comm.file.FileError;
import io.jrun.launcher.job.UsageException;
import io.jrun.launcher.record.JobIndex;
import io.jrun.launcher.view.OpenJobs;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * Serves the pages about all jobs of the user. Each request needs a token that only the URL has. A virtual
 * thread answers each request, so that an open stream delays no other request. Thread-safe.
 */
public final class DashboardServer implements AutoCloseable {
    private static final String ASSETS = "/assets/";
    private static final int BACKLOG = 128;

    private final HttpServer server;
    private final PageHost host;
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

    private DashboardServer(PageHost host, int port, JobIndex index) throws IOException {
        this.host = host;
        server = create(host, new InetSocketAddress(host.address(), port));
        access = new AccessCheck(host, server.getAddress().getPort());
        pages = new JobPages(new OpenJobs(index));
        server.createContext("/", this::answer);
        server.setExecutor(requests);
    }

    private static HttpServer create(PageHost host, InetSocketAddress at) throws IOException {
        if (host.tls().isEmpty()) {
            return HttpServer.create(at, BACKLOG);
        }
        HttpsServer made = HttpsServer.create(at, BACKLOG);
        made.setHttpsConfigurator(new HttpsConfigurator(host.tls().get().context()));
        return made;
    }

    /**
     * Begins to serve.
     *
     * @param host a name or address of this machine
     * @param port 0 for a free port
     * @param tls the certificate; empty for a page that only this machine can reach
     * @throws UsageException with one line if the server cannot listen there
     */
    public static DashboardServer open(String host, int port, Optional<ServerIdentity> tls, JobIndex index) {
        PageHost page = PageHost.of(host, tls);
        try {
            DashboardServer made = new DashboardServer(page, port, index);
            made.server.start();
            return made;
        } catch (IOException e) {
            throw new UsageException("--port: cannot listen at " + host + ":" + port + ": " + FileError.reason(e)
                    + ". Choose another port, or 0 for a free one.");
        }
    }

    /** The address of the page, with the token. */
    public String url() {
        return host.scheme() + "://" + host.shown() + ":" + server.getAddress().getPort() + "/?token=" + access.token();
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
