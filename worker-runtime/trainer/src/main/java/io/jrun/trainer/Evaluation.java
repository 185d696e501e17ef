package io.jrun.trainer;

import io.jrun.comm.DataType;
import io.jrun.comm.Device;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.file.FileError;
import io.jrun.train.data.DataException;
import io.jrun.train.data.DataLoader;
import io.jrun.train.data.DataLoaderOptions;
import io.jrun.train.data.Dataset;
import io.jrun.train.device.DeviceCopies;
import io.jrun.train.token.TokenBatch;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.Iterator;
import java.util.List;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;

/**
 * The loss on held-out text. The ranks share the windows, and each window counts exactly once. All ranks run equally
 * many forward passes, because ranks that share a model compute together.
 */
final class Evaluation {
    private static final int BATCH = 16;

    private Evaluation() {}

    /** Mean cross entropy in nats per token. A collective call: every rank gets the same result. */
    static double heldOutLoss(
            ToDoubleFunction<TokenBatch> meanLoss,
            Function<List<long[]>, TokenBatch> batches,
            Dataset<long[]> windows,
            ProcessGroup group,
            Device device) {
        double[] sumAndCount = new double[2];
        try (NoGradGuard _ = new NoGradGuard();
                DataLoader<long[]> loader = DataLoader.of(windows, group, DataLoaderOptions.evaluation(BATCH));
                DeviceCopies copies = DeviceCopies.to(device)) {
            long passes = Math.ceilDiv(Math.ceilDiv(windows.size(), (long) group.size()), BATCH);
            Iterator<List<long[]>> parts = loader.epoch().iterator();
            for (long i = 0; i < passes; i++) {
                List<long[]> part = parts.hasNext() ? parts.next() : List.of();
                try (PointerScope _ = new PointerScope()) {
                    TokenBatch batch = batches.apply(part.isEmpty() ? List.of(windows.get(0)) : part)
                            .copied(copies);
                    sumAndCount[0] += meanLoss.applyAsDouble(batch) * part.size();
                    sumAndCount[1] += part.size();
                }
            }
        } catch (IOException e) {
            throw new DataException("cannot read the held-out text: " + FileError.reason(e, ""), e);
        }
        group.allReduce(MemorySegment.ofArray(sumAndCount), DataType.F64, 2, ReduceOp.SUM);
        return sumAndCount[0] / sumAndCount[1];
    }
}
