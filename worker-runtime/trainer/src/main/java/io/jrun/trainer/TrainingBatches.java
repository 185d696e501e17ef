package io.jrun.trainer;

import io.jrun.comm.DataType;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.train.data.DataLoader;
import io.jrun.trainer.data.TrainingData;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

/**
 * The batches of the steps on one rank. Confined to the training thread.
 *
 * @param group the ranks that train on different samples
 */
record TrainingBatches<S>(TrainingData<S> data, DataLoader<S> loader, ProcessGroup group) {
    /**
     * The micro-batches of a step, in order. If samples have unequal numbers of targets, the first call reads the
     * samples of the whole step, and is collective.
     */
    Supplier<StepBatch> ofStep(long step, int microBatches) {
        if (!data.hasUnequalSamples()) {
            return () -> StepBatch.of(data.batch(loader.next(), step));
        }
        return new Supplier<>() {
            private final List<List<S>> samples = new ArrayList<>();
            private double targetsOfBatch;
            private int taken;

            @Override
            public StepBatch get() {
                if (samples.isEmpty()) {
                    for (int i = 0; i < microBatches; i++) {
                        samples.add(loader.next());
                    }
                    targetsOfBatch = targetsOfAll(samples) / ((double) microBatches * group.size());
                }
                List<S> next = samples.get(taken);
                taken++;
                return new StepBatch(data.batch(next, step), data.targets(next) / targetsOfBatch);
            }
        };
    }

    private double targetsOfAll(List<List<S>> batches) {
        double[] sum = {batches.stream().mapToDouble(data::targets).sum()};
        group.allReduce(MemorySegment.ofArray(sum), DataType.F64, 1, ReduceOp.SUM);
        return sum[0];
    }
}
