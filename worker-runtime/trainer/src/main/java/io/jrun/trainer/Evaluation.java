package io.jrun.trainer;

import io.jrun.comm.DataType;
import io.jrun.comm.Device;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.file.FileError;
import io.jrun.train.data.Batch;
import io.jrun.train.data.DataException;
import io.jrun.train.data.DataLoader;
import io.jrun.train.data.DataLoaderOptions;
import io.jrun.train.data.Dataset;
import io.jrun.train.device.DeviceCopies;
import io.jrun.train.tensor.LibtorchScope;
import io.jrun.trainer.data.TrainingData;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.Iterator;
import java.util.List;
import java.util.function.ToDoubleFunction;
import org.bytedeco.pytorch.NoGradGuard;

/**
 * The loss on held-out samples. The ranks share the samples, and each target counts exactly once. All ranks run equally
 * many forward passes, because ranks that share a model compute together.
 */
final class Evaluation {
    private static final int BATCH = 16;

    private Evaluation() {}

    /** The mean loss of the held-out targets that count. A collective call: every rank gets the same result. */
    static <S> double heldOutLoss(
            ToDoubleFunction<Batch> meanLoss, TrainingData<S> data, ProcessGroup group, Device device) {
        Dataset<S> samples = data.heldOut();
        double[] sumAndCount = new double[2];
        try (NoGradGuard _ = new NoGradGuard();
                DataLoader<S> loader = DataLoader.of(samples, group, DataLoaderOptions.evaluation(BATCH));
                DeviceCopies copies = DeviceCopies.to(device)) {
            long passes = Math.ceilDiv(Math.ceilDiv(samples.size(), (long) group.size()), BATCH);
            Iterator<List<S>> parts = loader.epoch().iterator();
            for (long i = 0; i < passes; i++) {
                List<S> part = parts.hasNext() ? parts.next() : List.of();
                try (LibtorchScope _ = new LibtorchScope()) {
                    Batch batch = data.batch(part.isEmpty() ? List.of(samples.get(0)) : part, 0)
                            .copied(copies);
                    double targets = data.targets(part);
                    sumAndCount[0] += meanLoss.applyAsDouble(batch) * targets;
                    sumAndCount[1] += targets;
                }
            }
        } catch (IOException e) {
            throw new DataException("cannot read the held-out samples: " + FileError.reason(e, ""), e);
        }
        group.allReduce(MemorySegment.ofArray(sumAndCount), DataType.F64, 2, ReduceOp.SUM);
        return sumAndCount[0] / sumAndCount[1];
    }
}
