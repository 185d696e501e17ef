package io.jrun.agent.log;

import io.jrun.agent.files.PrivateFolder;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.util.Set;
import java.util.function.Consumer;

/**
 * The log of an agent about its job. The first line makes the file, which only its user can read. Confined to the
 * thread of the job.
 */
public final class AgentLog {
    private static final FileAttribute<?> OWNER_ONLY_FILE =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));

    private final Path folder;
    private final String name;
    private final Consumer<String> notices;

    /**
     * The log of the agent on {@code host}.
     *
     * @param runLogDir the log folder of the job on this node
     * @param notices receives a message if a line cannot be written
     */
    public AgentLog(Path runLogDir, String host, Consumer<String> notices) {
        this.folder = runLogDir;
        this.name = "agent-" + host + ".log";
        this.notices = notices;
    }

    /** Appends a line that begins with the time (UTC). */
    public void write(String text) {
        try {
            PrivateFolder.claim(folder);
            try (FileChannel file = FileChannel.open(
                    folder.resolve(name),
                    Set.of(StandardOpenOption.CREATE, StandardOpenOption.APPEND, LinkOption.NOFOLLOW_LINKS),
                    OWNER_ONLY_FILE)) {
                ByteBuffer line = ByteBuffer.wrap((Instant.now() + " " + text + "\n").getBytes(StandardCharsets.UTF_8));
                while (line.hasRemaining()) {
                    file.write(line);
                }
            }
        } catch (IOException e) {
            notices.accept("the agent's log could not be written: " + e);
        }
    }
}
