package io.jrun.launcher.dashboard;

import com.sun.net.httpserver.HttpExchange;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.zip.GZIPOutputStream;

/** Answers to requests. Stateless. */
final class Replies {
    /** Shorter texts gain nothing. */
    private static final int LEAST_ZIPPED_BYTES = 2048;

    private Replies() {}

    /** A line of text. */
    static void text(HttpExchange exchange, int status, String line) throws IOException {
        send(exchange, status, "text/plain; charset=utf-8", line + "\n");
    }

    /** JSON. */
    static void json(HttpExchange exchange, String json) throws IOException {
        send(exchange, 200, "application/json; charset=utf-8", json);
    }

    /** A text of a type, compressed if it is long and the browser can read that. */
    static void send(HttpExchange exchange, int status, String type, String text) throws IOException {
        byte[] body = text.getBytes(StandardCharsets.UTF_8);
        exchange.getResponseHeaders().set("Content-Type", type);
        String accepted = exchange.getRequestHeaders().getFirst("Accept-Encoding");
        if (body.length >= LEAST_ZIPPED_BYTES && accepted != null && accepted.contains("gzip")) {
            exchange.getResponseHeaders().set("Content-Encoding", "gzip");
            ByteArrayOutputStream zipped = new ByteArrayOutputStream();
            try (GZIPOutputStream out = new GZIPOutputStream(zipped)) {
                out.write(body);
            }
            body = zipped.toByteArray();
        }
        if (exchange.getRequestMethod().equals("HEAD")) {
            exchange.sendResponseHeaders(status, -1);
            return;
        }
        exchange.sendResponseHeaders(status, body.length == 0 ? -1 : body.length);
        try (OutputStream out = exchange.getResponseBody()) {
            out.write(body);
        }
    }
}
