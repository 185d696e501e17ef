package io.jrun.bench.gpu;

import io.jrun.comm.ProcessGroup;
import io.jrun.train.ddp.DistributedDataParallel;
import io.jrun.train.step.Step;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * Trains a linear layer with DDP on the GPU. Compares the parameters with the same steps on the CPU with the batches of
 * all ranks.
 */
final class CudaTraining {
    private static final int STEPS = 5;
    private static final int WIDTH = 64;
    private static final int BATCH = 8;
    private static final double TOLERANCE = 1e-4;

    private CudaTraining() {}

    private static final class Layer extends Module {
        private final LinearImpl linear = register_module("linear", new LinearImpl(WIDTH, WIDTH));

        Layer() {
            try (NoGradGuard _ = new NoGradGuard()) {
                linear.weight().fill_(new Scalar(0.01));
                linear.bias().zero_();
            }
        }

        Tensor loss(int step, int rank, Device device) {
            Tensor x = torch.sin(torch.arange(new Scalar(BATCH * WIDTH)).add(new Scalar(step + 10.0 * rank)))
                    .view(BATCH, WIDTH);
            return linear.forward(x.to(device, torch.ScalarType.Float))
                    .pow(new Scalar(2))
                    .sum();
        }
    }

    static String compareWithCpu(ProcessGroup group) {
        Layer expected = new Layer();
        SGD reference = new SGD(expected.parameters(), new SGDOptions(1e-3));
        for (int step = 0; step < STEPS; step++) {
            reference.zero_grad();
            for (int rank = 0; rank < group.size(); rank++) {
                expected.loss(step, rank, new Device("cpu"))
                        .div(new Scalar((double) group.size()))
                        .backward();
            }
            reference.step();
        }
        double difference = train(group)
                .linear
                .weight()
                .cpu()
                .sub(expected.linear.weight())
                .abs()
                .max()
                .item_double();
        if (!(difference < TOLERANCE)) {
            throw new IllegalStateException("the parameters differ from the parameters of the CPU by " + difference);
        }
        return STEPS + " steps, parameters within " + difference + " of the CPU's";
    }

    private static Layer train(ProcessGroup group) {
        Device device = new Device("cuda:0");
        Layer layer = new Layer();
        layer.to(device, false);
        try (var model = new DistributedDataParallel<>(layer, group)) {
            SGD optimizer = new SGD(layer.parameters(), new SGDOptions(1e-3));
            for (int current = 0; current < STEPS; current++) {
                try (Step step = model.step()) {
                    optimizer.zero_grad();
                    step.backward(layer.loss(current, group.groupRank(), device));
                    optimizer.step();
                }
            }
        }
        return layer;
    }
}
