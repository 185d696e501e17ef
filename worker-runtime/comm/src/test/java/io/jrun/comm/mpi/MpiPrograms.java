package io.jrun.comm.mpi;

import io.jrun.comm.CommException;
import io.jrun.comm.DataType;
import io.jrun.comm.Distributed;
import io.jrun.comm.GroupOptions;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.Work;
import io.jrun.comm.World;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.CountDownLatch;

/** The programs of {@link MpiWorldIT}. A wrong result ends a program with an exception. */
public final class MpiPrograms {
    private MpiPrograms() {}

    /** The first argument chooses. */
    public static void main(String[] args) throws InterruptedException {
        try (World world = Distributed.init()) {
            switch (args[0]) {
                case "groups" -> groups(world);
                case "refusals" -> refusals(world);
                case "absent" -> absent(world);
                default -> throw new IllegalArgumentException(args[0]);
            }
            System.out.println("rank " + world.rank() + " of " + world.size() + " is done, local rank "
                    + world.localRank() + " of " + world.localSize() + ", node " + world.nodeRank() + " of "
                    + world.nodeCount());
        }
    }

    /** The world, a part of it in reverse order, and jrun's own backend beside MPI's. */
    private static void groups(World world) {
        GroupOptions mpi = world.group().options().withBackend("mpi");
        try (ProcessGroup all = world.group().split(0, world.rank(), mpi);
                ProcessGroup reversed = all.split(world.rank() == 1 ? 1 : 0, -world.rank());
                ProcessGroup own = all.split(0, world.rank(), mpi.withBackend("jrun"))) {
            for (ProcessGroup group : new ProcessGroup[] {all, own}) {
                double[] sum = {world.rank() + 1, 10};
                group.allReduce(MemorySegment.ofArray(sum), DataType.F64, 2, ReduceOp.AVG);
                check(group.name() + " average", sum, new double[] {2, 10});
            }
            if (reversed.size() == 2) {
                long[] mine = {world.rank()};
                long[] both = new long[2];
                reversed.allGather(MemorySegment.ofArray(mine), MemorySegment.ofArray(both), DataType.I64, 1);
                check("order", both, new long[] {2, 0});
                MemorySegment pair = MemorySegment.ofArray(new int[] {world.rank(), 7, 3, 9});
                MemorySegment own2 = pair.asSlice(reversed.groupRank() * 8L, 8);
                reversed.reduceScatter(pair, own2, DataType.I32, 2, ReduceOp.MAX);
                check(
                        "in place",
                        own2.toArray(ValueLayout.JAVA_INT),
                        reversed.groupRank() == 0 ? new int[] {2, 7} : new int[] {3, 9});
            }
            int next = (world.rank() + 1) % world.size();
            byte[] got = new byte[1];
            Work sent = all.sendAsync(MemorySegment.ofArray(new byte[] {(byte) world.rank()}), DataType.BOOL, 1, next);
            all.recv(MemorySegment.ofArray(got), DataType.BOOL, 1, (world.rank() + 2) % world.size());
            sent.await(Duration.ofSeconds(30));
            check("message", got, new byte[] {(byte) ((world.rank() + 2) % world.size())});
            uneven(all);
            all.barrier();
        }
    }

    /** Rank r has r + 1 elements, all of them r. */
    private static void uneven(ProcessGroup group) {
        int rank = group.groupRank();
        long[] mine = new long[rank + 1];
        Arrays.fill(mine, rank);
        MemorySegment gathered = MemorySegment.ofArray(new long[6]);
        group.allGatherV(MemorySegment.ofArray(mine), gathered, DataType.I64, 1, 2, 3);
        check("blocks", gathered.toArray(ValueLayout.JAVA_LONG), new long[] {0, 1, 1, 2, 2, 2});
        MemorySegment sums = MemorySegment.ofArray(new long[rank + 1]);
        group.reduceScatterV(gathered, sums, DataType.I64, ReduceOp.SUM, 1, 2, 3);
        long[] tripled = Arrays.stream(mine).map(value -> 3 * value).toArray();
        check("sums", sums.toArray(ValueLayout.JAVA_LONG), tripled);
        long[] counts = {rank + 1, rank + 1, rank + 1};
        long[] expected = {1, 2, 3};
        MemorySegment sent = MemorySegment.ofArray(new long[3 * (rank + 1)]).fill((byte) rank);
        MemorySegment received = MemorySegment.ofArray(new long[6]);
        group.allToAllV(sent, counts, received, expected, DataType.I64);
        check(
                "turned",
                received.toArray(ValueLayout.JAVA_LONG),
                Arrays.stream(gathered.toArray(ValueLayout.JAVA_LONG))
                        .map(value -> value * 0x0101010101010101L)
                        .toArray());
    }

    private static void refusals(World world) {
        refused(
                "store",
                "no store in a job that MPI has started",
                () -> world.store().set("k", new byte[1]));
        GroupOptions mpi = world.group().options().withBackend("mpi");
        try (ProcessGroup all = world.group().split(0, world.rank(), mpi)) {
            refused(
                    "half",
                    "MPI has no arithmetic for f16",
                    () -> all.allReduce(MemorySegment.ofArray(new short[1]), DataType.F16, 1, ReduceOp.SUM));
        }
        different(world, mpi);
        late(world, mpi.withTimeout(Duration.ofSeconds(2)));
    }

    /** Rank 1 makes another call. The cause, one for all, names it and whichever of the others noticed first. */
    private static void different(World world, GroupOptions mpi) {
        try (ProcessGroup all = world.group().split(0, world.rank(), mpi)) {
            all.barrier();
            int count = world.rank() == 1 ? 9 : 8;
            refused(
                    "difference",
                    "rank 1 called allReduce #1(f32, 9, SUM)",
                    () -> all.allReduce(MemorySegment.ofArray(new float[count]), DataType.F32, count, ReduceOp.SUM));
        }
    }

    /** Rank 0 does not come in time. */
    private static void late(World world, GroupOptions mpi) {
        try (ProcessGroup all = world.group().split(0, world.rank(), mpi)) {
            if (world.rank() != 0) {
                refused("absence", "barrier #0 on group of ranks 0-2 timed out after 2 s", all::barrier);
            }
            world.group().barrier();
        }
    }

    /** Rank 0 never comes. */
    private static void absent(World world) throws InterruptedException {
        GroupOptions mpi =
                world.group().options().withBackend("mpi").withCompared(false).withTimeout(Duration.ofSeconds(2));
        try (ProcessGroup all = world.group().split(0, world.rank(), mpi)) {
            if (world.rank() == 0) {
                new CountDownLatch(1).await();
            }
            all.barrier();
        }
    }

    private static void refused(String what, String why, Runnable call) {
        try {
            call.run();
        } catch (CommException expected) {
            if (String.valueOf(expected.getMessage()).contains(why)) {
                return;
            }
            throw expected;
        }
        throw new AssertionError(what + " was not refused");
    }

    private static void check(String what, Object actual, Object expected) {
        if (!Arrays.deepEquals(new Object[] {actual}, new Object[] {expected})) {
            throw new AssertionError(what + ": " + Arrays.deepToString(new Object[] {actual}));
        }
    }
}
