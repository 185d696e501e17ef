package io.jrun.train;

import io.jrun.train.module.ModelBlock;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.bytedeco.pytorch.Generator;
import org.bytedeco.pytorch.GeneratorOptional;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.LinearOptions;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** Equal square layers without biases; each is a unit. */
public final class LinearStack extends Module {
    private final long width;
    private final List<ModelBlock> layers = new ArrayList<>();

    public LinearStack(int count, long width) {
        this(count, width, _ -> {});
    }

    /** Each layer goes to {@code built} before the next layer is built. */
    public LinearStack(int count, long width, Consumer<ModelBlock> built) {
        this.width = width;
        for (int i = 0; i < count; i++) {
            LinearOptions options = new LinearOptions(width, width);
            options.bias().put(false);
            LinearImpl layer = register_module("layer" + i, new LinearImpl(options));
            try (NoGradGuard _ = new NoGradGuard();
                    Generator generator = torch.createCPUGenerator(i)) {
                layer.weight().normal_(0, 0.05, new GeneratorOptional(generator));
            }
            ModelBlock block = new ModelBlock("layer" + i, i, layer, layer::forward);
            layers.add(block);
            built.accept(block);
        }
    }

    /** The sum of the outputs for one sample of ones. */
    public Tensor loss() {
        Tensor x = torch.ones(1, width);
        for (ModelBlock layer : layers) {
            x = layer.forward(x);
        }
        return x.sum();
    }
}
