package io.jrun.agent.job;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.agent.Processes;
import io.jrun.agent.TestJob;
import io.jrun.agent.control.TestWorker;
import io.jrun.agent.node.ProcessState;
import io.jrun.agent.proto.AbortRound;
import io.jrun.agent.proto.CheckpointRequest;
import io.jrun.agent.proto.ControlRequest;
import io.jrun.agent.proto.ControlResponse;
import io.jrun.agent.proto.LocateWorker;
import io.jrun.agent.proto.NodeJoinedReport;
import io.jrun.agent.proto.PeerNode;
import io.jrun.agent.proto.RanksLeft;
import io.jrun.agent.proto.RoundPeerTable;
import io.jrun.agent.proto.WorkerEndpoint;
import io.jrun.comm.RankLag;
import io.jrun.comm.control.Bytes;
import io.jrun.comm.control.Frame;
import io.jrun.comm.control.FrameCodec;
import io.jrun.comm.control.StoreCommand;
import io.jrun.comm.record.GroupRecord;
import io.jrun.comm.record.RankRecord;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The workers are shells that sleep; this JVM speaks on the socket for them. */
@Timeout(60)
class NodeRendezvousTest {
    /** The agent does not read records. */
    private static final Bytes RECORD = Bytes.ofUtf8("a record");

    @TempDir
    Path folder;

    private TestJob job;
    private Path socket;

    @BeforeEach
    void launch() throws IOException {
        job = TestJob.inProcess(folder);
        job.open();
        job.launch(job.shells(2, "echo \"$JRUN_AGENT_SOCKET\"; exec sleep 300"));
        job.pid(0);
        job.pid(1);
        job.awaitStdout(0, "\n");
        socket = Path.of(job.stdout(0).strip());
    }

    @AfterEach
    void close() {
        job.close();
        assertThat(socket.getParent()).doesNotExist();
    }

    @Test
    void socketFolderIsPrivate() throws IOException {
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(socket.getParent())))
                .isEqualTo("rwx------");
        assertThat(socket.toString().length()).isLessThan(108);
    }

    @Test
    void joinsOfAllWorkersMakeOneMessageAndTheTableGoesToAll() throws IOException {
        try (TestWorker zero = hello(0);
                TestWorker one = hello(1)) {
            one.send(new Frame.Join(4711));
            zero.send(new Frame.Join(0));
            assertThat(job.await(ControlResponse::hasNodeJoined, ControlResponse::getNodeJoined))
                    .isEqualTo(NodeJoinedReport.newBuilder()
                            .setRound(1)
                            .addEndpoints(WorkerEndpoint.newBuilder().setRank(0).setPid(job.pid(0)))
                            .addEndpoints(WorkerEndpoint.newBuilder()
                                    .setRank(1)
                                    .setTcpPort(4711)
                                    .setPid(job.pid(1)))
                            .build());
            job.send(ControlRequest.newBuilder()
                    .setPeerTable(RoundPeerTable.newBuilder()
                            .setRound(1)
                            .addNodes(PeerNode.newBuilder()
                                    .setNodeRank(2)
                                    .setHost("h")
                                    .setAddress("127.0.0.1")
                                    .addRanks(1)
                                    .addTcpPorts(4711)
                                    .addPids(5)
                                    .addRanks(3)
                                    .addTcpPorts(4712)
                                    .addPids(6))
                            .addNodes(PeerNode.newBuilder()
                                    .setNodeRank(1)
                                    .setHost("g")
                                    .setAddress("127.0.0.2")
                                    .addRanks(2)
                                    .addTcpPorts(4713)
                                    .addPids(7)))
                    .build());
            Frame.PeerTable expected = new Frame.PeerTable(
                    1,
                    Bytes.ofUtf8("secret"),
                    List.of(
                            new Frame.Peer(1, 2, 0, "h", "127.0.0.1", 4711, 5),
                            new Frame.Peer(2, 1, 0, "g", "127.0.0.2", 4713, 7),
                            new Frame.Peer(3, 2, 1, "h", "127.0.0.1", 4712, 6)));
            assertThat(zero.await(Frame.PeerTable.class)).isEqualTo(expected);
            assertThat(one.await(Frame.PeerTable.class)).isEqualTo(expected);
        }
    }

    /** The launcher ends the job at the report of the last end. */
    @Test
    void theEndOfAWorkerIsReportedAfterItsLastFrame() throws IOException {
        try (TestWorker zero = hello(0)) {
            zero.send(new Frame.StoreRequest(1, new StoreCommand.Get("key", 100)));
            job.awaitFrame(0, Frame.StoreRequest.class); // the agent has read the hello
            job.stop(9, 0);
            job.exited(1);
            Processes.await(() -> !Processes.isAlive(job.pid(0)));
            zero.send(new Frame.Metrics(3, Map.of("loss", 1.0), 0));
        }
        ControlResponse first = job.await(
                message -> isMetrics(message)
                        || (message.hasWorkerExited()
                                && message.getWorkerExited().getRank() == 0),
                message -> message);
        assertThat(isMetrics(first)).isTrue();
        job.exited(0);
    }

    private static boolean isMetrics(ControlResponse message) {
        return message.hasWorkerFrame()
                && TestJob.decoded(message.getWorkerFrame().getFrame()) instanceof Frame.Metrics;
    }

    @Test
    void rankThatHasNotJoinedWhenItsRoundIsAbortedIsReportedWithItsState() throws Exception {
        try (TestWorker zero = hello(0)) {
            zero.send(new Frame.Join(0));
            assertThat(new ProcessBuilder("kill", "-STOP", Long.toString(job.pid(1)))
                            .start()
                            .waitFor())
                    .isZero();
            Path stat = Path.of("/proc/" + job.pid(1) + "/stat");
            Processes.await(() -> Files.readString(stat).contains(") T "));
            zero.send(new Frame.StoreRequest(1, new StoreCommand.Get("key", 100)));
            job.awaitFrame(0, Frame.StoreRequest.class); // the agent has read the join
            job.send(ControlRequest.newBuilder()
                    .setAbortRound(AbortRound.newBuilder().setRound(1).setCause("the others have waited too long"))
                    .build());
            zero.await(Frame.Abort.class);
            job.stop(9, 0);
        }
        assertThat(job.exited(0).getNotJoined()).isEmpty();
        assertThat(job.exited(1).getNotJoined())
                .startsWith("process " + job.pid(1) + " is stopped (state T, as by SIGSTOP");
    }

    @Test
    void storeFramesAreForwardedBothWays() throws IOException {
        try (TestWorker worker = hello(1)) {
            Frame.StoreRequest request = new Frame.StoreRequest(7, new StoreCommand.Get("key", 100));
            worker.send(request);
            assertThat(job.awaitFrame(1, Frame.StoreRequest.class)).isEqualTo(request);
            Frame.StoreReply reply = new Frame.StoreReply(7, Optional.of(Bytes.ofUtf8("value")), "");
            job.sendFrame(1, reply);
            assertThat(worker.await(Frame.StoreReply.class)).isEqualTo(reply);
        }
    }

    @Test
    void departuresAreReportedToAllOtherWorkersAlsoToLaterOnes() throws IOException {
        try (TestWorker zero = hello(0)) {
            Frame.Leaving leaving = new Frame.Leaving(
                    "returned from main",
                    List.of(new GroupRecord("world", List.of(), 1, 1, 2, List.of(RankLag.none(3)))));
            zero.send(leaving);
            assertThat(job.awaitFrame(0, Frame.Leaving.class)).isEqualTo(leaving);
            job.send(ControlRequest.newBuilder()
                    .setRanksLeft(RanksLeft.newBuilder().addRanks(0).setRound(1).setHow("returned from main"))
                    .build());
            try (TestWorker one = hello(1)) {
                assertThat(one.await(Frame.RankLeft.class)).isEqualTo(new Frame.RankLeft(0, "returned from main"));
            }
        }
    }

    @Test
    void abortAndCheckpointReachConnectedWorkers() throws IOException {
        try (TestWorker zero = hello(0);
                TestWorker one = hello(1)) {
            joinAndWait(zero, one);
            job.send(ControlRequest.newBuilder()
                    .setCheckpointNow(CheckpointRequest.getDefaultInstance())
                    .build());
            job.send(ControlRequest.newBuilder()
                    .setAbortRound(AbortRound.newBuilder().setRound(1).setCause("rank 7 died"))
                    .build());
            for (TestWorker worker : List.of(zero, one)) {
                worker.await(Frame.CheckpointNow.class);
                assertThat(worker.await(Frame.Abort.class).cause()).isEqualTo("rank 7 died");
            }
        }
    }

    @Test
    void helloOfAnotherProtocolVersionIsRefused() throws IOException {
        assertRefused(new Frame.Hello(99, job.runId(), 1, 0, job.pid(0)), "speaks control protocol 99");
    }

    @Test
    void helloOfAnotherJobOrRoundIsRefused() throws IOException {
        assertRefused(
                new Frame.Hello(FrameCodec.PROTOCOL_VERSION, "other", 1, 0, job.pid(0)), "not round 1 of job other");
        assertRefused(new Frame.Hello(FrameCodec.PROTOCOL_VERSION, job.runId(), 2, 0, job.pid(0)), "not round 2");
    }

    @Test
    void helloOfAStrangerIsRefused() throws IOException {
        assertRefused(
                new Frame.Hello(FrameCodec.PROTOCOL_VERSION, job.runId(), 1, 5, job.pid(0)),
                "rank 5 does not run on this node");
        assertRefused(
                new Frame.Hello(FrameCodec.PROTOCOL_VERSION, job.runId(), 1, 1, job.pid(0)),
                "rank 1 is process " + job.pid(1) + ", not " + job.pid(0));
    }

    @Test
    void secondConnectionOfARankIsRefused() throws IOException {
        try (TestWorker zero = hello(0)) {
            zero.send(new Frame.StoreRequest(1, new StoreCommand.Delete("x")));
            job.awaitFrame(0, Frame.StoreRequest.class);
            assertRefused(
                    new Frame.Hello(FrameCodec.PROTOCOL_VERSION, job.runId(), 1, 0, job.pid(0)), "connected already");
        }
    }

    @Test
    void joinBeforeHelloIsRefused() throws IOException {
        assertRefused(new Frame.Join(1), "Join before Hello");
    }

    @Test
    void garbageClosesThatConnectionAndNothingElse() throws IOException {
        byte[][] garbage = {
            {0x7f, 0, 0, 0},
            {0, 0, 0, 1, 33},
            {0, 0, 0, 3, 1, 2, 3},
            "GET / HTTP/1.1\r\n\r\n".getBytes(StandardCharsets.US_ASCII),
            FrameCodec.encode(new Frame.Abort("an agent's frame"))
        };
        try (TestWorker good = hello(0)) {
            for (byte[] bytes : garbage) {
                try (TestWorker bad = new TestWorker(socket)) {
                    bad.sendRaw(bytes);
                    bad.awaitEnd();
                }
            }
            good.send(new Frame.Leaving("returned from main", List.of()));
            job.awaitFrame(0, Frame.Leaving.class);
        }
        assertThat(Processes.isAlive(job.pid(0))).isTrue();
    }

    /** Frames with a flipped bit, cut short, or no frames at all: on connections of strangers and of a worker. */
    private static byte[] broken(Random random, Frame frame) {
        byte[] bytes = FrameCodec.encode(frame);
        return switch (random.nextInt(3)) {
            case 0 -> {
                int bit = random.nextInt(bytes.length * Byte.SIZE);
                bytes[bit / Byte.SIZE] ^= (byte) (1 << bit % Byte.SIZE);
                yield bytes;
            }
            case 1 -> Arrays.copyOf(bytes, random.nextInt(bytes.length));
            default -> {
                byte[] noise = new byte[random.nextInt(200)];
                random.nextBytes(noise);
                yield noise;
            }
        };
    }

    private static byte[] concat(byte[] first, byte[] second) {
        return ByteBuffer.allocate(first.length + second.length)
                .put(first)
                .put(second)
                .array();
    }

    @Test
    void noBrokenFrameHarmsTheJob() throws IOException {
        int seeds = Boolean.getBoolean("jrun.soak") ? 5000 : 200;
        Frame hello = new Frame.Hello(FrameCodec.PROTOCOL_VERSION, job.runId(), 1, 0, job.pid(0));
        List<Frame> later = List.of(
                new Frame.Join(7),
                new Frame.StoreRequest(1, new StoreCommand.Add("key", 1)),
                new Frame.Locate(1, 1, "world", 2),
                new Frame.RecordReply(3, RECORD));
        try (TestWorker good = hello(1)) {
            for (int seed = 0; seed < seeds; seed++) {
                Random random = new Random(seed);
                byte[] bytes = random.nextBoolean()
                        ? broken(random, hello)
                        : concat(FrameCodec.encode(hello), broken(random, later.get(random.nextInt(later.size()))));
                try (TestWorker bad = new TestWorker(socket)) {
                    bad.sendRaw(bytes);
                }
            }
            good.send(new Frame.Leaving("returned from main", List.of()));
            job.awaitFrame(1, Frame.Leaving.class);
        }
        assertThat(Processes.isAlive(job.pid(0))).isTrue();
        assertThat(Processes.isAlive(job.pid(1))).isTrue();
    }

    @Test
    void workerThatDoesNotReadDelaysNoOtherWorker() throws IOException {
        try (TestWorker deaf = hello(0);
                TestWorker one = hello(1)) {
            joinAndWait(deaf, one);
            Frame.StoreReply big = new Frame.StoreReply(1, Optional.of(Bytes.of(new byte[1 << 20])), "");
            for (int i = 0; i < 100; i++) {
                job.sendFrame(0, big);
            }
            one.send(new Frame.Leaving("returned from main", List.of()));
            job.awaitFrame(1, Frame.Leaving.class);
        }
    }

    private String locate(int rank, int id) {
        job.send(ControlRequest.newBuilder()
                .setLocate(LocateWorker.newBuilder()
                        .setRound(1)
                        .setRank(rank)
                        .setId(id)
                        .setGroup("world")
                        .setSequence(7))
                .build());
        Frame.Location location = job.await(
                message -> message.hasLocation() && location(message).id() == id, NodeRendezvousTest::location);
        assertThat(location.rank()).isEqualTo(rank);
        return RankRecord.of(rank, location.record().toArray()).place("world");
    }

    private static Frame.Location location(ControlResponse message) {
        return (Frame.Location) TestJob.decoded(message.getLocation().getFrame());
    }

    @Test
    void aWorkerWithoutARuntimeIsLookedAtFromOutside() throws IOException {
        Processes.await(() -> ProcessState.describe(Path.of("/"), job.pid(1)).contains("sleeps"));
        assertThat(locate(1, 5))
                .startsWith("is not connected to its agent: process " + job.pid(1) + " sleeps")
                .contains("(state S)");
    }

    @Test
    void aWorkerThatDoesNotAnswerIsLookedAtFromOutside() throws Exception {
        try (TestWorker _ = hello(0)) {
            assertThat(new ProcessBuilder("kill", "-STOP", Long.toString(job.pid(0)))
                            .start()
                            .waitFor())
                    .isZero();
            AtomicInteger id = new AtomicInteger(6);
            AtomicReference<String> place = new AtomicReference<>("");
            Processes.await(
                    () -> { // the agent may not have read the hello yet
                        place.set(locate(0, id.getAndIncrement()));
                        return !place.get().startsWith("is not connected");
                    });
            assertThat(place.get()).startsWith("does not answer: process " + job.pid(0) + " is stopped (state T");
        }
    }

    @Test
    void aWorkerGetsOneRequestForAnyNumberOfWaitingRanks() throws IOException {
        try (TestWorker zero = hello(0);
                TestWorker one = hello(1)) {
            joinAndWait(zero, one);
            Frame.Locate locate = new Frame.Locate(3, 0, "world", 7);
            one.send(locate);
            assertThat(job.awaitFrame(1, Frame.Locate.class)).isEqualTo(locate);
            for (int requester : List.of(1, 4)) {
                job.send(ControlRequest.newBuilder()
                        .setLocate(LocateWorker.newBuilder()
                                .setRequester(requester)
                                .setRound(1)
                                .setId(3)
                                .setGroup("world")
                                .setSequence(7))
                        .build());
            }
            Frame.RecordRequest question = zero.await(Frame.RecordRequest.class);
            assertThat(question.group()).isEqualTo("world");
            one.send(new Frame.RecordReply(question.id(), Bytes.ofUtf8("not rank 1's to say")));
            zero.send(new Frame.RecordReply(question.id(), RECORD));
            for (int requester : List.of(1, 4)) {
                Frame.Location location = job.await(
                        message ->
                                message.hasLocation() && message.getLocation().getRequester() == requester,
                        NodeRendezvousTest::location);
                assertThat(location).isEqualTo(new Frame.Location(3, 0, RECORD));
                job.sendFrame(1, location);
            }
            assertThat(one.await(Frame.Location.class)).isEqualTo(new Frame.Location(3, 0, RECORD));
        }
    }

    private void joinAndWait(TestWorker zero, TestWorker one) throws IOException {
        zero.send(new Frame.Join(0));
        one.send(new Frame.Join(0));
        job.await(ControlResponse::hasNodeJoined, ControlResponse::getNodeJoined);
    }

    private TestWorker hello(int rank) throws IOException {
        TestWorker worker = new TestWorker(socket);
        worker.send(new Frame.Hello(FrameCodec.PROTOCOL_VERSION, job.runId(), 1, rank, job.pid(rank)));
        return worker;
    }

    private void assertRefused(Frame first, String reason) throws IOException {
        try (TestWorker worker = new TestWorker(socket)) {
            worker.send(first);
            assertThat(worker.await(Frame.Refused.class).reason()).contains(reason);
            worker.awaitEnd();
        }
    }
}
