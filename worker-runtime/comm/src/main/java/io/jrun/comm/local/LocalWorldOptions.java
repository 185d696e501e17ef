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
 * @param size number of ranks
 * @param nodeSizes number of ranks on each simulated node, in rank order
 * @param transport transport between the ranks; AUTO is shared memory between ranks of a node
 * @param tcp options of the TCP data plane between nodes
 * @param deterministic see {@link GroupOptions#deterministic()}
 * @param timeout timeout of every operation, and of the wait for the other ranks after one has failed
 */
public record LocalWorldOptions(
        int size,
        List<Integer> nodeSizes,
        TransportKind transport,
        TcpOptions tcp,
        boolean deterministic,
        Duration timeout) {
    /** Returns options for {@code size} ranks over shared memory, with a timeout of a minute. */
    public static LocalWorldOptions ofSize(int size) {
        return new LocalWorldOptions(
                size, List.of(size), TransportKind.AUTO, TcpOptions.DEFAULT, false, Duration.ofMinutes(1));
    }

    /** Returns options for ranks on several nodes, with {@code nodeSizes} ranks on the nodes. */
    public static LocalWorldOptions ofNodes(List<Integer> nodeSizes) {
        int size = nodeSizes.stream().mapToInt(Integer::intValue).sum();
        return new LocalWorldOptions(
                size, nodeSizes, TransportKind.AUTO, TcpOptions.DEFAULT, false, Duration.ofMinutes(1));
    }

    public LocalWorldOptions {
        nodeSizes = List.copyOf(nodeSizes);
        if (size < 1) {
            throw new CommException(ErrorCode.USAGE, "local world of " + size + " ranks (expected 1 or more)");
        }
        boolean hasEmptyNode = nodeSizes.stream().anyMatch(ranks -> ranks < 1);
        if (hasEmptyNode || nodeSizes.stream().mapToInt(Integer::intValue).sum() != size) {
            throw new CommException(
                    ErrorCode.USAGE,
                    "local world of " + size + " ranks on nodes of " + nodeSizes
                            + " (expected nodes of 1 or more that add up)");
        }
    }

    /** Returns these options with another transport. */
    public LocalWorldOptions withTransport(TransportKind newTransport) {
        return new LocalWorldOptions(size, nodeSizes, newTransport, tcp, deterministic, timeout);
    }

    /** Returns these options with other options of the data plane between nodes. */
    public LocalWorldOptions withTcp(TcpOptions newTcp) {
        return new LocalWorldOptions(size, nodeSizes, transport, newTcp, deterministic, timeout);
    }

    /** Returns these options with another timeout. */
    public LocalWorldOptions withTimeout(Duration newTimeout) {
        return new LocalWorldOptions(size, nodeSizes, transport, tcp, deterministic, newTimeout);
    }

    /** Returns these options with another choice of determinism. */
    public LocalWorldOptions withDeterministic(boolean newDeterministic) {
        return new LocalWorldOptions(size, nodeSizes, transport, tcp, newDeterministic, timeout);
    }
}
