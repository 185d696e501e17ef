package io.jrun.agent.job;

import io.jrun.comm.DataType;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.World;
import io.jrun.comm.elastic.Elastic;
import io.jrun.comm.elastic.ElasticState;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Adds up in every step what the ranks contribute, rank r its r + 1; prints the sum over all steps. */
public final class ElasticWorkerMain {
    /** Enough for a step to spend its time in the reduction. */
    private static final int ELEMENTS = 64 << 10;

    private static final int VICTIM = 2;
    private static final int VICTIM_EXIT = 9;

    private ElasticWorkerMain() {}

    /**
     * {@code STEPS SIZE DEATH}: runs until it has done so many steps and is in a world of that size. In its first round
     * rank 2 dies in step DEATH.
     */
    public static void main(String[] args) {
        long steps = Long.parseLong(args[0]);
        int size = Integer.parseInt(args[1]);
        long death = Long.parseLong(args[2]);
        Sum sum = new Sum();
        Elastic.run(sum, round -> {
            World world = round.world();
            System.out.println("begins at step " + sum.present[0] + " as rank " + world.rank() + " of " + world.size());
            try (Arena arena = Arena.ofShared()) {
                MemorySegment buffer = arena.allocate(ValueLayout.JAVA_LONG, ELEMENTS);
                while (sum.present[0] < steps || world.size() != size) {
                    if (world.restartCount() == 0 && world.rank() == VICTIM && sum.present[0] == death) {
                        Runtime.getRuntime().halt(VICTIM_EXIT);
                    }
                    sum.step(world, buffer);
                    round.commit();
                }
            }
        });
        System.out.println("total " + sum.present[1] + " after " + sum.present[0] + " steps");
    }

    /** Steps done, and the sum. */
    private static final class Sum implements ElasticState {
        private final long[] present = new long[2];
        private final long[] copy = new long[2];

        void step(World world, MemorySegment buffer) {
            buffer.fill((byte) 0);
            buffer.setAtIndex(ValueLayout.JAVA_LONG, ELEMENTS - 1, world.rank() + 1);
            world.group().allReduce(buffer, DataType.I64, ELEMENTS, ReduceOp.SUM);
            present[0]++;
            present[1] += buffer.getAtIndex(ValueLayout.JAVA_LONG, ELEMENTS - 1);
        }

        @Override
        public void save() {
            System.arraycopy(present, 0, copy, 0, copy.length);
        }

        @Override
        public void restore() {
            System.arraycopy(copy, 0, present, 0, copy.length);
        }

        @Override
        public void broadcast(ProcessGroup group, int root) {
            group.broadcast(MemorySegment.ofArray(present), DataType.I64, present.length, root);
        }
    }
}
