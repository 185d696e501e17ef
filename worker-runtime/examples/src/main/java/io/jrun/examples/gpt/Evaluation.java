package io.jrun.examples.gpt;

import io.jrun.comm.DataType;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.train.data.DistributedSampler;
import io.jrun.train.data.SamplerOptions;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;

/** The loss on held-out text. The ranks share the windows, and each window counts exactly once. */
final class Evaluation {
    private static final int BATCH = 16;

    private Evaluation() {}

    /** Mean cross entropy in nats per byte. A collective call: every rank gets the same result. */
    static double heldOutLoss(Gpt model, Windows windows, ProcessGroup group) {
        long[] samples = DistributedSampler.of(windows.count(), group, SamplerOptions.EVALUATION)
                .indices()
                .toArray();
        double[] sumAndCount = new double[2];
        try (NoGradGuard _ = new NoGradGuard()) {
            for (int at = 0; at < samples.length; at += BATCH) {
                try (PointerScope _ = new PointerScope()) {
                    long[] part = Arrays.copyOfRange(samples, at, Math.min(samples.length, at + BATCH));
                    Windows.Batch batch = windows.batch(part);
                    sumAndCount[0] +=
                            model.loss(batch.inputs(), batch.targets()).item_double() * part.length;
                    sumAndCount[1] += part.length;
                }
            }
        }
        group.allReduce(MemorySegment.ofArray(sumAndCount), DataType.F64, 2, ReduceOp.SUM);
        return sumAndCount[0] / sumAndCount[1];
    }
}
