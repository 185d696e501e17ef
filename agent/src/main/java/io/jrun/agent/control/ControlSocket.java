package io.jrun.agent.control;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;

/**
 * The unix-domain socket on which the workers of one job reach their agent, in a folder that only this user can enter.
 * A thread of its own accepts connections until the socket is closed.
 */
public final class ControlSocket implements AutoCloseable {
    /** sun_path holds 108 bytes with the closing zero. */
    private static final int MAX_PATH_BYTES = 107;

    private static final Path SHORT_TEMP = Path.of("/tmp");

    private static final FileAttribute<?> OWNER_ONLY =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));

    private final Path folder;
    private final Path path;
    private final ServerSocketChannel channel;

    private ControlSocket(Path folder, Path path, ServerSocketChannel channel) {
        this.folder = folder;
        this.path = path;
        this.channel = channel;
    }

    /** Makes folder and socket. Connections are accepted after {@link #start}. */
    public static ControlSocket bind() throws IOException {
        Path temp = Path.of(System.getProperty("java.io.tmpdir"));
        AbandonedSockets.sweep(temp);
        Path folder = createFolder(temp);
        if (socketIn(folder).toString().getBytes(StandardCharsets.UTF_8).length > MAX_PATH_BYTES) {
            Files.delete(folder);
            folder = createFolder(SHORT_TEMP);
        }
        Path path = socketIn(folder);
        ServerSocketChannel channel = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
        try {
            channel.bind(UnixDomainSocketAddress.of(path), 1024); // all workers of a node connect at the same time
        } catch (IOException e) {
            channel.close();
            Files.delete(folder);
            throw e;
        }
        return new ControlSocket(folder, path, channel);
    }

    private static Path createFolder(Path temp) throws IOException {
        try {
            return Files.createTempDirectory(
                    temp, "jrun-" + ProcessHandle.current().pid() + "-", OWNER_ONLY);
        } catch (IOException e) {
            throw new IOException(
                    "workers reach their agent through a socket in " + temp + ", which cannot be made there ("
                            + e.getMessage() + "); make " + temp + " writable on that host",
                    e);
        }
    }

    static Path socketIn(Path folder) {
        return folder.resolve("agent.sock");
    }

    /** The folder that holds the socket and nothing else. */
    public Path folder() {
        return folder;
    }

    /** The socket, for JRUN_AGENT_SOCKET. */
    public Path path() {
        return path;
    }

    /** Starts to accept connections. Each connection reports its frames to {@code events}. */
    public void start(WorkerConnection.Events events) {
        Thread.ofPlatform().daemon().name("jrun-accept").start(() -> accept(events));
    }

    private void accept(WorkerConnection.Events events) {
        new Acceptor(channel, events::acceptFailed).run(worker -> new WorkerConnection(worker, events).start());
    }

    /** Stops to accept connections and removes the folder. Open connections stay open. */
    @Override
    public void close() throws IOException {
        channel.close();
        Files.deleteIfExists(path);
        Files.deleteIfExists(folder);
    }
}
