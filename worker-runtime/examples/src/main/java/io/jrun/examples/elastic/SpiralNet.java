package io.jrun.examples.elastic;

import io.jrun.train.tensor.ModuleTensors;
import org.bytedeco.pytorch.Generator;
import org.bytedeco.pytorch.GeneratorOptional;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** A network with two hidden layers. */
final class SpiralNet extends Module {
    private static final int WIDTH = 64;

    private final LinearImpl first = register_module("first", new LinearImpl(2, WIDTH));
    private final LinearImpl second = register_module("second", new LinearImpl(WIDTH, WIDTH));
    private final LinearImpl last = register_module("last", new LinearImpl(WIDTH, 2));

    SpiralNet(long seed) {
        Generator generator = torch.createCPUGenerator(seed);
        try (NoGradGuard _ = new NoGradGuard()) {
            ModuleTensors.parameters(this)
                    .values()
                    .forEach(tensor -> tensor.normal_(
                            0,
                            1 / Math.sqrt((double) tensor.size(tensor.dim() - 1)),
                            new GeneratorOptional(generator)));
        }
    }

    /** Mean cross entropy over these samples. */
    Tensor loss(long[] samples) {
        Tensor hidden = torch.tanh(second.forward(torch.tanh(first.forward(Spirals.points(samples)))));
        return torch.cross_entropy_loss(last.forward(hidden), Spirals.labels(samples));
    }
}
