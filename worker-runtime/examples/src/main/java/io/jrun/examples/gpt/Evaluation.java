package io.jrun.examples.gpt;

import io.jrun.comm.DataType;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.train.data.DataLoader;
import io.jrun.train.data.DataLoaderOptions;
import io.jrun.train.data.Dataset;
import io.jrun.train.token.TokenBatch;
import java.lang.foreign.MemorySegment;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;

/** The loss on held-out text. The ranks share the windows, and each window counts exactly once. */
final class Evaluation {
    private static final int BATCH = 16;

    private Evaluation() {}

    /** Mean cross entropy in nats per token. A collective call: every rank gets the same result. */
    static double heldOutLoss(Gpt model, Dataset<long[]> windows, ProcessGroup group) {
        double[] sumAndCount = new double[2];
        try (NoGradGuard _ = new NoGradGuard();
                DataLoader<long[]> loader = DataLoader.of(windows, group, DataLoaderOptions.evaluation(BATCH))) {
            for (List<long[]> part : loader.epoch()) {
                try (PointerScope _ = new PointerScope()) {
                    TokenBatch batch = TokenBatch.of(part);
                    sumAndCount[0] +=
                            model.loss(batch.inputs(), batch.targets()).item_double() * part.size();
                    sumAndCount[1] += part.size();
                }
            }
        }
        group.allReduce(MemorySegment.ofArray(sumAndCount), DataType.F64, 2, ReduceOp.SUM);
        return sumAndCount[0] / sumAndCount[1];
    }
}
