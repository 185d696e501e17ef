package io.jrun.comm.local;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.GroupOptions;
import io.jrun.comm.TransportKind;
import io.jrun.comm.tcp.TcpOptions;
import java.time.Duration;
import java.util.List;

/**
 * The options of a {@link LocalWorld}.
 *
 * @param nodeSizes number of ranks on each simulated node, in rank order
 * @param transport transport between the ranks; AUTO is shared memory between ranks of a node
 * @param tcp options of the TCP data plane between nodes
 * @param deterministic see {@link GroupOptions#deterministic()}
 * @param timeout timeout of every operation, and of the wait for the other ranks after one has failed
 */
public record LocalWorldOptions(
        List<Integer> nodeSizes, TransportKind transport, TcpOptions tcp, boolean deterministic, Duration timeout) {
    /** Returns options for {@code size} ranks over shared memory, with a timeout of a minute. */
    public static LocalWorldOptions ofSize(int size) {
        return ofNodes(List.of(size));
    }

    /** Returns options for ranks on several nodes, with {@code nodeSizes} ranks on the nodes. */
    public static LocalWorldOptions ofNodes(List<Integer> nodeSizes) {
        return new LocalWorldOptions(nodeSizes, TransportKind.AUTO, TcpOptions.DEFAULT, false, Duration.ofMinutes(1));
    }

    public LocalWorldOptions {
        nodeSizes = List.copyOf(nodeSizes);
        if (nodeSizes.isEmpty() || nodeSizes.stream().anyMatch(ranks -> ranks < 1)) {
            throw new CommException(
                    ErrorCode.USAGE, "local world on nodes of " + nodeSizes + " ranks (expected 1 or more on each)");
        }
    }

    /** Number of ranks. */
    public int size() {
        return nodeSizes.stream().mapToInt(Integer::intValue).sum();
    }

    /** Returns these options with another transport. */
    public LocalWorldOptions withTransport(TransportKind newTransport) {
        return new LocalWorldOptions(nodeSizes, newTransport, tcp, deterministic, timeout);
    }

    /** Returns these options with other options of the data plane between nodes. */
    public LocalWorldOptions withTcp(TcpOptions newTcp) {
        return new LocalWorldOptions(nodeSizes, transport, newTcp, deterministic, timeout);
    }

    /** Returns these options with another timeout. */
    public LocalWorldOptions withTimeout(Duration newTimeout) {
        return new LocalWorldOptions(nodeSizes, transport, tcp, deterministic, newTimeout);
    }

    /** Returns these options with another choice of determinism. */
    public LocalWorldOptions withDeterministic(boolean newDeterministic) {
        return new LocalWorldOptions(nodeSizes, transport, tcp, newDeterministic, timeout);
    }
}
