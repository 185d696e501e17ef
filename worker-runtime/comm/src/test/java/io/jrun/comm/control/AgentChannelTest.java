package io.jrun.comm.control;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.control.Frame.Alive;
import io.jrun.comm.control.Frame.Hello;
import io.jrun.comm.control.Frame.StoreRequest;
import io.jrun.comm.record.GroupRecord;
import io.jrun.comm.record.RankRecord;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** An agent that is stopped: it has accepted, and takes nothing. */
@Timeout(60)
class AgentChannelTest {
    private static final Bytes VALUE = Bytes.of(new byte[FrameCodec.MAX_VALUE_BYTES]);

    /** More than any socket buffer holds, and less than a worker keeps for its agent. */
    private static final int SETS = 8;

    @TempDir
    private Path folder;

    private ServerSocketChannel agent;
    private final Listener listener = new Listener();
    private AgentChannel channel;

    private static final class Listener implements ControlListener {
        private volatile List<GroupRecord> waits = List.of();

        @Override
        public void rankLeft(int rank, String how) {}

        @Override
        public void abort(String cause) {}

        @Override
        public void checkpointNow() {}

        @Override
        public void regroup(String why) {}

        @Override
        public RankRecord locate(String group) {
            return RankRecord.unknown(0, "");
        }

        @Override
        public List<GroupRecord> waits() {
            return waits;
        }

        @Override
        public Alive alive() {
            return new Alive(0, false);
        }

        @Override
        public void connectionLost(String why) {}
    }

    private CompletableFuture<?> set(int key) {
        return channel.submit(new StoreCommand.Set("key" + key, VALUE));
    }

    @BeforeEach
    void connect() throws IOException {
        Path path = folder.resolve("agent");
        agent = ServerSocketChannel.open(StandardProtocolFamily.UNIX).bind(UnixDomainSocketAddress.of(path));
        channel = AgentChannel.connect(path, new Hello(1, "run", 0, 0, 1), listener);
    }

    @AfterEach
    void close() throws IOException {
        channel.close();
        agent.close();
    }

    @Test
    void aStoppedAgentDelaysNoThreadAndReadsAllFramesInOrderLater() throws Exception {
        for (int key = 0; key < SETS; key++) {
            assertThat(set(key)).isNotDone();
        }
        RankRecord location = channel.locate(1, "world", 7).get(10, TimeUnit.SECONDS);
        assertThat(location.place("world")).contains("this node's agent has not answered within 2 s");

        List<Frame> heard = hear();
        assertThat(heard.getFirst()).isInstanceOf(Hello.class);
        assertThat(heard.stream().filter(StoreRequest.class::isInstance).map(frame -> ((StoreRequest) frame).id()))
                .containsExactly(0L, 1L, 2L, 3L, 4L, 5L, 6L, 7L);
        // One before the buffer was full, one that waited, one after; four would have passed meanwhile.
        assertThat(heard).filteredOn(Alive.class::isInstance).hasSizeLessThanOrEqualTo(3);
    }

    @Test
    void aProgramGetsAnErrorWhenTheQueueOfRequestsIsFull() {
        CompletableFuture<?> last = set(0);
        for (int key = 1; !last.isDone(); key++) {
            last = set(key);
        }
        assertThatThrownBy(last::get)
                .hasMessageContaining("this node's agent does not read: ")
                .hasMessageContaining("The agent may be stopped");
    }

    @Test
    void reportsTheWaitsOfThisRankAfterAChange() throws Exception {
        List<GroupRecord> first = List.of(new GroupRecord("world", List.of(), 1, 1, 2, List.of()));
        List<GroupRecord> second = List.of(new GroupRecord("world", List.of(), 2, 2, 3, List.of()));
        listener.waits = first;
        DataInputStream in = new DataInputStream(Channels.newInputStream(agent.accept()));
        List<List<GroupRecord>> received = new ArrayList<>();
        for (int beats = 0; beats < 7; ) {
            Frame frame = FrameCodec.read(in);
            if (frame instanceof Frame.Waits(List<GroupRecord> waits)) {
                received.add(waits);
            } else if (frame instanceof Alive) {
                beats++;
                listener.waits = beats > 4 ? second : first;
            }
        }
        assertThat(received).containsExactly(first, second);
    }

    /** A world closes, main returns and the process exits at about the same time. */
    @Test
    void aReportJustBeforeTheEndReachesTheAgent() throws Exception {
        channel.report(3, Map.of("loss", 1.0));
        Thread main = Thread.ofPlatform().start(() -> channel.leaveNow("returned from main"));
        channel.close();
        main.join();
        assertThat(framesUntilTheEnd())
                .filteredOn(Frame.Metrics.class::isInstance)
                .containsExactly(new Frame.Metrics(3, Map.of("loss", 1.0), 0));
    }

    @Test
    void aFailingProcessSendsItsLastReport() throws Exception {
        channel.report(3, Map.of("loss", 1.0));
        channel.suppressLeave();
        channel.close();
        assertThat(framesUntilTheEnd())
                .contains(new Frame.Metrics(3, Map.of("loss", 1.0), 0))
                .noneMatch(Frame.Leaving.class::isInstance);
    }

    private List<Frame> framesUntilTheEnd() throws IOException {
        List<Frame> frames = new ArrayList<>();
        try (DataInputStream in = new DataInputStream(Channels.newInputStream(agent.accept()))) {
            while (true) {
                frames.add(FrameCodec.read(in));
            }
        } catch (EOFException e) {
            return frames;
        }
    }

    /** The store of a round ends with it. */
    @Test
    void requestsOfARoundAreAnsweredWhenTheNextRoundBegins() throws Exception {
        CompletableFuture<?> pending = set(1);
        assertThat(pending).isNotDone();
        agent.accept().write(ByteBuffer.wrap(FrameCodec.encode(new Frame.NextRound(2, 0, 0, 1, 0, 1, 0, 1))));
        assertThatThrownBy(() -> pending.get(30, TimeUnit.SECONDS))
                .hasMessageContaining("the round of the request is over");
    }

    /** Reads frames up to the worker's last request. */
    private List<Frame> hear() throws Exception {
        List<Frame> heard = new ArrayList<>();
        DataInputStream in = new DataInputStream(Channels.newInputStream(agent.accept()));
        while (heard.isEmpty() || !(heard.getLast() instanceof Frame.Locate)) {
            heard.add(FrameCodec.read(in));
        }
        return heard;
    }
}
