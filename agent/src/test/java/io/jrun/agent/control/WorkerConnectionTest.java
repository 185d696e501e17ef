package io.jrun.agent.control;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.control.Frame;
import io.jrun.comm.control.FrameCodec;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.Channels;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
class WorkerConnectionTest {
    /** More bytes than the reading thread takes at once. */
    private static final int FRAMES = 2000;

    @TempDir
    private Path folder;

    /** The worker's last frames are still unread. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aWorkerThatReadsNothingLosesNoFrameAtItsEnd(boolean hasEndedBeforeTheWrite) throws Exception {
        UnixDomainSocketAddress address = UnixDomainSocketAddress.of(folder.resolve("socket"));
        Received received = new Received();
        try (ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
            server.bind(address);
            try (SocketChannel worker = SocketChannel.open(address);
                    OutputStream out = Channels.newOutputStream(worker)) {
                WorkerConnection connection = new WorkerConnection(server.accept(), received);
                frames().writeTo(out);
                connection.send(new Frame.CheckpointNow());
                if (hasEndedBeforeTheWrite) {
                    end(worker);
                }
                connection.start();
                while (isWriting()) {
                    Thread.onSpinWait();
                }
            }
            received.mayContinue.countDown();
            assertThat(received.problem.get(30, TimeUnit.SECONDS)).isEmpty();
            assertThat(received.frames).hasSize(FRAMES).endsWith(new Frame.Alive(FRAMES - 1, false));
        }
    }

    @Test
    void aFrameThatOnlyAgentsSendIsAProblem() throws Exception {
        UnixDomainSocketAddress address = UnixDomainSocketAddress.of(folder.resolve("socket"));
        Received received = new Received();
        try (ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
            server.bind(address);
            try (SocketChannel worker = SocketChannel.open(address);
                    OutputStream out = Channels.newOutputStream(worker)) {
                new WorkerConnection(server.accept(), received).start();
                out.write(FrameCodec.encode(new Frame.CheckpointNow()));
                assertThat(received.problem.get(30, TimeUnit.SECONDS))
                        .isEqualTo("a worker sent an agent's frame: CheckpointNow");
            }
        }
    }

    private static void end(SocketChannel worker) throws IOException {
        worker.close();
    }

    private static ByteArrayOutputStream frames() throws IOException {
        ByteArrayOutputStream frames = new ByteArrayOutputStream();
        for (int i = 0; i < FRAMES; i++) {
            frames.write(FrameCodec.encode(new Frame.Alive(i, false)));
        }
        return frames;
    }

    /** Whether the writing thread runs and does not wait for another frame. */
    private static boolean isWriting() {
        return Thread.getAllStackTraces().keySet().stream()
                .anyMatch(thread ->
                        thread.getName().equals("jrun-control-write") && thread.getState() != Thread.State.WAITING);
    }

    /** Holds the reading thread at the first frame. */
    private static final class Received implements WorkerConnection.Events {
        private final CountDownLatch mayContinue = new CountDownLatch(1);
        private final List<Frame.FromWorker> frames = new ArrayList<>();
        private final CompletableFuture<String> problem = new CompletableFuture<>();

        @Override
        public void received(WorkerConnection connection, Frame.FromWorker frame) {
            try {
                assertThat(mayContinue.await(30, TimeUnit.SECONDS)).isTrue();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
            frames.add(frame);
        }

        @Override
        public void ended(WorkerConnection connection, String why) {
            problem.complete(why);
        }

        @Override
        public void acceptFailed(String why) {
            problem.complete(why);
        }
    }
}
