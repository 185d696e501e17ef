package io.jrun.train.ddp;

import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;

/**
 * One training step. Everything of libtorch that is created between opening and closing it is freed at its end, without
 * waiting for the garbage collector, which does not see native memory; what must live longer is created before, or gets
 * {@code retainReference()}. Opened and closed on the thread that runs the step.
 *
 * <pre>{@code
 * try (var step = model.step()) {
 *     optimizer.zero_grad();
 *     var loss = torch.cross_entropy_loss(model.module().forward(x), y);
 *     step.backward(loss);
 *     optimizer.step();
 * }
 * }</pre>
 */
public final class Step implements AutoCloseable {
    private final GradientReducer reducer;
    private final PointerScope scope;

    Step(GradientReducer reducer) {
        this.reducer = reducer;
        this.scope = new PointerScope();
    }

    /**
     * Computes gradients and returns when every {@code .grad} is the mean over ranks (inside noSync(): this rank's own
     * sum). Plain {@code loss.backward()} does the same as long as every parameter is used; this method moreover finds
     * unused parameters before an optimizer sees the gradients.
     *
     * @throws DdpException naming the parameters that got no gradient, if they had to
     * @throws io.jrun.comm.CommException if the reduction fails
     */
    public void backward(Tensor loss) {
        reducer.backward(loss);
    }

    /**
     * Frees the step's native memory.
     *
     * @throws DdpException if a backward pass of this step left a reduction unfinished
     */
    @Override
    public void close() {
        try {
            // What has been thrown already is on its way to the caller.
            if (!reducer.hasFailed()) {
                reducer.requireIdle();
            }
        } finally {
            scope.close();
        }
    }
}
