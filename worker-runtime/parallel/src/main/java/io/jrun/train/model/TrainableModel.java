package io.jrun.train.model;

import io.jrun.comm.Device;
import io.jrun.train.layer.CompositeModule;
import io.jrun.train.module.BlockModel;
import io.jrun.train.module.ModelBlock;
import io.jrun.train.module.PipelineLayer;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensor.ResultScope;
import io.jrun.train.tensor.TensorMemory;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.Consumer;
import org.bytedeco.pytorch.Tensor;

/**
 * A model that ranks can train together: one tensor in, one tensor out, and a loss. The constructor of a subclass
 * describes the model, and {@link #build} builds it block by block. Confined to one thread at a time.
 */
public abstract class TrainableModel extends CompositeModule implements BlockModel {
    private final List<ModelBlock> blocks = new ArrayList<>();

    /** For subclasses. */
    protected TrainableModel() {}

    /** The number of blocks. */
    public abstract int blockCount();

    /** Builds a block, which takes memory, and adds its module to the model. */
    protected abstract ModelBlock buildBlock(int number);

    /** Builds the model. Parallelisms are applied afterwards. */
    public TrainableModel build() {
        return build(_ -> {});
    }

    /**
     * Builds the model. Each block goes to {@code built} before the next block takes memory, so that ranks can share
     * a block first.
     *
     * @return this model
     * @throws IllegalStateException if the model is built
     */
    public TrainableModel build(Consumer<ModelBlock> built) {
        requireNotBuilt();
        for (int number = 0; number < blockCount(); number++) {
            ModelBlock block = buildBlock(number);
            blocks.add(block);
            built.accept(block);
        }
        return this;
    }

    /** @throws IllegalStateException before {@link #build} */
    @Override
    public final List<ModelBlock> blocks() {
        requireBuilt();
        return Collections.unmodifiableList(blocks);
    }

    /** Throws if the model is built. */
    final void requireNotBuilt() {
        if (!blocks.isEmpty()) {
            throw new IllegalStateException(className() + " is built already. Make another object.");
        }
    }

    /** Throws if the model is not built. */
    final void requireBuilt() {
        if (blocks.size() < blockCount()) {
            throw new IllegalStateException(className() + " is not built. Call build() first.");
        }
    }

    /** The name of the class, for messages. */
    final String className() {
        return getClass().getSimpleName();
    }

    /** The output for an input. */
    public abstract Tensor forward(Tensor inputs);

    /** The mean loss of outputs of {@link #forward}, a tensor without dimensions. */
    public abstract Tensor outputLoss(Tensor outputs, Tensor targets);

    /**
     * The mean loss of inputs: {@link #outputLoss} of {@link #forward}. A model with another loss overrides
     * {@code outputLoss}, which ranks that share layers call too. Frees the other tensors that the backward pass does
     * not need.
     */
    public final Tensor loss(Tensor inputs, Tensor targets) {
        return ResultScope.of(() -> outputLoss(forward(inputs), targets));
    }

    /** The model as layers of a pipeline, in order. The first gets the input, the last gives the output. */
    public abstract List<PipelineLayer> pipelineLayers();

    /** The device of the parameters. */
    public final Device device() {
        return TensorMemory.device(
                ModuleTensors.parameters(this).values().iterator().next());
    }
}
