package io.jrun.launcher.record;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;

/** One call at the {@link JobControlServer} of a job. Stateless. */
public final class JobControlRequest {
    private JobControlRequest() {}

    /**
     * Sends {@code line} to the launcher of the job with this log folder, and returns the lines of the answer. The
     * launcher limits the time of the call. The end of the launcher ends the call.
     *
     * @throws IOException if the launcher cannot be reached
     */
    public static List<String> send(Path folder, String line) throws IOException {
        try (UnixSocketPath path = UnixSocketPath.of(folder);
                SocketChannel launcher = SocketChannel.open(path.address());
                BufferedReader in = new BufferedReader(Channels.newReader(launcher, StandardCharsets.UTF_8))) {
            Channels.newOutputStream(launcher).write((line + "\n").getBytes(StandardCharsets.UTF_8));
            return in.lines().filter(answer -> !answer.isEmpty()).toList();
        }
    }
}
