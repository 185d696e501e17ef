package io.jrun.comm.backend;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import org.jspecify.annotations.Nullable;

/**
 * The socket on which other ranks reach this rank. A rank opens the socket before it joins, since peers learn the port
 * then.
 */
public final class ListenerSocket {
    /** All other ranks may connect before the first operation here answers. The kernel caps the number. */
    private static final int BACKLOG = 4096;

    private ListenerSocket() {}

    /**
     * Listens on a port that the kernel chooses.
     *
     * @param sameNode whether all ranks are on this node, so that the loopback address suffices
     * @throws CommException SYSTEM if the socket cannot be opened
     */
    public static ServerSocketChannel open(boolean sameNode) {
        try {
            ServerSocketChannel listener = ServerSocketChannel.open();
            InetAddress any = new InetSocketAddress(0).getAddress();
            listener.bind(new InetSocketAddress(sameNode ? InetAddress.getLoopbackAddress() : any, 0), BACKLOG);
            return listener;
        } catch (IOException e) {
            throw new CommException(ErrorCode.SYSTEM, "cannot listen for other ranks: " + e.getMessage(), e);
        }
    }

    /** The port; 0 for null, a rank without a TCP data plane. */
    public static int port(@Nullable ServerSocketChannel listener) {
        return listener == null ? 0 : listener.socket().getLocalPort();
    }

    /** Closes a listener that no data plane has taken over. */
    public static void close(@Nullable ServerSocketChannel listener) {
        if (listener == null) {
            return;
        }
        try {
            listener.close();
        } catch (IOException e) {
            throw new CommException(ErrorCode.SYSTEM, "cannot close " + listener + ": " + e.getMessage(), e);
        }
    }
}
