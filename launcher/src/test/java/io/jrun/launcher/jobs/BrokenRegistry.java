package io.jrun.launcher.jobs;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;

/** A registry whose one layer never comes whole: the connection breaks in its middle, or stands still there. */
final class BrokenRegistry implements AutoCloseable {
    private static final int LAYER_BYTES = 1 << 20;

    private final HttpServer server;
    private final boolean standsStill;
    private final byte[] config = "{\"rootfs\":{}}".getBytes(StandardCharsets.UTF_8);
    private final CountDownLatch closed = new CountDownLatch(1);

    /** Requests for the layer. */
    final AtomicInteger layers = new AtomicInteger();

    BrokenRegistry(boolean standsStill) throws IOException {
        this.standsStill = standsStill;
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
        server.createContext("/v2/", this::answer);
        server.start();
    }

    String image() {
        return "localhost:" + server.getAddress().getPort() + "#broken:v1";
    }

    private void answer(HttpExchange exchange) throws IOException {
        String path = exchange.getRequestURI().getPath();
        if (path.contains("/manifests/")) {
            String type = "application/vnd.oci.image.manifest.v1+json";
            String manifest = "{\"schemaVersion\":2,\"mediaType\":\"" + type
                    + "\",\"config\":{\"mediaType\":\"application/vnd.oci.image.config.v1+json\",\"digest\":\""
                    + digest(config) + "\",\"size\":" + config.length
                    + "},\"layers\":[{\"mediaType\":\"application/vnd.oci.image.layer.v1.tar\",\"digest\":\"sha256:"
                    + "a".repeat(64) + "\",\"size\":" + LAYER_BYTES + "}]}";
            exchange.getResponseHeaders().set("Content-Type", type);
            send(exchange, manifest.getBytes(StandardCharsets.UTF_8));
        } else if (path.contains("a".repeat(64))) {
            layers.incrementAndGet();
            exchange.sendResponseHeaders(200, LAYER_BYTES);
            exchange.getResponseBody().write(new byte[LAYER_BYTES / 2]);
            exchange.getResponseBody().flush();
            if (standsStill) {
                waitForClose();
            }
            throw new IOException("broken");
        } else {
            send(exchange, config);
        }
    }

    private void waitForClose() {
        try {
            closed.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static void send(HttpExchange exchange, byte[] body) throws IOException {
        boolean head = exchange.getRequestMethod().equals("HEAD");
        exchange.sendResponseHeaders(200, head ? -1 : body.length);
        if (!head) {
            exchange.getResponseBody().write(body);
        }
        exchange.close();
    }

    private static String digest(byte[] bytes) throws IOException {
        try {
            return "sha256:"
                    + HexFormat.of()
                            .formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
        } catch (java.security.NoSuchAlgorithmException e) {
            throw new IOException(e);
        }
    }

    @Override
    public void close() {
        closed.countDown();
        server.stop(0);
    }
}
