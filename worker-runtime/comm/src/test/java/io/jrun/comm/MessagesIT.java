package io.jrun.comm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.local.LocalWorld;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The matching of messages and receives. */
@Timeout(120)
class MessagesIT {
    /** More bytes than the buffers between two ranks hold, so that a send waits for its receiver. */
    private static final int LARGE = 400_000;

    private static MemorySegment filled(int count, int value) {
        int[] ints = new int[count];
        Arrays.fill(ints, value);
        return MemorySegment.ofArray(ints);
    }

    private static void assertFilled(MemorySegment memory, int value) {
        assertThat(memory.mismatch(filled((int) (memory.byteSize() / 4), value)))
                .isEqualTo(-1);
    }

    @ParameterizedTest
    @ValueSource(strings = {"SHM 2", "TCP 2", "1+1"})
    void tagsAreReceivedInAnyOrder(Plane plane) {
        LocalWorld.run(plane.world(), world -> {
            Messages messages = world.group().messages();
            if (world.rank() == 0) {
                messages.send(filled(LARGE, 3), DataType.I32, LARGE, 1, 3);
                messages.send(filled(0, 0), DataType.I32, 0, 1, 4);
                messages.send(filled(2, 5), DataType.I32, 2, 1, 5);
                messages.send(filled(2, 6), DataType.I32, 2, 1, 5);
                world.group().send(filled(1, 7), DataType.I32, 1, 1);
            } else {
                MemorySegment small = filled(2, 0);
                world.group().recv(small, DataType.I32, 1, 0);
                assertThat(small.get(ValueLayout.JAVA_INT, 0)).isEqualTo(7);
                assertThat(messages.recv(small, DataType.I32, 2, 0, 5)).isEqualTo(new Received(0, 5, 2));
                assertFilled(small, 5);
                MemorySegment large = filled(LARGE, 0);
                messages.recv(large, DataType.I32, LARGE, 0, 3);
                assertFilled(large, 3);
                messages.recv(small, DataType.I32, 2, 0, 5);
                assertFilled(small, 6);
                messages.recv(MemorySegment.NULL.asSlice(0, 0), DataType.I32, 0, 0, 4);
            }
        });
    }

    /** The thread that reads a message may be in a receive of its own. No continuation may delay that receive. */
    @ParameterizedTest
    @ValueSource(strings = {"SHM 2", "TCP 2", "1+1"})
    void aContinuationThatReceivesIsRefusedOnAnyReadingThread(Plane plane) {
        LocalWorld.run(plane.world(), world -> {
            Messages messages = world.group().messages();
            if (world.rank() == 0) {
                messages.recv(filled(1, 0), DataType.I32, 1, 1, 0);
                for (int tag = 1; tag <= 3; tag++) {
                    messages.send(filled(1, tag), DataType.I32, 1, 1, tag);
                }
            } else {
                MemorySegment last = filled(1, 0);
                ReceiveFuture first = messages.recvAsync(filled(1, 0), DataType.I32, 1, 0, 1);
                CompletableFuture<Void> continued =
                        first.future().thenRun(() -> messages.recv(last, DataType.I32, 1, 0, 3));
                messages.send(filled(1, 0), DataType.I32, 1, 0, 0);
                messages.recv(filled(1, 0), DataType.I32, 1, 0, 2);
                assertThatThrownBy(() -> continued.get(20, TimeUnit.SECONDS))
                        .hasRootCauseInstanceOf(CommException.class)
                        .hasMessageContaining("continuation");
                messages.recv(last, DataType.I32, 1, 0, 3);
                assertFilled(last, 3);
            }
        });
    }

    /** The receive that was called first gets its message last, because rank 0 sends it after the second receive. */
    @ParameterizedTest
    @ValueSource(strings = {"SHM 2", "TCP 2", "1+1"})
    void aReceiveDoesNotWaitForTheMessagesOfOthers(Plane plane) {
        LocalWorld.run(plane.world(), world -> {
            Messages messages = world.group().messages();
            MemorySegment one = filled(1, 0);
            MemorySegment other = filled(1, 0);
            if (world.rank() == 0) {
                messages.send(filled(1, 5), DataType.I32, 1, 1, 5);
                messages.recv(one, DataType.I32, 1, 1, 0);
                messages.send(filled(1, 3), DataType.I32, 1, 1, 3);
            } else {
                ReceiveFuture last = messages.recvAsync(one, DataType.I32, 1, 0, 3);
                ReceiveFuture first = messages.recvAsync(other, DataType.I32, 1, 0, 5);
                first.await(Duration.ofSeconds(20));
                assertFilled(other, 5);
                assertThat(last.isDone()).isFalse();
                messages.send(filled(1, 0), DataType.I32, 1, 0, 0);
                assertThat(last.received()).isEqualTo(new Received(0, 3, 1));
                assertFilled(one, 3);
            }
        });
    }

    @ParameterizedTest
    @ValueSource(strings = {"SHM 2", "SHM 4", "TCP 2", "TCP 4", "2+1", "2+2"})
    void anySourceReportsTheSenderAndKeepsEachSendersOrder(Plane plane) {
        int size = plane.size();
        int each = 40;
        int count = 3000;
        LocalWorld.run(plane.world(), world -> {
            Messages messages = world.group().messages();
            if (world.rank() != 0) {
                for (int i = 0; i < each; i++) {
                    messages.send(filled(count, 100 * world.rank() + i), DataType.I32, count, 0, 9);
                }
            } else {
                int[] seen = new int[size];
                MemorySegment buffer = filled(count, -1);
                for (int i = 0; i < each * (size - 1); i++) {
                    Received received = i % 3 == 0
                            ? messages.recvAsync(buffer, DataType.I32, count, Messages.ANY_SOURCE, 9)
                                    .received()
                            : messages.recv(buffer, DataType.I32, count, Messages.ANY_SOURCE, 9);
                    assertThat(received.count()).isEqualTo(count);
                    assertFilled(buffer, 100 * received.source() + seen[received.source()]++);
                }
                assertThat(seen[size - 1]).isEqualTo(each);
            }
            world.group().barrier();
        });
    }

    /** One thread waits for a rank, another for any: both streams and all receives are served. */
    @ParameterizedTest
    @ValueSource(strings = {"SHM 3", "TCP 3", "2+1"})
    void receivesFromOneAndFromAnyRankShareTheMessages(Plane plane) {
        int each = 50;
        LocalWorld.run(plane.world(), world -> {
            Messages messages = world.group().messages();
            if (world.rank() == 0) {
                List<ReceiveFuture> receipts = new ArrayList<>();
                List<MemorySegment> buffers = new ArrayList<>();
                for (int i = 0; i < 3 * each; i++) {
                    MemorySegment buffer = filled(1, -1);
                    buffers.add(buffer);
                    int source = i % 3 == 0 ? 1 : Messages.ANY_SOURCE;
                    receipts.add(messages.recvAsync(buffer, DataType.I32, 1, source, i % 3 == 2 ? 1 : 0));
                }
                world.group().barrier();
                int sum = 0;
                for (int i = 0; i < 3 * each; i++) {
                    receipts.get(i).await(Duration.ofSeconds(20));
                    sum += buffers.get(i).get(ValueLayout.JAVA_INT, 0);
                }
                assertThat(sum).isEqualTo(2 * each * (2 * each - 1) / 2 + each * 1000);
            } else {
                world.group().barrier();
                boolean isOne = world.rank() == 1;
                for (int i = 0; i < (isOne ? 2 * each : each); i++) {
                    messages.send(filled(1, isOne ? i : 1000), DataType.I32, 1, 0, isOne ? 0 : 1);
                }
            }
            world.group().barrier();
        });
    }

    /** Each rank lists its part in another order, and every message is too large to be sent before it is received. */
    @ParameterizedTest
    @ValueSource(strings = {"SHM 2", "SHM 4", "TCP 3", "2+1", "1+1+2"})
    void exchangesWithAllNeighboursDoNotLockUp(Plane plane) {
        int size = plane.size();
        LocalWorld.run(plane.world(), world -> {
            int rank = world.rank();
            for (int round = 0; round < 3; round++) {
                List<Transfer> transfers = new ArrayList<>();
                List<MemorySegment> received = new ArrayList<>();
                for (int peer = 0; peer < size; peer++) {
                    MemorySegment buffer = filled(LARGE, -1);
                    received.add(buffer);
                    if (peer != rank) {
                        transfers.add(new Transfer.Send(filled(LARGE, 10 * rank + peer), DataType.I32, LARGE, peer, 1));
                        transfers.add(new Transfer.Recv(buffer, DataType.I32, LARGE, peer, 1));
                    }
                }
                Collections.shuffle(transfers, new Random(rank + round));
                world.group().messages().exchange(transfers);
                for (int peer = 0; peer < size; peer++) {
                    assertFilled(received.get(peer), peer == rank ? -1 : 10 * peer + rank);
                }
            }
        });
    }

    /** Messages of random tags and sizes between all ranks, received in a random order that keeps that of each tag. */
    @ParameterizedTest(name = "{0}, seed {1}")
    @CsvSource({"SHM 3, 1", "SHM 3, 2", "TCP 3, 3", "TCP 3, 4", "2+1, 5", "1+1+2, 6"})
    void randomProgramsGetTheirMessages(Plane plane, long seed) {
        int size = plane.size();
        int each = 30;
        record Message(int source, int tag, int count, int value) {}
        LocalWorld.run(plane.world(), world -> {
            Messages messages = world.group().messages();
            List<Message> incoming = new ArrayList<>();
            List<Work> works = new ArrayList<>();
            SplittableRandom random = new SplittableRandom(seed);
            for (int i = 0; i < each * size * size; i++) {
                int source = random.nextInt(size);
                int destination = random.nextInt(size);
                Message message = new Message(
                        source, random.nextInt(4), random.nextInt(10) == 0 ? 100_000 : random.nextInt(50), i);
                if (source != destination && destination == world.rank()) {
                    incoming.add(message);
                } else if (source != destination && source == world.rank()) {
                    works.add(messages.sendAsync(
                            filled(message.count(), i), DataType.I32, message.count(), destination, message.tag()));
                }
            }
            List<List<Message>> streams = new ArrayList<>();
            for (int stream = 0; stream < 4 * size; stream++) {
                int source = stream / 4;
                int tag = stream % 4;
                streams.add(new ArrayList<>(incoming.stream()
                        .filter(message -> message.source() == source && message.tag() == tag)
                        .toList()));
            }
            Random own = new Random(seed * 31 + world.rank());
            List<Runnable> checks = new ArrayList<>();
            while (streams.removeIf(List::isEmpty) || !streams.isEmpty()) {
                if (streams.isEmpty()) {
                    break;
                }
                Message next = streams.get(own.nextInt(streams.size())).removeFirst();
                MemorySegment buffer = filled(next.count(), -1);
                if (own.nextBoolean()) {
                    messages.recv(buffer, DataType.I32, next.count(), next.source(), next.tag());
                    assertFilled(buffer, next.value());
                } else {
                    works.add(messages.recvAsync(buffer, DataType.I32, next.count(), next.source(), next.tag()));
                    checks.add(() -> assertFilled(buffer, next.value()));
                }
            }
            works.forEach(work -> work.await(Duration.ofSeconds(30)));
            checks.forEach(Runnable::run);
        });
    }

    @ParameterizedTest
    @ValueSource(strings = {"SHM 2", "TCP 2", "1+1"})
    void otherSizesAndTypesAreAMismatchThatNamesBoth(Plane plane) {
        CountDownLatch failed = new CountDownLatch(1);
        LocalWorld.run(plane.world(), world -> {
            if (world.rank() == 0) {
                world.group().messages().send(filled(3, 1), DataType.I32, 3, 1, 8);
                assertThat(failed.await(20, java.util.concurrent.TimeUnit.SECONDS))
                        .isTrue();
            } else {
                assertThatThrownBy(() ->
                                world.group().messages().recv(filled(4, 1), DataType.I32, 4, Messages.ANY_SOURCE, 8))
                        .isInstanceOfSatisfying(
                                CommException.class,
                                comm -> assertThat(comm.code()).isEqualTo(ErrorCode.COLLECTIVE_MISMATCH))
                        .hasMessageContaining("rank 0 called send #0(i32, 3, tag 8, to 1)")
                        .hasMessageContaining("rank 1 called recv #0(i32, 4, tag 8, from any)");
                failed.countDown();
            }
        });
    }

    @ParameterizedTest
    @ValueSource(strings = {"SHM 3", "TCP 3", "2+1"})
    void objectsTravelAsMessages(Plane plane) {
        CountDownLatch senders = new CountDownLatch(2);
        LocalWorld.run(plane.world(), world -> {
            Messages messages = world.group().messages();
            if (world.rank() == 0) {
                List<String> words = new ArrayList<>();
                words.add(messages.recvObject(Messages.ANY_SOURCE, 2, Codec.STRING));
                words.add(messages.recvObject(Messages.ANY_SOURCE, 2, Codec.STRING));
                assertThat(words).containsExactlyInAnyOrder("rank 1", "rank 2");
                assertThatThrownBy(() -> messages.recvObject(1, 3, Codec.STRING))
                        .isInstanceOfSatisfying(
                                CommException.class,
                                comm -> assertThat(comm.code()).isEqualTo(ErrorCode.USAGE))
                        .hasMessageContaining("the codec cannot decode the 1 bytes of rank 1");
                world.group().barrier();
                // The mismatch fails the group, and with the group a barrier that a rank has not left.
                assertThat(senders.await(60, TimeUnit.SECONDS)).isTrue();
                assertThatThrownBy(() -> messages.recvObject(1, 4, Codec.STRING))
                        .hasMessageContaining("send #2(i32, 1, tag 4, to 0)")
                        .hasMessageContaining("an object, tag 4");
            } else {
                messages.sendObject("rank " + world.rank(), 0, 2, Codec.STRING);
                if (world.rank() == 1) {
                    messages.sendObject(new byte[] {(byte) 0xff}, 0, 3, Codec.BYTES);
                    messages.send(filled(1, 1), DataType.I32, 1, 0, 4);
                }
                world.group().barrier();
                senders.countDown();
            }
        });
    }

    @ParameterizedTest
    @ValueSource(strings = {"SHM 3", "2+1"})
    void aWaitForAnySourceEndsWhenARankLeaves(Plane plane) {
        LocalWorld.run(plane.world(), world -> {
            if (world.rank() == 0) {
                assertThatThrownBy(() ->
                                world.group().messages().recv(filled(1, 0), DataType.I32, 1, Messages.ANY_SOURCE, 0))
                        .isInstanceOfSatisfying(
                                CommException.class,
                                comm -> assertThat(comm.code()).isEqualTo(ErrorCode.PEER_LOST))
                        .hasMessageContaining("returned from main while rank 0")
                        .hasMessageContaining("from any");
            }
        });
    }

    /** Others may still send: also when a rank has left whose stream has ended. */
    @ParameterizedTest
    @ValueSource(strings = {"SHM 3", "TCP 3", "2+1"})
    void aWaitForAnySourceContinuesWhileAnotherRankIsLeft(Plane plane) {
        CompletableFuture<Thread> first = new CompletableFuture<>();
        LocalWorld.run(plane.world(), world -> {
            Messages messages = world.group().messages();
            if (world.rank() == 0) {
                MemorySegment one = filled(1, 0);
                assertThat(messages.recv(one, DataType.I32, 1, Messages.ANY_SOURCE, 0)
                                .source())
                        .isEqualTo(1);
                assertThat(messages.recv(one, DataType.I32, 1, Messages.ANY_SOURCE, 0)
                                .source())
                        .isEqualTo(2);
                assertFilled(one, 2);
            } else if (world.rank() == 1) {
                messages.send(filled(1, 1), DataType.I32, 1, 0, 0);
                first.complete(Thread.currentThread());
            } else {
                first.get(20, TimeUnit.SECONDS).join(); // By then all ranks have the report that rank 1 has left.
                messages.send(filled(1, 2), DataType.I32, 1, 0, 0);
            }
        });
    }

    /** The progress thread waits for the first receive, which has more time. */
    @ParameterizedTest
    @ValueSource(strings = {"SHM 2", "TCP 2", "1+1"})
    void theTimeOfAReceiveBeginsWithItsCall(Plane plane) {
        CountDownLatch failed = new CountDownLatch(1);
        LocalWorld.run(plane.world(), world -> {
            if (world.rank() == 0) {
                ProcessGroup patient = world.group().withTimeout(Duration.ofHours(1));
                ProcessGroup hasty = world.group().withTimeout(Duration.ofSeconds(1));
                ReceiveFuture first = patient.messages().recvAsync(filled(1, 0), DataType.I32, 1, 1, 1);
                ReceiveFuture second = hasty.messages().recvAsync(filled(1, 0), DataType.I32, 1, 1, 2);
                for (ReceiveFuture receipt : List.of(second, first)) {
                    assertThatThrownBy(() -> receipt.await(Duration.ofSeconds(60)))
                            .isInstanceOfSatisfying(
                                    CommException.class,
                                    comm -> assertThat(comm.code()).isEqualTo(ErrorCode.COLLECTIVE_TIMEOUT))
                            .hasMessageContaining("recv #1(i32, 1, tag 2, from 1)")
                            .hasMessageContaining("timed out after 1 s");
                }
                failed.countDown();
            } else {
                assertThat(failed.await(60, TimeUnit.SECONDS)).isTrue();
            }
        });
    }

    /** The progress thread waits for the first receive, which nothing will ever fit. */
    @ParameterizedTest
    @ValueSource(strings = {"SHM 2", "TCP 2", "1+1"})
    void aMismatchThatIsKnownWhenAReceiveIsCalledFailsTheGroupAtOnce(Plane plane) {
        CountDownLatch failed = new CountDownLatch(1);
        LocalWorld.run(plane.world().withTimeout(Duration.ofHours(1)), world -> {
            Messages messages = world.group().messages();
            if (world.rank() == 0) {
                messages.send(filled(5, 1), DataType.I32, 5, 1, 2);
                messages.send(filled(1, 1), DataType.I32, 1, 1, 3);
                assertThat(failed.await(60, TimeUnit.SECONDS)).isTrue();
            } else {
                messages.recv(filled(1, 0), DataType.I32, 1, 0, 3);
                ReceiveFuture first = messages.recvAsync(filled(1, 0), DataType.I32, 1, 0, 1);
                ReceiveFuture second = messages.recvAsync(filled(6, 0), DataType.I32, 6, 0, 2);
                for (ReceiveFuture receipt : List.of(second, first)) {
                    assertThatThrownBy(() -> receipt.await(Duration.ofSeconds(60)))
                            .isInstanceOfSatisfying(
                                    CommException.class,
                                    comm -> assertThat(comm.code()).isEqualTo(ErrorCode.COLLECTIVE_MISMATCH))
                            .hasMessageContaining("rank 0 called send #0(i32, 5, tag 2, to 1)")
                            .hasMessageContaining("rank 1 called recv #2(i32, 6, tag 2, from 0)");
                }
                failed.countDown();
            }
        });
    }

    /**
     * Four messages without receives fill the memory. The fifth waits until its receive, and so do all later messages.
     */
    @ParameterizedTest
    @ValueSource(strings = {"SHM 2", "TCP 2", "1+1"})
    void messagesForWhichThereIsNoRoomWaitWithTheirSender(Plane plane) {
        int count = (int) (Messages.MAX_UNEXPECTED_BYTES / Integer.BYTES / 4);
        LocalWorld.run(plane.world(), world -> {
            Messages messages = world.group().messages();
            if (world.rank() == 0) {
                MemorySegment data = filled(count, 7);
                List<Work> works = new ArrayList<>();
                for (int tag = 0; tag < 5; tag++) {
                    works.add(messages.sendAsync(data, DataType.I32, count, 1, tag));
                }
                works.add(messages.sendAsync(filled(1, 9), DataType.I32, 1, 1, 9));
                works.get(3).await();
                assertIsHeldBack(works.get(4));
                world.group().barrier();
                works.getLast().await();
            } else {
                MemorySegment last = filled(1, 0);
                ReceiveFuture reads = messages.recvAsync(last, DataType.I32, 1, 0, 9);
                world.group().barrier();
                MemorySegment data = filled(count, 0);
                for (int tag : List.of(4, 1, 0, 3, 2)) {
                    data.fill((byte) 0);
                    messages.recv(data, DataType.I32, count, 0, tag);
                    assertFilled(data, 7);
                }
                reads.await();
                assertFilled(last, 9);
            }
            world.group().barrier();
        });
    }

    /** Two that do not fit together come one after the other, each before the message that is waited for. */
    @Test
    void aMessageThatIsReceivedGivesItsRoomBack() {
        int count = (int) (Messages.MAX_UNEXPECTED_BYTES / Integer.BYTES / 2) + 1;
        LocalWorld.run(2, world -> {
            Messages messages = world.group().messages();
            MemorySegment data = filled(count, world.rank() == 0 ? 7 : 0);
            for (int turn = 0; turn < 2; turn++) {
                MemorySegment small = filled(1, turn);
                if (world.rank() == 0) {
                    messages.send(data, DataType.I32, count, 1, 1);
                    messages.send(small, DataType.I32, 1, 1, 2);
                } else {
                    messages.recv(small, DataType.I32, 1, 0, 2);
                    data.fill((byte) 0);
                    messages.recv(data, DataType.I32, count, 0, 1);
                    assertFilled(data, 7);
                }
            }
        });
    }

    /** It would take some hundredths of a second, if there were room. */
    private static void assertIsHeldBack(Work sent) {
        assertThatThrownBy(() -> sent.await(Duration.ofMillis(700)))
                .isInstanceOfSatisfying(
                        CommException.class, comm -> assertThat(comm.code()).isEqualTo(ErrorCode.COLLECTIVE_TIMEOUT));
    }

    @ParameterizedTest
    @ValueSource(strings = {"SHM 2", "TCP 2", "1+1"})
    void aReceiveThatNothingFitsTimesOut(Plane plane) {
        CountDownLatch failed = new CountDownLatch(1);
        LocalWorld.run(plane.world(), world -> {
            world.group().barrier();
            if (world.rank() == 0) {
                ProcessGroup hasty = world.group().withTimeout(Duration.ofMillis(1200));
                assertThatThrownBy(() -> hasty.messages().recv(filled(1, 0), DataType.I32, 1, Messages.ANY_SOURCE, 5))
                        .isInstanceOfSatisfying(
                                CommException.class,
                                comm -> assertThat(comm.code()).isEqualTo(ErrorCode.COLLECTIVE_TIMEOUT))
                        .hasMessageContaining("recv #0(i32, 1, tag 5, from any)");
                failed.countDown();
            } else {
                assertThat(failed.await(20, java.util.concurrent.TimeUnit.SECONDS))
                        .isTrue();
            }
        });
    }
}
