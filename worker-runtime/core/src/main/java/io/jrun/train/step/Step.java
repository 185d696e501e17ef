package io.jrun.train.step;

import io.jrun.comm.timeline.Timeline;
import io.jrun.train.tensor.LibtorchScope;
import java.util.function.Consumer;
import org.bytedeco.pytorch.Tensor;

/**
 * One training step. The end of the step frees the tensors that were created in the step, see {@link LibtorchScope}. The
 * garbage collector does not count native memory and would free them too late. Create a tensor that must live longer
 * before the step, or keep it by {@code TensorMemory.own(tensor)}. The thread that runs the step opens and closes it.
 *
 * <pre>{@code
 * try (Step step = model.step()) {
 *     optimizer.zero_grad();
 *     var loss = torch.cross_entropy_loss(model.module().forward(x), y);
 *     step.backward(loss);
 *     optimizer.step();
 * }
 * }</pre>
 */
public final class Step implements AutoCloseable {
    private final Consumer<Tensor> backward;
    private final Runnable end;
    private final LibtorchScope scope = new LibtorchScope();
    private final long beganNanos = System.nanoTime();

    /**
     * Opens a step. For parallelisms, which begin their own part before.
     *
     * @param backward computes gradients
     * @param end runs before the objects of the step are freed; may throw
     */
    public Step(Consumer<Tensor> backward, Runnable end) {
        this.backward = backward;
        this.end = end;
    }

    /**
     * Computes gradients. Returns when the gradients are the means over the ranks, added to the gradients before; inside
     * {@link NoSync} each rank keeps its own sum. On a GPU the method returns when the work is queued.
     *
     * @throws io.jrun.comm.CommException if the exchange of gradients fails
     * @throws RuntimeException if a parameter without a gradient must have one; the message names the parameters
     */
    public void backward(Tensor loss) {
        backward.accept(loss);
    }

    /**
     * Frees the step's native memory, and adds the step to the timeline of this rank.
     *
     * @throws RuntimeException if a backward pass of this step left an exchange unfinished
     */
    @Override
    public void close() {
        try {
            end.run();
        } finally {
            scope.close();
        }
        Timeline.ofProcess().step(beganNanos, System.nanoTime());
    }
}
