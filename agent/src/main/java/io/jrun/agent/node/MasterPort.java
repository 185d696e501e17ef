package io.jrun.agent.node;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;

/**
 * Reserves a TCP port for foreign programs' MASTER_PORT: a socket bound with SO_REUSEADDR that never listens. The kernel
 * gives the port to nobody who asks for "any", while a program that binds it by number with SO_REUSEADDR, as torch's
 * TCPStore does, may listen on it.
 */
public final class MasterPort implements AutoCloseable {
    private final Socket socket;

    private MasterPort(Socket socket) {
        this.socket = socket;
    }

    /**
     * Reserves a port on all interfaces.
     *
     * @param port the port, 0 for any
     * @throws IOException with a sentence for the user if it cannot be had
     */
    public static MasterPort reserve(int port) throws IOException {
        Socket socket = new Socket();
        try {
            socket.setReuseAddress(true);
            socket.bind(new InetSocketAddress(port));
            return new MasterPort(socket);
        } catch (IOException e) {
            socket.close();
            throw new IOException(
                    "--master-port " + port + " cannot be reserved on this node: " + e.getMessage()
                            + "; choose another, or leave it out and jrun finds a free one",
                    e);
        }
    }

    /** The port. */
    public int port() {
        return socket.getLocalPort();
    }

    @Override
    public void close() {
        try {
            socket.close();
        } catch (IOException e) {
            // Nothing was ever sent over it; the kernel frees the port with the process at the latest.
        }
    }
}
