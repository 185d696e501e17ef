package io.jrun.agent.control;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.FileInputStream;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class AcceptorTest {
    private static final String FEW = "200";

    @TempDir
    private Path folder;

    private final List<FileInputStream> files = new ArrayList<>();

    /** As when a process has as many files open as it may. */
    @Test
    void acceptingGoesOnWhenThereAreFilesAgain() throws Exception {
        BlockingQueue<String> said = new LinkedBlockingQueue<>();
        BlockingQueue<SocketChannel> accepted = new LinkedBlockingQueue<>();
        UnixDomainSocketAddress address = UnixDomainSocketAddress.of(folder.resolve("socket"));
        try (ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
                SocketChannel before = SocketChannel.open(StandardProtocolFamily.UNIX);
                SocketChannel last = SocketChannel.open(StandardProtocolFamily.UNIX);
                SocketChannel then = SocketChannel.open(StandardProtocolFamily.UNIX)) {
            server.bind(address);
            Thread.ofPlatform().daemon().start(() -> new Acceptor(server, said::add).run(accepted::add));
            before.connect(address);
            assertThat(accepted.poll(30, TimeUnit.SECONDS)).isNotNull();
            String limit = openFiles(FEW + ":");
            try {
                takeAllFiles();
                // The kernel keeps one file for a thread that already waits in accept, so one of the two may get in.
                last.connect(address);
                then.connect(address);
                assertThat(said.poll(30, TimeUnit.SECONDS)).contains("Too many open files");
                assertThat(accepted).hasSizeLessThan(2);
            } finally {
                giveFilesBack();
                openFiles(limit);
            }
            assertThat(accepted.poll(30, TimeUnit.SECONDS)).isNotNull();
            assertThat(accepted.poll(30, TimeUnit.SECONDS)).isNotNull();
            assertThat(said).isEmpty();
        }
    }

    /** Sets how many files this process may have open; returns what it was before. */
    private static String openFiles(String limit) throws IOException, InterruptedException {
        String pid = Long.toString(ProcessHandle.current().pid());
        Process process = new ProcessBuilder(
                        "sh",
                        "-c",
                        "prlimit --pid $1 --nofile --output SOFT,HARD --noheadings | sed 's/ \\+/:/' && prlimit --pid $1"
                                + " --nofile=$2",
                        "sh",
                        pid,
                        limit)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        String before = new String(process.getInputStream().readAllBytes(), StandardCharsets.US_ASCII).strip();
        assertThat(process.waitFor()).isZero();
        return before;
    }

    private void takeAllFiles() {
        try {
            while (true) {
                files.add(new FileInputStream("/dev/null"));
            }
        } catch (IOException e) {
            // there are no more
        }
    }

    private void giveFilesBack() throws IOException {
        for (FileInputStream file : files) {
            file.close();
        }
    }
}
