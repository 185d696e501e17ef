package io.jrun.s3;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/** A TCP relay to a server. It can answer the next requests with 503, which tells a client of S3 to try again. */
final class FaultyLink implements AutoCloseable {
    private static final byte[] UNAVAILABLE = "HTTP/1.1 503 Slow Down\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            .getBytes(StandardCharsets.US_ASCII);

    private static final byte[] NOT_IMPLEMENTED =
            "HTTP/1.1 501 Not Implemented\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                    .getBytes(StandardCharsets.US_ASCII);
    private static final List<String> NEWER =
            List.of("x-amz-checksum-", "x-amz-sdk-checksum-algorithm", "x-amz-trailer", "-payload-trailer");

    private final ServerSocket listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    private final int target;
    private final Set<Socket> open = ConcurrentHashMap.newKeySet();
    private final AtomicInteger failures = new AtomicInteger();
    private final AtomicBoolean refusesChecksums = new AtomicBoolean();
    private final AtomicBoolean isAnswerLost = new AtomicBoolean();

    FaultyLink(int target) throws IOException {
        this.target = target;
        Thread.ofVirtual().start(this::accept);
    }

    int port() {
        return listener.getLocalPort();
    }

    /** Requests that still get 503. */
    int failuresLeft() {
        return failures.get();
    }

    /** The next {@code count} requests get 503. */
    void failNext(int count) {
        failures.set(count);
        closeAll();
    }

    /** The next request reaches the server, but its answer is lost. */
    void loseNextAnswer() {
        isAnswerLost.set(true);
        closeAll();
    }

    /** Answers requests that have one of Amazon's newer checksums with 501, as older stores do. */
    void refuseChecksums(boolean refuses) {
        refusesChecksums.set(refuses);
        closeAll();
    }

    private void accept() {
        try (listener) {
            while (true) {
                Socket client = listener.accept();
                open.add(client);
                Thread.ofVirtual().start(() -> serve(client));
            }
        } catch (IOException _) {
            closeAll();
        }
    }

    private void serve(Socket client) {
        try (client) {
            if (failures.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
                byte[] request = new byte[1 << 16];
                int _ = client.getInputStream().read(request);
                client.getOutputStream().write(UNAVAILABLE);
                client.shutdownOutput();
                long _ = client.getInputStream().transferTo(OutputStream.nullOutputStream());
                return;
            }
            try (Socket server = new Socket(InetAddress.getLoopbackAddress(), target)) {
                open.add(server);
                if (isAnswerLost.compareAndSet(true, false)) {
                    Thread.ofVirtual().start(() -> pump(client, server));
                    awaitAnswer(server.getInputStream(), client.getOutputStream());
                    return;
                }
                Thread back = Thread.ofVirtual().start(() -> pump(server, client));
                if (refusesChecksums.get()) {
                    pumpWithoutChecksums(client, server);
                } else {
                    pump(client, server);
                }
                back.join();
            }
        } catch (IOException | InterruptedException _) {
            return; // the client sees a closed connection
        }
    }

    /** Returns when the server has answered. The client sees interim answers only. */
    private static void awaitAnswer(InputStream answers, OutputStream client) throws IOException {
        byte[] bytes = new byte[1 << 16];
        while (true) {
            int count = answers.read(bytes);
            if (count < 0 || !new String(bytes, 0, count, StandardCharsets.US_ASCII).startsWith("HTTP/1.1 100")) {
                return;
            }
            client.write(bytes, 0, count);
        }
    }

    private static void pumpWithoutChecksums(Socket client, Socket server) {
        byte[] bytes = new byte[1 << 16];
        try {
            InputStream in = client.getInputStream();
            for (int count = in.read(bytes); count > 0; count = in.read(bytes)) {
                String text = new String(bytes, 0, count, StandardCharsets.ISO_8859_1).toLowerCase(Locale.ROOT);
                if (NEWER.stream().anyMatch(text::contains)) {
                    client.getOutputStream().write(NOT_IMPLEMENTED);
                    close(client);
                    break;
                }
                server.getOutputStream().write(bytes, 0, count);
            }
            server.shutdownOutput();
        } catch (IOException _) {
            close(client);
            close(server);
        }
    }

    private static void pump(Socket from, Socket to) {
        try {
            InputStream in = from.getInputStream();
            long _ = in.transferTo(to.getOutputStream());
            to.shutdownOutput();
        } catch (IOException _) {
            close(from);
            close(to);
        }
    }

    private void closeAll() {
        open.forEach(FaultyLink::close);
        open.clear();
    }

    private static void close(Socket socket) {
        try {
            socket.close();
        } catch (IOException _) {
            return;
        }
    }

    @Override
    public void close() throws IOException {
        listener.close();
        closeAll();
    }
}
