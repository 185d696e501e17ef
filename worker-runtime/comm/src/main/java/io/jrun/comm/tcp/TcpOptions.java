package io.jrun.comm.tcp;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.collective.AlgorithmSelector;
import java.util.OptionalLong;

/**
 * The options of the TCP data plane; equal on all ranks.
 *
 * @param selector choice of the algorithms
 * @param connections number of connections between each pair of ranks for the collectives of a group, 1 to {@value
 *     #MAX_CONNECTIONS}
 * @param encrypted whether connections are inside TLS 1.3
 * @param pieceBytes bytes of a pipeline chunk of a call's buffer if nodes have several ranks, at least {@value
 *     #MIN_PIECE_BYTES}; absent: chosen by the number of nodes, columns and connections
 */
public record TcpOptions(AlgorithmSelector selector, int connections, boolean encrypted, OptionalLong pieceBytes) {
    /** One connection, algorithms and pipeline chunks by size, not encrypted. */
    public static final TcpOptions DEFAULT = new TcpOptions(AlgorithmSelector.BY_SIZE, 1, false, OptionalLong.empty());

    /**
     * The largest number of connections. Each connection has a thread, and more threads would compete for the cores.
     */
    static final int MAX_CONNECTIONS = 16;

    /** The smallest pipeline chunk. For smaller chunks the fixed cost of a chunk dominates. */
    static final long MIN_PIECE_BYTES = 4 << 10;

    public TcpOptions {
        if (connections < 1 || connections > MAX_CONNECTIONS) {
            throw new CommException(
                    ErrorCode.USAGE, "JRUN_CONNECTIONS is " + connections + " (expected 1.." + MAX_CONNECTIONS + ")");
        }
        pieceBytes.ifPresent(TcpOptions::checkPiece);
    }

    /** Returns these options with another choice of algorithms. */
    public TcpOptions withSelector(AlgorithmSelector newSelector) {
        return new TcpOptions(newSelector, connections, encrypted, pieceBytes);
    }

    /** Returns these options with another number of connections. */
    public TcpOptions withConnections(int newConnections) {
        return new TcpOptions(selector, newConnections, encrypted, pieceBytes);
    }

    /** Returns these options with or without encryption. */
    public TcpOptions withEncrypted(boolean newEncrypted) {
        return new TcpOptions(selector, connections, newEncrypted, pieceBytes);
    }

    /** Returns these options with pipeline chunks of this size. */
    public TcpOptions withPieceBytes(long newPieceBytes) {
        return new TcpOptions(selector, connections, encrypted, OptionalLong.of(newPieceBytes));
    }

    /** Returns the size in bytes from which a call has a slice for each connection; 0 if there is one connection. */
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
