package io.jrun.launcher.jobs;

import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;

/** Passes connections on, and keeps what the first caller has said. May first close some connections at once. */
final class RecordingProxy implements Closeable {
    private final ServerSocket server;
    private final int target;
    private int dropped;
    private final List<Socket> open = new ArrayList<>();
    private final ByteArrayOutputStream said = new ByteArrayOutputStream();

    private RecordingProxy(ServerSocket server, int target) {
        this.server = server;
        this.target = target;
    }

    static RecordingProxy to(int target) throws IOException {
        return dropping(0, target);
    }

    /** Closes the first {@code count} connections, as an agent does that too many strangers are connected to. */
    static RecordingProxy dropping(int count, int target) throws IOException {
        RecordingProxy proxy = new RecordingProxy(new ServerSocket(0, 50, InetAddress.getLoopbackAddress()), target);
        proxy.dropped = count;
        Thread.ofPlatform().daemon().start(proxy::accept);
        return proxy;
    }

    int port() {
        return server.getLocalPort();
    }

    synchronized byte[] recorded() {
        return said.toByteArray();
    }

    private synchronized void record(byte[] bytes, int count) {
        said.write(bytes, 0, count);
    }

    private void accept() {
        try {
            while (true) {
                Socket caller = server.accept();
                if (dropped > 0) {
                    dropped--;
                    caller.close();
                    continue;
                }
                Socket callee = new Socket(InetAddress.getLoopbackAddress(), target);
                synchronized (this) {
                    open.addAll(List.of(caller, callee));
                }
                Thread.ofPlatform().daemon().start(() -> copy(caller, callee, true));
                Thread.ofPlatform().daemon().start(() -> copy(callee, caller, false));
            }
        } catch (IOException e) {
            // closed
        }
    }

    private void copy(Socket from, Socket to, boolean kept) {
        byte[] buffer = new byte[1 << 14];
        try (from;
                to) {
            for (int count = from.getInputStream().read(buffer);
                    count >= 0;
                    count = from.getInputStream().read(buffer)) {
                if (kept) {
                    record(buffer, count);
                }
                to.getOutputStream().write(buffer, 0, count);
            }
        } catch (IOException e) {
            // one of them is gone, and the other is closed with it
        }
    }

    @Override
    public synchronized void close() throws IOException {
        server.close();
        for (Socket socket : open) {
            socket.close();
        }
    }
}
