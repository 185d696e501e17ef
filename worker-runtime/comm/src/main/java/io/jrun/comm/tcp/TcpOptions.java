package io.jrun.comm.tcp;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.collective.AlgorithmSelector;
import java.util.OptionalLong;

/**
 * How the TCP data plane works; set alike on all ranks.
 *
 * @param selector chooses algorithms
 * @param connections of each pair of ranks for the collectives of a group, 1 to {@value #MAX_CONNECTIONS}
 * @param encrypted whether connections are inside TLS 1.3
 * @param pieceBytes of a call's buffer that are given to the network at a time where nodes have several ranks, at least
 *     {@value #MIN_PIECE_BYTES}; absent: by the number of nodes, columns and connections
 */
public record TcpOptions(AlgorithmSelector selector, int connections, boolean encrypted, OptionalLong pieceBytes) {
    /** One connection, algorithms and pieces by size, not encrypted. */
    public static final TcpOptions DEFAULT = new TcpOptions(AlgorithmSelector.BY_SIZE, 1, false, OptionalLong.empty());

    /** Each has a thread; more than a few would only take cores from each other. */
    static final int MAX_CONNECTIONS = 16;

    /** Below, nearly all of the time goes into what a piece costs whatever its size. */
    static final long MIN_PIECE_BYTES = 4 << 10;

    public TcpOptions {
        if (connections < 1 || connections > MAX_CONNECTIONS) {
            throw new CommException(
                    ErrorCode.USAGE, "JRUN_CONNECTIONS is " + connections + " (expected 1.." + MAX_CONNECTIONS + ")");
        }
        pieceBytes.ifPresent(TcpOptions::checkPiece);
    }

    /** The same with other algorithms. */
    public TcpOptions withSelector(AlgorithmSelector newSelector) {
        return new TcpOptions(newSelector, connections, encrypted, pieceBytes);
    }

    /** The same with another number of connections. */
    public TcpOptions withConnections(int newConnections) {
        return new TcpOptions(selector, newConnections, encrypted, pieceBytes);
    }

    /** The same, encrypted or not. */
    public TcpOptions withEncrypted(boolean newEncrypted) {
        return new TcpOptions(selector, connections, newEncrypted, pieceBytes);
    }

    /** The same with pieces of this size. */
    public TcpOptions withPieceBytes(long newPieceBytes) {
        return new TcpOptions(selector, connections, encrypted, OptionalLong.of(newPieceBytes));
    }

    /** From how many bytes on a call has a slice for each of several connections; 0 if there is one. */
    public long bytesForAllConnections() {
        return connections == 1 ? 0 : connections * Stripes.MIN_SLICE_BYTES;
    }

    private static void checkPiece(long bytes) {
        if (bytes < MIN_PIECE_BYTES) {
            throw new CommException(
                    ErrorCode.USAGE, "JRUN_PIECE_BYTES is " + bytes + " (expected " + MIN_PIECE_BYTES + " or more)");
        }
    }
}
