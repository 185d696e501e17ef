package io.jrun.comm.message;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.CommException;
import io.jrun.comm.DataType;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.backend.Backend;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.Deadline;
import io.jrun.comm.backend.Envelope;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.backend.GroupHealth;
import io.jrun.comm.backend.OpKind;
import io.jrun.comm.backend.WorldContext;
import io.jrun.comm.control.Bytes;
import io.jrun.comm.control.Frame.Peer;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Two threads receive from one rank, and one of them reads for both, on a data plane that fails. */
@Timeout(120)
class InboxTest {
    private static final Duration PATIENT = Duration.ofMinutes(10);
    private static final Duration HASTY = Duration.ofSeconds(1);

    /** The stream of one sender. The other methods are not called. */
    private abstract static class Stream implements Backend {
        final AtomicInteger reads = new AtomicInteger();
        final CountDownLatch isRead = new CountDownLatch(1);

        @Override
        public void run(Call call) {}

        @Override
        public MemorySegment allocate(Call call) {
            return MemorySegment.NULL;
        }

        @Override
        public void healthChanged() {}

        @Override
        public void close() {}
    }

    private final List<CommException> failures = new CopyOnWriteArrayList<>();
    private final CountDownLatch failed = new CountDownLatch(1);
    private final Inbox inbox = new Inbox(pair(), failure -> {
        failures.add(failure);
        failed.countDown();
    });

    private static GroupContext pair() {
        List<Peer> peers = List.of(peer(0), peer(1));
        WorldContext world = new WorldContext("run", 0, 0, Bytes.EMPTY, peers, Optional.empty());
        return new GroupContext(world, "world", 0, peers, false, Duration.ofMinutes(1), new GroupHealth());
    }

    private static Peer peer(int rank) {
        return new Peer(rank, 0, rank, "host", "127.0.0.1", 0, 100 + rank);
    }

    private static MemorySegment ints() {
        return MemorySegment.ofArray(new int[1]);
    }

    private static Call request() {
        return Call.requested(OpKind.RECV, DataType.I32, ReduceOp.SUM, 1, 1, ints(), ints(), null, null);
    }

    private PostedReceive post(int tag, Duration timeout) {
        return inbox.post(request(), tag, Deadline.after(timeout));
    }

    private void await(Stream stream, PostedReceive posted) {
        inbox.await(stream, request().numbered(posted.sequence(), posted.deadline()), posted);
    }

    private CompletableFuture<Void> awaitInBackground(Stream stream, PostedReceive posted) {
        return CompletableFuture.runAsync(() -> await(stream, posted), Executors.newVirtualThreadPerTaskExecutor());
    }

    private static CommException broken() {
        return new CommException(ErrorCode.SYSTEM, "the stream is broken");
    }

    @Test
    void noThreadReadsTheStreamOfAFailedReader() throws Exception {
        CountDownLatch secondWaits = new CountDownLatch(1);
        Stream stream = new Stream() {
            @Override
            public Envelope next(Call receive) {
                reads.incrementAndGet();
                isRead.countDown();
                try {
                    secondWaits.await();
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
                throw broken();
            }
        };
        CompletableFuture<Void> first = awaitInBackground(stream, post(1, PATIENT));
        assertThat(stream.isRead.await(60, TimeUnit.SECONDS)).isTrue();
        PostedReceive second = post(2, HASTY);
        secondWaits.countDown();

        assertThatThrownBy(() -> first.get(60, TimeUnit.SECONDS)).hasMessageContaining("the stream is broken");
        assertThatThrownBy(() -> await(stream, second)).hasMessageContaining("timed out after 1 s");
        assertThat(stream.reads).hasValue(1);
    }

    /** Its memory is not its caller's before the reader has ended, which the failure of the group brings about. */
    @Test
    void aReceiveThatAnotherThreadFillsHasADeadline() throws Exception {
        Stream stream = new Stream() {
            @Override
            public Envelope next(Call receive) {
                return new Envelope(2, DataType.I32, 1, false);
            }

            @Override
            public void receive(Call call) {
                isRead.countDown();
                try {
                    assertThat(failed.await(90, TimeUnit.SECONDS)).isTrue();
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
                throw broken();
            }
        };
        PostedReceive hasty = post(2, HASTY);
        CompletableFuture<Void> reader = awaitInBackground(stream, post(1, PATIENT));
        assertThat(stream.isRead.await(60, TimeUnit.SECONDS)).isTrue();

        assertThatThrownBy(() -> await(stream, hasty)).hasMessageContaining("timed out after 1 s");
        assertThat(failures)
                .singleElement()
                .satisfies(failure -> assertThat(failure)
                        .hasMessageContaining("recv #0(i32, 1, tag 2, from 1)")
                        .hasMessageContaining("timed out after 1 s"));
        assertThatThrownBy(() -> reader.get(60, TimeUnit.SECONDS)).hasMessageContaining("the stream is broken");
    }

    @Test
    void anObjectWithoutRoomDelaysNoOtherReceive() {
        Stream stream = new Stream() {
            @Override
            public Envelope next(Call receive) {
                return new Envelope(2, DataType.U8, 1L << 40, true);
            }
        };
        PostedReceive object = inbox.postObject(request(), 2, Deadline.after(HASTY));

        assertThatThrownBy(() -> await(stream, post(1, PATIENT)))
                .hasMessageContaining("the object has " + (1L << 40) + " bytes");
        assertThat(object.isFilling()).isFalse();
        assertThatThrownBy(() -> await(stream, object)).hasMessageContaining("timed out after 1 s");
    }
}
