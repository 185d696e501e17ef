package io.jrun.bench.pipeline;

import io.jrun.train.pipeline.StageComputation;
import io.jrun.train.pipeline.schedule.ActionKind;
import io.jrun.train.pipeline.schedule.PipelineAction;
import io.jrun.train.tensor.TensorMemory;
import java.util.concurrent.locks.LockSupport;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * Stages that sleep in place of computations: one unit for a forward pass, for the gradient of the input, and for the
 * gradients of the weights.
 */
final class SleepingStages implements StageComputation {
    private static final long[] SHAPE = {2, 64, 256};

    private final long unitNanos;
    private final int lastStage;

    SleepingStages(long unitNanos, int lastStage) {
        this.unitNanos = unitNanos;
        this.lastStage = lastStage;
    }

    @Override
    public @Nullable Tensor forward(PipelineAction action, @Nullable Tensor input) {
        sleep(1);
        close(input);
        return action.stage() == lastStage ? null : TensorMemory.own(torch.zeros(SHAPE));
    }

    @Override
    public @Nullable Tensor backward(PipelineAction action, @Nullable Tensor outputGradient) {
        sleep(action.kind() == ActionKind.FULL_BACKWARD ? 2 : 1);
        close(outputGradient);
        return action.stage() == 0 ? null : TensorMemory.own(torch.zeros(SHAPE));
    }

    @Override
    public void weightBackward(PipelineAction action) {
        sleep(1);
    }

    private static void close(@Nullable Tensor tensor) {
        if (tensor != null) {
            tensor.close();
        }
    }

    private void sleep(int units) {
        long end = System.nanoTime() + units * unitNanos;
        for (long left = end - System.nanoTime(); left > 0; left = end - System.nanoTime()) {
            LockSupport.parkNanos(left);
        }
    }
}
