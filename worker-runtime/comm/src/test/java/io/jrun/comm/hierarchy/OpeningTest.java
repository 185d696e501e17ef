package io.jrun.comm.hierarchy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.CommException;
import io.jrun.comm.backend.Backend;
import io.jrun.comm.backend.BackendFactory;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.backend.GroupHealth;
import io.jrun.comm.backend.WorldContext;
import io.jrun.comm.control.Bytes;
import io.jrun.comm.control.Frame.Peer;
import io.jrun.comm.shm.ShmBackendFactory;
import io.jrun.comm.tcp.TcpBackendFactory;
import io.jrun.comm.tcp.TcpOptions;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.random.RandomGenerator;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class OpeningTest {
    private static final Path SHARED_MEMORY = Path.of("/dev/shm");
    private static final Path OPEN_FILES = Path.of("/proc/self/fd");

    private final String runId =
            "opening-" + Long.toHexString(RandomGenerator.getDefault().nextLong());

    @Test
    void aGroupThatGetsNoSharedMemoryLeavesNothingOpen() throws IOException {
        ServerSocketChannel listener = ServerSocketChannel.open();
        listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        List<Peer> peers = List.of(peer(0, 0, listener.socket().getLocalPort()), peer(1, 0, 1), peer(2, 1, 1));
        WorldContext world = new WorldContext(runId, 0, 0, Bytes.ofUtf8("a secret"), peers, Optional.of(listener));
        GroupContext group =
                new GroupContext(world, "world", 0, peers, false, Duration.ofMinutes(1), new GroupHealth());
        try (BackendFactory factory = new HierarchicalBackendFactory(
                new ShmBackendFactory(world), TcpBackendFactory.start(world, TcpOptions.DEFAULT))) {
            Path segment;
            try (Backend _ = factory.create(group)) {
                segment = onlySegment();
            }
            Files.deleteIfExists(segment);
            Files.createDirectory(segment); // in the way of the segment, as nothing else of this name can be opened
            try {
                long before = selectors();
                assertThatThrownBy(() -> factory.create(group)).isInstanceOf(CommException.class);
                assertThat(selectors()).isLessThanOrEqualTo(before);
            } finally {
                Files.delete(segment);
            }
        }
    }

    private static Peer peer(int rank, int node, int port) {
        return new Peer(rank, node, rank % 2, "testhost", "127.0.0.1", port, 4000 + rank);
    }

    private Path onlySegment() throws IOException {
        try (Stream<Path> files = Files.list(SHARED_MEMORY)) {
            List<Path> found =
                    files.filter(file -> file.toString().contains(runId)).toList();
            assertThat(found).hasSize(1);
            return found.getFirst();
        }
    }

    private static long selectors() throws IOException {
        long count = 0;
        try (Stream<Path> files = Files.list(OPEN_FILES)) {
            for (Path file : files.toList()) {
                // The listing's own is closed by now.
                if (Files.isSymbolicLink(file)
                        && Files.readSymbolicLink(file).toString().contains("eventpoll")) {
                    count++;
                }
            }
        }
        return count;
    }
}
