package io.jrun.launcher.record;

import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.UUID;

/**
 * The address of the control socket in a folder. If the path is longer than the kernel allows, the address leads
 * through a short link. The link is needed only until the socket is bound or connected.
 */
final class UnixSocketPath implements AutoCloseable {
    static final String NAME = "control.sock";

    /** sun_path holds 108 bytes with the closing zero. */
    private static final int MAX_BYTES = 107;

    private static final Path SHORT_TEMP = Path.of("/tmp");

    private final Path path;
    private final Path link;

    private UnixSocketPath(Path path, Path link) {
        this.path = path;
        this.link = link;
    }

    static UnixSocketPath of(Path folder) throws IOException {
        Path path = folder.resolve(NAME);
        if (path.toString().getBytes(StandardCharsets.UTF_8).length <= MAX_BYTES) {
            return new UnixSocketPath(path, path);
        }
        Path link = SHORT_TEMP.resolve("jrun-control-" + ProcessHandle.current().pid() + "-" + UUID.randomUUID());
        Files.createSymbolicLink(link, folder); // fails if the path exists
        return new UnixSocketPath(link.resolve(NAME), link);
    }

    UnixDomainSocketAddress address() {
        return UnixDomainSocketAddress.of(path);
    }

    @Override
    public void close() throws IOException {
        if (Files.isSymbolicLink(link)) {
            Files.delete(link);
        }
    }
}
