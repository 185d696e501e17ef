package io.jrun.comm;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorldOptions;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.SplittableRandom;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The shared-memory protocol under stress: many short operations with every way of exposing data, with random delays of
 * the ranks, and a check of each value. A word or a half that is reused too early, or data that is read too early,
 * shows as a value of another operation. {@code -Djrun.soak=true} runs forty times as many operations,
 * {@code -Djrun.seed=N} another order.
 */
class ShmStressTest {
    private static final int OPERATIONS = Boolean.getBoolean("jrun.soak") ? 200_000 : 5_000;
    private static final long SEED = Long.getLong("jrun.seed", 1);

    /** In words of 8 bytes: within an entry, just beyond it, and beyond a staging area's half. */
    private static final int[] COUNTS = {1, 7, 512, 513, 2000};

    private static final int LARGE_COUNT = (1 << 17) + 9;
    /** Large operations move as much as a thousand small ones, and alone use both halves of a staging area in turn. */
    private static final int LARGE_EVERY = 400;

    @ParameterizedTest(name = "{0} ranks")
    @ValueSource(ints = {2, 3, 4})
    void everyValueIsOfItsOwnOperation(int ranks) {
        LocalWorldOptions options =
                LocalWorldOptions.ofSize(ranks).withTransport(TransportKind.SHM).withTimeout(Duration.ofSeconds(60));
        LocalWorld.run(options, world -> new Course(world.group()).run());
    }

    /** One rank's way through the operations, which all ranks draw alike, at a pace that each draws for itself. */
    private static final class Course {
        private final ProcessGroup group;
        private final SplittableRandom common = new SplittableRandom(SEED);
        private final SplittableRandom own;
        private final MemorySegment registered;
        private final MemorySegment heap = MemorySegment.ofArray(new long[LARGE_COUNT]);
        private final MemorySegment all;

        Course(ProcessGroup group) {
            this.group = group;
            this.own = new SplittableRandom(SEED * 31 + group.groupRank() + 1);
            this.registered = group.allocate((long) LARGE_COUNT * Long.BYTES);
            this.all = MemorySegment.ofArray(new long[COUNTS[COUNTS.length - 1] * group.size()]);
        }

        void run() {
            for (int operation = 0; operation < OPERATIONS; operation++) {
                MemorySegment memory = common.nextBoolean() ? registered : heap;
                int count = operation % LARGE_EVERY == LARGE_EVERY - 1
                        ? LARGE_COUNT
                        : COUNTS[common.nextInt(COUNTS.length)];
                int block = Math.min(count, COUNTS[COUNTS.length - 1]);
                int kind = common.nextInt(10);
                boolean asynchronous = common.nextInt(8) == 0;
                loiter();
                fill(memory, Math.max(count, block * group.size()), operation);
                switch (kind) {
                    case 0, 1 -> allReduce(memory, count, operation, asynchronous);
                    case 2 -> broadcast(memory, count, operation);
                    case 3 -> passRound(memory, count, operation);
                    case 4 -> allGather(memory, block, operation);
                    case 5 -> reduce(memory, count, operation);
                    case 6 -> reduceScatter(memory, block, operation);
                    case 7 -> allToAll(memory, block, operation);
                    case 8 -> scatter(memory, block, operation);
                    default -> gather(memory, block, operation);
                }
            }
        }

        private void allReduce(MemorySegment memory, int count, int operation, boolean asynchronous) {
            if (asynchronous) {
                group.allReduceAsync(memory, DataType.I64, count, ReduceOp.SUM).await();
            } else {
                group.allReduce(memory, DataType.I64, count, ReduceOp.SUM);
            }
            check(memory, 0, count, operation, "sum", sum(operation), group.size());
        }

        private void reduce(MemorySegment memory, int count, int operation) {
            int root = operation % group.size();
            group.reduce(memory, DataType.I64, count, ReduceOp.SUM, root);
            if (group.groupRank() == root) {
                check(memory, 0, count, operation, "sum at root", sum(operation), group.size());
            } else {
                check(memory, 0, count, operation, "part of a sum", value(operation, group.groupRank()), 1);
            }
        }

        private void reduceScatter(MemorySegment memory, int count, int operation) {
            group.reduceScatter(memory, all, DataType.I64, count, ReduceOp.SUM);
            long before = (long) group.groupRank() * count * group.size();
            check(all, 0, count, operation, "block of a sum", sum(operation) + before, group.size());
        }

        private void broadcast(MemorySegment memory, int count, int operation) {
            int root = operation % group.size();
            group.broadcast(memory, DataType.I64, count, root);
            check(memory, 0, count, operation, "broadcast", value(operation, root), 1);
        }

        private void allGather(MemorySegment memory, int count, int operation) {
            group.allGather(memory.asSlice(0, (long) count * Long.BYTES), all, DataType.I64, count);
            checkBlocks(count, operation, "gathered block", 0);
        }

        private void gather(MemorySegment memory, int count, int operation) {
            int root = operation % group.size();
            group.gather(memory, group.groupRank() == root ? all : null, DataType.I64, count, root);
            if (group.groupRank() == root) {
                checkBlocks(count, operation, "block at root", 0);
            }
        }

        private void allToAll(MemorySegment memory, int count, int operation) {
            group.allToAll(memory, all, DataType.I64, count);
            checkBlocks(count, operation, "exchanged block", group.groupRank() * count);
        }

        private void scatter(MemorySegment memory, int count, int operation) {
            int root = operation % group.size();
            group.scatter(group.groupRank() == root ? memory : null, all, DataType.I64, count, root);
            check(
                    all,
                    0,
                    count,
                    operation,
                    "scattered block",
                    value(operation, root) + (long) group.groupRank() * count,
                    1);
        }

        /** All ranks send to the right and receive from the left at once. */
        private void passRound(MemorySegment memory, int count, int operation) {
            int right = (group.groupRank() + 1) % group.size();
            int left = Math.floorMod(group.groupRank() - 1, group.size());
            MemorySegment received = memory.equals(registered) ? heap : registered;
            Work sent = group.sendAsync(memory, DataType.I64, count, right);
            group.recv(received, DataType.I64, count, left);
            check(received, 0, count, operation, "message", value(operation, left), 1);
            sent.await();
        }

        private void fill(MemorySegment memory, int count, int operation) {
            for (int i = 0; i < count; i++) {
                memory.setAtIndex(ValueLayout.JAVA_LONG, i, value(operation, group.groupRank()) + i);
            }
        }

        /** Different for every operation and rank, with room for an index in a sum. */
        private static long value(int operation, int rank) {
            return (operation * 16L + rank) << 24;
        }

        private long sum(int operation) {
            long sum = 0;
            for (int rank = 0; rank < group.size(); rank++) {
                sum += value(operation, rank);
            }
            return sum;
        }

        /** One of every rank, which begins with its element {@code first}. */
        private void checkBlocks(int count, int operation, String what, int first) {
            for (int rank = 0; rank < group.size(); rank++) {
                check(all, rank * count, count, operation, what, value(operation, rank) + first, 1);
            }
        }

        private static void check(
                MemorySegment memory, int from, int count, int operation, String what, long value, long step) {
            for (int i = 0; i < count; i++) {
                long found = memory.getAtIndex(ValueLayout.JAVA_LONG, from + i);
                if (found != value + i * step) {
                    assertThat(found)
                            .as("-Djrun.seed=%d: %s, operation %d, element %d of %d", SEED, what, operation, i, count)
                            .isEqualTo(value + i * step);
                }
            }
        }

        /** Comes later by a chance that makes the others spin, sometimes sleep. */
        private void loiter() {
            switch (own.nextInt(12)) {
                case 0 -> LockSupport.parkNanos(own.nextInt(200_000));
                case 1, 2 -> {
                    for (int spin = own.nextInt(2000); spin > 0; spin--) {
                        Thread.onSpinWait();
                    }
                }
                default -> {}
            }
        }
    }
}
