package io.jrun.comm;

import io.jrun.comm.SameCauseIT.Collective;
import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorldOptions;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;

/** Main classes of the worker processes that tests start. */
final class WorkerPrograms {
    private WorkerPrograms() {}

    /** Every operation once, registered and from the heap, and every option of a call. */
    public static final class EveryOperation {
        private EveryOperation() {}

        /** Entry point. */
        public static void main(String[] args) {
            try (World world = Distributed.init()) {
                CollectiveMatrix.runOnce(world, CollectiveMatrix.Buffers.REGISTERED);
                CollectiveMatrix.runOnce(world, CollectiveMatrix.Buffers.HEAP);
                EveryOption.run(world.group());
                System.out.println("rank " + world.rank() + " of " + world.size() + " did everything");
            }
        }
    }

    /** Every operation on much memory. */
    public static final class MuchOfEverything {
        private MuchOfEverything() {}

        /** Entry point. */
        public static void main(String[] args) {
            try (World world = Distributed.init()) {
                CollectiveMatrix.runMuch(world, CollectiveMatrix.Buffers.HEAP);
                System.out.println("rank " + world.rank() + " did much");
            }
        }
    }

    /** All-reduces without end. */
    public static final class ReduceForever {
        private ReduceForever() {}

        /** Entry point. */
        public static void main(String[] args) {
            try (World world = Distributed.init()) {
                MemorySegment buffer = world.group().allocate(1 << 20);
                while (true) {
                    world.group().allReduce(buffer, DataType.F32, 1 << 18, ReduceOp.SUM);
                }
            }
        }
    }

    /** All collectives, large and small, in an order drawn from a seed, without end. */
    public static final class EverythingForever {
        private static final int LARGE = 120_000;

        private EverythingForever() {}

        /** Entry point: the seed. */
        public static void main(String[] args) {
            try (World world = Distributed.init()) {
                SplittableRandom random = new SplittableRandom(Long.parseLong(args[0]));
                Collective[] collectives = Collective.values();
                world.group().barrier();
                System.out.println("has begun");
                while (true) {
                    int count = random.nextBoolean() ? LARGE : random.nextInt(world.size(), LARGE);
                    collectives[random.nextInt(collectives.length)].run(world.group(), count);
                }
            }
        }
    }

    /** One operation a few times, between two barriers. */
    public static final class OneOperation {
        /** In place of a collective: messages that go round. */
        static final String MESSAGES = "MESSAGES";

        private static final int CALLS = 4;

        private OneOperation() {}

        /** Entry point: the operation, and its elements. */
        public static void main(String[] args) {
            try (World world = Distributed.init()) {
                int count = Integer.parseInt(args[1]);
                world.group().barrier();
                for (int call = 0; call < CALLS; call++) {
                    if (args[0].equals(MESSAGES)) {
                        goRound(world.group(), MemorySegment.ofArray(new float[count]), count);
                    } else {
                        Collective.valueOf(args[0]).run(world.group(), count);
                    }
                }
                world.group().barrier();
            }
        }

        private static void goRound(ProcessGroup group, MemorySegment data, int count) {
            int next = (group.groupRank() + 1) % group.size();
            int last = (group.groupRank() + group.size() - 1) % group.size();
            if (group.groupRank() == 0) {
                group.send(data, DataType.F32, count, next);
            }
            group.recv(data, DataType.F32, count, last);
            if (group.groupRank() != 0) {
                group.send(data, DataType.F32, count, next);
            }
        }
    }

    /** One sum of 16 MiB. */
    public static final class ReduceMuch {
        private static final int COUNT = 4 << 20;

        private ReduceMuch() {}

        /** Entry point. */
        public static void main(String[] args) {
            try (World world = Distributed.init()) {
                float[] data = new float[COUNT];
                Arrays.fill(data, 1 + world.rank());
                world.group().allReduce(MemorySegment.ofArray(data), DataType.F32, COUNT, ReduceOp.SUM);
                for (int at = 0; at < COUNT; at++) {
                    if (data[at] != 3) {
                        throw new IllegalStateException("element " + at + " is " + data[at]);
                    }
                }
                System.out.println("all sums are right");
            }
        }
    }

    /** All-reduces without end, except that rank 1 never uses its group. */
    public static final class ReduceWithoutRankOne {
        private ReduceWithoutRankOne() {}

        /** Entry point. */
        public static void main(String[] args) throws InterruptedException {
            try (World world = Distributed.init()) {
                if (world.rank() == 1) {
                    new CountDownLatch(1).await();
                }
                MemorySegment buffer = world.group().allocate(1 << 20);
                world.group().allReduce(buffer, DataType.F32, 1 << 18, ReduceOp.SUM);
            }
        }
    }

    /** After a barrier rank 1 sends nothing, and each of the others receives another count from it. */
    public static final class RankOneSendsNothing {
        private RankOneSendsNothing() {}

        /** Entry point. */
        public static void main(String[] args) throws InterruptedException {
            try (World world = Distributed.init()) {
                world.group().barrier();
                System.out.println("has begun");
                if (world.rank() == 1) {
                    new CountDownLatch(1).await();
                }
                int count = world.rank() + 1;
                world.group().recv(MemorySegment.ofArray(new int[count]), DataType.I32, count, 1);
            }
        }
    }

    /**
     * After a barrier rank 1 waits for something else in a method of a telling name, the others in a second barrier.
     */
    public static final class RankOneReadsItsData {
        private RankOneReadsItsData() {}

        /** Entry point. */
        public static void main(String[] args) throws InterruptedException {
            try (World world = Distributed.init()) {
                world.group().withTimeout(Duration.ofSeconds(60)).barrier();
                if (world.rank()
                        == 0) { // measures its wait from here, so the other ranks must be past the first barrier
                    world.store().await(List.of("past-1", "past-2"), Duration.ofSeconds(60));
                } else {
                    world.store().set("past-" + world.rank(), new byte[1]);
                }
                if (world.rank() == 1) {
                    readData();
                }
                world.group().barrier();
            }
        }

        private static void readData() throws InterruptedException {
            new CountDownLatch(1).await();
        }
    }

    /** Rank 0 and rank 1 call different things, rank 2 nothing. */
    public static final class MismatchWithoutRankTwo {
        private MismatchWithoutRankTwo() {}

        /** Entry point. */
        public static void main(String[] args) throws InterruptedException {
            try (World world = Distributed.init()) {
                world.group().withTimeout(Duration.ofSeconds(60)).barrier();
                switch (world.rank()) {
                    case 0 -> world.group().barrier();
                    case 1 ->
                        world.group().allReduce(MemorySegment.ofArray(new float[100]), DataType.F32, 100, ReduceOp.SUM);
                    default -> new CountDownLatch(1).await();
                }
            }
        }
    }

    /** Rank 1 returns while the others wait for it. */
    public static final class LeaveEarly {
        private LeaveEarly() {}

        /** Entry point. */
        public static void main(String[] args) {
            World world = Distributed.init();
            world.group().barrier();
            if (world.rank() != 1) {
                world.group().barrier();
            }
        }
    }

    /** Rank 1 throws inside its world's scope while the others wait for it. */
    public static final class FailEarly {
        private FailEarly() {}

        /** Entry point. */
        public static void main(String[] args) {
            try (World world = Distributed.init()) {
                world.group().barrier();
                if (world.rank() == 1) {
                    throw new IllegalStateException("out of luck");
                }
                world.group().barrier();
            }
        }
    }

    /** Rank 0 throws inside its world's scope, with an operation pending that never ends, while the others wait. */
    public static final class FailWhilePending {
        private FailWhilePending() {}

        /** Entry point. */
        public static void main(String[] args) {
            try (World world = Distributed.init()) {
                world.group().barrier();
                if (world.rank() == 0) {
                    Work _ = world.group().recvAsync(MemorySegment.ofArray(new int[4]), DataType.I32, 4, 1);
                    throw new IllegalStateException("the real cause");
                }
                world.group().barrier();
            }
        }
    }

    /** Runs operations repeatedly between two marks, while the test counts bytes. */
    public static final class Counted {
        private static final Duration SOON = Duration.ofSeconds(60);

        private Counted() {}

        /**
         * Entry point: bytes of a rank's part, repetitions, and cases, which begin with an operation and its algorithm.
         */
        public static void main(String[] args) {
            try (World world = Distributed.init()) {
                long count = Long.parseLong(args[0]) / Float.BYTES;
                for (String one : Arrays.asList(args).subList(2, args.length)) {
                    List<String> words = Arrays.asList(one.split(" ", -1));
                    GroupOptions options = world.group().options().withAlgorithm(words.get(1));
                    try (ProcessGroup group = world.group().split(0, world.rank(), options)) {
                        MemorySegment part = group.allocate(count * Float.BYTES);
                        MemorySegment all = group.allocate(count * Float.BYTES * world.size());
                        MemorySegment other = group.allocate(count * Float.BYTES * world.size());
                        run(group, words.getFirst(), part, all, other, count);
                        mark(world, one + " begin");
                        for (int i = 0; i < Integer.parseInt(args[1]); i++) {
                            run(group, words.getFirst(), part, all, other, count);
                        }
                        mark(world, one + " end");
                    }
                }
            }
        }

        private static void mark(World world, String name) {
            System.out.println("counted " + name);
            byte[] _ = world.store().get("go on after " + name, SOON);
        }

        private static void run(
                ProcessGroup group,
                String operation,
                MemorySegment part,
                MemorySegment all,
                MemorySegment other,
                long count) {
            List<String> words = Arrays.asList(operation.split("@", -1));
            int root = words.size() == 1 ? 0 : Integer.parseInt(words.getLast());
            switch (words.getFirst()) {
                case "allReduce" -> group.allReduce(part, DataType.F32, count, ReduceOp.MAX);
                case "reduce" -> group.reduce(part, DataType.F32, count, ReduceOp.MAX, root);
                case "broadcast" -> group.broadcast(part, DataType.F32, count, root);
                case "allGather" -> group.allGather(part, all, DataType.F32, count);
                case "allGatherV" -> group.allGatherV(other, all, DataType.F32, uneven(group.size(), count));
                case "reduceScatter" -> group.reduceScatter(all, part, DataType.F32, count, ReduceOp.MAX);
                case "reduceScatterV" ->
                    group.reduceScatterV(all, other, DataType.F32, ReduceOp.MAX, uneven(group.size(), count));
                case "gather" -> group.gather(part, all, DataType.F32, count, root);
                case "scatter" -> group.scatter(all, part, DataType.F32, count, root);
                case "allToAll" -> group.allToAll(all, other, DataType.F32, count);
                default -> throw new IllegalArgumentException(operation);
            }
        }

        private static long[] uneven(int size, long count) {
            long[] counts = new long[size];
            counts[size - 1] = count;
            counts[1] = (size - 1) * count;
            return counts;
        }
    }

    /** Joins, tries to join again, and continues. */
    public static final class JoinTwice {
        private JoinTwice() {}

        /** Entry point. */
        public static void main(String[] args) {
            try (World world = Distributed.init()) {
                try {
                    Distributed.init().close();
                } catch (CommException e) {
                    System.out.println(e.code() + ": " + e.getMessage());
                }
                world.group().barrier();
                System.out.println("goes on");
            }
        }
    }

    /** A world of two ranks in one JVM, without an agent. */
    public static final class BarrierOfTwo {
        private BarrierOfTwo() {}

        /** Entry point. */
        public static void main(String[] args) {
            LocalWorld.run(
                    LocalWorldOptions.ofSize(2).withTransport(TransportKind.SHM),
                    world -> world.group().barrier());
            System.out.println("both were there");
        }
    }

    /** A main method as the java command has started them since 25. */
    static final class InstanceMain {
        void main() {
            System.out.println("main of an instance");
        }
    }

    /** Prints its arguments and fails in another thread. */
    public static final class FailInThread {
        private FailInThread() {}

        /** Entry point. */
        public static void main(String[] args) throws InterruptedException {
            System.out.println(String.join("|", args));
            Thread thread = new Thread(() -> {
                throw new IllegalStateException("say \"no\"\n");
            });
            thread.start();
            thread.join();
        }
    }
}
