package io.jrun.train;

import io.jrun.train.module.ModelBlock;
import io.jrun.train.tensor.ModuleTensors;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.bytedeco.pytorch.EmbeddingImpl;
import org.bytedeco.pytorch.Generator;
import org.bytedeco.pytorch.GeneratorOptional;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** A net with parameters of 1, 5, 7 and 1024 elements, in units and outside of them. */
public final class UnevenNet extends Module {
    private final EmbeddingImpl table = register_module("table", new EmbeddingImpl(1024, 1));
    private final List<ModelBlock> blocks = new ArrayList<>();

    public UnevenNet() {
        this(_ -> {});
    }

    /** Each block goes to {@code built} before the next block is built. */
    public UnevenNet(Consumer<ModelBlock> built) {
        built.accept(add(4, 7));
        built.accept(add(7, 5));
        built.accept(add(5, 1));
        try (NoGradGuard _ = new NoGradGuard();
                Generator generator = torch.createCPUGenerator(9)) {
            table.weight().normal_(0, 1, new GeneratorOptional(generator));
        }
    }

    private ModelBlock add(long inputs, long outputs) {
        String name = "block" + blocks.size();
        LinearImpl linear = register_module(name, new LinearImpl(inputs, outputs));
        try (NoGradGuard _ = new NoGradGuard();
                Generator generator = torch.createCPUGenerator(blocks.size())) {
            for (Tensor parameter : ModuleTensors.parameters(linear).values()) {
                parameter.normal_(0, 0.5, new GeneratorOptional(generator));
            }
        }
        ModelBlock block = new ModelBlock(name, blocks.size(), linear, x -> torch.tanh(linear.forward(x)));
        blocks.add(block);
        return block;
    }

    /** The mean of the outputs' squares for four numbers of rows of the table in each sample. */
    public Tensor loss(long seed, int samples) {
        try (Generator generator = torch.createCPUGenerator(seed)) {
            Tensor rows = torch.randint(0, 1024, new long[] {samples, 4}, new GeneratorOptional(generator));
            Tensor x = table.forward(rows.to(torch.ScalarType.Long)).view(-1, 4);
            for (ModelBlock block : blocks) {
                x = block.forward(x);
            }
            return x.sub(new Scalar(0.5)).pow(new Scalar(2)).mean();
        }
    }
}
