package io.jrun.comm.tcp;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;

/** A proxy in front of the listeners of all ranks. Closes all connections of one rank at once on request. */
public final class ConnectionCutter implements AutoCloseable {
    /** A connection. */
    private record Line(int from, int to, Socket caller, Socket called) {
        boolean concerns(int rank) {
            return from == rank || to == rank;
        }

        void end() {
            for (Socket socket : List.of(caller, called)) {
                try {
                    socket.close();
                } catch (IOException _) {
                    // It is gone either way.
                }
            }
        }
    }

    private final List<ServerSocket> servers = new CopyOnWriteArrayList<>();
    private final Set<Line> lines = ConcurrentHashMap.newKeySet();
    private final Set<Integer> cutOff = ConcurrentHashMap.newKeySet();

    /** A port before that of a rank. */
    public int portBefore(int rank, int port) {
        try {
            ServerSocket server = new ServerSocket(0, 0, InetAddress.getLoopbackAddress());
            servers.add(server);
            start(() -> {
                while (true) {
                    Socket caller = server.accept();
                    start(() -> connect(caller, rank, port));
                }
            });
            return server.getLocalPort();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Ends a rank's connections, as its process' death does, and those that are yet to come. */
    public void cutOff(int rank) {
        cutOff.add(rank);
        lines.stream().filter(line -> line.concerns(rank)).forEach(Line::end);
    }

    @Override
    public void close() throws IOException {
        for (ServerSocket server : servers) {
            server.close();
        }
        lines.forEach(Line::end);
    }

    private void connect(Socket caller, int to, int port) throws IOException {
        byte[] request = caller.getInputStream().readNBytes(HandshakeRequest.BYTES);
        int from = HandshakeRequest.decode(ByteBuffer.wrap(request)).from();
        Line line = new Line(from, to, caller, new Socket(InetAddress.getLoopbackAddress(), port));
        lines.add(line);
        if (cutOff.stream().anyMatch(line::concerns)) {
            line.end();
            return;
        }
        line.called().getOutputStream().write(request);
        start(() -> pass(line, line.called(), caller));
        pass(line, caller, line.called());
    }

    private static void pass(Line line, Socket from, Socket to) {
        try {
            long _ = from.getInputStream().transferTo(to.getOutputStream());
            to.shutdownOutput();
        } catch (IOException _) {
            // As between two hosts: the end of one side ends the other side.
            line.end();
        }
    }

    /** A transfer that runs until a socket is closed. */
    private interface Body {
        void run() throws IOException;
    }

    private static void start(Body body) {
        Thread.ofVirtual().start(() -> {
            try {
                body.run();
            } catch (IOException _) {
                // One of the two ends is gone, or the test is over.
                return;
            }
        });
    }
}
