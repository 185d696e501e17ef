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
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class AcceptorTest {
    private static final String FEW = "200";
    private static final int MOST_CLIENTS = 20;

    @TempDir
    private Path folder;

    private final List<FileInputStream> files = new ArrayList<>();
    private final List<SocketChannel> clients = new ArrayList<>();
    private final BlockingQueue<Object> events = new LinkedBlockingQueue<>();

    @AfterEach
    void closeClients() throws IOException {
        for (SocketChannel client : clients) {
            client.close();
        }
    }

    /** As when a process has as many files open as it may. */
    @Test
    void acceptingGoesOnWhenThereAreFilesAgain() throws Exception {
        UnixDomainSocketAddress address = UnixDomainSocketAddress.of(folder.resolve("socket"));
        for (int i = 0; i < MOST_CLIENTS; i++) {
            clients.add(SocketChannel.open(StandardProtocolFamily.UNIX));
        }
        try (ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
            server.bind(address);
            Thread.ofPlatform().daemon().start(() -> new Acceptor(server, events::add).run(events::add));
            clients.getFirst().connect(address);
            assertThat(next()).isInstanceOf(SocketChannel.class);
            String limit = openFiles(FEW + ":");
            Object event;
            try {
                event = connectUntilRefused(address);
            } finally {
                giveFilesBack();
                openFiles(limit);
            }
            assertThat(event).asString().contains("Too many open files");
            assertThat(next()).isInstanceOf(SocketChannel.class);
            assertThat(events).isEmpty();
        }
    }

    /**
     * Connects clients until the acceptor has no free file. The kernel keeps one file for a thread that already waits
     * in accept, and the garbage collector may close files of other tests.
     */
    private Object connectUntilRefused(UnixDomainSocketAddress address) throws IOException, InterruptedException {
        Object event = address;
        for (int i = 1; i < MOST_CLIENTS && !(event instanceof String); i++) {
            takeAllFiles();
            clients.get(i).connect(address);
            event = next();
        }
        return event;
    }

    private Object next() throws InterruptedException {
        Object event = events.poll(30, TimeUnit.SECONDS);
        assertThat(event).isNotNull();
        if (event instanceof SocketChannel accepted) {
            clients.add(accepted);
        }
        return event;
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
