package io.jrun.examples.elastic;

import io.jrun.train.module.ModuleWrapper;
import io.jrun.train.tensor.ModuleTensors;
import java.util.function.UnaryOperator;
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

    private final UnaryOperator<Tensor> first;
    private final UnaryOperator<Tensor> second;
    private final UnaryOperator<Tensor> last;

    SpiralNet(long seed) {
        this(seed, ModuleWrapper.NONE);
    }

    /** Each layer goes to {@code wrapper}. */
    SpiralNet(long seed, ModuleWrapper wrapper) {
        LinearImpl input = register_module("first", new LinearImpl(2, WIDTH));
        LinearImpl middle = register_module("second", new LinearImpl(WIDTH, WIDTH));
        LinearImpl output = register_module("last", new LinearImpl(WIDTH, 2));
        Generator generator = torch.createCPUGenerator(seed);
        try (NoGradGuard _ = new NoGradGuard()) {
            ModuleTensors.parameters(this)
                    .values()
                    .forEach(tensor -> tensor.normal_(
                            0,
                            1 / Math.sqrt((double) tensor.size(tensor.dim() - 1)),
                            new GeneratorOptional(generator)));
        }
        first = wrapper.wrap("first", input, input::forward);
        second = wrapper.wrap("second", middle, middle::forward);
        last = wrapper.wrap("last", output, output::forward);
    }

    /** Mean cross entropy over these samples. */
    Tensor loss(long[] samples) {
        Tensor hidden = torch.tanh(second.apply(torch.tanh(first.apply(Spirals.points(samples)))));
        return torch.cross_entropy_loss(last.apply(hidden), Spirals.labels(samples));
    }
}
