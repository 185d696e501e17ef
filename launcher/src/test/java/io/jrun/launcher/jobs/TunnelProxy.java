package io.jrun.launcher.jobs;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * An HTTP proxy for TLS connections. The proxy connects every host that a caller names to one port of this machine.
 * Source: RFC 9110, CONNECT.
 */
final class TunnelProxy implements AutoCloseable {
    private final ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    private final int target;

    /** The first lines of the requests. */
    final List<String> requests = new CopyOnWriteArrayList<>();

    TunnelProxy(int target) throws IOException {
        this.target = target;
        Thread.ofVirtual().start(this::accept);
    }

    String address() {
        return "http://127.0.0.1:" + server.getLocalPort();
    }

    private void accept() {
        try {
            while (true) {
                Socket caller = server.accept();
                Thread.ofVirtual().start(() -> tunnel(caller));
            }
        } catch (IOException e) {
            // closed
        }
    }

    private void tunnel(Socket caller) {
        try (caller;
                Socket callee = new Socket(InetAddress.getLoopbackAddress(), target)) {
            requests.add(head(caller.getInputStream()).lines().findFirst().orElse(""));
            caller.getOutputStream().write("HTTP/1.1 200 OK\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
            Thread back = Thread.ofVirtual().start(() -> copy(callee, caller));
            copy(caller, callee);
            back.join();
        } catch (IOException e) {
            // the caller has gone
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static String head(InputStream in) throws IOException {
        StringBuilder head = new StringBuilder();
        while (head.indexOf("\r\n\r\n") < 0) {
            int next = in.read();
            if (next < 0) {
                throw new IOException("the request ends in its head");
            }
            head.append((char) next);
        }
        return head.toString();
    }

    private static void copy(Socket from, Socket to) {
        try {
            from.getInputStream().transferTo(to.getOutputStream());
            to.shutdownOutput();
        } catch (IOException e) {
            // the other side has ended
        }
    }

    @Override
    public void close() throws IOException {
        server.close();
    }
}
