package io.jrun.comm.local;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.GroupOptions;
import io.jrun.comm.TransportKind;
import io.jrun.comm.tcp.TcpOptions;
import java.time.Duration;
import java.util.List;

/**
 * How a {@link LocalWorld} runs.
 *
 * @param size number of ranks
 * @param nodeSizes how many ranks each node has that they are to believe to be on, in rank order
 * @param transport how they move data; AUTO is shared memory between ranks of a node
 * @param tcp how they do between nodes
 * @param deterministic as {@link GroupOptions#deterministic()}
 * @param timeout of every operation, and of the wait for the other ranks once one has failed
 */
public record LocalWorldOptions(
        int size,
        List<Integer> nodeSizes,
        TransportKind transport,
        TcpOptions tcp,
        boolean deterministic,
        Duration timeout) {
    /** {@code size} ranks over shared memory, operations limited to a minute. */
    public static LocalWorldOptions ofSize(int size) {
        return new LocalWorldOptions(
                size, List.of(size), TransportKind.AUTO, TcpOptions.DEFAULT, false, Duration.ofMinutes(1));
    }

    /** Ranks on several nodes, as many on each as {@code nodeSizes} says. */
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

    /** The same over another transport. */
    public LocalWorldOptions withTransport(TransportKind newTransport) {
        return new LocalWorldOptions(size, nodeSizes, newTransport, tcp, deterministic, timeout);
    }

    /** The same with other options of the data plane between nodes. */
    public LocalWorldOptions withTcp(TcpOptions newTcp) {
        return new LocalWorldOptions(size, nodeSizes, transport, newTcp, deterministic, timeout);
    }

    /** The same with another timeout. */
    public LocalWorldOptions withTimeout(Duration newTimeout) {
        return new LocalWorldOptions(size, nodeSizes, transport, tcp, deterministic, newTimeout);
    }

    /** The same with another determinism. */
    public LocalWorldOptions withDeterministic(boolean newDeterministic) {
        return new LocalWorldOptions(size, nodeSizes, transport, tcp, newDeterministic, timeout);
    }
}
