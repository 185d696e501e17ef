package io.jrun.agent.node;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;

/**
 * Reserves a TCP port, the MASTER_PORT of programs with a rendezvous of their own. The reservation is a socket that is
 * bound with SO_REUSEADDR and never listens. The kernel does not choose this port for a bind to any port. A program
 * that binds the port by number with SO_REUSEADDR, as torch's TCPStore does, may listen on the port.
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
     * @throws IOException with a message for the user if the port is not available
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
            // Nothing was sent over the socket. The kernel frees the port at the latest with the end of the process.
        }
    }
}
