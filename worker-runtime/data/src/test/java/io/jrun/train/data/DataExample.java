package io.jrun.train.data;

import io.jrun.comm.Distributed;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.World;
import java.util.List;

/** Prints the samples of each rank. Start: {@code jrun --nproc-per-node=2 DataExample.java}. */
public final class DataExample {
    private DataExample() {}

    /** The squares of 0 to 99. */
    static final class Squares implements Dataset<Long> {
        @Override
        public long size() {
            return 100;
        }

        @Override
        public Long get(long index) {
            return index * index;
        }
    }

    /** Prints two batches of four samples. */
    public static void main(String[] args) {
        try (World world = Distributed.init()) {
            System.out.println("rank " + world.rank() + " reads " + firstBatches(world.group()));
        }
    }

    /** Two batches of this rank. No other rank gets these samples. */
    static List<List<Long>> firstBatches(ProcessGroup group) {
        try (var loader = DataLoader.of(new Squares(), group, DataLoaderOptions.training(4, 1))) {
            return List.of(loader.next(), loader.next());
        }
    }
}
