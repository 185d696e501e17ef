package io.jrun.comm.group;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.jrun.comm.CommException;
import io.jrun.comm.DataType;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.GroupOptions;
import io.jrun.comm.OpenFiles;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.TransportKind;
import io.jrun.comm.Work;
import io.jrun.comm.backend.Deadline;
import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorldOptions;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Refusals of a closed group, the end of pending operations at a close, and leftovers after a close. */
@Timeout(120)
class GroupLifecycleTest {
    private static final Duration TIMEOUT = Duration.ofSeconds(60);
    private static final Duration SOON = Duration.ofSeconds(20);

    private static LocalWorldOptions two(TransportKind transport) {
        return LocalWorldOptions.ofSize(2).withTransport(transport).withTimeout(TIMEOUT);
    }

    private static MemorySegment ints() {
        return MemorySegment.ofArray(new int[4]);
    }

    private static void assertUsage(ThrowingCallable call, String text) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        CommException.class,
                        failure -> assertThat(failure.code()).isEqualTo(ErrorCode.USAGE))
                .hasMessageContaining(text);
    }

    @ParameterizedTest
    @EnumSource(names = {"SHM", "TCP"})
    void aTimeoutForEverIsOne(TransportKind transport) {
        Duration forEver = Duration.ofSeconds(Long.MAX_VALUE);
        LocalWorld.run(two(transport), world -> {
            ProcessGroup group = world.group();
            group.withTimeout(forEver).barrier();
            group.barrierAsync().await(forEver);
            try (ProcessGroup part =
                    group.split(0, 0, group.options().withTimeout(forEver).withLateWarning(forEver))) {
                part.barrier();
            }
        });
    }

    @ParameterizedTest
    @EnumSource(names = {"SHM", "TCP"})
    void aBufferOfAClosedArenaIsRefusedAndTheGroupStaysUsable(TransportKind transport) {
        LocalWorld.run(two(transport), world -> {
            ProcessGroup group = world.group();
            if (world.rank() == 0) {
                MemorySegment closed;
                try (Arena arena = Arena.ofShared()) {
                    closed = arena.allocate(4 * Integer.BYTES);
                }
                assertUsage(() -> group.allReduce(closed, DataType.I32, 4, ReduceOp.SUM), "arena is closed");
            }
            group.allReduce(ints(), DataType.I32, 4, ReduceOp.SUM);
        });
    }

    @ParameterizedTest
    @EnumSource(names = {"SHM", "TCP"})
    void aClosedGroupRefusesEveryKindOfOperation(TransportKind transport) {
        LocalWorld.run(two(transport), world -> {
            ProcessGroup group = world.group().split(0, world.rank());
            int other = 1 - world.rank();
            group.barrier();
            world.group().barrier();
            group.close();
            world.group().barrier();

            assertUsage(group::barrier, "is closed");
            assertUsage(() -> group.send(ints(), DataType.I32, 4, other), "is closed");
            assertUsage(() -> group.sendAsync(ints(), DataType.I32, 4, other), "is closed");
            assertUsage(() -> group.recv(ints(), DataType.I32, 4, other), "is closed");
            assertUsage(() -> group.recvAsync(ints(), DataType.I32, 4, other), "is closed");
            assertUsage(() -> group.abort("too late"), "is closed");
            world.group().barrier();
        });
    }

    @Test
    void ranksThatSplitWithOptionsThatDifferAreNamedAndDoNoHarm() {
        LocalWorld.run(LocalWorldOptions.ofSize(3).withTimeout(TIMEOUT), world -> {
            ProcessGroup group = world.group();
            int color = world.rank() == 0 ? 0 : 1;
            GroupOptions options = group.options().withTimeout(Duration.ofSeconds(60 + world.rank()));
            GroupOptions odd = options.withDeterministic(world.rank() == 2).withAlgorithm("ring");
            if (world.rank() == 0) {
                group.split(color, 0, odd).close();
            } else {
                assertUsage(
                        () -> group.split(color, 0, odd),
                        "split: rank 1 gives deterministic false, compared true, backend jrun, algorithm ring, "
                                + "rank 2 gives deterministic true, compared true, backend jrun, algorithm ring");
            }
            try (ProcessGroup next = group.split(0, world.rank(), options)) {
                next.barrier();
            }
        });
    }

    @Test
    void aGroupClosedUnusedStaysWithoutSharedMemory() {
        LocalWorld.run(two(TransportKind.SHM), world -> {
            ProcessGroup group = world.group().split(0, world.rank());
            group.close();
            assertUsage(() -> group.abort("too late"), "is closed");
            assertUsage(() -> group.send(ints(), DataType.I32, 4, 1 - world.rank()), "is closed");
            world.group().barrier();
            try (var files = Files.list(Path.of("/dev/shm"))) {
                assertThat(files.map(Path::toString)).noneMatch(file -> file.contains(world.runId()));
            }
            world.group().barrier();
        });
    }

    @ParameterizedTest
    @EnumSource(names = {"SHM", "TCP"})
    void closingEndsWhatWouldStayPendingOnEveryRank(TransportKind transport) {
        LocalWorld.run(two(transport), world -> {
            ProcessGroup group = world.group().split(0, world.rank());
            group.barrier();
            if (world.rank() == 1) {
                CommException failure = catchThrowableOfType(CommException.class, group::barrier);
                assertThat(failure.code()).isEqualTo(ErrorCode.ABORTED);
                assertThat(failure).hasMessageContaining("was closed by rank 0 (host localhost");
                return;
            }
            Work pending = group.recvAsync(ints(), DataType.I32, 4, 1);
            long start = System.nanoTime();
            ((GroupView) group).close(Deadline.after(Duration.ofMillis(100)));
            assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(SOON);
            assertThat(pending.exception())
                    .get()
                    .satisfies(failure -> assertThat(failure).hasMessageContaining("while operations were pending"));
        });
    }

    /**
     * As during the unwinding after a failure: the other ranks wait for this rank, and must learn of the failure soon.
     */
    @ParameterizedTest
    @EnumSource(names = {"SHM", "TCP"})
    void closingWaitsLessForReceivesThanForOtherOperations(TransportKind transport) {
        LocalWorld.run(two(transport), world -> {
            if (world.rank() == 0) {
                assertThatThrownBy(() -> world.group().recv(ints(), DataType.I32, 4, 1))
                        .hasMessageContaining("was closed by rank 1")
                        .hasMessageContaining("or receives within 500 ms");
                return;
            }
            Work pending = world.group().recvAsync(ints(), DataType.I32, 4, 0);
            world.close();
            assertThat(pending.exception())
                    .get()
                    .satisfies(failure -> assertThat(failure).hasMessageContaining("or receives within 500 ms"));
        });
    }

    @Test
    void pendingOperationsMayEndWithinTheGracePeriod() {
        LocalWorld.run(two(TransportKind.SHM), world -> {
            Work pending = world.group().barrierAsync();
            world.close();
            assertThat(pending.exception()).isEmpty();
        });
    }

    @Test
    void aContinuationThatWouldWaitForItsOwnThreadIsRefused() {
        LocalWorld.run(two(TransportKind.SHM), world -> {
            ProcessGroup group = world.group().split(0, world.rank());
            int other = 1 - world.rank();
            for (Consumer<Work> waiting :
                    List.<Consumer<Work>>of(_ -> group.barrier(), Work::await, _ -> group.close())) {
                Work pending = group.recvAsync(ints(), DataType.I32, 4, other);
                Work later = group.recvAsync(ints(), DataType.I32, 4, other); // Its message is sent last.
                var continued = pending.future().thenRun(() -> waiting.accept(later));
                world.group().barrier(); // Both continuations are in place before the messages are sent.
                group.send(ints(), DataType.I32, 4, other);
                assertThatThrownBy(() -> continued
                                .orTimeout(SOON.toSeconds(), TimeUnit.SECONDS)
                                .join())
                        .isInstanceOf(CompletionException.class)
                        .hasMessageContaining("waits on the thread that runs the operations")
                        .hasRootCauseInstanceOf(CommException.class);
                group.send(ints(), DataType.I32, 4, other);
                later.await();
            }
            group.barrier();
        });
    }

    @Test
    void aContinuationMayStartOperationsAndLookAtThoseThatAreDone() {
        LocalWorld.run(two(TransportKind.SHM), world -> {
            Work first = world.group().barrierAsync();
            first.future()
                    .thenCompose(_ -> {
                        first.await();
                        return world.group().barrierAsync().future();
                    })
                    .orTimeout(SOON.toSeconds(), TimeUnit.SECONDS)
                    .join();
        });
    }

    @Test
    void aWorldWithoutCollectivesLeavesNoSocket() throws IOException, InterruptedException {
        LocalWorld.run(two(TransportKind.TCP), world -> {}); // The JDK keeps the resources of its first socket.
        OpenFiles before = OpenFiles.now();
        LocalWorld.run(two(TransportKind.TCP), world -> {});
        before.awaitNoMore();
    }

    @Test
    void storeKeysThatFitIntoNoFrameAreRefused() {
        List<String> keys = List.of("k".repeat(3 << 20), "l".repeat(3 << 20));
        LocalWorld.run(1, world -> {
            assertUsage(() -> world.store().await(keys, SOON), "2 keys of 6291464 bytes");
            assertUsage(() -> world.store().set(keys.getFirst(), new byte[1]), "1 keys of 3145732 bytes");
            assertUsage(() -> world.store().compareAndSet("k", new byte[2 << 20], new byte[1]), "has 2097152 bytes");
        });
    }
}
