package io.jrun.train.zero;

import io.jrun.comm.ProcessGroup;
import io.jrun.train.Libtorch;
import io.jrun.train.ddp.DdpOptions;
import io.jrun.train.mesh.GradientGroup;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.step.Step;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensor.TensorCollectives;
import java.time.Duration;
import org.bytedeco.pytorch.Module;

/**
 * Data parallel training in which each rank keeps the mean gradients of its part only: stage 2 of ZeRO. A bucket of
 * gradients is reduced and freed as soon as the backward pass has computed it. Use with {@link ZeroOptimizer#stageTwo}.
 * Construction is collective; it copies rank 0's parameters and buffers to the others. Confined to the thread that runs
 * the steps.
 *
 * @param <M> the user's module; its forward method is called on {@link #module()}
 */
public final class ZeroDataParallel<M extends Module> implements AutoCloseable {
    private static final String USER = "ZeroDataParallel";

    private final M module;
    private final ProcessGroup group;
    private final ScatteredGradients gradients;
    private boolean isGroupChecked;

    /** Wraps {@code module}, with the sizes of buckets of {@code options}. */
    public ZeroDataParallel(M module, ProcessGroup group, DdpOptions options) {
        Libtorch.load();
        this.module = module;
        this.group = group;
        new GradientGroup(USER, group).requireFits(Parameters.of(module));
        new TensorCollectives(group).broadcastAll(ModuleTensors.all(module).values(), 0);
        this.gradients = new ScatteredGradients(ModuleTensors.parameters(module), group, options.bucketBytes());
    }

    /** The wrapped module. */
    public M module() {
        return module;
    }

    ProcessGroup group() {
        return group;
    }

    ScatteredGradients gradients() {
        return gradients;
    }

    /** Opens a step. Its backward passes add the means over the ranks to the gradients of this rank's parts. */
    public Step step() {
        if (!isGroupChecked) { // a parallelism may have changed the model since the construction
            new GradientGroup(USER, group).requireFitsHere(Parameters.of(module));
            isGroupChecked = true;
        }
        return new Step(gradients::backward, () -> {});
    }

    /** Sets the gradients of this rank's parts to zero. */
    void zeroGradients() {
        gradients.buckets().clear();
    }

    /** The sum over all steps since construction of the time for which backward passes waited for communication. */
    public Duration exposedCommunication() {
        return Duration.ofNanos(gradients.waitedNanos());
    }

    /** The bytes of the gradients that were reduced since construction. */
    public long reducedBytes() {
        return gradients.reducedBytes();
    }

    /** Removes the hooks. */
    @Override
    public void close() {
        gradients.close();
    }
}
