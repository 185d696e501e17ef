package io.jrun.comm.tcp;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.collective.AlgorithmSelector;

/**
 * How the TCP data plane works; set alike on all ranks.
 *
 * @param selector chooses algorithms
 * @param connections of each pair of ranks for the collectives of a group, 1 to {@value #MAX_CONNECTIONS}
 * @param encrypted whether connections are inside TLS 1.3
 */
public record TcpOptions(AlgorithmSelector selector, int connections, boolean encrypted) {
    /** One connection, algorithms by size, not encrypted. */
    public static final TcpOptions DEFAULT = new TcpOptions(AlgorithmSelector.BY_SIZE, 1, false);

    /** Each has a thread; more than a few would only take cores from each other. */
    static final int MAX_CONNECTIONS = 16;

    public TcpOptions {
        if (connections < 1 || connections > MAX_CONNECTIONS) {
            throw new CommException(
                    ErrorCode.USAGE, "JRUN_CONNECTIONS is " + connections + " (expected 1.." + MAX_CONNECTIONS + ")");
        }
    }

    /** The same with other algorithms. */
    public TcpOptions withSelector(AlgorithmSelector newSelector) {
        return new TcpOptions(newSelector, connections, encrypted);
    }

    /** The same with another number of connections. */
    public TcpOptions withConnections(int newConnections) {
        return new TcpOptions(selector, newConnections, encrypted);
    }

    /** The same, encrypted or not. */
    public TcpOptions withEncrypted(boolean newEncrypted) {
        return new TcpOptions(selector, connections, newEncrypted);
    }
}
