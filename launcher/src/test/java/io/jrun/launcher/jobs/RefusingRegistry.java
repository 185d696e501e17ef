package io.jrun.launcher.jobs;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/** A registry that has no image that jrun can take. The name of the image chooses the answer. */
final class RefusingRegistry implements AutoCloseable {
    private static final String OCI = "application/vnd.oci.image.manifest.v1+json";

    private static final Map<String, String> MANIFESTS = Map.of(
            "schema1", "{\"schemaVersion\":1,\"name\":\"schema1\",\"fsLayers\":[]}",
            "model", manifest(OCI, "application/vnd.cncf.model.weights.v1.tar"),
            "chart", manifest("application/vnd.cncf.helm.chart.v1+json", "application/vnd.oci.image.layer.v1.tar"));

    private final HttpServer server;

    RefusingRegistry() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/v2/", RefusingRegistry::answer);
        server.start();
    }

    private static String manifest(String type, String layer) {
        String digest = "sha256:" + "0".repeat(64);
        return "{\"schemaVersion\":2,\"mediaType\":\"" + type + "\",\"config\":{\"mediaType\":\"x\",\"digest\":\""
                + digest + "\",\"size\":2},\"layers\":[{\"mediaType\":\"" + layer + "\",\"digest\":\"" + digest
                + "\",\"size\":2}]}";
    }

    String image(String name) {
        return "localhost:" + server.getAddress().getPort() + "#" + name + ":v1";
    }

    private static void answer(HttpExchange exchange) throws IOException {
        String[] names = exchange.getRequestURI().getPath().split("/", -1);
        String name = names.length > 2 ? names[2] : "";
        if (name.matches("[0-9]{3}")) {
            exchange.sendResponseHeaders(Integer.parseInt(name), -1);
        } else {
            byte[] body = MANIFESTS.getOrDefault(name, "{}").getBytes(StandardCharsets.UTF_8);
            exchange.getResponseHeaders().set("Content-Type", OCI);
            boolean head = exchange.getRequestMethod().equals("HEAD");
            exchange.sendResponseHeaders(200, head ? -1 : body.length);
            if (!head) {
                exchange.getResponseBody().write(body);
            }
        }
        exchange.close();
    }

    @Override
    public void close() {
        server.stop(0);
    }
}
