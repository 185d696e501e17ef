package io.jrun.comm.tcp;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.DataType;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.backend.Call;
import io.jrun.comm.collective.Algorithm;
import io.jrun.comm.collective.AlgorithmSelector;
import io.jrun.comm.control.Bytes;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Callers that are not ranks of the job: they are refused and reported once, and the job continues. */
class IntruderTest {
    private static final int PATIENCE_MILLIS = 20_000;
    private static final int FLOOD = 600;
    private static final long LANE = 1234;
    private static final byte[] NO_BINDING = {};

    /** A stranger's connection to rank 1, which says it is rank 0. */
    private static final class Intruder implements AutoCloseable {
        private final Socket socket;
        private final SecretProof prover;
        private final HandshakeRequest request;

        Intruder(TcpRanks world, Bytes secret, int round) throws IOException {
            this(world, secret, round, LANE);
        }

        Intruder(TcpRanks world, Bytes secret, int round, long channel) throws IOException {
            this.socket =
                    new Socket(InetAddress.getLoopbackAddress(), world.peer(1).tcpPort());
            this.socket.setSoTimeout(PATIENCE_MILLIS);
            this.prover = new SecretProof(secret);
            this.request = new HandshakeRequest(HandshakeRequest.Purpose.DATA, round, 0, 1, channel, prover.nonce());
        }

        void send(byte[] bytes) throws IOException {
            socket.getOutputStream().write(bytes);
        }

        Nonce challenge() throws IOException {
            byte[] answer = socket.getInputStream().readNBytes(Nonce.BYTES + SecretProof.BYTES);
            assertThat(answer).hasSize(Nonce.BYTES + SecretProof.BYTES);
            return Nonce.read(ByteBuffer.wrap(answer));
        }

        byte[] proof(Nonce challenge) throws IOException {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            DataOutputStream out = new DataOutputStream(bytes);
            out.writeInt(0);
            out.write(prover.prove(SecretProof.Role.CALLER, request, challenge, NO_BINDING, new byte[0]));
            return bytes.toByteArray();
        }

        void assertTurnedAway() throws IOException {
            try {
                assertThat(socket.getInputStream().read()).isEqualTo(-1);
            } catch (SocketException _) {
                // A reset says the same.
            }
        }

        @Override
        public void close() throws IOException {
            socket.close();
        }
    }

    private static void assertJobGoesOn(TcpRanks world) throws Exception {
        world.run(rank -> {
            float[] data = {1, 2, 3};
            rank.backend().run(Calls.allReduce(0, MemorySegment.ofArray(data), DataType.F32, ReduceOp.SUM));
            assertThat(data).containsExactly(2, 4, 6);
        });
    }

    @Test
    void garbageIsRefusedAndReportedOnce() throws Exception {
        try (TcpRanks world = TcpRanks.start(2)) {
            byte[] garbage = new byte[HandshakeRequest.BYTES];
            for (int seed = 0; seed < 5; seed++) {
                new Random(seed).nextBytes(garbage);
                try (Intruder intruder = new Intruder(world, TcpRanks.SECRET, TcpRanks.ROUND)) {
                    intruder.send(garbage);
                    intruder.assertTurnedAway();
                }
            }
            assertThat(world.log()).singleElement().asString().contains("does not speak this protocol");
            assertJobGoesOn(world);
        }
    }

    @Test
    void aCallerWithoutTheSecretIsRefused() throws Exception {
        try (TcpRanks world = TcpRanks.start(2);
                Intruder intruder = new Intruder(world, Bytes.ofUtf8("a guess"), TcpRanks.ROUND)) {
            intruder.send(intruder.request.encode());
            intruder.send(intruder.proof(intruder.challenge()));
            intruder.assertTurnedAway();
            assertThat(world.log()).singleElement().asString().contains("does not know the job's secret");
            assertJobGoesOn(world);
        }
    }

    @Test
    void aReplayedProofIsRefused() throws Exception {
        try (TcpRanks world = TcpRanks.start(2);
                Intruder honest = new Intruder(world, TcpRanks.SECRET, TcpRanks.ROUND);
                Intruder replay = new Intruder(world, Bytes.ofUtf8("unknown"), TcpRanks.ROUND)) {
            honest.send(honest.request.encode());
            byte[] proof = honest.proof(honest.challenge());
            honest.send(proof);

            replay.send(honest.request.encode());
            replay.challenge();
            replay.send(proof);

            replay.assertTurnedAway();
            assertThat(world.log()).singleElement().asString().contains("does not know the job's secret");
            assertJobGoesOn(world);
        }
    }

    @Test
    void aCallerOfAnotherRoundIsRefused() throws Exception {
        try (TcpRanks world = TcpRanks.start(2);
                Intruder intruder = new Intruder(world, TcpRanks.SECRET, TcpRanks.ROUND - 1)) {
            intruder.send(intruder.request.encode());
            intruder.assertTurnedAway();
            assertThat(world.log())
                    .singleElement()
                    .asString()
                    .contains("round 6")
                    .contains("this rank is in round 7");
            assertJobGoesOn(world);
        }
    }

    /** A connection that an attacker has redirected to another rank. */
    @ParameterizedTest(name = "from {0} to {1}")
    @CsvSource({"0, 0", "1, 1", "2, 1", "-1, 1"})
    void aCallerThatIsNoPeerOrMeansAnotherRankIsRefused(int from, int to) throws Exception {
        try (TcpRanks world = TcpRanks.start(2);
                Intruder intruder = new Intruder(world, TcpRanks.SECRET, TcpRanks.ROUND)) {
            Nonce nonce = intruder.request.nonce();
            intruder.send(new HandshakeRequest(HandshakeRequest.Purpose.DATA, TcpRanks.ROUND, from, to, LANE, nonce)
                    .encode());
            intruder.assertTurnedAway();
            assertThat(world.log())
                    .singleElement()
                    .asString()
                    .contains("rank " + from + " calls rank " + to + " (this is rank 1)");
            assertJobGoesOn(world);
        }
    }

    @Test
    void anOversizedLengthIsRefusedBeforeAnythingIsAllocated() throws Exception {
        try (TcpRanks world = TcpRanks.start(2);
                Intruder intruder = new Intruder(world, TcpRanks.SECRET, TcpRanks.ROUND)) {
            intruder.send(intruder.request.encode());
            intruder.challenge();
            intruder.send(ByteBuffer.allocate(Integer.BYTES)
                    .putInt(0, Integer.MAX_VALUE)
                    .array());
            intruder.assertTurnedAway();
            assertThat(world.log()).singleElement().asString().contains("announces 2147483647 bytes");
            assertJobGoesOn(world);
        }
    }

    @Test
    void aSlowCallerIsDroppedAndDelaysNoRank() throws Exception {
        try (TcpRanks world = TcpRanks.start(2);
                Intruder intruder = new Intruder(world, TcpRanks.SECRET, TcpRanks.ROUND)) {
            intruder.send(new byte[] {0x4a});
            assertJobGoesOn(world);
            intruder.assertTurnedAway();
            assertThat(world.log()).singleElement().asString().contains("did not authenticate itself within 3000 ms");
        }
    }

    /** A rank of the job, by its secret, whose frames are not those of the call. */
    private static Intruder impostor(TcpRanks world) throws IOException {
        Intruder impostor = new Intruder(
                world, TcpRanks.SECRET, TcpRanks.ROUND, world.rank(1).channel());
        impostor.send(impostor.request.encode());
        impostor.send(impostor.proof(impostor.challenge()));
        byte[] reply = impostor.socket.getInputStream().readNBytes(OutgoingHandshake.REPLY_BYTES + SecretProof.BYTES);
        assertThat(reply[0]).isEqualTo(WireEnum.code(HandshakeReply.ACCEPTED));
        return impostor;
    }

    private static Throwable outcomeOfAllReduce(TcpRanks world) throws Exception {
        MemorySegment data = MemorySegment.ofArray(new float[1000]);
        return TcpRanks.outcome(world.submit(
                        1, rank -> rank.backend().run(Calls.allReduce(0, data, DataType.F32, ReduceOp.SUM))))
                .orElseThrow();
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8})
    void damagedFramesFailTheCallWithANamedCause(int seed) throws Exception {
        Random random = new Random(seed);
        try (TcpRanks world = TcpRanks.start(2);
                Intruder impostor = impostor(world)) {
            byte[] frame = new byte[FrameHeader.BYTES + random.nextInt(100)];
            random.nextBytes(frame);
            impostor.send(frame);

            assertThat(outcomeOfAllReduce(world))
                    .hasMessageContaining("allReduce #0")
                    .hasMessageContaining("lost rank 0 (host testhost, pid 4000)")
                    .hasMessageContaining("out of step");
        }
    }

    /** The first frame of rank 0 in the call that rank 1 makes, with a bit of its header flipped, or none. */
    private static byte[] frame(TcpRanks world, int flippedBit) {
        ByteBuffer data = ByteBuffer.allocate(1000 * Float.BYTES).order(ByteOrder.nativeOrder());
        data.putFloat(0, 1);
        Call call = Calls.allReduce(0, MemorySegment.ofBuffer(data), DataType.F32, ReduceOp.SUM);
        Algorithm algorithm = AlgorithmSelector.BY_SIZE.choose(call.kind(), call.bytes(), 2, false);
        ByteBuffer bytes = ByteBuffer.allocate(FrameHeader.BYTES + (int) call.bytes());
        ByteBuffer header = ByteBuffer.allocate(FrameHeader.BYTES);
        FrameHeader.of(TcpRanks.ROUND, world.rank(1).channel(), call, algorithm, 0)
                .withFrame(0, 0, call.bytes())
                .encode(header);
        bytes.put(header).put(data);
        if (flippedBit >= 0) {
            bytes.put(flippedBit / Byte.SIZE, (byte) (bytes.get(flippedBit / Byte.SIZE) ^ 1 << flippedBit % Byte.SIZE));
        }
        return bytes.array();
    }

    /** Shows that the frames below fail for nothing but their flipped bit. */
    @Test
    void aFrameWithoutAFlippedBitCompletesTheCall() throws Exception {
        try (TcpRanks world = TcpRanks.start(2);
                Intruder impostor = impostor(world)) {
            impostor.send(frame(world, -1));
            float[] data = new float[1000];
            assertThat(TcpRanks.outcome(world.submit(
                            1,
                            rank -> rank.backend()
                                    .run(Calls.allReduce(0, MemorySegment.ofArray(data), DataType.F32, ReduceOp.SUM)))))
                    .isEmpty();
            assertThat(data[0]).isEqualTo(1);
        }
    }

    static IntStream headerBits() {
        int all = FrameHeader.BYTES * Byte.SIZE;
        return Boolean.getBoolean("jrun.soak") ? IntStream.range(0, all) : new Random(1).ints(40, 0, all);
    }

    @ParameterizedTest
    @MethodSource("headerBits")
    void aFlippedBitInAHeaderFailsTheCallWithANamedCause(int bit) throws Exception {
        try (TcpRanks world = TcpRanks.start(2);
                Intruder impostor = impostor(world)) {
            impostor.send(frame(world, bit));
            assertThat(outcomeOfAllReduce(world))
                    .hasMessageContaining("allReduce #0")
                    .hasMessageContaining("rank 0 (host testhost, pid 4000)");
        }
    }

    /** The bytes of a caller without the secret, or with a broken connection, in place of a handshake. */
    private static byte[] brokenHandshake(Intruder intruder, Random random) throws IOException {
        byte[] request = intruder.request.encode();
        return switch (random.nextInt(6)) {
            case 0 -> noise(random.nextInt(4096), random);
            case 1 -> concat(flipped(request, random), intruder.proof(intruder.prover.nonce()));
            case 2 -> Arrays.copyOf(request, random.nextInt(request.length));
            default -> {
                intruder.send(request);
                yield brokenProof(intruder.proof(intruder.challenge()), random);
            }
        };
    }

    private static byte[] brokenProof(byte[] proof, Random random) {
        return switch (random.nextInt(4)) {
            case 0 -> flipped(proof, random);
            case 1 -> Arrays.copyOf(proof, random.nextInt(proof.length));
            case 2 -> concat(ByteBuffer.allocate(4).putInt(0, random.nextInt()).array(), proof);
            default -> noise(proof.length, random);
        };
    }

    private static byte[] noise(int length, Random random) {
        byte[] noise = new byte[length];
        random.nextBytes(noise);
        return noise;
    }

    private static byte[] flipped(byte[] bytes, Random random) {
        byte[] flipped = bytes.clone();
        int bit = random.nextInt(bytes.length * Byte.SIZE);
        flipped[bit / Byte.SIZE] ^= (byte) (1 << bit % Byte.SIZE);
        return flipped;
    }

    private static byte[] concat(byte[] first, byte[] second) {
        return ByteBuffer.allocate(first.length + second.length)
                .put(first)
                .put(second)
                .array();
    }

    /** A reply would be more bytes than the challenge. */
    private static void assertGetsAtMostAChallenge(Intruder intruder) throws IOException {
        try {
            byte[] answer = intruder.socket.getInputStream().readAllBytes();
            assertThat(answer.length).isLessThanOrEqualTo(Nonce.BYTES + SecretProof.BYTES);
        } catch (SocketException _) {
            return; // A reset says the same.
        }
    }

    @Test
    void noBrokenHandshakeGetsInOrHarmsTheJob() throws Exception {
        int seeds = Boolean.getBoolean("jrun.soak") ? 5000 : 200;
        try (TcpRanks world = TcpRanks.start(2)) {
            for (int seed = 0; seed < seeds; seed++) {
                try (Intruder intruder = new Intruder(world, TcpRanks.SECRET, TcpRanks.ROUND)) {
                    byte[] bytes = brokenHandshake(intruder, new Random(seed));
                    try {
                        intruder.send(bytes);
                        intruder.socket.shutdownOutput();
                    } catch (SocketException _) {
                        continue; // It was turned away before the last byte.
                    }
                    assertGetsAtMostAChallenge(intruder);
                }
            }
            assertThat(world.log()).isNotEmpty().hasSizeLessThanOrEqualTo(16).doesNotHaveDuplicates();
            assertJobGoesOn(world);
        }
    }

    @Test
    void hundredsOfSilentCallersDelayNoRank() throws Exception {
        List<Intruder> silent = new ArrayList<>();
        try (TcpRanks world = TcpRanks.start(2)) {
            for (int i = 0; i < 600; i++) {
                silent.add(new Intruder(world, TcpRanks.SECRET, TcpRanks.ROUND));
            }
            silent.getFirst().assertTurnedAway();
            assertJobGoesOn(world);
            assertThat(world.log())
                    .hasSizeLessThanOrEqualTo(2)
                    .anyMatch(line -> line.contains("too many callers have not authenticated themselves"));
        } finally {
            for (Intruder intruder : silent) {
                intruder.close();
            }
        }
    }

    /** More than are let in unauthenticated, all the time, while the ranks connect. */
    @Test
    void aFloodOfSilentCallersDuringConnectionSetupDelaysNoRank() throws Exception {
        AtomicBoolean over = new AtomicBoolean();
        try (TcpRanks world = TcpRanks.start(2)) {
            CountDownLatch begun = new CountDownLatch(FLOOD);
            Thread flood = Thread.ofPlatform().daemon().start(() -> flood(world, begun, over));
            assertThat(begun.await(PATIENCE_MILLIS, TimeUnit.MILLISECONDS)).isTrue();
            assertJobGoesOn(world);
            over.set(true);
            flood.join();
        } finally {
            over.set(true);
        }
    }

    private static void flood(TcpRanks world, CountDownLatch begun, AtomicBoolean over) {
        Deque<Intruder> silent = new ArrayDeque<>();
        try {
            while (!over.get()) {
                silent.add(new Intruder(world, TcpRanks.SECRET, TcpRanks.ROUND));
                begun.countDown();
                if (silent.size() > FLOOD) {
                    silent.remove().close();
                }
            }
            for (Intruder intruder : silent) {
                intruder.close();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, FrameHeader.BYTES - 1})
    void aStreamThatEndsInsideAFrameIsALostPeer(int length) throws Exception {
        try (TcpRanks world = TcpRanks.start(2)) {
            Intruder impostor = impostor(world);
            impostor.send(new byte[length]);
            impostor.close();

            assertThat(outcomeOfAllReduce(world))
                    .hasMessageContaining("allReduce #0")
                    .hasMessageContaining("lost rank 0 (host testhost, pid 4000)");
        }
    }

    @Test
    void aConnectionCutInTheMiddleOfTheHandshakeChangesNothing() throws Exception {
        try (TcpRanks world = TcpRanks.start(2)) {
            for (int length : new int[] {0, 1, HandshakeRequest.BYTES - 1, HandshakeRequest.BYTES}) {
                try (Intruder intruder = new Intruder(world, TcpRanks.SECRET, TcpRanks.ROUND)) {
                    byte[] request = intruder.request.encode();
                    intruder.socket.getOutputStream().write(request, 0, length);
                }
            }
            assertJobGoesOn(world);
        }
    }
}
