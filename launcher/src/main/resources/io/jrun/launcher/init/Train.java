package com.example;

import io.jrun.comm.Distributed;
import io.jrun.comm.World;
import io.jrun.train.Libtorch;
import io.jrun.train.data.DistributedSampler; // not libtorch's class of the same name
import io.jrun.train.data.SamplerOptions;
import io.jrun.train.ddp.DistributedDataParallel;
import org.bytedeco.pytorch.*;
import org.bytedeco.pytorch.Module; // not java.lang.Module
import org.bytedeco.pytorch.global.torch;

/** Learns y = sin(x). Every rank of the job runs this program. */
public final class Train {
    static final class Net extends Module {
        final LinearImpl hidden = register_module("hidden", new LinearImpl(1, 64));
        final LinearImpl output = register_module("output", new LinearImpl(64, 1));

        Tensor forward(Tensor x) {
            return output.forward(torch.tanh(hidden.forward(x)));
        }
    }

    public static void main(String[] args) {
        Libtorch.load();
        try (World world = Distributed.init();
                var model = new DistributedDataParallel<>(new Net(), world.group())) {
            var optimizer = new Adam(model.module().parameters(), new AdamOptions(0.01));
            var sampler = DistributedSampler.of(1024, world.group(), SamplerOptions.TRAINING);
            for (int epoch = 1; epoch <= 50; epoch++) {
                double[] angles = sampler.nextEpoch().mapToDouble(i -> Math.PI * (i - 512) / 512).toArray();
                try (var step = model.step()) { // frees the step's native memory
                    Tensor x = Tensor.create(angles, angles.length, 1).to(torch.ScalarType.Float);
                    optimizer.zero_grad();
                    Tensor loss = torch.mse_loss(model.module().forward(x), x.sin());
                    step.backward(loss); // the gradients are now the mean over all ranks
                    optimizer.step();
                    if (world.rank() == 0 && epoch % 10 == 0) {
                        System.out.printf("epoch %d loss %.4f%n", epoch, loss.item_double());
                    }
                }
            }
        }
    }
}
