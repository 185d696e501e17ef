package io.jrun.bench;

import io.jrun.comm.ProcessGroup;
import io.jrun.train.ddp.DistributedDataParallel;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;

/** Trains with jrun's DDP, as in the README. */
final class DdpLoop implements TrainingLoop {
    private final DistributedDataParallel<BenchGpt> model;
    private final SGD optimizer;

    DdpLoop(BenchGpt module, ProcessGroup group) {
        model = new DistributedDataParallel<>(module, group);
        optimizer = new SGD(module.parameters(), new SGDOptions(LEARNING_RATE));
    }

    @Override
    public void step(Tensor x_BS, Tensor y_BS) {
        try (var step = model.step()) {
            optimizer.zero_grad();
            step.backward(TrainingLoop.loss(model.module(), x_BS, y_BS));
            optimizer.step();
        }
    }

    @Override
    public void close() {
        model.close();
        optimizer.close();
    }
}
